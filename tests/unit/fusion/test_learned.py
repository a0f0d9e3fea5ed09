"""The learned mapper: its plans are possible and never worse than none, near the best ones on held-out networks."""

import itertools
from dataclasses import replace
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.fusion.dynamic_program import best_plan
from npuc.compiler.analysis.fusion.learned import learned_plan
from npuc.compiler.analysis.fusion.learned.candidates import BASE, FEATURES, candidates_of
from npuc.compiler.analysis.fusion.learned.estimate import estimate, step_work
from npuc.compiler.analysis.fusion.learned.mapper import FEW, PRICED, RememberedPrices
from npuc.compiler.analysis.fusion.learned.network import COMMAND, SHAPES, WEIGHTS, read_network, write_network
from npuc.compiler.analysis.fusion.learned.ranges import REACH, is_move, possible_ranges, step_tables
from npuc.compiler.analysis.fusion.problem import FusionProblem, FusionStep, FusionValue, plan_cost
from npuc.compiler.analysis.nest.elements import BYTE
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.fusion.problems import FIRST_TRAINED, random_problems
from npuc.compiler.explore.fusion.train import random_lessons, trained
from tests.unit.fusion.test_plans_of_groups import SAMPLES, Chain, score

HELD_OUT = (7,)
"""Seeds of networks, machines and rooms that the training never sees."""


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(0, 20),
    objective=st.sampled_from(("time", "traffic", "energy", "edp")),
)
def test_plans_are_possible_repeatable_and_never_worse_than_none(seed: int, count: int, objective: Objective) -> None:
    chain = Chain(seed, count)
    problem = chain.problem(objective)
    asked = RememberedPrices(chain)
    plan = learned_plan(problem, asked)
    assert plan == learned_plan(problem, chain)
    assert all(one.last < other.first for one, other in itertools.pairwise(plan))
    assert all(chain.group(one.first, one.last, one.micro) is not None for one in plan)
    assert score(chain, problem, plan) <= score(chain, problem, ())
    assert len(asked.groups) <= max(PRICED, FEW) + count  # one of each kind, and those of the last plans


def test_no_group_fits() -> None:
    chain = Chain(1, 6)
    chain.room = 1
    assert learned_plan(chain.problem("time"), chain) == ()


def test_held_out_networks_and_rooms_come_within_fifteen_percent_of_the_best() -> None:
    assert max(HELD_OUT) < FIRST_TRAINED
    ratios: list[float] = []
    gains: list[float] = []
    for one in [found for seed in HELD_OUT for found in random_problems(seed)]:
        costs = [
            plan_cost(one.problem, one.prices, plan)
            for plan in (learned_plan(one.problem, one.prices), best_plan(one.problem, one.prices), ())
        ]
        learned, best, apart = [cost.score(one.problem.objective) for cost in costs if cost is not None]
        assert learned <= apart
        ratios.append(learned / best)
        gains.append(apart / best)
    assert max(gains) > 1.02  # there is something to find
    assert exp(sum(map(log, ratios)) / len(ratios)) <= 1.05
    assert max(ratios) <= 1.15


