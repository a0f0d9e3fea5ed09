"""Refreshes of a scratchpad of embedded DRAM: how long values are held, what is refreshed, what reports say."""

from collections.abc import Iterator
from math import ceil, isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_source
from npuc.compiler.analysis.timing.refresh import Held, blocks_held, refreshes
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import Report
from npuc.compiler.report.sections import RefreshFacts
from npuc.dialects.npu.nest import Loop, Nest, Schedule
from tests.schedules import gemm

NET = """
network net(batch=32) {
  input x: f32[batch, 64]
  labels y: i32[batch]
  h = relu(linear(x, 96))
  loss cross_entropy(linear(h, 16), y)
  optimizer sgd(lr=0.1)
}
"""


def compiled(**keys: object) -> Report:
    overrides = {key.replace("__", "."): value for key, value in keys.items()}
    return compile_source(NET, hardware="igo-large", overrides=overrides)


def facts(report: Report) -> list[tuple[int, RefreshFacts]]:
    return [(row.repeat, found) for row in report.ops if (found := RefreshFacts.found_in(row)) is not None]


@given(st.floats(0, 1e3), st.floats(1e-3, 1e3))
def test_values_are_refreshed_each_time_that_cells_would_lose_them_before_they_are_read(
    held: float, keep: float
) -> None:
    count = refreshes(held, keep)
    assert (count == 0) == (held <= keep)
    assert count * keep < held or count == 0
    assert held <= (count + 1) * keep * (1 + 1e-12)


def points(nest: Nest, schedule: Schedule) -> Iterator[dict[str, int]]:
    """The starts of all tiles, in the order in which they are computed."""

    def inner(loops: tuple[Loop, ...], at: dict[str, int], ends: dict[str, int]) -> Iterator[dict[str, int]]:
        if not loops:
            yield at
            return
        loop, *rest = loops
        for start in range(at[loop.dim], ends[loop.dim], loop.step):
            end = min(ends[loop.dim], start + loop.step)
            yield from inner(tuple(rest), {**at, loop.dim: start}, {**ends, loop.dim: end})

    yield from inner(schedule.loops, dict.fromkeys(nest.sizes, 0), dict(nest.sizes))


def blocks_of_walk(nest: Nest, schedule: Schedule, name: str) -> int:
    """How many blocks of an input follow each other, by a walk over all tiles."""
    tensor = nest.tensors[name]
    outer = schedule.loops[: len(schedule.loops) - schedule.keep_depth(name)]
    moving = [loop.dim for loop in outer if loop.dim in tensor.dims]
    places = [tuple(at[dim] for dim in moving) for at in points(nest, schedule)]
    return sum(place != before for place, before in zip(places, [None, *places], strict=False))


STEPS = st.sampled_from([1, 2, 4, 8])


@settings(max_examples=60, deadline=None)
@given(st.permutations("mnk"), STEPS, STEPS, STEPS, st.integers(0, 3), st.booleans())
def test_blocks_are_those_of_a_walk_over_the_tiles(
    order: list[str], m: int, n: int, k: int, keep: int, double: bool
) -> None:
    nest, steps = gemm(8, 8, 8), {"m": m, "n": n, "k": k}
    loops = tuple(Loop(dim, steps[dim]) for dim in order)
    schedule = Schedule(loops, (("X", keep), ("W", keep)))
    found = {one.name: one for one in blocks_held(nest, schedule, dict.fromkeys("XWY", 32), 1.0, double=double)}
    for name in "XW":
        blocks = blocks_of_walk(nest, schedule, name)
        assert found[name].blocks == blocks
        assert isclose(found[name].seconds, min(1.0, (2 if double else 1) / blocks))


def test_what_is_held_no_longer_than_cells_keep_it_is_not_refreshed_and_the_rest_is_by_its_times() -> None:
    longest = max(found.held_seconds for _, found in facts(compiled(memory__retention_us=1)))
    plain = compiled()
    assert not facts(plain)
    enough = compiled(memory__retention_us=1e6 * longest * (1 + 1e-9))
    assert not any(found.refreshed_bytes for _, found in facts(enough))
    assert enough.totals.energy_j == plain.totals.energy_j
    short = compiled(memory__retention_us=1e6 * longest * (1 - 1e-9))
    assert sum(found.refreshed_bytes > 0 for _, found in facts(short)) >= 1
    assert short.totals.seconds == plain.totals.seconds


def test_refreshes_cost_a_read_and_a_write_of_the_scratchpad_or_what_the_machine_says() -> None:
    plain, base = compiled(), compiled(memory__retention_us=0.05)
    moved = sum(repeat * found.refreshed_bytes for repeat, found in facts(base))
    assert moved > 0
    assert plain.totals.energy_j is not None
    assert base.totals.energy_j is not None
    per_byte = base.hardware["energy"]
    assert isinstance(per_byte, dict)
    price = per_byte["spm_pj_per_byte"]
    assert isinstance(price, float | int)
    assert isclose(base.totals.energy_j - plain.totals.energy_j, 1e-12 * 2 * price * moved, rel_tol=1e-9)
    other = compiled(memory__retention_us=0.05, energy__refresh_pj_per_byte=3.0)
    assert other.totals.energy_j is not None
    assert isclose(other.totals.energy_j - plain.totals.energy_j, 1e-12 * 3.0 * moved, rel_tol=1e-9)
    spm = [(one.energy or {}).get("spm") for one in (base.totals, plain.totals) if one.energy]
    assert isclose((spm[0] or 0) - (spm[1] or 0), base.totals.energy_j - plain.totals.energy_j, rel_tol=1e-9)


def test_a_resident_value_is_held_over_the_operations_between() -> None:
    report = compile_source(
        NET, hardware="igo-large", overrides={"memory.retention_us": 0.5}, after=["schedule=keep-resident"]
    )
    seconds = [row.repeat * (row.seconds or 0.0) for row in report.ops]
    found = {row.index: RefreshFacts.found_in(row) for row in report.ops if row.native.get("resident_out")}
    assert found
    for index, one in found.items():
        assert one is not None
        assert one.held_seconds >= seconds[index] or one.held not in str(report.ops[index].native["resident_out"])
    assert any(one is not None and one.held_seconds > seconds[index] * (1 + 1e-9) for index, one in found.items())


def test_a_held_value_is_refreshed_as_a_whole() -> None:
    assert Held("X", 3, 10, 5.0).refreshed(2.0) == 3 * 10 * (ceil(5 / 2) - 1)


@pytest.mark.parametrize("value", [0, -1])
def test_a_retention_of_nothing_is_refused(value: int) -> None:
    with pytest.raises(UsageError, match=r"memory\.retention_us: expected a number above 0"):
        compiled(memory__retention_us=value)


def test_where_it_has_no_effect_is_said() -> None:
    said = compiled(energy__refresh_pj_per_byte=3.0).warnings
    assert any("nothing is refreshed without memory.retention_us" in one for one in said)
    pool = compiled(memory__retention_us=1, memory__policy="lru").warnings
    assert any("with memory.policy = 'lru'" in one for one in pool)
    other = compile_source(NET, backend="roofline", overrides={"memory.retention_us": 5}).warnings
    assert any("memory.retention_us has no effect" in one for one in other)
