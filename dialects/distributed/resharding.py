"""
Operations that change the sharding of a value, or what its gradient is, and move nothing.

    %1 = dist.slice %0 axis 0 over [1] : (tensor<8x8xf32>) -> tensor<4x8xf32>

Levels, `over`, `within` and `segments` are as in `collective.py`.
"""

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from npuc.dialects.distributed.base import INTEGERS, NOWHERE, CuttingOp, DistOp
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.distributed.rules import Shape, joined_shape, level_on_axis, several_levels
from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import Param, Types
from npuc.dialects.train.rules import check_numbers


@irdl_op_definition
class SliceOp(CuttingOp):
    """
    Of a value that is replicated in a group, each device keeps its part.

    Nothing moves. The gradient is `dist.all_gather`. With `addends` the gradient of the operand stays in addends, one
    per device: the gradient is `dist.place` then, and nothing moves either.

        %y = dist.slice %x axis 1 over [0] : (tensor<12x12xf32>) -> tensor<12x6xf32>
    """

    name = "dist.slice"

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
        """The axis shrinks by the parts of the level."""
        return CuttingOp.shape_on(mesh, shape, axis, over, within, segments)


@irdl_op_definition
class PlaceOp(DistOp):
    """
    Each device has its part of the whole, with zeros where the others' are.

    These are addends of the whole. Nothing moves. The gradient is `dist.slice`.

        %y = dist.place %x axis 0 over [1] : (tensor<4x12xf32>) -> tensor<12x12xf32>
    """

    name = "dist.place"

    axis = prop_def(IntegerAttr)
    over = prop_def(INTEGERS)
    within = prop_def(INTEGERS, default_value=NOWHERE)
    segments = prop_def(INTEGERS, default_value=NOWHERE)

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types, numbers."""
        check_numbers(x)
        return DistOp.infer(x, results, **params)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, axis: int, over: Shape, within: Shape = (), segments: Shape = ()) -> Shape:
        """The axis grows by the parts of the level."""
        level = level_on_axis(mesh, shape, axis, over, within)
        return joined_shape(mesh, shape, axis, level, within, segments)


@irdl_op_definition
class CopyOp(DistOp):
    """
    The value, replicated in a group, read by work that is sharded at these levels.

    Nothing moves. Each device has an addend of the result's gradient: the gradient is `dist.all_reduce`.

        %y = dist.copy %x over [0, 1] : (tensor<12x12xf32>) -> tensor<12x12xf32>
    """

    name = "dist.copy"

    over = prop_def(INTEGERS)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, over: Shape) -> Shape:
        """The shape stays."""
        several_levels(mesh, over)
        return shape


@irdl_op_definition
class OnceOp(DistOp):
    """
    A value whose gradient stays in addends, read by work that is replicated in a group.

    Nothing moves. The result's gradient, which is replicated, counts once: the gradient is `dist.addend`.

        %y = dist.once %x over [0] : (tensor<6x8xf32>) -> tensor<6x8xf32>
    """

    name = "dist.once"

    over = prop_def(INTEGERS)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, over: Shape) -> Shape:
        """The shape stays."""
        several_levels(mesh, over)
        return shape


@irdl_op_definition
class AddendOp(DistOp):
    """
    A value that is replicated in a group, as addends: one device keeps it, others have 0.

    Nothing moves. The gradient is that of the result.

        %y = dist.addend %x over [0, 1] : (tensor<6x8xf32>) -> tensor<6x8xf32>
    """

    name = "dist.addend"

    over = prop_def(INTEGERS)

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types, numbers."""
        check_numbers(x)
        return DistOp.infer(x, results, **params)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, over: Shape) -> Shape:
        """The shape stays."""
        several_levels(mesh, over)
        return shape
