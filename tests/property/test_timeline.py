"""The array's time by state: sums equal the pipeline's, and where nothing is joined it is a walk of the tiles."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import PLACES, Array
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.overlap import OVERLAPS
from npuc.compiler.analysis.nest.cores import core_count, core_parts
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.timing import timeline as module
from npuc.compiler.analysis.timing.double_buffer import pipeline, slowest_core
from npuc.compiler.analysis.timing.states import STATES, Timeline
from npuc.compiler.analysis.timing.timeline import timeline
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from tests.widths import draw_bits, of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]


def draw_machine(r: Random) -> Machine:
    array = Array(r.randint(1, 6), r.randint(1, 6), r.choice(list(PLACES)))
    array = replace(array, fill=r.choice(["per-fold", "overlap"]), drain=r.choice(["hidden", "full"]))
    array = replace(array, edge_elements=r.choice([None, 1, 1, 2]))
    if r.random() < 0.3:
        array = replace(array, dataflow="ws", fill="overlap", overlap=r.choice(OVERLAPS), tile_m=r.randint(1, 4))
    rate = Fraction(r.randint(1, 60), r.randint(1, 20))
    return Machine(array, r.choice([1, 20, 120, 3000]), rate, 1000.0, 8, r.random() < 0.9)


def assert_sums(found: Timeline, nest: Nest, schedule: Schedule, machine: Machine, widths: Bits) -> None:
    work, timing = compute(nest, schedule, machine.array), pipeline(nest, schedule, machine, widths)
    p = found.per_cycle
    hidden = work.overhead + work.folds * machine.array.fold_overhead + work.reloads * machine.array.reload
    if machine.array.overlap is not None:
        hidden = work.cycles - work.instructions * machine.array.tile_m
    context = f"{nest}\n{schedule}\n{machine}\n{widths}"
    assert found.ticks == p * timing.cycles, context
    assert found.total("fill") + found.total("drain") == p * hidden, context
    assert found.total("edge") == p * work.edge, context
    assert found.total("steady") == p * (work.cycles - hidden - work.edge), context
    assert found.total("stall") == p * (timing.cycles - work.cycles), context
    assert all(getattr(s, state) >= 0 for s in found.stretches for state in STATES), context
    assert found.first + found.last <= found.total("stall"), context


@pytest.mark.parametrize("seed", range(10))
def test_sums_are_those_of_the_pipeline(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(40):
        nest, schedule = draw(r, big=r.choice([4, 6, 12]))
        machine = draw_machine(r)
        widths = draw_bits(r, nest)
        found = timeline(nest, schedule, machine, widths)
        assert_sums(found, nest, schedule, machine, widths)
        for count in (1, 7, 40):
            buckets = found.buckets(count)
            for state in STATES:
                part = sum(bucket[state] for bucket in buckets) / count
                assert part == pytest.approx(found.total(state) / found.ticks, abs=1e-9)
            assert all(sum(bucket.values()) == pytest.approx(1.0) for bucket in buckets)


@pytest.mark.parametrize("seed", range(4))
def test_sums_are_those_of_the_slowest_core(seed: int, draw: Draw) -> None:
    r = Random(seed)
    for _ in range(40):
        nest, schedule = draw(r, big=6, cores=True)
        machine = replace(draw_machine(r), cores=core_count(nest, schedule), multicast=r.random() < 0.5)
        widths = draw_bits(r, nest)
        found = timeline(nest, schedule, machine, widths)
        number = slowest_core(nest, schedule, machine, widths)
        part = core_parts(nest, schedule)[number]
        work = compute(part.nest, part.schedule, machine.array)
        p = found.per_cycle
        assert found.ticks == p * pipeline(nest, schedule, machine, widths).cycles
        assert found.total("stall") == found.ticks - p * work.cycles
        assert found.macs == part.nest.mac_passes
        assert all(getattr(s, state) >= 0 for s in found.stretches for state in STATES)


@pytest.mark.parametrize("seed", range(6))
def test_pieces_are_the_stretches_of_single_tiles(seed: int, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no part joined and all tiles told, the pieces are the whole time but for what follows the last fold."""
    monkeypatch.setattr(module, "RESOLUTION", 1 << 60)
    monkeypatch.setattr(module, "TILES", 1 << 60)
    monkeypatch.setattr(module, "FOLDS", 1 << 60)
    timeline.cache_clear()
    r = Random(seed)
    for _ in range(30):
        nest, schedule = draw(r, big=4)
        machine = draw_machine(r)
        widths = draw_bits(r, nest)
        found = timeline(nest, schedule, machine, widths)
        for one, other in zip(found.pieces, found.pieces[1:], strict=False):
            assert one.begin + one.ticks == other.begin
            assert (one.tile, -1 if one.fold is None else one.fold) <= (other.tile, other.fold or 0)
        sums = {state: sum(p.ticks for p in found.pieces if p.state == state) for state in STATES}
        after = found.per_cycle * machine.array.draining if machine.array.op_overhead else 0
        if machine.array.overlap is not None:
            after = found.per_cycle * compute(nest, schedule, machine.array).overhead
        assert sums["steady"] == found.total("steady")
        assert sums["edge"] == found.total("edge")
        assert sums["fill"] == found.total("fill")
        assert sums["drain"] == found.total("drain") - after
        assert sums["stall"] == found.total("stall") - found.last
        work = compute(nest, schedule, machine.array)
        assert len({(p.tile, p.fold) for p in found.pieces if p.fold is not None}) == work.folds
    timeline.cache_clear()


