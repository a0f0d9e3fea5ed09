"""The train dialect on numpy: one implementation for all operations, through what the layer registry knows of each."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Operation

from npuc.compiler.interpreter.contraction import contract
from npuc.compiler.interpreter.numbers import Numbers, Sums
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array, Kind, NewOpT
from npuc.dialects.npu import ContractOp
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train import OPERATIONS
from npuc.dialects.train.base import TrainOp


def evaluate(numbers: Numbers, op: TrainOp, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """
    The results of an operation for given operand values; only its properties and result types are read.

    Infinities and NaN, such as the logarithms of 0 and -1, are values like others.
    """
    with np.errstate(all="ignore"):
        return numbers.results(op, get_layer(op).evaluate(op, *numbers.operands(tuple(arrays))))


class _TrainFunctions(InterpreterFunctions):
    """Runs train operations in the given representation of numbers."""

    def __init__(self, numbers: Numbers):
        self.numbers = numbers


def _run(functions: _TrainFunctions, interpreter: Interpreter, op: TrainOp, args: PythonValues) -> PythonValues:
    if get_layer(op).kind is Kind.MATRIX:
        sums = [functions.numbers.sums(tensor_type(result).element_type) for result in op.results]
        if any(one.rounded is not None for one in sums):
            return _added_up(functions.numbers, op, args, sums)
    return evaluate(functions.numbers, op, args)


def _added_up(numbers: Numbers, op: TrainOp, args: PythonValues, sums: Sequence[Sums]) -> tuple[Array, ...]:
    """The results of matrix work whose sums are rounded after each addition: those of its loop nest."""
    emitted: list[Operation] = []

    def emit(new: NewOpT) -> NewOpT:
        emitted.append(new)
        return new

    get_layer(op).lower(op, emit)
    (nest,) = (new.nest for new in emitted if isinstance(new, ContractOp))
    for new in reversed(emitted):
        new.erase()
    names = (tensor.name for tensor in nest.ins)
    arrays = dict(zip(names, numbers.operands(tuple(args)), strict=True))
    with np.errstate(all="ignore"):
        return numbers.results(op, contract(nest, arrays, sums=sums))


TrainFunctions = register_impls(
    type("TrainFunctions", (_TrainFunctions,), {op.name.replace(".", "_"): impl(op)(_run) for op in OPERATIONS})
)
