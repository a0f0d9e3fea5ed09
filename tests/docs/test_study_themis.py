"""The page of the study of collectives in chunks: its tables are those of a run."""

from npuc.studies.themis.study import run_study
from tests.docs.pages import read_page
from tests.docs.study_themis import tables
from tests.docs.tables import begin, end

PAGE = read_page("study-themis")


def test_tables_are_up_to_date() -> None:
    study = run_study()
    for name, rows in tables(study).items():
        shown = PAGE.split(begin(name))[1].split(end(name))[0].splitlines()
        assert list(rows) == shown, "run: python -m tests.docs.study_themis"
    judged = [row for row in study.rows if row.reproduced is not None]
    assert f"{sum(bool(row.reproduced) for row in judged)} of {len(judged)} of the paper's figures" in PAGE


def test_what_is_not_reproduced_is_named() -> None:
    missed = [row for row in run_study().rows if row.reproduced is False]
    assert all("chunks" in row.setting or "mean speed-up of a step" in row.claim for row in missed)
    assert not any("64 chunks" in row.setting for row in missed)
