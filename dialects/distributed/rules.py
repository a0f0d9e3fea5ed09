"""The shape rules of the `dist` dialect: levels of the mesh, and axes that they shard."""

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.utils.exceptions import VerifyException

from npuc.dialects.distributed.mesh import Mesh

Shape: TypeAlias = tuple[int, ...]


def check_levels(mesh: Mesh, name: str, levels: Sequence[int]) -> None:
    """The rule for a list of levels: ascending levels of the mesh."""
    for level in levels:
        if level not in mesh.levels:
            raise VerifyException(f"{name} has level {level}, the mesh has levels 0 to {len(mesh.sizes) - 1}")
    if list(levels) != sorted(set(levels)):
        raise VerifyException(f"{name} is {list(levels)}, expected ascending levels")


def one_level(mesh: Mesh, over: Sequence[int]) -> int:
    """The level of an operation that works over one."""
    check_levels(mesh, "over", over)
    if len(over) != 1:
        raise VerifyException(f"over is {list(over)}, expected one level")
    return over[0]


def several_levels(mesh: Mesh, over: Sequence[int]) -> None:
    """The rule for the levels of an operation that works over several."""
    check_levels(mesh, "over", over)
    if not over:
        raise VerifyException("over is [], expected one level or more")


def level_on_axis(mesh: Mesh, shape: Shape, axis: int, over: Sequence[int], within: Sequence[int]) -> int:
    """The level of an operation that works over one, on one axis."""
    level = one_level(mesh, over)
    check_axis(shape, "axis", axis)
    check_within(mesh, "within", level, within)
    return level


def check_axis(shape: Shape, name: str, axis: int) -> None:
    if not 0 <= axis < len(shape):
        raise VerifyException(f"{name} is {axis}, the tensor has {len(shape)} axes")


def check_within(mesh: Mesh, name: str, level: int, within: Sequence[int]) -> None:
    check_levels(mesh, name, within)
    if level in within:
        raise VerifyException(f"{name} has level {level}, which the operation works over")


def cut_shape(
    mesh: Mesh, shape: Shape, axis: int, level: int, within: Sequence[int], segments: Sequence[int] = ()
) -> Shape:
    """The shape with its axis sharded at one more level, besides those `within`."""
    check_size(mesh, shape, axis, within, segments)
    return (*shape[:axis], shape[axis] // mesh.sizes[level], *shape[axis + 1 :])


def joined_shape(
    mesh: Mesh, shape: Shape, axis: int, level: int, within: Sequence[int], segments: Sequence[int] = ()
) -> Shape:
    """The shape with its axis sharded at one level less, but still at those `within`."""
    check_size(mesh, shape, axis, (*within, level), segments)
    return (*shape[:axis], shape[axis] * mesh.sizes[level], *shape[axis + 1 :])


def check_size(mesh: Mesh, shape: Shape, axis: int, cuts: Sequence[int], segments: Sequence[int]) -> None:
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
