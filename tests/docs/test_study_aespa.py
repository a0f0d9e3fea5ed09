"""The page of the study of machines of several kinds of units: its tables are those of a run."""

from tests.docs.pages import read_page
from tests.docs.study_aespa import results, tables
from tests.docs.tables import begin, end

PAGE = read_page("study-aespa")


def test_tables_are_up_to_date() -> None:
    for name, rows in tables(results()).items():
        shown = PAGE.split(begin(name))[1].split(end(name))[0].splitlines()
        assert list(rows) == shown, "run: python -m tests.docs.study_aespa"
