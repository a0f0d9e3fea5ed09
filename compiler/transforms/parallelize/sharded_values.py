"""Values on a mesh while a function is partitioned: their layouts, and the operations that reshard them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.analysis.sharding.cost.resharding import Layout, ReshardStep
from npuc.dialects.distributed import (
    AddendOp,
    AllGatherOp,
    AllToAllOp,
    CopyOp,
    DistOp,
    OnceOp,
    PlaceOp,
    ReduceScatterOp,
    SliceOp,
    on_mesh,
)
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.distributed.sharding import SHARDING, Sharding, ShardingAttr
from npuc.dialects.tensors import tensor_of, tensor_type

Segments: TypeAlias = tuple[tuple[int, ...], ...]
"""The sizes of the segments of each axis; empty where no axis has any."""


def sharding_of(layout: Layout, rank: int, segments: Segments = ()) -> Sharding:
    """A form as the sharding of a tensor of that rank, whose axes have those segments."""
    return Sharding(
        tuple(tuple(h for h, axis in enumerate(layout) if axis == own) for own in range(rank)), (), segments
    )


def local_type(value: SSAValue, layout: Layout, mesh: Mesh) -> TensorType[Attribute]:
    """The type of a device's part of a value."""
    type = tensor_type(value)
    local = sharding_of(layout, len(type.get_shape())).local_shape(mesh, type.get_shape())
    return tensor_of(type.element_type, local)


@dataclass
class Local:
    """A value on a device, its layout, and the levels at which devices have partial sums that are reduced later."""

    value: SSAValue
    layout: Layout
    segments: Segments = ()
    addends: tuple[int, ...] = ()

    @property
    def sharding(self) -> Sharding:
        """The sharding of the value, without its partial sums."""
        return sharding_of(self.layout, len(tensor_type(self.value).get_shape()), self.segments)


def reshard_op(step: ReshardStep, mesh: Mesh, value: SSAValue, sharding: Sharding) -> DistOp:
    """The operation of a move of a value that is spread so."""
    over = step.levels

    def beside(axis: int) -> tuple[int, ...]:
        return tuple(h for h in sharding.axes[axis] if h not in over)

    def along(kind: type[DistOp], axis: int | None) -> DistOp:
        assert axis is not None
        own: Mapping[str, bool] = {"addends": True} if step.addends else {}
        listed = _listed(within=beside(axis), segments=sharding.segments_of(axis))
        return on_mesh(kind, mesh, value, axis=axis, over=over, **own, **listed)

    match step.kind:
        case "slice":
            return along(SliceOp, step.target)
        case "all_gather":
            return along(AllGatherOp, step.source)
        case "place":
            return along(PlaceOp, step.source)
        case "all_to_all":
            old, new = step.source, step.target
            assert old is not None
            assert new is not None
            listed = _listed(
                split_within=beside(new),
                concat_within=beside(old),
                split_segments=sharding.segments_of(new),
                concat_segments=sharding.segments_of(old),
            )
            return on_mesh(AllToAllOp, mesh, value, split=new, concat=old, over=over, **listed)
        case "copy":
            return on_mesh(CopyOp, mesh, value, over=over)
        case "once":
            return on_mesh(OnceOp, mesh, value, over=over)
        case "addend":
            return on_mesh(AddendOp, mesh, value, over=over)


def scatters(mesh: Mesh, value: SSAValue, layout: Layout, levels: Sequence[int]) -> Iterator[ReduceScatterOp]:
    """
    The operations, each on the result of the one before, that turn partial sums at some levels into parts of the sum.

    The value has this layout at all other levels already, and at all of them in the end.
    """
    left = list(levels)
    for level in levels:
        left.remove(level)
        axis = layout[level]
        assert axis is not None
        within = tuple(h for h, own in enumerate(layout) if own == axis and h != level and h not in left)
        op = on_mesh(ReduceScatterOp, mesh, value, axis=axis, over=(level,), **_listed(within=within))
        value = op.out
        yield op


def _listed(**lists: tuple[int, ...]) -> Mapping[str, tuple[int, ...]]:
    """The properties that list levels or sizes, those that list none left out."""
    return {name: own for name, own in lists.items() if own}


def with_shardings(attrs: ArrayAttr[DictionaryAttr] | None, spread: Iterable[Sharding]) -> ArrayAttr[DictionaryAttr]:
    """The attributes of arguments or results with how each is spread; nothing where it is whole."""
    found: list[DictionaryAttr] = []
    for number, sharding in enumerate(spread):
        own = dict(attrs.data[number].data) if attrs is not None and number < len(attrs.data) else {}
        if sharding.cuts:
            cut = (
                segments if levels else () for levels, segments in zip(sharding.axes, sharding.segments, strict=False)
            )
            segments = tuple(cut)
            own[SHARDING] = ShardingAttr(replace(sharding, segments=segments if any(segments) else ()))
        found.append(DictionaryAttr(own))
    return ArrayAttr(found)
