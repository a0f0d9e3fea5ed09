"""The page of the study of bandwidth over levels: its tables are those of a run."""

import pytest

from npuc.studies.libra.settings import PROGRAMS
from npuc.studies.libra.study import run_study
from tests.docs.pages import read_page
from tests.docs.study_libra import tables
from tests.docs.tables import begin, end

PAGE = read_page("study-libra")


@pytest.mark.long
def test_tables_are_up_to_date() -> None:
    for name, rows in tables(run_study("both", PROGRAMS)).items():
        shown = PAGE.split(begin(name))[1].split(end(name))[0].splitlines()
        assert list(rows) == shown, "run: python -m tests.docs.study_libra"
