"""
Elements of a tensor by several indices at once.

`axes` says how each axis of the tensor is walked: an entry k goes along axis k of the picked elements, -1 is indexed by
the next of the index tensors. These have the rank of the picked elements, and size 1 along the axes that an index does
not depend on.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.index import check_indices

INDEXED = -1
"""The entry of `axes` of an axis that an index tensor says the places along."""


@irdl_op_definition
class IndexOp(TrainOp):
    """
    y[i, j, k] = x[p[i, j], k, q[i, j]] under `axes [-1, 2, -1]`; with `negative` an index below 0 counts from the end.

        %y = train.index %x, %p, %q axes [-1, 2, -1]
            : (tensor<4x6x5xf32>, tensor<2x3x1xi32>, tensor<1x3x1xi64>) -> tensor<2x3x6xf32>
    """

    name = "train.index"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    index = var_operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    negative = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, *index: Tensor, results: Types, axes: tuple[int, ...], negative: bool = False) -> Types:
        """The indices broadcast to the result, which is no larger than x along the axes that are not indexed."""
        (out,) = results
        check_indexing(x, index, axes, out.get_shape())
        return (tensor_of(x.element_type, out.get_shape()),)


def check_indexing(x: Tensor, index: Sequence[Tensor], axes: tuple[int, ...], picked: tuple[int, ...]) -> None:
    """The rule for elements of x of the shape `picked`."""
    shape = x.get_shape()
    kept = [axis for axis in axes if axis != INDEXED]
    if len(axes) != len(shape) or len(set(kept)) != len(kept) or any(not 0 <= axis < len(picked) for axis in kept):
        one = "x".join(map(str, picked))
        raise VerifyException(
            f"axes is {list(axes)}, expected for each axis of {shape_text(x)} another of {one}, or -1"
        )
    if not index or len(axes) - len(kept) != len(index):
        raise VerifyException(f"axes is {list(axes)}, expected -1 as often as there are indices: {len(index) or 1}")
    for one in index:
        check_indices(one)
        sizes = one.get_shape()
        if len(sizes) != len(picked) or any(a not in (1, b) for a, b in zip(sizes, picked, strict=True)):
            raise VerifyException(f"the index is {shape_text(one)}, which does not broadcast to {list(picked)}")
    for axis, place in enumerate(axes):
        if place != INDEXED and picked[place] > shape[axis]:
            raise VerifyException(f"axis {axis}: {picked[place]} elements are picked of {shape[axis]}")
    for axis, size in enumerate(picked):
        if axis not in kept and all(one.get_shape()[axis] != size for one in index):
            raise VerifyException(f"axis {axis} of {list(picked)} is neither an axis of x nor one of an index")
