"""The page of the study of congestion control: its tables are those of a run."""

import pytest

from npuc.studies.congestion.settings import setup
from npuc.studies.congestion.study import run_study
from tests.docs.pages import read_page
from tests.docs.study_congestion import constant_rows, tables
from tests.docs.tables import begin, end

PAGE = read_page("study-congestion")


def lines_of(name: str) -> list[str]:
    """A table of the page."""
    return PAGE.split(begin(name))[1].split(end(name))[0].splitlines()


@pytest.mark.slow
def test_tables_are_up_to_date() -> None:
    study = run_study(setup("64", {}))
    for name, rows in tables(study).items():
        assert list(rows) == lines_of(name), "run: python -m tests.docs.study_congestion"
    judged = [row for row in study.rows if row.reproduced is not None]
    assert f"{sum(bool(row.reproduced) for row in judged)} of {len(judged)} claims hold" in PAGE
    assert max(one.step_error for one in study.patterns) < 1


def test_constants_are_up_to_date() -> None:
    assert [*constant_rows(setup("64", {}))] == lines_of("constants")
