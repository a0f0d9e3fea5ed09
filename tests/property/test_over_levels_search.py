"""The search over levels on chip: all depths against brute force, and never worse than with one level."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.outer import OuterLevel
from npuc.compiler.analysis.machine.levels.views import level_names, views_of
from npuc.compiler.analysis.machine.table import Energy
from npuc.compiler.analysis.nest.common import common_bytes
from npuc.compiler.analysis.nest.elements import Bits, footprint_bytes
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_costs
from npuc.compiler.analysis.schedule.near_ties import next_measures
from npuc.compiler.analysis.schedule.over_levels.keeps import best_keeps
from npuc.compiler.analysis.schedule.over_levels.search import nested_loops, seeds
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule
from npuc.dialects.npu.nest import LevelKeep, Loop, Nest, Schedule
from tests.schedules import gemm
from tests.widths import draw_bits, of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]
NAMES = ("L2", "L3")


def machine(r: Random, levels: int, cores: int = 1) -> Machine:
    """A small machine with energies and so many levels between SPM and DRAM."""
    spm = r.choice([64, 160, 512])
    size, rate, found = spm, r.choice([4.0, 16.0]), list[OuterLevel]()
    for name in NAMES[:levels]:
        size *= r.choice([2, 3, 6])
        found.append(OuterLevel(name, size, rate, r.choice([0.5, 1.5])))
        rate /= 2
    return Machine(
        Array(4, 4, r.choice(["os", "ws"])),
        spm_bytes=spm,
        bytes_per_cycle=Fraction(rate),
        clock_mhz=1000.0,
        lanes=1,
        double_buffer=r.random() < 0.8,
        energy=Energy(1.0, 0.5, 20.0),
        cores=cores,
        levels=tuple(found),
    )


def every_keep(nest: Nest, schedule: Schedule, machine: Machine) -> Iterator[Schedule]:
    """All depths in further levels that do not shrink outwards and fit: every one that a schedule can say."""
    most, names = len(schedule.loops) - schedule.core_depth, level_names(machine)
    own = [
        [d for d in product(range(schedule.keep_depth(name), most + 1), repeat=len(names)) if list(d) == sorted(d)]
        for name in nest.tensors
    ]
    for depths in product(*own):
        rows = zip(names, zip(*depths, strict=True), strict=True)
        yield replace(
            schedule, outer=tuple(LevelKeep(n, tuple(zip(nest.tensors, row, strict=True))) for n, row in rows)
        )


def fits(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits) -> bool:
    _, *outer = schedule.at_levels(level_names(machine))
    held = (common_bytes(nest, own, widths) for own in outer)
    return all(size <= level.size * machine.cores for size, level in zip(held, machine.levels, strict=True))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(3))
def test_depths_are_the_best_of_all(seed: int, objective: Objective, draw: Draw) -> None:
    """Two levels and three, halos, sums of several results, cores: the score of exhaustive search."""
    r = Random(f"{seed} {objective}")
    done = 0
    while done < 3:
        nest, schedule = draw(r, big=6, cores=r.random() < 0.2)
        levels = 1 if len(schedule.loops) > 3 or len(nest.tensors) > 3 else 2
        widths = draw_bits(r, nest)
        chip = machine(r, levels, cores=64)
        schedule = replace(schedule, keep=tuple((n, min(d, 1)) for n, d in schedule.keep))
        chip = replace(chip, spm_bytes=max(chip.spm_bytes, footprint_bytes(nest, schedule, widths)))
        grown = [replace(one, size=one.size + chip.spm_bytes) for one in chip.levels]
        chip = replace(chip, levels=tuple(grown))
        if (len(schedule.loops) + 1) ** len(nest.tensors) > 130:
            continue
        done += 1
        kept = [one for one in every_keep(nest, schedule, chip) if fits(nest, one, chip, widths)]
        costs = [exact_costs(nest, one, chip, widths) for one in kept]
        least = min(cost.score(objective) for cost in costs)
        found = best_keeps(nest, [schedule], chip, objective, widths, 0.0)
        assert not list(found.problems(nest))
        assert fits(nest, found, chip, widths)
        assert exact_costs(nest, found, chip, widths).score(objective) == pytest.approx(least, rel=1e-12)
        # with a tolerance the next measures decide
        near = best_keeps(nest, [schedule], chip, objective, widths, 0.1)
        most = min(cost.reported(objective) for cost in costs) * (1 + Fraction(0.1))
        wanted = min(next_measures(cost, objective) for cost in costs if cost.reported(objective) <= most)
        reached = exact_costs(nest, near, chip, widths)
        assert reached.reported(objective) <= most
        assert next_measures(reached, objective) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(2))
def test_the_search_is_the_best_of_its_space(seed: int, objective: Objective) -> None:
    """All depths of all its loops; so it is no worse than the best schedule of one level, which is among them."""
    r = Random(f"{seed} space {objective}")
    for _ in range(2):
        nest = gemm(*(r.choice([4, 6, 8]) for _ in range(3)))
        chip, widths = machine(r, r.randint(1, 2), cores=r.choice([1, 1, 2])), of_bytes(nest, 2)

        def one_level(nest: Nest, machine: Machine) -> Schedule:
            return best_schedule(nest, machine, objective, widths)

        found = best_schedule(nest, chip, objective, widths)
        assert found.spm == chip.spm_bytes
        assert fits(nest, found, chip, widths)
        score = exact_costs(nest, found, chip, widths).score(objective)
        loops = list(seeds(nest, chip, one_level, nested=True))
        assert loops
        least = min(
            (
                exact_costs(nest, one, chip, widths).score(objective)
                for own in loops
                for one in every_keep(nest, own, chip)
                if len(own.loops) <= 3 and fits(nest, one, chip, widths)
            ),
            default=score,
        )
        assert score <= least * (1 + 1e-12)
        plain = one_level(nest, replace(chip, levels=()))
        assert score <= exact_costs(nest, plain, chip, widths).score(objective) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_dram_sees_a_scratchpad_of_the_outer_size(seed: int) -> None:
    """The least traffic with L2 is near that of a scratchpad as large as L2, and less than with SPM alone."""
    r = Random(seed)
    for _ in range(2):
        nest = gemm(*(r.choice([16, 24]) for _ in range(3)))
        chip, widths = replace(machine(r, 1), spm_bytes=96), of_bytes(nest, 2)
        chip = replace(chip, levels=(replace(chip.levels[0], size=768),))
        large = replace(chip, spm_bytes=768, levels=())
        wanted, least, small = (
            exact_costs(nest, best_schedule(nest, one, "traffic", widths), one, widths).moved
            for one in (chip, large, replace(chip, levels=()))
        )
        assert wanted <= least * 1.1
        assert wanted < small
        found = best_schedule(nest, chip, "traffic", widths)
        (near, far) = views_of(found, chip)
        inner, outer = (moved_bits(nest, traffic(nest, v.schedule), widths) for v in (near, far))
        assert inner >= outer == wanted


def test_nested_loops() -> None:
    outer = Schedule((Loop("m", 8), Loop("n", 4)), (("X", 1),))
    inner = Schedule((Loop("n", 4), Loop("k", 2), Loop("m", 2)), (("W", 3), ("Y", 1)))
    found = nested_loops(gemm(16, 16, 16), outer, inner)
    assert found == Schedule((*outer.loops, Loop("k", 2), Loop("m", 2)), (("W", 2), ("Y", 1)))
