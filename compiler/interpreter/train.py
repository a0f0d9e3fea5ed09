"""The train dialect on numpy: one implementation for all operations, through their layers in the registry."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Operation

from npuc.compiler.interpreter.contraction import contract
from npuc.compiler.interpreter.numbers import Numbers, Sums
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array, Kind, NewOpT
from npuc.dialects.npu import ContractOp
from npuc.dialects.outside import all_operations
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import is_short, tensor_type
from npuc.dialects.train.arithmetic import AddOp
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
        if is_unfinished(op):
            with np.errstate(all="ignore"):
                return get_layer(op).evaluate(op, *functions.numbers.operands(tuple(args)))
    return evaluate(functions.numbers, op, args)


def _added_up(numbers: Numbers, op: TrainOp, args: PythonValues, sums: Sequence[Sums]) -> tuple[Array, ...]:
    """The results of matrix work whose sums are rounded after each addition, computed by its loop nest."""
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


def is_unfinished(op: TrainOp) -> bool:
    """
    Whether an addition of the same layer, its bias, continues the sum of a product of 16-bit floats, which is then not
    rounded before the addition. `lower-to-npu` makes such an addition the accumulator initialiser.
    """
    if len(op.results) != 1 or not is_short(op.results[0]) or get_layer(op).kind is not Kind.MATRIX:
        return False
    (result,) = op.results
    use = result.first_use
    added = None if use is None or not result.has_one_use() else use.operation
    if not isinstance(added, AddOp) or layer_of(added) != layer_of(op) or added.out.type != result.type:
        return False
    return use is not None and (use.index == 0 or not _continues(added))


def _continues(added: AddOp) -> bool:
    """Whether an addition continues the sum that is its first operand."""
    owner = added.lhs.owner
    return isinstance(owner, TrainOp) and is_unfinished(owner)


@cache
def _functions_of(operations: tuple[type[TrainOp], ...]) -> type[_TrainFunctions]:
    runs = {op.name.replace(".", "_"): impl(op)(_run) for op in operations}
    return register_impls(type("TrainFunctions", (_TrainFunctions,), runs))


def train_functions(numbers: Numbers) -> InterpreterFunctions:
    """Implementations of all train operations, those from outside too, in the given representation of numbers."""
    return _functions_of(all_operations())(numbers)
