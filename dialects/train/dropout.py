"""Dropout, and the random bits that decide what it keeps."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, TensorType, i32, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, element_text, shape_text
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_scalar

_NONE = encode(())


@irdl_op_definition
class DropoutOp(TrainOp):
    """
    x / (1 - p) where a random mask keeps it, else 0.

    The mask is a function of seed, step and the place in the tensor alone, so the same operation on the gradient is the
    derivative. Source: Srivastava et al. (2014).

    `train.dropout %x, %step, %rows p 0.1 seed 3 axes [0] of [8, 4]`: the same of a part of a tensor of shape [8, 4],
    with its part of the mask. For each of `axes` an operand has the positions of the part in the whole tensor, as an
    integer tensor that broadcasts to x along all other axes; along these the part has all of the tensor.

        %y = train.dropout %x, %step p 0.1 seed 7 : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
    """

    name = "train.dropout"

    x = operand_def(TensorType)
    step = operand_def(TensorType)
    places = var_operand_def(TensorType)
    p = prop_def(FloatAttr)
    seed = prop_def(IntegerAttr)
    axes = prop_def(DenseArrayBase, default_value=_NONE)
    of = prop_def(DenseArrayBase, default_value=_NONE)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        x: Tensor,
        step: Tensor,
        *places: Tensor,
        p: float,
        seed: int,
        axes: tuple[int, ...] = (),
        of: tuple[int, ...] = (),
    ) -> Types:
        """0 <= p < 1; step is a scalar; as many places as axes, and `of` is the shape of the whole where there are."""
        if not 0.0 <= p < 1.0:
            raise VerifyException(f"p is {p}, expected at least 0 and below 1")
        check_scalar("step", step)
        shape = x.get_shape()
        if len(places) != len(axes) or list(axes) != sorted({axis for axis in axes if 0 <= axis < len(shape)}):
            found = f"axes is {list(axes)} with {len(places)} operands of positions"
            raise VerifyException(f"{found}, expected ascending axes of x, one an operand")
        whole = tuple(size for axis, size in enumerate(of) if axis not in axes)
        if bool(of) != bool(axes) or (axes and whole != tuple(s for axis, s in enumerate(shape) if axis not in axes)):
            found = f"of is {list(of)}, x is {shape_text(x)}, cut along axes {list(axes)}"
            raise VerifyException(f"{found}, expected the sizes of the whole tensor, along other axes those of x")
        for axis, place in zip(axes, places, strict=True):
            if place.get_shape() != place_shape(shape[axis], len(shape) - axis):
                raise VerifyException(f"the positions along axis {axis} are {shape_text(place)}, x is {shape_text(x)}")
            if place.element_type not in (i32, i64):
                raise VerifyException(f"positions are {place.element_type}, expected integers of 32 or 64 bits")
        return (x,)


@irdl_op_definition
class RandomBitsOp(TrainOp):
    """
    The integers of 53 random bits that `train.dropout` compares: a function of two words and the place alone.

    They are the upper 53 bits of the words of Philox4x64-10 under the key of these two, row by row, as
    `compiler/layers/draws.py` says. Source: Salmon, Moraes, Dror, Shaw (2011).

        %y = train.random_bits %seed, %step : (tensor<i64>, tensor<i64>) -> tensor<2x3xi64>
    """

    name = "train.random_bits"
    TAKES_RESULT: ClassVar[bool] = True

    first = operand_def(TensorType)
    second = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(first: Tensor, second: Tensor, results: Types) -> Types:
        """The words are scalars of i64, as the result is."""
        (out,) = results
        for name, word in (("first", first), ("second", second)):
            check_scalar(name, word)
        for name, type in (("first word", first), ("second word", second), ("result", out)):
            if type.element_type != i64:
                raise VerifyException(f"the {name} has elements of {element_text(type.element_type)}, expected i64")
        return results


def place_shape(size: int, behind: int) -> tuple[int, ...]:
    """The shape of the positions along an axis: that axis, and 1 for each behind it (`behind` counts the axis, too)."""
    return (size, *(1,) * (behind - 1))
