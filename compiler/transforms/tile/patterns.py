"""The pattern of this pass."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from npuc.compiler.core.errors import UsageError
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.schedule.by_hand import ByHand
from npuc.compiler.transforms.schedule.pins import dims_of, named, usage_error
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Loop, Nest, Schedule


@dataclass(frozen=True, eq=False)
class Tile(ByHand):
    """
    The innermost loops of some dimensions of a contraction get other steps; a step of the whole size removes the loop.

        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 3, k : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
        --> Tile(steps={"m": 2, "k": 8, "n": 2})
        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 2, n : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>

    A contraction without these dimensions stays as it is. Checks that the steps are possible and that no tensor is kept
    over more loops than there are, else raises `UsageError`, and that the blocks fit `spm`, by default the machine's
    SPM, which is written; else raises `CapacityError`.
    """

    name: ClassVar[str] = "tile"

    steps: Mapping[str, int]
    """The step of each dimension, in positions; m, n and k are those of the forward product, several ones jointly."""

    def schedule_of(self, op: ContractOp) -> Schedule | None:
        """The schedule with these steps."""
        mine = _steps_of(op, self.steps)
        return tiled(op.nest, op.schedule, mine) if mine else None


def _steps_of(contract: ContractOp, steps: Mapping[str, int]) -> dict[str, int]:
    """The step of each dimension of a contraction. Raises `UsageError` for impossible steps."""
    found: dict[str, int] = {}
    for name, step in steps.items():
        extents = {dim: _extent(contract.nest, contract.schedule, dim) for dim in dims_of(contract.nest, name)}
        mine = cut(extents, step)
        if mine is None:
            raise _no_tile(contract, name, step, extents)
        for dim in mine:
            if dim in found:
                raise usage_error(contract, f"steps names {dim} of {named(contract)} twice")
        found |= mine
    return found


def cut(extents: dict[str, int], step: int) -> dict[str, int] | None:
    """
    The step of each dimension in a tile of `step` joint positions of several dimensions, the last one fastest.

    Inner dimensions are whole, one is tiled, outer ones have steps of 1; None if no such tile has that size.
    """
    if step < 1:
        return None
    found: dict[str, int] = {}
    for dim, extent in reversed(extents.items()):
        if step >= extent and step % extent:
            return None
        found[dim] = min(step, extent)
        step = max(1, step // extent)
    return found if step == 1 or not extents else None


def _no_tile(contract: ContractOp, name: str, step: int, extents: dict[str, int]) -> UsageError:
    """The error for a step that no tile of these dimensions has."""
    message = f"the step of {name} in {named(contract)} is {step}"
    if len(extents) == 1:
        (extent,) = extents.values()
        return usage_error(contract, f"{message}, expected 1 to {extent}")
    inner, sizes = 1, list[int]()
    for extent in reversed(extents.values()):
        sizes += [inner * count for count in range(1, extent + 1)]
        inner *= extent
    near = [*sorted(size for size in sizes if size < step)[-1:], *sorted(size for size in sizes if size > step)[:1]]
    shape = " x ".join(f"{dim} {extent}" for dim, extent in extents.items())
    return usage_error(contract, f"{message}, which is no tile of {shape}", f"nearest: {', '.join(map(str, near))}")


def _tile_at(schedule: Schedule, dim: str) -> int | None:
    """The position of the innermost loop of a dimension that is not over cores; None if there is none."""
    return max((n for n, loop in enumerate(schedule.loops) if loop.dim == dim and not loop.cores), default=None)


def _extent(nest: Nest, schedule: Schedule, dim: str) -> int:
    """The extent that the innermost loop of a dimension tiles: the step of its enclosing loop, or the whole size."""
    at = _tile_at(schedule, dim)
    return min((loop.step for loop in schedule.loops[:at] if loop.dim == dim), default=nest.sizes[dim])


def tiled(nest: Nest, schedule: Schedule, steps: Mapping[str, int]) -> Schedule:
    """The schedule with these steps in the innermost loops."""
    loops: list[Loop | None] = list(schedule.loops)
    for dim in nest.sizes:
        if dim not in steps:
            continue
        at = _tile_at(schedule, dim)
        loop = None if steps[dim] == _extent(nest, schedule, dim) else Loop(dim, steps[dim])
        if at is None:
            loops.append(loop)
        else:
            loops[at] = loop
    return replace(schedule, loops=tuple(loop for loop in loops if loop is not None))


PATTERNS: tuple[type[NamedPattern], ...] = (Tile,)
