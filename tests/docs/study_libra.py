"""
The tables and the picture of docs/study-libra.md: the study as it runs, between markers.

    python -m tests.docs.study_libra            runs it, some seconds, and writes them anew
"""

from collections.abc import Iterator, Mapping, Sequence

from npuc.studies.libra.plot import draw
from npuc.studies.libra.settings import PROGRAMS
from npuc.studies.libra.study import LibraResults, SplitRow, run_study
from npuc.studies.libra.view import split_lines
from tests.docs.pages import FOLDER
from tests.docs.tables import filled


def split_rows(rows: Sequence[SplitRow]) -> Iterator[str]:
    """A row a workload."""
    head, *lines = split_lines(rows)
    yield f"| {' | '.join(cell.replace(chr(10), ' ') for cell in head)} |"
    yield f"|---|---|{'--:|' * (len(head) - 2)}"
    for cells in lines:
        yield f"| {' | '.join(cells)} |"


def tables(study: LibraResults) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    return {"rows": split_rows(study.rows), "programs": split_rows(study.programs)}


def main() -> None:
    """Write the page's tables and its picture."""
    page, study = FOLDER / "study-libra.md", run_study("both", PROGRAMS)
    page.write_text(filled(page.read_text(encoding="utf-8"), tables(study)), encoding="utf-8")
    (FOLDER / "figures" / "study-libra.svg").write_bytes(draw(study, "svg"))


if __name__ == "__main__":
    main()