def product(m: int, n: int, k: int) -> Nest:
    sizes = {"m": m, "n": n, "k": k}

    def tensor(name: str, dims: str) -> Tensor:
        return Tensor(name, tuple(sizes[d] for d in dims), tuple(Axis(((d, 1),)) for d in dims))

    tensors = (tensor("X", "mk"), tensor("W", "kn"), tensor("Y", "mn"))
    return Nest(tuple(sizes.items()), tensors[:2], tensors[2:], (None,), (Statement("Y", "X", "W"),))


def test_by_hand() -> None:
    """Three tiles of 32 bytes in 8 cycles each and 4 cycles of compute; 6 of fill; 16 bytes out in 4."""
    machine = Machine(Array(4, 4), 1000, Fraction(4), 1000.0, 4, double_buffer=True, element_bytes=1)
    nest = product(4, 4, 12)
    found = timeline(nest, Schedule((Loop("k", 4),)), machine, of_bytes(nest, 1))
    assert (found.per_cycle, found.ticks, found.first, found.last) == (32, 32 * 38, 32 * 8, 32 * 4)
    assert [(p.state, p.begin // 32, p.ticks // 32, p.tile, p.fold) for p in found.pieces] == [
        ("stall", 0, 8, 0, None),
        ("fill", 8, 6, 0, None),
        ("steady", 14, 4, 0, 0),
        ("stall", 18, 4, 1, None),
        ("steady", 22, 4, 1, 0),
        ("stall", 26, 4, 2, None),
        ("steady", 30, 4, 2, 0),
    ]
    assert {state: found.total(state) // 32 for state in STATES} == {
        "fill": 6,
        "steady": 12,
        "drain": 0,
        "edge": 0,
        "stall": 20,
    }


def test_cost_does_not_depend_on_the_number_of_tiles() -> None:
    """More than 10^12 tile operations in well under a second of work: few stretches."""
    machine = Machine(Array(4, 4), 1000, Fraction(7, 3), 1000.0, 4, double_buffer=True, element_bytes=1)
    nest, schedule = product(10**5, 10**5, 4 * 10**4), Schedule((Loop("m", 4), Loop("n", 8), Loop("k", 4)))
    widths = of_bytes(nest, 1, 4)
    found = timeline(nest, schedule, machine, widths)
    assert_sums(found, nest, schedule, machine, widths)
    assert 50 < len(found.stretches) < 5000
    assert len(found.pieces) < 100
