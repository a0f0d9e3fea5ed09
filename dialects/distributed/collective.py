"""
Collective operations of a mesh: they exchange data between devices, or change the sharding of a value.

    %1 = dist.all_to_all %0 split 1 concat 0 over [0] : (tensor<4x16xf32>) -> tensor<8x8xf32>
    %3 = dist.all_reduce %2 over [0] : (tensor<8x8xf32>) -> tensor<8x8xf32>

Types are those of one device. `over` names the levels of the mesh that an operation works over: reductions take
several, other operations one. Devices whose coordinates differ at these levels only form a group, and exchange data
within it. A level shards the same digit of an axis in every operation (`sharding.py`), so that an operation has to know
the other levels that shard its axis: these are `within`. Where the segments of an axis are sharded separately,
`segments` has their global sizes.
"""

from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.distributed.mesh import Mesh, mesh_around
from npuc.dialects.tensors import Tensor, shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import Param, TrainOp, Types, decode, encode, ints
from npuc.dialects.train.rules import check_float, check_numbers, same_element

OpT = TypeVar("OpT", bound="DistOp")
Shape: TypeAlias = tuple[int, ...]
_INTEGERS = DenseArrayBase.constr(i64)
_NOWHERE = encode(())


class _OnMesh(Protocol):
    """An operation class with its shape rule; the signature differs from class to class."""

    def shape_on(self, mesh: Mesh, shape: Shape, **params: Param) -> Shape: ...


class DistOp(TrainOp):
    """
    Base of the operations of the `dist` dialect: one value on each device, before and after.

    `shape_on(mesh, shape, **params)` is the shape rule: it returns the shape of the result on a device, or raises
    VerifyException.
    """

    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types; the shape is a question of the mesh."""
        (out,) = results
        return (tensor_of(same_element(x, out), out.get_shape()),)

    def is_context_free(self) -> bool:
        return False  # the rules look at the function's mesh

    def verify_(self) -> None:
        super().verify_()
        mesh = mesh_around(self)
        params = {name: decode(attr) for name, attr in self.properties.items()}
        x, out = tensor_type(self.x), tensor_type(self.out)
        expected = tensor_of(x.element_type, result_shape(type(self), mesh, x.get_shape(), **params))
        if out != expected:
            raise VerifyException(f"expected result {expected}, got {out}")


def result_shape(kind: type[DistOp], mesh: Mesh, shape: Shape, **params: Param) -> Shape:
    """The shape of a device's result of an operation. Raises VerifyException where it does not fit the mesh."""
    return cast(_OnMesh, kind).shape_on(mesh, shape, **params)


def on_mesh(kind: type[OpT], mesh: Mesh, x: SSAValue, **params: Param) -> OpT:
    """A new operation on a mesh, with the type of its result. Raises VerifyException where it does not fit."""
    shape = result_shape(kind, mesh, shape_of(x), **params)
    return kind(x, results=[tensor_of(tensor_type(x).element_type, shape)], **params)


# ---- rules


def _check_levels(mesh: Mesh, name: str, levels: Sequence[int]) -> None:
    """The rule for a list of levels: ascending levels of the mesh."""
    for level in levels:
        if level not in mesh.levels:
            raise VerifyException(f"{name} has level {level}, the mesh has levels 0 to {len(mesh.sizes) - 1}")
    if list(levels) != sorted(set(levels)):
        raise VerifyException(f"{name} is {list(levels)}, expected ascending levels")


def _one_level(mesh: Mesh, over: Sequence[int]) -> int:
    """The level of an operation that works over one."""
    _check_levels(mesh, "over", over)
    if len(over) != 1:
        raise VerifyException(f"over is {list(over)}, expected one level")
    return over[0]


def _several_levels(mesh: Mesh, over: Sequence[int]) -> None:
    """The rule for the levels of an operation that works over several."""
    _check_levels(mesh, "over", over)
    if not over:
        raise VerifyException("over is [], expected one level or more")


def _level_on_axis(mesh: Mesh, shape: Shape, axis: int, over: Sequence[int], within: Sequence[int]) -> int:
    """The level of an operation that works over one, on one axis."""
    level = _one_level(mesh, over)
    _check_axis(shape, "axis", axis)
    _check_within(mesh, "within", level, within)
    return level


def _check_axis(shape: Shape, name: str, axis: int) -> None:
    if not 0 <= axis < len(shape):
        raise VerifyException(f"{name} is {axis}, the tensor has {len(shape)} axes")


def _check_within(mesh: Mesh, name: str, level: int, within: Sequence[int]) -> None:
    _check_levels(mesh, name, within)
    if level in within:
        raise VerifyException(f"{name} has level {level}, which the operation works over")


