"""The page of the roofline study: its tables are those of a run, and what it says follows from them."""

import re

import pytest

from npuc.studies.thesis.figures import FIGURES
from npuc.studies.thesis.study import plan_study, run_study
from npuc.studies.thesis.view import value_text
from tests.docs.pages import FOLDER, read_page
from tests.docs.study_thesis import PICTURES, PLANS, claim_rows, gains_rows
from tests.docs.tables import begin, end
from tests.support.shared import thesis_results

PAGE = read_page("study-thesis")
SIZE_LIMIT = 150_000


def conventions() -> dict[str, list[str]]:
    """The cells of the second table by claim."""
    lines = PAGE.split(begin("conventions"))[1].split(end("conventions"))[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.heavy
def test_claims_are_as_in_the_table() -> None:
    study = thesis_results()
    for line in claim_rows({"`thesis`": study}):
        assert line in PAGE, "run: python -m tests.docs.study_thesis"
    for line in gains_rows({"`thesis`": study}):
        assert line in PAGE, "run: python -m tests.docs.study_thesis"
    for row in study.rows:
        if row.id in conventions() and not isinstance(row.ours, dict):
            assert conventions()[row.id][1].strip("*") == value_text(row.ours)


@pytest.mark.parametrize("name", list(PLANS)[1:])
def test_other_conventions_are_as_in_the_table(name: str) -> None:
    """Of ResNet-50, whose measures take a moment."""
    plan = PLANS[name]()
    keys = {key: value for key, value in plan.keys.items() if not plan_study(plan.preset).keys.get(key) == value}
    rows = run_study(plan_study(plan.preset, ["resnet50"], overrides=keys)).rows
    column = [*PLANS].index(name) + 1
    for claim, number in (("P01", 0), ("P04", 2), ("P05", 3), ("P06", 4)):
        assert conventions()[claim][column].strip("*") == value_text(rows[number].ours)


def test_what_the_page_says_of_the_tables() -> None:
    rows = conventions()
    missed = {name: [claim for claim, cells in rows.items() if "*" in cells[n]] for n, name in enumerate(PLANS, 1)}
    assert missed["`thesis`"] == missed["order `dfs`"] == ["P14"]
    assert "P07" in missed["`networks`"]


def test_figures_are_there_and_small() -> None:
    links = re.findall(r"!\[.*?\]\((.*?)\)", PAGE)
    assert links == [f"figures/thesis-{number}.svg" for number in FIGURES]
    for link, figure in zip(links, FIGURES.values(), strict=True):
        text = (FOLDER / link).read_text(encoding="utf-8")
        assert figure.title in text
        assert len(text) < SIZE_LIMIT
    assert len(list(PICTURES.glob("thesis-*"))) == len(links)
