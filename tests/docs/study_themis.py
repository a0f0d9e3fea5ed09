"""
The tables of docs/study-themis.md: the study as it runs, between markers.

    python -m tests.docs.study_themis            runs it, a second, and writes them anew
"""

from collections.abc import Iterator, Mapping

from npuc.studies.themis.study import ThemisResults, run_study
from npuc.studies.themis.view import topology_lines
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

REPRODUCED: Mapping[bool | None, str] = {True: "yes", False: "**no**", None: "not judged"}


def topology_rows(study: ThemisResults) -> Iterator[str]:
    """A row a network: use, speed-up, and what is over the lower bound, by policy."""
    head, *lines = topology_lines(study)
    yield f"| {' | '.join(cell.replace(chr(10), ' ') for cell in head)} |"
    yield f"|---|{'--:|' * (len(head) - 1)}"
    for cells in lines:
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
    return {"topologies": topology_rows(study), "rows": claim_rows(study)}


def main() -> None:
    """Write the page's tables."""
    page = FOLDER / "study-themis.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), tables(run_study())), encoding="utf-8")


if __name__ == "__main__":
    main()
