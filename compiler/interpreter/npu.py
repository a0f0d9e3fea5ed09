"""
The npu dialect on numpy: contractions by `contract`, everything else by the meaning of the train operation it stands
for.

Values are numpy arrays. A contraction with a mapping is computed in the pieces of its processing elements, one
that units share in their parts.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from npuc.compiler.analysis.hetero.contractions import boxes_of
from npuc.compiler.analysis.mapping.boxes import boxes
from npuc.compiler.interpreter import train
from npuc.compiler.interpreter.contraction import Array, View, contract, gather, scatter
from npuc.compiler.interpreter.numbers import Numbers
from npuc.dialects import npu
from npuc.dialects.outside import operation_of_kind
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import tensor_type


def evaluate(numbers: Numbers, op: npu.TensorWorkOp, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The results of vector work, a move, a view or a constant: those of its train operation."""
    kind = operation_of_kind(op.kind)
    if kind is None:
        raise InterpretationError(f"{op.name} {op.kind}: there is no operation train.{op.kind}")
    types, properties = [r.type for r in op.results], dict(op.params)
    detached = kind.create(result_types=types, properties=properties, attributes=dict(op.attributes))
    return train.evaluate(numbers, detached, arrays)


@register_impls
class NpuFunctions(InterpreterFunctions):
    """Implementations of the npu operations on whole tensors, in the given representation of numbers."""

    def __init__(self, numbers: Numbers = Numbers(double=True)):
        self.numbers = numbers

    @impl(npu.ContractOp)
    def run_contract(self, interpreter: Interpreter, op: npu.ContractOp, args: PythonValues) -> PythonValues:
        names = [tensor.name for tensor in npu.operand_tensors(op.nest)]
        values = dict(zip(names, self.numbers.operands(args), strict=True))
        mapping = op.mapping_attr
        found = None if mapping is None else boxes(op.nest, mapping.data)
        if isinstance(found, str):
            raise InterpretationError(f"{op.name} {layer_of(op)}: its mapping is not of each point once: {found}")
        if op.units_attr is not None:  # each part by itself: parts of M, N and batch are put beside others, of K added
            found = [box for part in boxes_of(op.nest, op.units_attr.data) for box in part]
        sums = [self.numbers.sums(tensor_type(result).element_type) for result in op.results]
        return self.numbers.results(op, contract(op.nest, values, found, sums))

    @impl(npu.InterleaveOp)
    def run_interleave(self, interpreter: Interpreter, op: npu.InterleaveOp, args: PythonValues) -> PythonValues:
        return interpreter.run_ssacfg_region(op.body, (), "interleave")

    @impl_terminator(npu.YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: npu.YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl(npu.VectorOp)
    def run_vector(self, interpreter: Interpreter, op: npu.VectorOp, args: PythonValues) -> PythonValues:
        return evaluate(self.numbers, op, args)

    @impl(npu.MoveOp)
    def run_move(self, interpreter: Interpreter, op: npu.MoveOp, args: PythonValues) -> PythonValues:
        return evaluate(self.numbers, op, args)

    @impl(npu.ViewOp)
    def run_view(self, interpreter: Interpreter, op: npu.ViewOp, args: PythonValues) -> PythonValues:
        return evaluate(self.numbers, op, args)

    @impl(npu.ConstantOp)
    def run_constant(self, interpreter: Interpreter, op: npu.ConstantOp, args: PythonValues) -> PythonValues:
        return evaluate(self.numbers, op, args)

    @impl(npu.Im2ColOp)
    def run_im2col(self, interpreter: Interpreter, op: npu.Im2ColOp, args: PythonValues) -> PythonValues:
        image = cast(Array, args[0])
        sizes, order = _matrix_dims(op)
        view = View(op.axes, image, (0,) * image.ndim)
        ranges = {dim: (0, size) for dim, size in sizes.items()}
        windows = gather(view, ranges).transpose([view.dims.index(dim) for dim in order])
        return (windows.reshape(_shape(op.result.type)),)

    @impl(npu.Col2ImOp)
    def run_col2im(self, interpreter: Interpreter, op: npu.Col2ImOp, args: PythonValues) -> PythonValues:
        matrix = cast(Array, args[0])
        (matrix,) = self.numbers.operands((matrix,))
        image = np.zeros(_shape(op.result.type), matrix.dtype)
        sizes, order = _matrix_dims(op)
        view = View(op.axes, image, (0,) * image.ndim)
        windows = matrix.reshape([sizes[dim] for dim in order]).transpose([order.index(dim) for dim in view.dims])
        scatter(view, {dim: (0, size) for dim, size in sizes.items()}, windows)
        return self.numbers.results(op, (image,))


def _matrix_dims(op: npu.Im2ColOp | npu.Col2ImOp) -> tuple[dict[str, int], list[str]]:
    """The size of each dimension of a window matrix, and their order in it."""
    sizes = {dim: size for group in op.groups for dim, size in group}
    return sizes, list(sizes)


def _shape(type_: Attribute) -> tuple[int, ...]:
    return cast(TensorType[Attribute], type_).get_shape()
