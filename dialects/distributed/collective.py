"""
Collective operations of a mesh: they exchange data between devices.

    %1 = dist.all_to_all %0 split 1 concat 0 over [0] : (tensor<4x16xf32>) -> tensor<8x8xf32>
    %3 = dist.all_reduce %2 over [0] : (tensor<8x8xf32>) -> tensor<8x8xf32>

Types are those of one device. `over` names the levels of the mesh that an operation works over: reductions take
several, other operations one. Devices whose coordinates differ at these levels only form a group, and exchange data
within it. A level shards the same digit of an axis in every operation (`sharding.py`), so that an operation has to know
the other levels that shard its axis: these are `within`. Where the segments of an axis are sharded separately,
`segments` has their global sizes. The attribute `dist.chunks` says in which chunks the operand moves (`chunks.py`), and
`dist.bucket` with which other sums (`buckets.py`).
"""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.distributed.base import INTEGERS, NOWHERE, CuttingOp, DistOp
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.distributed.rules import (
    Shape,
    check_axis,
    check_within,
    cut_shape,
    joined_shape,
    level_on_axis,
    one_level,
    several_levels,
)
from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import Param, Types
from npuc.dialects.train.rules import check_float, check_numbers


@irdl_op_definition
class AllGatherOp(DistOp):
    """
    Every device gets the parts of its group.

    With `addends` the result is read by work that is sharded at the level, so that each device has an addend of its
    gradient: this is how a parameter that is stored in parts is read. The gradient is `dist.reduce_scatter` then, and
    `dist.slice` otherwise.

        %y = dist.all_gather %x axis 1 over [0] within [1] : (tensor<12x2xf32>) -> tensor<12x4xf32>
    """

    name = "dist.all_gather"
    TAKES_CHUNKS: ClassVar = True

    axis = prop_def(IntegerAttr)
    over = prop_def(INTEGERS)
    within = prop_def(INTEGERS, default_value=NOWHERE)
    segments = prop_def(INTEGERS, default_value=NOWHERE)
    addends = opt_prop_def(UnitAttr)

    @staticmethod
    def shape_on(
        mesh: Mesh,
        shape: Shape,
        axis: int,
        over: Shape,
        within: Shape = (),
        segments: Shape = (),
        addends: bool = False,
    ) -> Shape:
        """The axis grows by the parts of the level."""
        level = level_on_axis(mesh, shape, axis, over, within)
        return joined_shape(mesh, shape, axis, level, within, segments)


@irdl_op_definition
class AllToAllOp(DistOp):
    """
    A value sharded along the axis `concat` is sharded along `split` instead.

    `split_within` and `concat_within` are the other levels that shard these axes, `split_segments` and
    `concat_segments` the sizes of their segments. The gradient is the same with the axes exchanged.

        %y = dist.all_to_all %x split 0 concat 1 over [0] : (tensor<12x6xf32>) -> tensor<6x12xf32>
    """

    name = "dist.all_to_all"
    TAKES_CHUNKS: ClassVar = True

    split = prop_def(IntegerAttr)
    concat = prop_def(IntegerAttr)
    over = prop_def(INTEGERS)
    split_within = prop_def(INTEGERS, default_value=NOWHERE)
    concat_within = prop_def(INTEGERS, default_value=NOWHERE)
    split_segments = prop_def(INTEGERS, default_value=NOWHERE)
    concat_segments = prop_def(INTEGERS, default_value=NOWHERE)

    @staticmethod
    def shape_on(
        mesh: Mesh,
        shape: Shape,
        split: int,
        concat: int,
        over: Shape,
        split_within: Shape = (),
        concat_within: Shape = (),
        split_segments: Shape = (),
        concat_segments: Shape = (),
    ) -> Shape:
        """One axis shrinks by the parts of the level, the other grows."""
        level = one_level(mesh, over)
        check_axis(shape, "split", split)
        check_axis(shape, "concat", concat)
        if split == concat:
            raise VerifyException(f"split and concat are both {split}, expected two axes")
        check_within(mesh, "split_within", level, split_within)
        check_within(mesh, "concat_within", level, concat_within)
        cut = cut_shape(mesh, shape, split, level, split_within, split_segments)
        return joined_shape(mesh, cut, concat, level, concat_within, concat_segments)


@irdl_op_definition
class AllReduceOp(DistOp):
    """
    Every device gets the sum of its group's addends, or their mean.

    The reduction is elementwise, so that the sharding at other levels does not matter. The gradient is that of
    the result, divided by the number of addends for the mean.

        %y = dist.all_reduce %x over [1] mean : (tensor<6x8xf32>) -> tensor<6x8xf32>
    """

    name = "dist.all_reduce"
    TAKES_CHUNKS: ClassVar = True
    COMES_BACK: ClassVar = True
    TAKES_BUCKET: ClassVar = True

    over = prop_def(INTEGERS)
    mean = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types: numbers, of a mean floating-point ones."""
        (check_float if "mean" in params else check_numbers)(x)
        return DistOp.infer(x, results, **params)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, over: Shape, mean: bool = False) -> Shape:
        """The shape stays."""
        several_levels(mesh, over)
        return shape


@irdl_op_definition
class ReduceScatterOp(CuttingOp):
    """
    Of the sum of a group's addends, each device gets its part.

    The gradient is `dist.all_gather`.

        %y = dist.reduce_scatter %x axis 0 over [1] : (tensor<12x12xf32>) -> tensor<4x12xf32>
    """

    name = "dist.reduce_scatter"
    TAKES_CHUNKS: ClassVar = True
    TAKES_BUCKET: ClassVar = True

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types, numbers."""
        check_numbers(x)
        return DistOp.infer(x, results, **params)


@irdl_op_definition
class SendReceiveOp(DistOp):
    """
    In each group part 0 sends to part 1, and 1 to 2.

    A device that receives nothing gets zeros. The gradient goes the other way.

        %y = dist.send_receive %x source [0, 1] target [1, 2] over [1] : (tensor<6x8xf32>) -> tensor<6x8xf32>
    """

    name = "dist.send_receive"

    source = prop_def(INTEGERS)
    target = prop_def(INTEGERS)
    over = prop_def(INTEGERS)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, source: Shape, target: Shape, over: Shape) -> Shape:
        """The shape stays; a part sends to one other at most, and receives from one at most."""
        parts = mesh.sizes[one_level(mesh, over)]
        if len(source) != len(target):
            raise VerifyException(f"{len(source)} parts send and {len(target)} receive, expected as many")
        for name, ends in (("source", source), ("target", target)):
            for part in ends:
                if not 0 <= part < parts:
                    raise VerifyException(f"{name} has part {part}, the level has parts 0 to {parts - 1}")
            if len(set(ends)) != len(ends):
                raise VerifyException(f"{name} is {list(ends)}, expected each part once at most")
        return shape
