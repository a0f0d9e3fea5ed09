"""The schedule search against brute force over all orders, steps and keeps of small products, and its promises."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.overlap import OVERLAPS, Overlap
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.nest.bounds import lower_bound_bits
from npuc.compiler.analysis.nest.elements import Bits, footprint_bytes, uniform_widths
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.dialects.npu.nest import Loop, Nest, Schedule, Statement
from tests.schedules import fitting, fused, gemm, held, least_moved, least_time, moved
from tests.widths import of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]
ENERGY = Energy(0.2, 1.0, 20.0)


@pytest.mark.parametrize(("m", "n", "k"), [(3, 3, 3), (4, 2, 3), (2, 4, 3), (5, 3, 1), (1, 4, 3)])
@pytest.mark.parametrize(("spm", "sums"), [(3, 1), (7, 1), (13, 1), (30, 1), (7, 4), (13, 2), (30, 4), (50, 4)])
def test_best_of_all(m: int, n: int, k: int, spm: int, sums: int) -> None:
    """
    The least traffic of all schedules that fit, dimensions cut twice or not, and the least time.

    The search tries schedules in which a dimension is cut again where they move less than all others: so do these.
    """
    nest = gemm(m, n, k)
    machine, widths = Machine(Array(2, 2), spm, Fraction(1, 2), 1000.0, 4), of_bytes(nest, 1, sums)
    least = 8 * min(moves for room, moves in least_moved(nest, 2, sums).items() if room <= spm)
    assert sent(nest, best_schedule(nest, machine, "traffic", widths), widths) == least
    tried = fitting(nest, machine, widths)
    fewest = min(one.moved for one in tried)
    if least < fewest:
        tried += [one for one in fitting(nest, machine, widths, 2) if one.moved < fewest]
    timed = pipeline(nest, best_schedule(nest, machine, "time", widths), machine, widths).time
    assert timed == least_time(nest, machine, widths, tried)


def sent(nest: Nest, schedule: Schedule, widths: Bits) -> int:
    """The bits that move."""
    return moved_bits(nest, traffic(nest, schedule), widths)


@pytest.mark.parametrize(("m", "n", "k"), [(2, 2, 3), (3, 2, 2), (4, 2, 1)])
@pytest.mark.parametrize(("spm", "sums"), [(9, 1), (16, 1), (16, 2), (24, 4)])
def test_best_of_all_of_a_fused_nest(m: int, n: int, k: int, spm: int, sums: int) -> None:
    """Of two statements as well: the least traffic and the least time of all schedules that fit."""
    nest, machine = fused(gemm(m, n, k)), Machine(Array(2, 2), spm, Fraction(1, 2), 1000.0, 4)
    widths = of_bytes(nest, 1, sums)
    least = min(moves for room, moves in least_moved(nest, 2, sums).items() if room <= spm)
    assert sent(nest, best_schedule(nest, machine, "traffic", widths), widths) == 8 * least
    timed = pipeline(nest, best_schedule(nest, machine, "time", widths), machine, widths).time
    assert timed == least_time(nest, machine, widths, fitting(nest, machine, widths))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_choice_for_siblings_is_legal(count: int) -> None:
    """Several products of one X: fits, and is no worse than each by itself with the same room."""
    one = gemm(24, 16, 20)
    x, w, y = (one.tensors[name] for name in "XWY")
    ws, ys = ([replace(t, name=f"{t.name}{n}") for n in range(count)] for t in (w, y))
    statements = tuple(Statement(f"Y{n}", "X", f"W{n}") for n in range(count))
    nest = Nest(one.dims, (x, *ws), tuple(ys), (None,) * count, statements)
    for spm in (30, 200, 2000):
        machine = Machine(Array(4, 4), spm, Fraction(1, 2), 1000.0, 4, element_bytes=1)
        found = best_schedule(nest, machine, "traffic", of_bytes(nest, 1))
        assert not list(found.problems(nest))
        assert held(nest, found) <= spm
        if spm >= held(nest, Schedule()):
            assert moved(nest, found) == moved(nest, Schedule()), "every element once"


@pytest.mark.parametrize(("m", "n", "k"), [(4, 3, 3), (5, 2, 4), (3, 4, 1)])
@pytest.mark.parametrize("product", ["Y X W", "dX dY W", "dW X dY"])
@pytest.mark.parametrize("sums", [1, 2])
def test_best_of_all_in_place(m: int, n: int, k: int, product: str, sums: int) -> None:
    """Where the order decides how often the stationary tile changes: the least energy, and nearly the least time."""
    nest, names = gemm(m, n, k), product.split()
    tensors = {t.name: t for t in nest.tensors.values()}
    out, lhs, rhs = (replace(tensors[name.removeprefix("d")], name=name) for name in names)
    nest = replace(nest, ins=(lhs, rhs), outs=(out,), statements=(Statement(out.name, lhs.name, rhs.name),))
    for spm in (7, 13):
        machine = Machine(Array(2, 2, "in-place"), spm, Fraction(3, 2), 1000.0, 4, True, 1, Energy(0.0, 1.0, 0.1))
        widths = of_bytes(nest, 1, sums)
        legal = fitting(nest, machine, widths)
        timed = pipeline(nest, best_schedule(nest, machine, "time", widths), machine, widths).time
        # A block that is kept without moving less may still save time, which the search does not try.
        assert timed <= least_time(nest, machine, widths, legal) * Fraction(10, 9)

        def energy(schedule: Schedule, machine: Machine = machine, widths: Bits = widths) -> float:
            bits = widths.with_sums(nest)
            accesses = compute(nest, schedule, machine.array).accesses
            return sent(nest, schedule, widths) * 1.1 + sum(bits[name] * count for name, count in accesses.items())

        assert energy(best_schedule(nest, machine, "energy", widths)) == pytest.approx(
            min(energy(one.schedule) for one in legal)
        )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dataflows", [("os", "ws", "is"), ("in-place",)])
def test_choice_is_legal(seed: int, dataflows: tuple[Dataflow, ...], draw: Draw) -> None:
    """On any nest: a right schedule that fits, no worse than the whole nest at once or its smallest tiles."""
    r = Random(seed)
    for _ in range(12):
        nest, _ = draw(r, big=r.choice([6, 40, 300]))
        spm = r.choice([12, 60, 400, 5000])
        array = Array(
            r.randint(1, 8),
            r.randint(1, 8),
            r.choice(dataflows),
            r.choice(["overlap", "per-fold"]),
        )
        machine = Machine(array, 2 * spm, Fraction(r.randint(1, 40), 4), 1000.0, 8, r.random() < 0.8, 2, ENERGY)
        objective = r.choice(OBJECTIVES)
        widths = uniform_widths(nest, machine)
        context = f"{nest}\n{machine}\n{objective}"
        try:
            found = best_schedule(nest, machine, objective)
        except CapacityError:
            finest = Schedule(tuple(Loop(d, 1) for d, _ in nest.dims))
            assert footprint_bytes(nest, finest, widths) > 2 * spm, context
            continue
        assert not list(found.problems(nest)), context
        assert found.spm == machine.spm_bytes
        assert footprint_bytes(nest, found, widths) <= machine.spm_bytes, context
        assert sent(nest, found, widths) >= lower_bound_bits(nest, machine.spm_bytes, widths), context
        if footprint_bytes(nest, Schedule(), widths) <= machine.spm_bytes:
            price = cost(nest, found, machine, objective)
            assert price <= cost(nest, Schedule(), machine, objective) * (1 + 1e-9), context


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_choice_for_instructions(overlap: Overlap) -> None:
    """On a register-fed array: fits, is no slower than all at once, and estimates are no more than the time."""
    r = Random(7)
    for _ in range(12):
        nest = gemm(r.randint(1, 60), r.randint(1, 60), r.randint(1, 60))
        array = Array(r.randint(1, 8), r.randint(1, 8), "ws", overlap=overlap, tile_m=r.randint(1, 6))
        machine = Machine(array, r.choice([60, 400, 20000]), Fraction(r.randint(1, 40), 4), 1000.0, 8, True, 2, ENERGY)
        found, widths = best_schedule(nest, machine, "time"), uniform_widths(nest, machine)
        assert footprint_bytes(nest, found, widths) <= machine.spm_bytes
        whole = pipeline(nest, Schedule(), machine, widths)
        if footprint_bytes(nest, Schedule(), widths) <= machine.spm_bytes:
            assert pipeline(nest, found, machine, widths).time <= whole.time
        assert compute(nest, found, array).cycles >= whole.compute


def cost(nest: Nest, schedule: Schedule, machine: Machine, objective: Objective) -> float:
    """What an objective minimises, from the exact models."""
    widths = uniform_widths(nest, machine)
    time, bits = float(pipeline(nest, schedule, machine, widths).time), widths.with_sums(nest)
    dram = sent(nest, schedule, widths) / 8
    accesses = compute(nest, schedule, machine.array).accesses
    spm = sum(bits[name] * count for name, count in accesses.items()) / 8 + dram
    energy = ENERGY.joules(nest.macs, spm, dram)
    return {"time": time, "traffic": float(dram), "energy": energy, "edp": energy * time}[objective]


def test_more_spm_is_never_worse() -> None:
    nest = gemm(40, 30, 50)
    machine = Machine(Array(4, 4), 64, Fraction(1), 1000.0, 4, element_bytes=1)
    for sums in (1, 4):
        widths, room = of_bytes(nest, 1, sums), range(64, 9600, 512)
        found = [best_schedule(nest, replace(machine, spm_bytes=spm), "traffic", widths) for spm in room]
        least = [sent(nest, schedule, widths) for schedule in found]
        assert least == sorted(least, reverse=True)
        assert least[-1] == 8 * (40 * 30 + 40 * 50 + 30 * 50)


@pytest.mark.parametrize("seed", range(6))
def test_a_wider_edge_is_never_slower(seed: int) -> None:
    """By the schedules that are found for each machine, exactly: more elements at the array's edge, or no limit."""
    r = Random(seed)
    for _ in range(6):
        nest = gemm(*(r.choice([r.randint(1, 300), 2 ** r.randint(0, 9)]) for _ in range(3)))
        nest = fused(nest) if r.random() < 0.3 else nest
        array = Array(r.choice([4, 12, 32]), r.choice([4, 16]), r.choice(["os", "ws", "is"]))
        rate, cores = Fraction(r.choice([1, 8, 50, 400])), r.choice([1, 1, 2])
        machine = Machine(array, r.choice([600, 8192, 1 << 19]), rate, 1000.0, 8, r.random() < 0.9, cores=cores)
        widths = of_bytes(nest, 2, r.choice([2, 4]))
        edges = (1, 2, 3, 4, r.randint(5, 40), 64, None)
        machines = [replace(machine, array=replace(array, edge_elements=edge)) for edge in edges]
        times = [pipeline(nest, best_schedule(nest, m, "time", widths), m, widths).time for m in machines]
        assert times == sorted(times, reverse=True), f"{nest}\n{machine}\n{widths}"


def test_too_small_a_memory() -> None:
    machine = Machine(Array(4, 4), 7, Fraction(1), 1000.0, 4, element_bytes=2)
    with pytest.raises(CapacityError, match=r"need 8 bytes of SPM \(3 blocks\).*may use 7"):
        best_schedule(gemm(8, 8, 8), machine)


@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_energy_needs_values(objective: Objective) -> None:
    machine = Machine(Array(4, 4), 500, Fraction(1), 1000.0, 4)
    with pytest.raises(UsageError, match=f"{objective} needs energy.mac_pj"):
        best_schedule(gemm(8, 8, 8), machine, objective)
