"""The train dialect on numpy: one implementation for all operations, through what the layer registry knows of each."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls

from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
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
    return evaluate(functions.numbers, op, args)


TrainFunctions = register_impls(
    type("TrainFunctions", (_TrainFunctions,), {op.name.replace(".", "_"): impl(op)(_run) for op in OPERATIONS})
)
