"""
The tables of docs/study-themis.md: the study as it runs, between markers.

    python -m tests.docs.study_themis            runs it, a few seconds, and writes them anew
"""

from collections.abc import Iterator, Mapping, Sequence

from npuc.studies.themis.study import ThemisResults, run_study
from npuc.studies.themis.view import program_lines, topology_lines
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

REPRODUCED: Mapping[bool | None, str] = {True: "yes", False: "**no**", None: "not judged"}


def topology_rows(study: ThemisResults) -> Iterator[str]:
    """A row a network: use, speed-up, and what is over the lower bound, by policy."""
    return _grid(topology_lines(study), words=1)


def program_rows(study: ThemisResults) -> Iterator[str]:
    """A row a step of npuc's programs: work, collectives by two policies, speed-up."""
    return _grid(program_lines(study), words=2)


def _grid(lines: Iterator[Sequence[str]], words: int) -> Iterator[str]:
    """A table whose first columns are words, the others numbers."""
    head, *rest = lines
    yield f"| {' | '.join(cell.replace(chr(10), ' ') for cell in head)} |"
    yield f"|{'---|' * words}{'--:|' * (len(head) - words)}"
    for cells in rest:
        yield f"| {' | '.join(cells)} |"


def claim_rows(study: ThemisResults) -> Iterator[str]:
    """A row a figure."""
    yield "| claim | setting | published | ours | within | reproduced |"
    yield "|---|---|--:|--:|--:|---|"
    for row in study.rows:
        published = "" if row.published is None else f"{row.published:g}"
        within = "" if row.tolerance is None else f"{row.tolerance:g}"
        judged = "" if row.published is None else REPRODUCED[row.reproduced]
        yield f"| {row.claim} | {row.setting} | {published} | {row.ours:.4g} | {within} | {judged} |"


def tables(study: ThemisResults) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    return {"topologies": topology_rows(study), "rows": claim_rows(study), "programs": program_rows(study)}


def main() -> None:
    """Write the page's tables."""
    page = FOLDER / "study-themis.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), tables(run_study())), encoding="utf-8")


if __name__ == "__main__":
    main()
