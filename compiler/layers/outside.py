"""A wrapper of layers from outside npuc, whose exceptions are reported as theirs, not as defects of npuc."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.errors import NpucError, SourceError
from npuc.compiler.core.foreign import Foreign, summary
from npuc.compiler.layers.base import (
    Array,
    Cut,
    Emit,
    Gradients,
    Joined,
    Layer,
    NotDifferentiable,
    Pieces,
    Work,
)
from npuc.compiler.layers.domains import Domain
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import TrainOp


class OutsideLayer(Layer[TrainOp]):
    """A layer of another distribution, behind the same interface."""

    def __init__(self, layer: Layer[Any]):
        self.layer, self.op, self.kind = layer, layer.op, layer.kind
        # set per object: these attributes of a class differ from layer to layer here
        vars(self).update(elementwise=layer.elementwise, without_gradient=layer.without_gradient)

    def evaluate(self, op: TrainOp, *arrays: Array) -> tuple[Array, ...]:
        """See `Layer`; arrays of another shape than the operation's results are refused."""
        with _blamed(op):
            found = self.layer.evaluate(op, *arrays)
            shapes = [array.shape for array in found]
        expected = [shape_of(result) for result in op.results]
        if shapes != expected:
            raise SourceError(f"{_named(op)} returned arrays of shapes {shapes}, expected {expected}")
        return found

    def evaluate_block(
        self, op: TrainOp, shape: tuple[int, ...], index: tuple[Array, ...], *arrays: Array
    ) -> tuple[Array, ...]:
        """See `Layer`."""
        with _blamed(op):
            return self.layer.evaluate_block(op, shape, index, *arrays)

    def vjp(self, op: TrainOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        """See `Layer`; an answer of another length or type than the operands is refused."""
        try:
            found = self.layer.vjp(op, grads, needs, emit)
        except (NotDifferentiable, NpucError):
            raise
        except Exception as e:  # whatever foreign code raises, a shape rule that does not hold among it
            raise _failure(op, e) from e
        types = [None if gradient is None else gradient.type for gradient in found]
        if len(types) != len(op.operands) or any(
            need and type not in (None, operand.type)
            for need, type, operand in zip(needs, types, op.operands, strict=True)
        ):
            told = ", ".join(str(type) for type in types)
            raise SourceError(f"{_named(op)} gave gradients of types {told or 'none'}, expected those of its operands")
        return found

    def work(self, op: TrainOp) -> Work:
        """See `Layer`."""
        with _blamed(op):
            return self.layer.work(op)

    def cuts(self, op: TrainOp) -> Sequence[Cut]:
        """See `Layer`."""
        with _blamed(op):
            return self.layer.cuts(op)

    def shown(self, op: TrainOp) -> Joined | Pieces | None:
        """See `Layer`."""
        with _blamed(op):
            return self.layer.shown(op)

    def index_limit(self, op: TrainOp, operand: int) -> int | None:
        """See `Layer`."""
        with _blamed(op):
            return self.layer.index_limit(op, operand)

    def domain(self, op: TrainOp, operand: int) -> Domain | None:
        """See `Layer`."""
        with _blamed(op):
            return self.layer.domain(op, operand)

    def lower(self, op: TrainOp, emit: Emit[Any]) -> list[SSAValue] | None:
        """See `Layer`."""
        with _blamed(op):
            return self.layer.lower(op, emit)


def _named(op: TrainOp) -> str:
    layer = layer_of(op)
    return f"layer '{layer}': {op.name} (from outside npuc)" if layer else f"{op.name} (from outside npuc)"


def _failure(op: TrainOp, error: BaseException) -> SourceError:
    text = str(error).partition("\n")[0] if isinstance(error, VerifyException) else summary(error)
    return SourceError(f"{_named(op)} failed: {text}", hint="--debug shows where")


def _blamed(op: TrainOp) -> Foreign:
    return Foreign(lambda error: _failure(op, error))
