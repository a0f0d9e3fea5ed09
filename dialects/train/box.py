"""Boxes of tensors: slices, writing into them, padding with a constant, and continuing a tensor beyond its borders."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, StringAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import same_element

BORDER_MODES = ("reflect", "replicate", "circular")
"""How a tensor continues beyond its borders: mirrored at the last element, or with copies of it."""


@irdl_op_definition
class SliceOp(TrainOp):
    """
    The box of the result's shape at `starts`; with `steps [1, 2]` every second element along an axis.

        %y = train.slice %x starts [0, 4] : (tensor<4x6xf32>) -> tensor<4x2xf32>
    """

    name = "train.slice"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    starts = prop_def(DenseArrayBase)
    steps = opt_prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: Types, starts: tuple[int, ...], steps: tuple[int, ...] | None = None) -> Types:
        """The box lies inside x."""
        (out,) = results
        check_box(x, out, starts, steps)
        return (tensor_of(x.element_type, out.get_shape()),)


@irdl_op_definition
class PadOp(TrainOp):
    """
    x placed at `starts` in zeros, or in copies of `value`; with `steps [1, 2]` at every second element along an axis.

        %y = train.pad %x starts [0, 1] : (tensor<2x3xf32>) -> tensor<2x5xf32>
    """

    name = "train.pad"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    starts = prop_def(DenseArrayBase)
    steps = opt_prop_def(DenseArrayBase)
    value = prop_def(FloatAttr, default_value=encode(0.0))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        x: Tensor,
        results: Types,
        starts: tuple[int, ...],
        steps: tuple[int, ...] | None = None,
        value: float = 0.0,
    ) -> Types:
        """x fits into the result at `starts`."""
        (out,) = results
        check_box(out, x, starts, steps)
        return (tensor_of(x.element_type, out.get_shape()),)


@irdl_op_definition
class SlicePutOp(TrainOp):
    """
    x with src in place of its box at `starts`; with `steps [1, 2]` of every second element along an axis.

        %y = train.slice_put %x, %src starts [0, 4] : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
    """

    name = "train.slice_put"

    x = operand_def(TensorType)
    src = operand_def(TensorType)
    starts = prop_def(DenseArrayBase)
    steps = opt_prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, src: Tensor, starts: tuple[int, ...], steps: tuple[int, ...] | None = None) -> Types:
        """The box lies inside x."""
        same_element(x, src)
        check_box(x, src, starts, steps)
        return (x,)


@irdl_op_definition
class BorderPadOp(TrainOp):
    """
    x placed at `starts` and continued to all sides, mirrored or with copies of its border.

        %y = train.border_pad %x starts [0, 2] mode "reflect" : (tensor<4x3xf32>) -> tensor<5x6xf32>
    """

    name = "train.border_pad"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    starts = prop_def(DenseArrayBase)
    mode = prop_def(StringAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: Types, starts: tuple[int, ...], mode: str) -> Types:
        """x fits into the result at `starts`; a reflection is smaller than x."""
        (out,) = results
        _check_border(out, x, starts, mode)
        return (tensor_of(x.element_type, out.get_shape()),)


@irdl_op_definition
class BorderPadDxOp(TrainOp):
    """
    Each element of dy added to the one it is a copy of.

        %dx = train.border_pad_dx %dy starts [0, 3] mode "replicate" : (tensor<4x6xf32>) -> tensor<4x3xf32>
    """

    name = "train.border_pad_dx"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    starts = prop_def(DenseArrayBase)
    mode = prop_def(StringAttr)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, results: Types, starts: tuple[int, ...], mode: str) -> Types:
        """The rule of `train.border_pad`."""
        (dx,) = results
        _check_border(dy, dx, starts, mode)
        return (tensor_of(dy.element_type, dx.get_shape()),)


def check_box(whole: Tensor, part: Tensor, starts: tuple[int, ...], steps: tuple[int, ...] | None = None) -> None:
    """The rule of slice and pad: `part` placed at `starts`, spread by `steps`, lies inside `whole`."""
    rank = len(whole.get_shape())
    if len(part.get_shape()) != rank or len(starts) != rank:
        raise VerifyException(f"{shape_text(part)} at {list(starts)} and {shape_text(whole)} differ in rank")
    steps = (1,) * rank if steps is None else steps
    if len(steps) != rank or min(steps, default=1) < 1:
        raise VerifyException(f"steps is {list(steps)}, expected {rank} positive integers")
    sizes = zip(whole.get_shape(), part.get_shape(), starts, steps, strict=True)
    for axis, (size, inner, start, step) in enumerate(sizes):
        end = start + (inner - 1) * step + 1
        if start < 0 or end > size:
            raise VerifyException(f"axis {axis}: {start} to {end} lies outside 0 to {size}")


def _check_border(whole: Tensor, part: Tensor, starts: tuple[int, ...], mode: str) -> None:
    if mode not in BORDER_MODES:
        raise VerifyException(f"mode is '{mode}', expected one of {', '.join(BORDER_MODES)}")
    check_box(whole, part, starts)
    for axis, (size, inner, start) in enumerate(zip(whole.get_shape(), part.get_shape(), starts, strict=True)):
        widest = max(start, size - inner - start)
        if mode == "reflect" and widest >= inner:
            raise VerifyException(f"axis {axis} of size {inner} has no {widest} elements to reflect")
        if mode == "circular" and widest > inner:
            raise VerifyException(f"axis {axis} of size {inner} has no {widest} elements to repeat")
