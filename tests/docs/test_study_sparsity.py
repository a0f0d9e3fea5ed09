"""The page of the study of sparse operands: its table is that of a run, and says what the page says."""

import pytest

from npuc.studies.sparsity.settings import cases
from tests.docs.pages import read_page
from tests.docs.study_sparsity import results, tables
from tests.docs.tables import begin, end

PAGE = read_page("study-sparsity")


def lines_of(name: str) -> list[str]:
    """The lines of a table of the page."""
    return PAGE.split(begin(name))[1].split(end(name))[0].strip().splitlines()


@pytest.mark.long
def test_tables_are_up_to_date() -> None:
    for name, rows in tables(results()).items():
        assert [*rows] == lines_of(name), "run: python -m tests.docs.study_sparsity"


def test_a_row_each_and_what_is_said_of_them() -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines_of("rows")[2:]]
    assert [row[1] for row in rows] == [case.method for case in cases()]
    done = {(row[0], row[1]): float(row[6]) for row in rows}
    assert done["tpu-v4", "2:4"] == pytest.approx(5 / 6, abs=0.01)
    assert done["tpu-v4", "2:4 transposable"] == pytest.approx(2 / 3, abs=0.01)
    gains = [float(row[4]) for row in rows if row[0] == "procrustes"]
    assert gains == sorted(gains)