def _cut(mesh: Mesh, shape: Shape, axis: int, level: int, within: Sequence[int], segments: Sequence[int] = ()) -> Shape:
    """The shape with its axis sharded at one more level, besides those `within`."""
    _check_size(mesh, shape, axis, within, segments)
    return (*shape[:axis], shape[axis] // mesh.sizes[level], *shape[axis + 1 :])


def _joined(
    mesh: Mesh, shape: Shape, axis: int, level: int, within: Sequence[int], segments: Sequence[int] = ()
) -> Shape:
    """The shape with its axis sharded at one level less, but still at those `within`."""
    _check_size(mesh, shape, axis, (*within, level), segments)
    return (*shape[:axis], shape[axis] * mesh.sizes[level], *shape[axis + 1 :])


def _check_size(mesh: Mesh, shape: Shape, axis: int, cuts: Sequence[int], segments: Sequence[int]) -> None:
    """
    The rule for an axis that some levels shard: its local size is divisible by the parts of all others, in each
    segment.
    """
    parts = mesh.parts(level for level in mesh.levels if level not in cuts)
    if shape[axis] % parts:
        found = f"axis {axis} has size {shape[axis]}"
        raise VerifyException(f"{found}, expected a multiple of {parts}, the parts of all levels that do not cut it")
    if segments and sum(segments) != shape[axis] * mesh.parts(cuts):
        whole = shape[axis] * mesh.parts(cuts)
        raise VerifyException(f"the segments of axis {axis} have {sum(segments)} elements, the axis has {whole}")
    if any(segment < 1 or segment % mesh.devices for segment in segments):
        raise VerifyException(f"axis {axis} has segments {list(segments)}, expected multiples of {mesh.devices}")


# ---- one axis


class CuttingOp(DistOp):
    """Base of the operations that shard an axis."""

    axis = prop_def(IntegerAttr)
    over = prop_def(_INTEGERS)
    within = prop_def(_INTEGERS, default_value=_NOWHERE)
    segments = prop_def(_INTEGERS, default_value=_NOWHERE)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, axis: int, over: Shape, within: Shape = (), segments: Shape = ()) -> Shape:
        """The axis shrinks by the parts of the level."""
        level = _level_on_axis(mesh, shape, axis, over, within)
        return _cut(mesh, shape, axis, level, within, segments)


@irdl_op_definition
class SliceOp(CuttingOp):
    """
    `dist.slice %x axis 0 over [1] within [0]`: of a value that is replicated in a group, each device keeps its part.

    Nothing moves. The gradient is `dist.all_gather`. With `addends` the gradient of the operand stays in addends, one
    per device: the gradient is `dist.place` then, and nothing moves either.
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
class ReduceScatterOp(CuttingOp):
    """
    `dist.reduce_scatter %x axis 0 over [1]`: of the sum of a group's addends, each device gets its part.

    The gradient is `dist.all_gather`.
    """

    name = "dist.reduce_scatter"

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types, numbers."""
        check_numbers(x)
        return DistOp.infer(x, results, **params)


@irdl_op_definition
class AllGatherOp(DistOp):
    """
    `dist.all_gather %x axis 0 over [1] within [0]`: every device gets the parts of its group.

    With `addends` the result is read by work that is sharded at the level, so that each device has an addend of its
    gradient: this is how a parameter that is stored in parts is read. The gradient is `dist.reduce_scatter` then, and
    `dist.slice` otherwise.
    """

    name = "dist.all_gather"

    axis = prop_def(IntegerAttr)
    over = prop_def(_INTEGERS)
    within = prop_def(_INTEGERS, default_value=_NOWHERE)
    segments = prop_def(_INTEGERS, default_value=_NOWHERE)
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
        level = _level_on_axis(mesh, shape, axis, over, within)
        return _joined(mesh, shape, axis, level, within, segments)


@irdl_op_definition
class AllToAllOp(DistOp):
    """
    `dist.all_to_all %x split 1 concat 0 over [0]`: a value sharded along the axis `concat` is sharded along `split`
    instead.

    `split_within` and `concat_within` are the other levels that shard these axes, `split_segments` and
    `concat_segments` the sizes of their segments. The gradient is the same with the axes exchanged.
    """

    name = "dist.all_to_all"

    split = prop_def(IntegerAttr)
    concat = prop_def(IntegerAttr)
    over = prop_def(_INTEGERS)
    split_within = prop_def(_INTEGERS, default_value=_NOWHERE)
    concat_within = prop_def(_INTEGERS, default_value=_NOWHERE)
    split_segments = prop_def(_INTEGERS, default_value=_NOWHERE)
    concat_segments = prop_def(_INTEGERS, default_value=_NOWHERE)

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
        level = _one_level(mesh, over)
        _check_axis(shape, "split", split)
        _check_axis(shape, "concat", concat)
        if split == concat:
            raise VerifyException(f"split and concat are both {split}, expected two axes")
        _check_within(mesh, "split_within", level, split_within)
        _check_within(mesh, "concat_within", level, concat_within)
        cut = _cut(mesh, shape, split, level, split_within, split_segments)
        return _joined(mesh, cut, concat, level, concat_within, concat_segments)


