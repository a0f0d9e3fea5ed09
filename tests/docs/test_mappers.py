"""The comparison of mappers on the page of `npuc map` is what they find, and what the page says about it holds."""

import re

import pytest

from tests.docs.mappers import BUDGETS, COLUMNS, HELD, LAYERS, TUNED, Trial, layer_row
from tests.docs.pages import read_page
from tests.docs.tables import begin, end


def rows(table: str) -> list[list[str]]:
    """The cells of a table's rows."""
    text = read_page("map").split(begin(table))[1].split(end(table))[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines()[2:]]


@pytest.mark.heavy
def test_a_contraction_is_as_in_the_table() -> None:
    """The one that takes the least time."""
    assert [cell.strip() for cell in layer_row(LAYERS[10]).strip("|").split("|")] in rows("layers"), (
        "run: python -m tests.docs.mappers"
    )


@pytest.mark.parametrize("trial", [TUNED, HELD], ids=["tuned", "held out"])
def test_claims_about_mappers(trial: Trial) -> None:
    """At equal evaluations `genetic` beats `random` on most pairs, and is close to the best times and energies."""
    pairs = len(trial.layers) * len(trial.seeds)
    found = {(objective, mapper, budget): cells for objective, mapper, budget, *cells in rows(trial.table)}
    assert len(found) == 3 * len(COLUMNS)
    for (objective, mapper, budget), (geometric, largest, *counted, close, better) in found.items():
        if mapper != "genetic":
            continue
        more, equal, *proved = map(int, re.findall(r"\d+", better))
        assert len(proved) == (objective == "time")
        if proved and (trial is HELD) == (budget == f"{BUDGETS[0]:,}"):
            assert proved == [equal], "the page says that nothing more can be won"
        assert more + equal >= (pairs - 1 if trial is TUNED else pairs)
        assert objective == "energy" or budget != f"{BUDGETS[0]:,}" or more >= 0.7 * pairs
        assert float(geometric) <= float(found[objective, "random", budget][0]) / 5
        assert [cell for cell in counted if float(cell)] == []
        if objective != "edp" and trial is TUNED:
            assert (int(close), float(largest) <= 2) == (pairs, True)
        if budget == f"{BUDGETS[1]:,}":
            assert int(close) >= 0.9 * pairs


def test_times_that_are_proved() -> None:
    assert sum(cost.endswith("*") for _, cost, *_ in rows("layers")) == 10
