"""Elements put into a tensor at indices, or combined with those that are there; `indexing.py` says what `axes` are."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.indexing import check_indexing
from npuc.dialects.train.rules import check_numbers, check_type, same_element

REDUCTIONS = ("add", "mul", "max", "min")
"""How elements are combined with those that are there."""


@irdl_op_definition
class IndexPutOp(TrainOp):
    """
    x with the elements of src at indices: y[p[i, j], j] = src[i, j] under `axes [-1, 1]`. Where indices are equal, the
    last one of the elements in row-major order stays.

        %y = train.index_put %x, %src, %p axes [-1, 1]
            : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x6xi32>) -> tensor<4x6xf32>
    """

    name = "train.index_put"

    x = operand_def(TensorType)
    src = operand_def(TensorType)
    index = var_operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    negative = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, src: Tensor, *index: Tensor, axes: tuple[int, ...], negative: bool = False) -> Types:
        """src has the shape of the elements that `train.index` picks of x."""
        same_element(x, src)
        check_indexing(x, index, axes, src.get_shape())
        return (x,)


@irdl_op_definition
class IndexPutDsrcOp(TrainOp):
    """
    The gradient of src: dy at the index of each element that stays, 0 for those that others overwrite.

        %dsrc = train.index_put_dsrc %dy, %p axes [-1, 1] : (tensor<4x6xf32>, tensor<2x6xi32>) -> tensor<2x6xf32>
    """

    name = "train.index_put_dsrc"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    index = var_operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    negative = opt_prop_def(UnitAttr)
    dsrc = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, *index: Tensor, results: Types, axes: tuple[int, ...], negative: bool = False) -> Types:
        """The rule of `train.index`."""
        (dsrc,) = results
        check_indexing(dy, index, axes, dsrc.get_shape())
        return (tensor_of(dy.element_type, dsrc.get_shape()),)


@irdl_op_definition
class IndexReduceOp(TrainOp):
    """
    x with each element of src added at its index, multiplied, or the larger or smaller one kept, by `reduce`.

        %y = train.index_reduce %x, %src, %p axes [-1, 1] reduce "add"
            : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
    """

    name = "train.index_reduce"

    x = operand_def(TensorType)
    src = operand_def(TensorType)
    index = var_operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    reduce = prop_def(StringAttr)
    negative = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        x: Tensor, src: Tensor, *index: Tensor, axes: tuple[int, ...], reduce: str, negative: bool = False
    ) -> Types:
        """src has the shape of the elements that `train.index` picks of x; numbers."""
        check_numbers(x)
        same_element(x, src)
        if reduce not in REDUCTIONS:
            raise VerifyException(f"reduce is '{reduce}', expected one of {', '.join(REDUCTIONS)}")
        check_indexing(x, index, axes, src.get_shape())
        return (x,)


class _ReduceGradOp(TrainOp):
    """Base of the derivatives of products and extremes at indices."""

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    src = operand_def(TensorType)
    index = var_operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    reduce = prop_def(StringAttr)
    negative = opt_prop_def(UnitAttr)
    traits = traits_def(Pure())


def _check_grad(dy: Tensor, x: Tensor, src: Tensor, index: Types, axes: tuple[int, ...], reduce: str) -> None:
    check_type("dy", dy, x)
    same_element(x, src)
    if reduce not in REDUCTIONS[1:]:
        raise VerifyException(f"reduce is '{reduce}', expected one of {', '.join(REDUCTIONS[1:])}")
    check_indexing(x, index, axes, src.get_shape())


@irdl_op_definition
class IndexReduceDxOp(_ReduceGradOp):
    """
    The gradient of x: dy times the product of the others, or where x is the extreme its share among equal ones.

        %dx = train.index_reduce_dx %dy, %x, %src, %p axes [-1, 1] reduce "max"
            : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
    """

    name = "train.index_reduce_dx"

    dx = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor, x: Tensor, src: Tensor, *index: Tensor, axes: tuple[int, ...], reduce: str, negative: bool = False
    ) -> Types:
        """dy has x's type; the rest is the rule of `train.index_reduce`."""
        _check_grad(dy, x, src, index, axes, reduce)
        return (x,)


@irdl_op_definition
class IndexReduceDsrcOp(_ReduceGradOp):
    """
    The gradient of src: dy times the product of the others, or where src is the extreme its share among equal ones.

        %dsrc = train.index_reduce_dsrc %dy, %x, %src, %p axes [-1, 1] reduce "mul"
            : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
    """

    name = "train.index_reduce_dsrc"

    dsrc = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor, x: Tensor, src: Tensor, *index: Tensor, axes: tuple[int, ...], reduce: str, negative: bool = False
    ) -> Types:
        """dy has x's type; the rest is the rule of `train.index_reduce`."""
        _check_grad(dy, x, src, index, axes, reduce)
        return (src,)
