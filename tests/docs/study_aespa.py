"""
The tables and the picture of docs/study-aespa.md: the study as it runs, between markers.

    python -m tests.docs.study_aespa            runs it, some seconds, and writes them anew
"""

from collections.abc import Iterator, Mapping

from npuc.studies.aespa.plot import draw
from npuc.studies.aespa.study import AespaResults, machine_named, run_study
from npuc.studies.aespa.view import kernel_lines, number_text
from tests.docs.pages import FOLDER
from tests.docs.tables import filled


def results() -> AespaResults:
    """The study of all products."""
    return run_study("all", *machine_named(None), lambda name, count: None)


def kernel_rows(study: AespaResults) -> Iterator[str]:
    """A row a product."""
    head, *lines = kernel_lines(study.rows)
    yield f"| {' | '.join(cell.replace(chr(10), ' ') for cell in head)} |"
    yield "|---|--:|--:|--:|--:|---|--:|--:|--:|---|"
    for cells in lines:
        yield f"| `{cells[0]}` | {' | '.join(cells[1:])} |"


def mean_rows(study: AespaResults) -> Iterator[str]:
    """A row a mean."""
    yield "| gain | of | published | ours | without one |"
    yield "|---|---|--:|--:|--:|"
    for one in study.means:
        known = "" if one.published is None else f"{one.published:g}"
        span = "" if one.least == one.most else f"{number_text(one.least)} to {number_text(one.most)}"
        yield f"| {one.claim} | {one.setting} | {known} | {number_text(one.ours)} | {span} |"


def tables(study: AespaResults) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    return {"rows": kernel_rows(study), "means": mean_rows(study)}


def main() -> None:
    """Write the page's tables and its picture."""
    page, study = FOLDER / "study-aespa.md", results()
    page.write_text(filled(page.read_text(encoding="utf-8"), tables(study)), encoding="utf-8")
    (FOLDER / "figures" / "study-aespa.svg").write_bytes(draw(study, "svg"))


if __name__ == "__main__":
    main()
