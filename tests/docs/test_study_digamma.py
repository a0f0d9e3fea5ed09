"""The page of the study of co-search: its tables are those of a run."""

import pytest

from npuc.studies.digamma.settings import EVALUATIONS, PUBLISHED, PUBLISHED_EVALUATIONS
from npuc.studies.digamma.study import METHODS, plan_points, run_study
from tests.docs.pages import read_page
from tests.docs.study_digamma import STUDIED, design_rows
from tests.docs.tables import begin, end

PAGE = read_page("study-digamma")


def lines_of(name: str) -> list[str]:
    """The rows of a table of the page."""
    return PAGE.split(begin(name))[1].split(end(name))[0].splitlines()[2:]


@pytest.mark.parametrize("budget", PUBLISHED)
def test_a_network_is_as_in_the_table(budget: str) -> None:
    """Of the smallest one, whose searches take seconds."""
    pytest.importorskip("cmaes")
    points = plan_points(("inference",), ["ncf"], None, EVALUATIONS, None)
    found = run_study("inference", points, lambda name, count: None, 1, None)
    (row,) = list(design_rows(found, budget))[2:]
    assert row in lines_of(f"inference {budget}"), "run: python -m tests.docs.study_digamma"


def test_gains_that_shrink_are_those_of_their_cycles() -> None:
    """Those of the first number of designs are of the table of all networks."""
    text = PAGE.partition("These gains shrink with more designs")[2]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    counts, gains = [row[0] for row in rows[2:4]], [float(row[3]) for row in rows[2:4]]
    assert counts == [f"{EVALUATIONS:,}", f"{4 * EVALUATIONS:,}"]
    (known,) = (line.split("|")[1:-1] for line in lines_of("inference edge") if line.startswith("| resnet18 "))
    cycles = dict(zip(METHODS, (cell.strip() for cell in known[1:]), strict=False))
    others, ours = [row[1].partition(" (") for row in rows[2:4]], [row[2] for row in rows[2:4]]
    method = others[0][2].removesuffix(")")
    assert (cycles[method], cycles[METHODS[-1]], known[-2].strip()) == (others[0][0], ours[0], rows[2][3])
    assert method == min(METHODS[:-1], key=lambda one: float(cycles[one]))
    for other, own, gain in zip(others, ours, gains, strict=True):
        assert gain == pytest.approx(float(other[0]) / float(own), rel=0.01)
    assert f"falls from {gains[0]} to {gains[1]}" in " ".join(text.split())


def test_gains_are_the_means_of_the_tables() -> None:
    published, *ours = lines_of("gains")
    assert f"{PUBLISHED_EVALUATIONS:,} | {PUBLISHED['edge']:.1f} | {PUBLISHED['cloud']:.1f}" in published
    for line, (step, networks) in zip(ours, STUDIED.items(), strict=True):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        assert cells[:3] == [f"ours, {step}", str(len(networks)), f"{EVALUATIONS:,}"]
        for mean, budget in zip(cells[3:], ("edge", "cloud"), strict=True):
            rows = [line.split("|")[1:-1] for line in lines_of(f"{step} {budget}")]
            assert [row[0].strip() for row in rows] == list(networks)
            product = 1.0
            for row in rows:
                *others, best = (float(cell) for cell in row[1 : 1 + len(METHODS)])
                gain = float(row[1 + len(METHODS)])
                assert gain == pytest.approx(min(others) / best, rel=0.01)
                product *= gain
            assert float(mean) == pytest.approx(product ** (1 / len(networks)), rel=0.01)
