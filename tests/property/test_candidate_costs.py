"""The costs of a schedule search against the exact models: traffic and room are equal, times are near."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import log
from random import Random

import numpy as np
import pytest

from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits, footprint_bytes
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.analysis.schedule.candidates import best_candidate
from npuc.compiler.analysis.schedule.costs import CandidateCosts
from npuc.compiler.analysis.schedule.grid.loop_orders import ResidencyChoices
from npuc.compiler.analysis.schedule.least_needs import Candidates
from npuc.compiler.analysis.schedule.machine_space import Space
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Tensor
from tests.schedules import fused, gemm
from tests.widths import draw_bits, of_bytes

Draw = Callable[..., tuple[Nest, Schedule]]


def priced(nest: Nest, machine: Machine, widths: Bits) -> tuple[CandidateCosts, ResidencyChoices, Candidates]:
    """All coarse candidates that fit."""
    costs = CandidateCosts(nest, machine, "time", widths, fine=False)
    options = costs.tables.options(())
    steps = costs.steps(options, machine.spm_bytes)
    return costs, options.choices, costs.candidates(options, steps, np.inf, machine.spm_bytes)


def with_start(nest: Nest) -> Nest:
    """Sums that start from a tensor of one element a column."""
    (out,) = nest.outs
    start = Tensor(f"{out.name}0", (out.shape[1],), (Axis(((out.axes[1].terms[0][0], 1),)),))
    return replace(nest, starts=(start,))


@pytest.mark.parametrize("seed", range(4))
def test_exact_prices(seed: int, draw: Draw) -> None:
    """Traffic and room of a candidate are those of its schedule, and no schedule is faster than its bound."""
    r = Random(seed)
    for _ in range(10):
        nest, _ = draw(r, big=12)
        widths = draw_bits(r, nest)
        array = Array(r.randint(1, 6), r.randint(1, 6), r.choice(["os", "ws", "is"]))
        machine = Machine(array, r.choice([40, 400]), Fraction(r.randint(1, 40), 4), 1000.0, 8, r.random() < 0.8)
        costs, choices, found = priced(nest, machine, widths)
        for number in r.sample(range(len(found.row)), min(20, len(found.row))):
            schedule = costs.schedule(choices, int(found.row[number]), int(found.at[number]))
            context = f"{nest}\n{schedule}\n{widths}\n{machine}"
            assert found.moved[number] == moved_bits(nest, traffic(nest, schedule), widths), context
            assert found.room[number] == footprint_bytes(nest, schedule, widths), context
            time = float(pipeline(nest, schedule, machine, widths).time)
            assert found.bound[number] <= time * (1 + 1e-9), context
            assert max(found.floor(number), Space(costs, ()).ending(found, number)) <= time, context


def test_tiles_of_one_of_several_streamed_groups_are_one_stream() -> None:
    """Where a start has some rows alone, there are two groups of rows, of which the inner one is one stream."""
    nest = gemm(4, 6, 4)
    dims = {"b": 2, "m": 2, "n": 3, "k": 4}
    axes = {name: Axis(((name, 1),)) for name in dims}
    tensors = {
        name: Tensor(name, tuple(dims[d] for d in of), tuple(axes[d] for d in of))
        for name, of in {"X": "bmk", "W": "kn", "Y": "bmn", "Y0": "m"}.items()
    }
    (statement,) = nest.statements
    nest = Nest(
        tuple(dims.items()),
        (tensors["X"], tensors["W"]),
        (tensors["Y"],),
        starts=(tensors["Y0"],),
        statements=(replace(statement, out="Y", lhs="X", rhs="W"),),
    )
    widths = of_bytes(nest, 1, 1)
    machine = Machine(Array(4, 5, "ws", fill="overlap", edge_elements=1), 400, Fraction(9), 1000.0, 8)
    costs, choices, found = priced(nest, machine, widths)
    below = 0
    for row, at, bound in zip(found.row, found.at, found.bound, strict=True):
        schedule = costs.schedule(choices, int(row), int(at))
        assert bound <= float(pipeline(nest, schedule, machine, widths).time) * (1 + 1e-9), schedule
        below += [loop.dim for loop in schedule.loops][-1:] == ["b"]
    assert below


@pytest.mark.parametrize("size", [1, 2])
def test_cycles_that_are_bounds_leave_nothing_better_out(size: int) -> None:
    """The start splits the streamed dimensions in two groups; without loops the nest takes less than what tiles do."""
    sizes = {"b": 1, "i": 2, "y": 5, "x": 3, "r": 1, "s": 1, "o": 3}
    own = {dim: Axis(((dim, 1),)) for dim in sizes}
    strided = (Axis((("y", 3), ("r", 1))), Axis((("x", 3), ("s", 1))))
    tensors = {
        "X": Tensor("X", (1, 2, 15, 7), (own["b"], own["i"], *strided)),
        "Y": Tensor("Y", (1, 3, 5, 3), tuple(own[dim] for dim in "boyx")),
        "dW": Tensor("dW", (3, 2, 1, 1), tuple(own[dim] for dim in "oirs")),
        "dW0": Tensor("dW0", (1,), (own["s"],)),
    }
    (statement,) = gemm(4, 6, 4).statements
    nest = Nest(
        tuple(sizes.items()),
        (tensors["X"], tensors["Y"]),
        (tensors["dW"],),
        starts=(tensors["dW0"],),
        statements=(replace(statement, out="dW", lhs="X", rhs="Y"),),
    )
    widths = of_bytes(nest, size, size)
    machine = Machine(Array(5, 6, "ws", fill="overlap", edge_elements=1), 400, Fraction(12), 1000.0, 8)
    found = best_candidate(nest, machine, "time", widths, (), fine=False)
    assert found is not None
    assert found.score <= float(pipeline(nest, Schedule(), machine, widths).time)


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
@pytest.mark.parametrize("sums", [2, 4])
def test_estimates_of_time(dataflow: Dataflow, sums: int) -> None:
    """
    Near to the exact time of schedules that may be the best, for sums of any width and starts.

    It may be too low, where loads of different sizes take turns.
    """
    r = Random(sums)
    off: list[float] = []
    for _ in range(30):
        nest = gemm(*(r.randint(8, 200) for _ in range(3)))
        nest = r.choice([nest, fused(nest), with_start(nest)])
        machine = Machine(Array(8, 8, dataflow), r.choice([2000, 9000]), Fraction(r.randint(4, 80), 4), 1000.0, 8)
        widths = of_bytes(nest, 2, sums)
        costs, choices, found = priced(nest, machine, widths)
        # Those that may be the best, but for such as take long to time.
        first = np.argsort(found.bound, kind="stable")[:200]
        likely = [(n, costs.schedule(choices, int(found.row[n]), int(found.at[n]))) for n in first]
        short = [(n, schedule) for n, schedule in likely if compute(nest, schedule, machine.array).tiles < 400]
        for number, schedule in short[:40]:
            off.append(log(found.score[number] / float(pipeline(nest, schedule, machine, widths).time)))
    assert len(off) > 500
    assert np.mean(np.abs(off)) < 0.05
    assert np.quantile(off, 0.95) < 0.05
    assert max(off) < 0.2


@pytest.mark.parametrize("step", [16, 32])
@pytest.mark.parametrize("room", [Fraction(5, 4), 2, 4])
def test_a_result_that_never_comes_back(step: int, room: Fraction | int) -> None:
    """It moves once, at the width of its elements, however wide its sums: what equal tiles take is no estimate."""
    nest, loops = gemm(256, 16, 16), (Loop("m", step),)
    widths = of_bytes(nest, 2, 4)
    spm = int(room * footprint_bytes(nest, Schedule(loops), widths))
    for rate in (1, 4, 20, 32, 200):
        machine = Machine(Array(16, 16), spm, Fraction(rate), 1000.0, 8)
        costs, choices, found = priced(nest, machine, widths)
        scores: list[tuple[float, float]] = []
        for row, at, score in zip(found.row, found.at, found.score, strict=True):
            one = costs.schedule(choices, int(row), int(at))
            if one.loops == loops:
                scores.append((float(pipeline(nest, one, machine, widths).time), float(score)))
        assert scores
        for exact, estimate in scores:
            assert estimate == pytest.approx(exact, rel=1e-12), (rate, scores)
