"""Operations on constants that are a constant themselves."""

from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import DataError, Kind, elements
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.distributed import DistOp
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import ConstantOp
from npuc.dialects.train.base import TrainOp

SINGLE, DOUBLE = Numbers(), Numbers(double=True)
LARGEST = 1 << 16
"""The most elements of a tensor that is computed while compiling."""


class Folded(NamedPattern):
    """
    An operation on tensors of one value everywhere is a constant, if its result is one value everywhere, too.

        %a = train.constant value 2.0 : …
        %y = train.exp %a : …      -->      %y = train.constant value 7.38905609893065 : …

    Checks that all operands are `train.constant`, each a number of its element type, that no tensor has more than
    65,536 elements, and that the value is finite. Floats are computed in float64 and rounded to the result's type where
    the constant is used; integers wrap around.
    """

    name: ClassVar[str] = "folded"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, TrainOp) or isinstance(op, DistOp) or len(op.results) != 1 or not op.operands:
            return
        constants = [value.owner for value in op.operands if isinstance(value.owner, ConstantOp)]
        if len(constants) < len(op.operands) or any(elements(v) > LARGEST for v in (*op.operands, *op.results)):
            return
        layer = get_layer(op)
        element = tensor_type(op.results[0]).element_type
        if layer.kind not in (Kind.VECTOR, Kind.DATA, Kind.VIEW) or not isinstance(element, AnyFloat | IntegerType):
            return
        if not all(_is_of_type(one.value.value.data, tensor_type(one.out).element_type) for one in constants):
            return
        arrays = [
            np.full(shape_of(one.out), one.value.value.data, DOUBLE.dtype(tensor_type(one.out).element_type))
            for one in constants
        ]
        with np.errstate(all="ignore"):
            try:
                (result,) = layer.evaluate(op, *arrays)
            except DataError:  # a run tells of it
                return
        first = float(result.flat[0])
        if np.isfinite(first) and (result == result.flat[0]).all():
            rewriter.replace(op, derive(op, ConstantOp(results=[op.results[0].type], value=first)))


def _is_of_type(value: float, element: Attribute) -> bool:
    """Whether an element type has a number: rounding to it would be another one for a program in float64."""
    return float(SINGLE.hold(value, element)) == value
