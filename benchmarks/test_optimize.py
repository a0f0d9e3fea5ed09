"""
`npuc optimize` beside Optuna's and pymoo's NSGA-II: hypervolumes at equal evaluations, without any bounds.

    python -m benchmarks.test_optimize             prints the table of docs/optimize.md
    pytest benchmarks/test_optimize.py             a short form of it; skipped where neither is installed
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np
import pytest

from benchmarks.optimize_problems import PROBLEMS, DesignProblem
from npuc.compiler.explore.pareto.front import Floats, Ints
from npuc.compiler.explore.pareto.priced import Priced
from npuc.compiler.explore.pareto.search import FrontSearch

EVALUATIONS, SEEDS = 2_000, 10
Search = Callable[[DesignProblem, int, int], Floats]
"""The goals of all points that a search has priced, by problem, evaluations and seed."""


def ours(problem: DesignProblem, evaluations: int, seed: int) -> Floats:
    """The search of `npuc optimize`, without bounds."""

    def price(numbers: Sequence[int]) -> Iterator[Priced]:
        for number, values in zip(numbers, problem.goals(np.array(numbers, np.int64)), strict=True):
            yield Priced(number, tuple(values.tolist()))

    found = FrontSearch(problem.space, 3, price, evaluations, seed).run()
    return np.array([one.goals for one in found.priced.values()])


def by_pymoo(problem: DesignProblem, evaluations: int, seed: int) -> Floats:
    """pymoo's NSGA-II with 100 individuals of integers, its operators for integers as its documentation has them."""
    nsga2: Any = pytest.importorskip("pymoo.algorithms.moo.nsga2")
    base: Any = pytest.importorskip("pymoo.core.problem")
    minimise: Any = pytest.importorskip("pymoo.optimize").minimize
    crossover: Any = pytest.importorskip("pymoo.operators.crossover.sbx").SBX
    mutation: Any = pytest.importorskip("pymoo.operators.mutation.pm").PM
    repair: Any = pytest.importorskip("pymoo.operators.repair.rounding").RoundingRepair
    sampling: Any = pytest.importorskip("pymoo.operators.sampling.rnd").IntegerRandomSampling
    seen: list[Floats] = []

    class Places(base.Problem):
        def _evaluate(self, x: Ints, out: dict[str, Floats], *args: object, **kwargs: object) -> None:
            out["F"] = problem.goals(problem.space.numbers(np.asarray(x, np.int64).T))
            seen.append(out["F"])

    algorithm = nsga2.NSGA2(
        pop_size=100,
        sampling=sampling(),
        crossover=crossover(prob=0.9, eta=15, vtype=float, repair=repair()),
        mutation=mutation(eta=20, vtype=float, repair=repair()),
        eliminate_duplicates=True,
    )
    most = np.array(problem.space.sizes) - 1
    minimise(
        Places(n_var=len(most), n_obj=3, xl=0, xu=most, vtype=int),
        algorithm,
        ("n_eval", evaluations),
        seed=seed + 1,
        verbose=False,
    )
    return np.concatenate(seen)[:evaluations]


def by_optuna(problem: DesignProblem, evaluations: int, seed: int) -> Floats:
    """Optuna's NSGA-II sampler with its default settings."""
    optuna: Any = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seen: list[Floats] = []

    def objective(trial: Any) -> tuple[float, ...]:
        places = [trial.suggest_int(f"axis{at}", 0, size - 1) for at, size in enumerate(problem.space.sizes)]
        values = problem.goals(problem.space.numbers(np.array(places, np.int64)[:, None]))
        seen.append(values)
        return tuple(values[0].tolist())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(directions=["minimize"] * 3, sampler=optuna.samplers.NSGAIISampler(seed=seed))
        study.optimize(objective, n_trials=evaluations)
    return np.concatenate(seen)


SEARCHES: dict[str, Search] = {"npuc": ours, "pymoo": by_pymoo, "Optuna": by_optuna}


def table(evaluations: int, seeds: int, names: Sequence[str]) -> Iterator[str]:
    """The median hypervolume of each search on each problem, as a table of a page."""
    yield f"| network | points | {' | '.join(names)} |"
    yield f"|---|--:|{'--:|' * len(names)}"
    for problem in PROBLEMS:
        medians = [
            median(problem.quality(SEARCHES[name](problem, evaluations, seed)) for seed in range(seeds))
            for name in names
        ]
        cells = " | ".join(f"{value:.4f}" for value in medians)
        yield f"| `{problem.network}` | {problem.space.count:,} | {cells} |"


@pytest.mark.parametrize("name", ["pymoo", "Optuna"])
@pytest.mark.parametrize("problem", PROBLEMS[:2], ids=lambda problem: problem.network)
def test_the_front_is_not_below_theirs(problem: DesignProblem, name: str) -> None:
    pytest.importorskip(name.lower())
    own = median(problem.quality(ours(problem, 600, seed)) for seed in range(3))
    other = median(problem.quality(SEARCHES[name](problem, 600, seed)) for seed in range(3))
    assert own >= other


if __name__ == "__main__":
    for text in table(EVALUATIONS, SEEDS, sys.argv[1:] or list(SEARCHES)):
        print(text, flush=True)
