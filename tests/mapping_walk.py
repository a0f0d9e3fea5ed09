"""
The machine of exact mode, step by step: every step of every sub-cluster, with the sets of elements that it moves.

The rules are those of docs/maestro.md, none of them in closed form.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod

from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.dialects.mapping import Clusters, Role

Box = dict[str, tuple[int, int]]
"""First index and one past the last of each dimension."""
Cells = frozenset[tuple[int, ...]]
INPUTS: tuple[Role, ...] = ("I", "W")


def cut(whole: tuple[int, int], size: int) -> list[tuple[int, int]]:
    low, high = whole
    return [(start, min(start + size, high)) for start in range(low, high, size)]


def lengths(box: Box) -> dict[str, int]:
    return {dim: high - low for dim, (low, high) in box.items()}


def cells(work: Contraction, role: Role, box: Box) -> Cells:
    """The elements of a tensor that a box of points touches."""
    indices = [
        {sum(parts) for parts in product(*([c * i for i in range(*box[dim])] for dim, c in axis.terms))}
        for axis in work.axes(role)
    ]
    return frozenset(product(*indices))


@dataclass(frozen=True)
class Step:
    """A step of a level: the number of the tile along each loop, its box, and those of the sub-clusters with work."""

    number: dict[str, int]
    box: Box
    parts: dict[str, list[tuple[int, int]]]

    @property
    def boxes(self) -> list[Box]:
        return [dict(zip(self.parts, ranges, strict=True)) for ranges in product(*self.parts.values())]


def steps_of(work: Contraction, mapping: Clusters, depth: int, given: Box) -> Iterator[Step]:
    """The steps of a level in order; what has no loop is whole, inside all loops."""
    loops = {loop.dim: loop for loop in mapping.levels[depth].loops}
    order = [*loops, *(dim for dim in work.names if dim not in loops)]
    size = lengths(given)
    tiles = {dim: cut(given[dim], loops[dim].temporal if dim in loops else size[dim]) for dim in order}
    for numbers in product(*(range(len(tiles[dim])) for dim in order)):
        number = dict(zip(order, numbers, strict=True))
        box = {dim: tiles[dim][number[dim]] for dim in work.names}
        parts = {dim: cut(box[dim], loops[dim].spatial if dim in loops else size[dim]) for dim in work.names}
        yield Step(number, box, parts)


def kept(work: Contraction, role: Role, before: Step, current: Step) -> Cells:
    """
    What stays of a tensor between two steps.

    All of it where none of its dimensions moved on; what windows share that slide on by a step, where neither their
    places nor their taps are spread over sub-clusters.
    """
    here = cells(work, role, current.box)
    moved = [dim for dim in work.coupled(role) if before.number[dim] != current.number[dim]]
    if not moved:
        return here
    if len(moved) == 1 and current.number[moved[0]] == before.number[moved[0]] + 1:
        for axis in work.axes(role):
            dims = [dim for dim, _ in axis.terms]
            alone = all(len(step.parts[dim]) == 1 for step in (before, current) for dim in dims)
            if len(dims) == 2 and dims[0] == moved[0] and alone:
                return here & cells(work, role, before.box)
    return frozenset()


@dataclass
class Seen:
    """What was seen of a level, lists by step: cycles, elements brought in and taken out, elements at work."""

    delay: list[int] = field(default_factory=list[int])
    into: list[int] = field(default_factory=list[int])
    out: list[int] = field(default_factory=list[int])
    compute: list[int] = field(default_factory=list[int])
    active: list[float] = field(default_factory=list[float])
    brought: list[dict[Role, int]] = field(default_factory=list[dict[Role, int]])
    left: list[int] = field(default_factory=list[int])
    received: dict[Role, int] = field(default_factory=lambda: dict.fromkeys(INPUTS, 0))
    macs: int = 0
    largest: dict[Role, int] = field(default_factory=lambda: dict.fromkeys(ROLES, 0))


def run(work: Contraction, mapping: Clusters, array: PeArray, depth: int = 0, given: Box | None = None) -> Seen:
    """A level, run; the top one without a box."""
    seen, before = Seen(), None
    whole = given or {dim: (0, size) for dim, size in work.dims}
    for current in steps_of(work, mapping, depth, whole):
        _move(work, array, seen, before, current)
        _compute(work, mapping, array, seen, depth, before, current)
        waiting = (seen.compute[-1], seen.into[-1], seen.out[-1])
        seen.delay.append(max(waiting) if before else seen.compute[-1] + seen.into[-1])
        before = current
    assert before is not None
    seen.left.append(len(cells(work, "O", before.box)))
    return seen


def _move(work: Contraction, array: PeArray, seen: Seen, before: Step | None, current: Step) -> None:
    """What a step brings from the level above, and what the one before it left there."""
    new = {
        role: cells(work, role, current.box) - (kept(work, role, before, current) if before else set())
        for role in ROLES
    }
    begun = any(current.number[dim] for dim in work.adding)
    seen.brought.append({role: len(new[role]) if role in INPUTS or begun else 0 for role in ROLES})
    if before is None:
        seen.left.append(0)
    else:
        seen.left.append(len(cells(work, "O", before.box) - kept(work, "O", before, current)))
    for cycles, volume in ((seen.into, sum(seen.brought[-1].values())), (seen.out, seen.left[-1])):
        cycles.append(max(array.noc_latency - 1 - -volume // array.noc_bw, 0) if volume else 0)


def _compute(
    work: Contraction, mapping: Clusters, array: PeArray, seen: Seen, depth: int, before: Step | None, current: Step
) -> None:
    """What the sub-clusters do in a step, and what the buffers of processing elements receive."""
    if depth + 1 < len(mapping.levels):
        inside = [run(work, mapping, array, depth + 1, box) for box in current.boxes]
        seen.compute.append(max(sum(one.delay) for one in inside))
        seen.active.append(sum(sum(one.active) / len(one.active) for one in inside))
        seen.macs += sum(one.macs for one in inside)
        for role in ROLES:
            seen.largest[role] = max(seen.largest[role], *(one.largest[role] for one in inside))
        for role in INPUTS:
            seen.received[role] += sum(one.received[role] for one in inside)
        return
    macs = [prod(lengths(box).values()) for box in current.boxes]
    seen.compute.append(max(-(-one // array.lanes) for one in macs))
    seen.active.append(len(macs))
    seen.macs += sum(macs)
    for role in ROLES:
        own = [cells(work, role, box) for box in current.boxes]
        seen.largest[role] = max(seen.largest[role], *map(len, own))
        if role in INPUTS:
            stays = kept(work, role, before, current) if before else frozenset[tuple[int, ...]]()
            seen.received[role] += sum(len(one - stays) for one in own)


def streamed(
    work: Contraction, mapping: Clusters, array: PeArray, depth: int = 0, given: Box | None = None
) -> tuple[dict[Role, int], int]:
    """
    What the innermost levels bring of each tensor and take away.

    Sub-clusters that differ in nothing that indexes a tensor take the same of it, the first of them as much as any.
    """
    if depth + 1 == len(mapping.levels):
        seen = run(work, mapping, array, depth, given)
        return {role: sum(brought[role] for brought in seen.brought) for role in ROLES}, sum(seen.left)
    total, out = dict.fromkeys(ROLES, 0), 0
    for step in steps_of(work, mapping, depth, given or {dim: (0, size) for dim, size in work.dims}):
        taken: set[tuple[Role, tuple[tuple[int, int], ...]]] = set()
        for box in step.boxes:
            inside, left = streamed(work, mapping, array, depth + 1, box)
            for role in ROLES:
                part = role, tuple(box[dim] for dim in work.coupled(role))
                if part not in taken:
                    taken.add(part)
                    total[role] += inside[role]
                    out += left if role == "O" else 0
    return total, out
