"""
The table and the picture of docs/study-sparsity.md: the study as it runs, between markers.

    python -m tests.docs.study_sparsity            runs it, a minute, and writes them anew
"""

from collections.abc import Iterator, Mapping

from npuc.studies.sparsity.plot import draw
from npuc.studies.sparsity.settings import DEFINES, MACHINE, NETWORK, SKIPPING
from npuc.studies.sparsity.study import SparsityResults, run_study
from npuc.studies.sparsity.view import HEADS, cells
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

COLUMNS = (0, 1, 2, 3, 4, 7, 8, 9)
"""Those of the table without energies."""


def results() -> SparsityResults:
    """The study of its own network."""
    return run_study(NETWORK, DEFINES, MACHINE, SKIPPING, lambda name, count: None)


def tables(study: SparsityResults) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    return {"rows": _rows(study)}


def _rows(study: SparsityResults) -> Iterator[str]:
    yield f"| {' | '.join(HEADS[n].replace(chr(10), ' ') for n in COLUMNS)} |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for row in cells(study.rows):
        yield f"| {' | '.join(row[n] for n in COLUMNS)} |"


def main() -> None:
    """Write the page's table and its picture."""
    page, study = FOLDER / "study-sparsity.md", results()
    page.write_text(filled(page.read_text(encoding="utf-8"), tables(study)), encoding="utf-8")
    (FOLDER / "figures" / "study-sparsity.svg").write_bytes(draw(study, "svg"))


if __name__ == "__main__":
    main()