def walked(problem: FusionProblem, first: int, last: int, at: int) -> tuple[int, int, int]:
    """What passes in SPM, is read of that and is not stored at a step of a range, value by value."""
    alive, again, unstored = 0, 0, 0
    for number, value in enumerate(problem.values):
        using = [place for place, step in enumerate(problem.steps) if number in (*step.reads, *step.writes)]
        ours = [place for place in using if problem.steps[place].fusible and not is_move(problem.steps[place])]
        inside = [place for place in ours if first <= place <= last]
        step = problem.steps[at]
        if not value.sampled:
            continue
        if len(inside) > 1 and inside[0] <= at <= inside[-1]:
            alive += value.bytes
        if at in inside[1:] and number in step.reads:
            again += value.bytes
        made = at in ours and number in step.writes
        if made and not value.leaves and ours == using and at < using[-1] <= last:
            unstored += value.bytes
    return alive, again, unstored


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_tables_of_steps_are_those_of_a_walk(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    values = [
        FusionValue(data.draw(st.integers(1, 99)), data.draw(st.booleans()), data.draw(st.booleans()))
        for _ in range(count + 3)
    ]
    steps = [
        FusionStep(
            f"s{number}",
            data.draw(st.booleans()),
            data.draw(st.integers(0, 2)),
            data.draw(st.integers(0, 1)),
            tuple(data.draw(st.sets(st.integers(0, number + 2), min_size=1, max_size=3))),
            (number + 3,),
        )
        for number in range(count)
    ]
    problem = replace(Chain(0, 3).problem("time"), steps=tuple(steps), values=tuple(values))
    tables = step_tables(problem)
    for first in range(count):
        for last in range(first, count):
            for at in range(first, last + 1):
                found = (
                    tables.alive[at, at - first, last - at],
                    tables.again[at, at - first],
                    tables.unstored[at, last - at],
                )
                assert found == walked(problem, first, last, at)


def test_ranges_that_may_be_groups_are_those_of_the_prices() -> None:
    for one in random_problems(HELD_OUT[0])[:1]:
        possible = possible_ranges(one.problem, step_tables(one.problem))
        for first in range(len(one.problem.steps)):
            ends = [last - first for last in one.prices.ends(first) if last - first < REACH]
            assert np.nonzero(possible[first])[0].tolist() == ends


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 7), (0, 11)])
def test_the_estimate_of_the_least_traffic_is_what_crosses_the_borders(first: int, last: int) -> None:
    chain = Chain(5, 12)
    problem = chain.problem("traffic")
    tables = step_tables(problem)
    costs = np.ones((12, 3))
    steps, micros = np.arange(first, last + 1)[None, :], np.array(problem.micro_batches)
    found = estimate(problem, tables, step_work(problem, tables, costs), costs, steps, micros)
    crossing = SAMPLES * (chain.acts[first] + chain.acts[last + 1])
    assert (found.least_bits == BYTE * crossing).all()
    assert (found.bits >= found.least_bits).all()
    most = max(chain.acts[step] + chain.acts[step + 1] for step in range(first + 1, last)) if last > first + 1 else 0
    assert (found.peak == max(most, chain.acts[first + 1]) * micros).all()


def test_candidates_are_described_by_finite_numbers() -> None:
    chain = Chain(5, 12)
    problem = chain.problem("edp")
    found = candidates_of(problem, chain.alone)
    assert found.features.shape == (12 * 11 // 2 * len(problem.micro_batches), FEATURES)
    assert np.isfinite(found.features).all()
    assert set(found.micro.tolist()) <= set(range(1, SAMPLES + 1))


def test_training_is_repeatable_and_learns() -> None:
    lessons = random_lessons(random_problems(HELD_OUT[0])[:1], seed=1, priced=60)
    one, other = trained(lessons, seed=1), trained(lessons, seed=1)
    assert all((one.weights[name] == other.weights[name]).all() for name in SHAPES)
    features, targets = np.array(lessons.features), np.array(lessons.targets)
    good = targets[:, 0] < 0
    guesses = one.guess(features, one.hidden(features))
    assert np.abs(guesses - targets)[good].mean() < np.abs(features[:, BASE] - targets)[good].mean()


def test_weights_say_what_made_them_and_are_small(tmp_path: Path) -> None:
    with np.load(WEIGHTS) as stored:
        assert str(stored["command"]) == COMMAND
    assert WEIGHTS.stat().st_size < 200_000
    network = read_network(WEIGHTS)
    write_network(network, tmp_path / "copy.npz")
    assert (tmp_path / "copy.npz").read_bytes() == WEIGHTS.read_bytes()


def test_missing_and_broken_weights_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    with pytest.raises(UsageError, match="weights of the learned mapper are missing"):
        read_network(path)
    path.write_bytes(WEIGHTS.read_bytes()[:900])
    with pytest.raises(UsageError, match="holds no weights of the learned mapper"):
        read_network(path)
    with path.open("wb") as file:
        np.savez(file, mean=np.zeros(3))
    with pytest.raises(UsageError, match="holds no weights"):
        read_network(path)
    weights = dict(read_network(WEIGHTS).weights)
    for wrong, said in ((np.zeros(3), "expected"), (np.full(SHAPES["b1"], np.nan), "not finite")):
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **{**weights, "b1": wrong})
        with pytest.raises(UsageError, match=said):
            read_network(path)