@irdl_op_definition
class PlaceOp(DistOp):
    """
    `dist.place %x axis 0 over [1] within [0]`: each device has its part of the whole, with zeros where the others' are.

    These are addends of the whole. Nothing moves. The gradient is `dist.slice`.
    """

    name = "dist.place"

    axis = prop_def(IntegerAttr)
    over = prop_def(_INTEGERS)
    within = prop_def(_INTEGERS, default_value=_NOWHERE)
    segments = prop_def(_INTEGERS, default_value=_NOWHERE)

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types, numbers."""
        check_numbers(x)
        return DistOp.infer(x, results, **params)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, axis: int, over: Shape, within: Shape = (), segments: Shape = ()) -> Shape:
        """The axis grows by the parts of the level."""
        level = _level_on_axis(mesh, shape, axis, over, within)
        return _joined(mesh, shape, axis, level, within, segments)


# ---- whole tensors


@irdl_op_definition
class AllReduceOp(DistOp):
    """
    `dist.all_reduce %x over [0, 1] mean`: every device gets the sum of its group's addends, or their mean.

    The reduction is elementwise, so that the sharding at other levels does not matter. The gradient is that of
    the result, divided by the number of addends for the mean.
    """

    name = "dist.all_reduce"

    over = prop_def(_INTEGERS)
    mean = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types: numbers, of a mean floating-point ones."""
        (check_float if "mean" in params else check_numbers)(x)
        return DistOp.infer(x, results, **params)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, over: Shape, mean: bool = False) -> Shape:
        """The shape stays."""
        _several_levels(mesh, over)
        return shape


@irdl_op_definition
class CopyOp(DistOp):
    """
    `dist.copy %x over [0, 1]`: the value, replicated in a group, read by work that is sharded at these levels.

    Nothing moves. Each device has an addend of the result's gradient: the gradient is `dist.all_reduce`.
    """

    name = "dist.copy"

    over = prop_def(_INTEGERS)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, over: Shape) -> Shape:
        """The shape stays."""
        _several_levels(mesh, over)
        return shape


@irdl_op_definition
class OnceOp(DistOp):
    """
    `dist.once %x over [0]`: a value whose gradient stays in addends, read by work that is replicated in a group.

    Nothing moves. The result's gradient, which is replicated, counts once: the gradient is `dist.addend`.
    """

    name = "dist.once"

    over = prop_def(_INTEGERS)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, over: Shape) -> Shape:
        """The shape stays."""
        _several_levels(mesh, over)
        return shape


@irdl_op_definition
class AddendOp(DistOp):
    """
    `dist.addend %x over [0, 1]`: a value that is replicated in a group, as addends: one device keeps it, others have 0.

    Nothing moves. The gradient is that of the result.
    """

    name = "dist.addend"

    over = prop_def(_INTEGERS)

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types, numbers."""
        check_numbers(x)
        return DistOp.infer(x, results, **params)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, over: Shape) -> Shape:
        """The shape stays."""
        _several_levels(mesh, over)
        return shape


@irdl_op_definition
class SendReceiveOp(DistOp):
    """
    `dist.send_receive %x source [0, 1] target [1, 2] over [0]`: in each group part 0 sends to part 1, and 1 to 2.

    A device that receives nothing gets zeros. The gradient goes the other way.
    """

    name = "dist.send_receive"

    source = prop_def(_INTEGERS)
    target = prop_def(_INTEGERS)
    over = prop_def(_INTEGERS)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, source: Shape, target: Shape, over: Shape) -> Shape:
        """The shape stays; a part sends to one other at most, and receives from one at most."""
        parts = mesh.sizes[_one_level(mesh, over)]
        if len(source) != len(target):
            raise VerifyException(f"{len(source)} parts send and {len(target)} receive, expected as many")
        for name, ends in (("source", source), ("target", target)):
            for part in ends:
                if not 0 <= part < parts:
                    raise VerifyException(f"{name} has part {part}, the level has parts 0 to {parts - 1}")
            if len(set(ends)) != len(ends):
                raise VerifyException(f"{name} is {list(ends)}, expected each part once at most")
        return shape


def levels_of(op: DistOp) -> Shape:
    """The levels of the mesh that an operation works over, ascending."""
    return ints(cast(DenseArrayBase, op.properties["over"]))


OPERATIONS: tuple[type[DistOp], ...] = (
    SliceOp,
    AllGatherOp,
    AllToAllOp,
    AllReduceOp,
    ReduceScatterOp,
    CopyOp,
    OnceOp,
    AddendOp,
    PlaceOp,
    SendReceiveOp,
)
