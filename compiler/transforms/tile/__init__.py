"""
Pass `tile`: sets the steps of loops by hand.

    npu.contract (m = 6, n = 4, k = 8) … loops [m : 3, k : 2] keep(W = 1) spm 320 bytes
      -> tile{steps="m:2,k:8,n:2"} ->
    npu.contract (m = 6, n = 4, k = 8) … loops [m : 2, n : 2] keep(W = 1) spm 320 bytes

A step of the whole size removes the loop; dimensions without a loop get one, innermost, in the nest's order. For a
dimension that is tiled twice, or partitioned over cores, the innermost loop is set: its step tiles a part. A
contraction without a schedule gets one of these loops only.

Where a letter stands for several dimensions, as m for `b`, `y`, `x` of a convolution, a step counts positions of all of
them: the inner dimensions whole, one in steps, the outer ones in steps of 1. Over 8 images of 28 x 28, `m:56` is
`b : 1, y : 2`.

`keep` and `spm` do not change; a `keep` deeper than the remaining loops is an error, and so are blocks that exceed
`spm`. Without an `spm` the machine's SPM is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.core.errors import UsageError
from npuc.compiler.transforms.keep_resident.spans import refuse_residents
from npuc.compiler.transforms.schedule.pins import (
    contracts_of,
    dim_names,
    dims_of,
    named,
    pairs_of,
    require_known,
    settle,
    usage_error,
)
from npuc.compiler.transforms.unused import has_contractions
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Loop, Nest, Schedule


@dataclass(frozen=True)
class TilePass(ModulePass):
    """Set the steps of loops: `steps` is "m:64,n:128", `only` a glob of layer names."""

    name = "tile"
    EXAMPLE: ClassVar = 'lower-to-npu,tile{steps="m:16,n:8"}'

    steps: str
    """The step of each dimension: `m:64,n:128`."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""

    def __post_init__(self) -> None:
        pairs_of("steps", self.steps)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_residents(op, self.name)
        steps = pairs_of("steps", self.steps)
        contracts = contracts_of(op, self.only)
        require_known(contracts, steps, dim_names, "loop")
        if not contracts:
            has_contractions(self, op, self.only)
        changed: list[ContractOp] = []
        for contract in contracts:
            mine = _steps_of(contract, steps)
            if mine:
                contract.schedule = tiled(contract.nest, contract.schedule, mine)
                changed.append(contract)
        settle(changed, machine_of(op))


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
