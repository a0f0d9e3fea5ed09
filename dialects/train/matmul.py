"""Matrix products."""

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import broadcast, same_element

PRODUCTS = ("X W", "dY W", "W dY", "X dY", "dY X")
"""The operands of a product of the training step, in the names of the forward product Y = X W."""


@irdl_op_definition
class MatmulOp(TrainOp):
    """
    The product of the last two axes.

    `t` behind an operand reads its last two axes exchanged, without a copy. Leading (batch) axes broadcast; those
    that the result lacks, or has at size 1, are summed, which is how the gradient of a shared weight is one product.
    `names "X dY"` says which tensors of the forward product Y = X W the operands are, where the role leaves it open.

        %y = train.matmul %a, %b : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    """

    name = "train.matmul"
    TAKES_RESULT: ClassVar[bool] = True
    MARKS: ClassVar[Mapping[int, str]] = {0: "transpose_lhs", 1: "transpose_rhs"}

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    transpose_lhs = opt_prop_def(UnitAttr)
    transpose_rhs = opt_prop_def(UnitAttr)
    names = opt_prop_def(StringAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        lhs: Tensor,
        rhs: Tensor,
        results: Types,
        transpose_lhs: bool = False,
        transpose_rhs: bool = False,
        names: str = "X W",
    ) -> Types:
        """Inner sizes agree; the result's batch axes broadcast to the operands'."""
        if names not in PRODUCTS:
            raise VerifyException(f"names is '{names}', expected one of {', '.join(map(repr, PRODUCTS))}")
        (full,) = product_type(lhs, rhs, transpose_lhs=transpose_lhs, transpose_rhs=transpose_rhs)
        (out,) = results
        shape, whole = out.get_shape(), full.get_shape()
        if shape[-2:] != whole[-2:] or broadcast(shape[:-2], whole[:-2]) != whole[:-2]:
            raise VerifyException(f"the product is {shape_text(full)}, which does not sum to {shape_text(out)}")
        return (tensor_of(full.element_type, shape),)


def product_type(lhs: Tensor, rhs: Tensor, *, transpose_lhs: bool = False, transpose_rhs: bool = False) -> Types:
    """The type of a product that keeps all batch axes."""
    a, b = lhs.get_shape(), rhs.get_shape()
    if len(a) < 2 or len(b) < 2:
        raise VerifyException(f"operands must have rank 2 or more, got {shape_text(lhs)} and {shape_text(rhs)}")
    m, k = (a[-1], a[-2]) if transpose_lhs else (a[-2], a[-1])
    k2, n = (b[-1], b[-2]) if transpose_rhs else (b[-2], b[-1])
    if k != k2:
        raise VerifyException(
            f"inner sizes differ: lhs is {shape_text(lhs)}{' transposed' * transpose_lhs} with {k},"
            f" rhs is {shape_text(rhs)}{' transposed' * transpose_rhs} with {k2}"
        )
    batch = broadcast(a[:-2], b[:-2])
    if batch is None:
        raise VerifyException(f"batch axes of {shape_text(lhs)} and {shape_text(rhs)} do not broadcast")
    return (tensor_of(same_element(lhs, rhs), (*batch, m, n)),)
