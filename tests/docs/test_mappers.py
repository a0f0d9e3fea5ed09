"""The comparison of mappers on the page of `npuc map` is what they find, and what the page says about it holds."""

import pytest

from tests.docs.mappers import BUDGETS, LAYERS, MAPPERS, SEEDS, layer_row
from tests.docs.pages import read_page
from tests.docs.tables import begin, end


def rows(table: str) -> list[list[str]]:
    """The cells of a table's rows."""
    text = read_page("map").split(begin(table))[1].split(end(table))[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines()[2:]]


@pytest.mark.slow
def test_a_contraction_is_as_in_the_table() -> None:
    """The one that takes the least time."""
    assert [cell.strip() for cell in layer_row(("scores", "forward")).strip("|").split("|")] in rows("layers"), (
        "run: python -m tests.docs.mappers"
    )


def test_claims_about_mappers() -> None:
    """At equal evaluations `genetic` beats `random` on four of five pairs, and is close to the best times."""
    pairs = len(LAYERS) * len(SEEDS)
    found = {(objective, mapper, budget): cells for objective, mapper, budget, *cells in rows("objectives")}
    assert len(found) == 3 * len(MAPPERS) * len(BUDGETS)
    for (objective, mapper, budget), (geometric, largest, close, better) in found.items():
        if mapper == "random":
            continue
        more, equal = map(int, better.split(" + "))
        assert more + equal >= pairs - 1
        assert objective == "energy" or budget != f"{BUDGETS[0]:,}" or more >= 0.8 * pairs
        assert float(geometric) <= float(found[objective, "random", budget][0])
        if objective != "edp":
            assert (int(close), float(largest) <= 2) == (pairs, True)
    assert sum(cost.endswith("*") for _, cost, *_ in rows("layers")) == 10
