"""The page of the study of co-search: its tables are those of a run."""

from dataclasses import replace

import pytest

from npuc.studies.digamma.settings import AREAS, EVALUATIONS, OURS, PUBLISHED, PUBLISHED_EVALUATIONS
from npuc.studies.digamma.study import METHODS, best_of, plan_points
from npuc.studies.digamma.view import number_text
from tests.docs.pages import read_page
from tests.docs.study_digamma import RUNS, Run, design_rows
from tests.docs.tables import begin, end

PAGE = read_page("study-digamma")


def lines_of(name: str) -> list[str]:
    """The rows of a table of the page."""
    return PAGE.split(begin(name))[1].split(end(name))[0].splitlines()[2:]


@pytest.mark.parametrize(
    ("run", "budget"),
    [
        pytest.param(run, budget, marks=[pytest.mark.slow] if run.evaluations > EVALUATIONS else [])
        for run in RUNS
        for budget in run.budgets
        if run.step == "inference"
    ],
)
def test_a_network_is_as_in_the_table(run: Run, budget: str) -> None:
    """Of the smallest one, whose searches take seconds."""
    pytest.importorskip("cmaes")
    (row,) = list(design_rows(replace(run, budgets=(budget,)).results(["ncf"]), budget))[2:]
    assert row in lines_of(run.table(budget)), "run: python -m tests.docs.study_digamma"


def test_our_design_is_as_in_the_table() -> None:
    """Of a network with more contractions, without the other optimisers."""
    points = [one for one in plan_points(("inference",), ["bert_base"], None, EVALUATIONS, None) if one.method == OURS]
    (point,) = (one for one in points if one.budget == "edge")
    cycles = best_of(point)[0]
    (row,) = (line.split("|") for line in lines_of(RUNS[0].table("edge")) if line.startswith("| bert_base "))
    assert row[1 + len(METHODS)].strip() == number_text(float(cycles)), "run: python -m tests.docs.study_digamma"


def test_what_more_designs_gain() -> None:
    """No other optimiser is slower after more designs, and the mean gain falls; the page says so."""
    few, many = ({row.split("|")[1]: row.split("|") for row in lines_of(run.table("edge"))} for run in RUNS[:2])
    for name, cells in few.items():
        best = [min(float(one) for one in rows[2 : 1 + len(METHODS)]) for rows in (cells, many[name])]
        assert best[1] <= best[0]
    means = [[cell.strip() for cell in row.split("|")][4] for row in lines_of("gains")[1:3]]
    assert float(means[1]) < float(means[0])
    assert f"falls from {means[0]} to {means[1]}" in " ".join(PAGE.split())


def test_gains_are_the_means_of_the_tables() -> None:
    published, *ours = lines_of("gains")
    assert f"{PUBLISHED_EVALUATIONS:,} | {PUBLISHED['edge']:.1f} | {PUBLISHED['cloud']:.1f}" in published
    for line, run in zip(ours, RUNS, strict=True):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        networks = run.networks
        assert cells[:3] == [f"ours, {run.step}", str(len(networks)), f"{run.evaluations:,}"]
        for mean, budget in zip(cells[3:], AREAS, strict=True):
            assert bool(mean) == (budget in run.budgets)
            if not mean:
                continue
            rows = [line.split("|")[1:-1] for line in lines_of(run.table(budget))]
            assert [row[0].strip() for row in rows] == list(networks)
            product = 1.0
            for row in rows:
                *others, best = (float(cell) for cell in row[1 : 1 + len(METHODS)])
                gain = float(row[1 + len(METHODS)])
                assert gain == pytest.approx(min(others) / best, rel=0.01)
                product *= gain
            assert float(mean) == pytest.approx(product ** (1 / len(networks)), rel=0.01)
