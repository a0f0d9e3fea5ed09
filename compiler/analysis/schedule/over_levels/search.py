"""
The search of a nest's schedule on a machine of several levels.

The space are a few loops, each with all depths in the levels outside of SPM (`keeps.py`):

- the best schedule as if there were SPM and DRAM alone, so that none of one level is better;
- the best one as if what is next to SPM were DRAM;
- nested ones: the best schedule as if the outermost level were the scratchpad, and the best one of its tile as if the
  next level inwards were, down to SPM; dimensions are then cut once or more in each level.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import at_level
from npuc.compiler.analysis.nest.cores import part_nest
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.over_levels.keeps import best_keeps
from npuc.dialects.npu.nest import Nest, Schedule


class OneLevel(Protocol):
    """The search on a machine of one level."""

    def __call__(self, nest: Nest, machine: Machine) -> Schedule: ...


def best_over_levels(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    tolerance: float,
    one_level: OneLevel,
    *,
    nested: bool,
) -> Schedule:
    """
    The best schedule of the space, or one near it; `one_level` searches by the same goal, and with `nested` nested
    loops are among it.

    Raises what `one_level` raises for the whole nest.
    """
    loops = list(seeds(nest, machine, one_level, nested=nested))
    return replace(best_keeps(nest, loops, machine, objective, widths, tolerance), spm=machine.spm_bytes)


def seeds(nest: Nest, machine: Machine, one_level: OneLevel, *, nested: bool) -> Iterator[Schedule]:
    """The loops of the space, with their depths in SPM, each once."""
    known: set[Schedule] = set()
    for found in _seeds(nest, machine, one_level, nested):
        plain = replace(found, outer=(), spm=None)
        if plain not in known:
            known.add(plain)
            yield plain


def _seeds(nest: Nest, machine: Machine, one_level: OneLevel, nested: bool) -> Iterator[Schedule]:
    yield one_level(nest, replace(machine, levels=()))
    yield one_level(nest, at_level(machine, 0))
    if nested:
        yield nested_in(nest, machine, len(machine.levels), one_level)


def nested_in(nest: Nest, machine: Machine, number: int, one_level: OneLevel) -> Schedule:
    """
    The best loops of level `number`, around those of the levels inside of it for the first, largest tile.

    Over cores they are found as if each brought its own blocks, which is much quicker; what they cost is exact.
    """
    seen = replace(at_level(machine, number), multicast=machine.multicast, reduction=machine.reduction)
    outer = one_level(nest, seen)
    if number == 0:
        return outer
    tile = {loop.dim: loop.step for loop in outer.loops}
    part = part_nest(nest, {dim: (0, min(step, nest.sizes[dim])) for dim, step in tile.items()})
    return nested_loops(nest, outer, nested_in(part, replace(machine, cores=1), number - 1, one_level))


def nested_loops(nest: Nest, outer: Schedule, inner: Schedule) -> Schedule:
    """
    The loops of a schedule of a tile inside those of `outer`, with its depths.

    Inner loops whose step is the tile are left out.
    """
    tile = nest.sizes | {loop.dim: loop.step for loop in outer.loops}
    count = len(inner.loops)
    gone = [count - n for n, loop in enumerate(inner.loops) if loop.step >= tile[loop.dim]]
    left = tuple(loop for loop in inner.loops if loop.step < tile[loop.dim])
    keep = tuple((name, depth - sum(depth >= place for place in gone)) for name, depth in inner.keep)
    return Schedule((*outer.loops, *left), tuple(one for one in keep if one[1]))
