"""Layers as a package outside npuc has them: elementwise, like a view, an optimizer that takes norms, defects."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Value
from npuc.compiler.layers.base import (
    Array,
    Cut,
    Emit,
    Gradients,
    Joined,
    Kind,
    Layer,
    PerElementLayer,
    Pieces,
    broadcast_cuts,
)
from npuc.compiler.layers.optimizer import OptimizerRule
from npuc.compiler.layers.unary import UnaryGradLayer, UnaryLayer
from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import same_type
from npuc.dialects.train.unary import FloatUnaryOp, UnaryGradOp


@irdl_op_definition
class CubeOp(FloatUnaryOp):
    """`train.cube %x`: the third power."""

    name = "train.cube"


@irdl_op_definition
class CubeGradOp(UnaryGradOp):
    """`train.cube_grad %dy, %x`: 3 x^2 dy."""

    name = "train.cube_grad"


@irdl_op_definition
class MirrorOp(FloatUnaryOp):
    """`train.mirror %x`: the elements in reverse order, which a model of memory takes for the same memory."""

    name = "train.mirror"


@irdl_op_definition
class FreeOp(FloatUnaryOp):
    """`train.free %x`: twice x, at no known cost."""

    name = "train.free"


@irdl_op_definition
class ProductOp(FloatUnaryOp):
    """`train.product %x`: matrix work without a nest."""

    name = "train.product"


@irdl_op_definition
class FailsOp(FloatUnaryOp):
    """`train.fails %x`: its layer has defects."""

    name = "train.fails"


@irdl_op_definition
class NormedOp(TrainOp):
    """`train.normed %w, %dw lr 0.1`: w - lr dw / |dw|."""

    name = "train.normed"
    param = operand_def(TensorType)
    grad = operand_def(TensorType)
    lr = prop_def(FloatAttr)
    new = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(param: Tensor, grad: Tensor, lr: float) -> Types:
        return same_type(param, grad)


class MirrorLayer(Layer[MirrorOp]):
    op = MirrorOp
    kind = Kind.DATA

    def evaluate(self, op: MirrorOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.flip(x).copy(),)

    def vjp(self, op: MirrorOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(MirrorOp(g)).out]

    def shown(self, op: MirrorOp) -> Joined | Pieces | None:
        return Joined()


class FreeLayer(Layer[FreeOp]):
    op = FreeOp

    def evaluate(self, op: FreeOp, *arrays: Array) -> tuple[Array, ...]:
        return (2 * arrays[0],)


class ProductLayer(PerElementLayer[ProductOp]):
    op = ProductOp
    kind = Kind.MATRIX

    def evaluate(self, op: ProductOp, *arrays: Array) -> tuple[Array, ...]:
        return (arrays[0],)


class FailsLayer(PerElementLayer[FailsOp]):
    op = FailsOp

    def evaluate(self, op: FailsOp, *arrays: Array) -> tuple[Array, ...]:
        if arrays[0].shape[0] == 2:
            return (arrays[0][0],)
        raise KeyError("a defect of its own")

    def vjp(self, op: FailsOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        return []

    def cuts(self, op: FailsOp) -> Sequence[Cut]:
        return broadcast_cuts(op)


class NormedLayer(PerElementLayer[NormedOp]):
    op = NormedOp
    steps = 4

    def evaluate(self, op: NormedOp, *arrays: Array) -> tuple[Array, ...]:
        w, g = arrays
        return (w - w.dtype.type(op.lr.value.data) * g / np.sqrt((g * g).sum()),)


def _cube(x: Array) -> Array:
    return x**3


def _cube_grad(dy: Array, x: Array) -> Array:
    return 3 * x * x * dy


def cube(b: GraphBuilder, x: Value) -> SSAValue:
    """The third power."""
    return b.emit(CubeOp(x)).out


def mirror(b: GraphBuilder, x: Value) -> SSAValue:
    """The elements in reverse order."""
    return b.emit(MirrorOp(x)).out


def free(b: GraphBuilder, x: Value) -> SSAValue:
    """Twice x."""
    return b.emit(FreeOp(x)).out


def product_of(b: GraphBuilder, x: Value) -> SSAValue:
    """x."""
    return b.emit(ProductOp(x)).out


def fails(b: GraphBuilder, x: Value) -> SSAValue:
    """Nothing."""
    return b.emit(FailsOp(x)).out


def relu(b: GraphBuilder, x: Value) -> SSAValue:
    """A function whose name npuc has."""
    raise AssertionError("npuc's own win")


LAYERS = (
    UnaryLayer(CubeOp, _cube, CubeGradOp),
    UnaryGradLayer(CubeGradOp, _cube_grad),
    MirrorLayer(),
    FreeLayer(),
    ProductLayer(),
    FailsLayer(),
    NormedLayer(),
)
FUNCTIONS = (cube, mirror, free, product_of, fails, relu)
OPTIMIZERS = {"normed": OptimizerRule(NormedOp, {"lr": None})}
