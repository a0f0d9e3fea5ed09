"""The page of the study of congestion control: its tables are those of a run."""

import pytest

from npuc.compiler.analysis.interconnect.fluid.routes import Routing
from npuc.studies.congestion.settings import setup
from npuc.studies.congestion.study import collective_time, run_study
from npuc.studies.congestion.view import collective_line
from tests.docs.pages import read_page
from tests.docs.study_congestion import LARGE, constant_rows, tables
from tests.docs.tables import begin, end

PAGE = read_page("study-congestion")


def lines_of(name: str) -> list[str]:
    """A table of the page."""
    return PAGE.split(begin(name))[1].split(end(name))[0].splitlines()


@pytest.mark.long
def test_tables_are_up_to_date() -> None:
    study = run_study(setup("64", {}))
    for name, rows in tables(study).items():
        assert list(rows) == lines_of(name), "run: python -m tests.docs.study_congestion"
    judged = [row for row in study.rows if row.reproduced is not None]
    assert f"{sum(bool(row.reproduced) for row in judged)} of {len(judged)} claims hold" in PAGE
    assert max(one.step_error for one in study.patterns) < 1


@pytest.mark.slow
@pytest.mark.parametrize("routing", ["destination", pytest.param("hash", marks=pytest.mark.heavy)])
def test_halving_and_doubling_of_1024_hosts_is_up_to_date(routing: Routing) -> None:
    """The rows of the large preset that take seconds and not minutes."""
    chosen = setup(LARGE, {})
    cells = collective_line([collective_time(chosen, "halving-doubling", routing, law) for law in chosen.laws])
    lines = lines_of(f"collectives-{LARGE}")
    assert f"| {' | '.join(cells)} |" in lines, f"run: python -m tests.docs.study_congestion {LARGE}"


def test_constants_are_up_to_date() -> None:
    assert [*constant_rows(setup("64", {}))] == lines_of("constants")
