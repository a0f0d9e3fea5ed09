"""
The tables of docs/study-congestion.md: the study as it runs, between markers.

    python -m tests.docs.study_congestion            runs it, half a minute, and writes them anew
    python -m tests.docs.study_congestion 1024       those of 1,024 hosts, some minutes
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from npuc.studies.congestion.settings import SOURCES, CongestionSetup, setup
from npuc.studies.congestion.study import CongestionResults, run_study
from npuc.studies.congestion.view import collective_lines, pattern_lines
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

REPRODUCED: Mapping[bool | None, str] = {True: "yes", False: "**no**", None: ""}


def table(lines: Iterable[Sequence[str]], left: int) -> Iterator[str]:
    """Lines as a table, of which so many columns are text."""
    head, *rows = lines
    yield f"| {' | '.join(cell.replace(chr(10), ' ') for cell in head)} |"
    yield f"|{'---|' * left}{'--:|' * (len(head) - left)}"
    for cells in rows:
        yield f"| {' | '.join(cells)} |"


def claim_rows(study: CongestionResults) -> Iterator[str]:
    """A row a claim."""
    yield "| claim | setting | published | ours | bound | holds |"
    yield "|---|---|---|--:|---|---|"
    for row in study.rows:
        bound = "" if row.bound is None else f"{row.verdict} {row.bound:g}"
        ours = "0" if abs(row.ours) < 1e-6 else f"{row.ours:.3g}"
        yield f"| {row.claim} | {row.setting} | {row.published} | {ours} | {bound} | {REPRODUCED[row.reproduced]} |"


def constant_rows(chosen: CongestionSetup) -> Iterator[str]:
    """A row a constant."""
    yield "| key | value | meaning | source |"
    yield "|---|--:|---|---|"
    for key, value in chosen.values().items():
        meaning, source = SOURCES[key]
        shown = f"{value:d}" if isinstance(value, int) else f"{value:.6g}"
        yield f"| `{key}` | {shown} | {meaning} | {source} |"


def tables(study: CongestionResults) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    return {
        "collectives": table(collective_lines(study), 2),
        "patterns": table(pattern_lines(study), 1),
        "rows": claim_rows(study),
        "constants": constant_rows(study.setup),
    }


LARGE = "1024"


def large_tables(study: CongestionResults) -> Mapping[str, Iterator[str]]:
    """The tables of 1,024 hosts by name."""
    return {
        f"collectives-{LARGE}": table(collective_lines(study), 2),
        f"patterns-{LARGE}": table(pattern_lines(study), 1),
    }


def main() -> None:
    """Write the page's tables."""
    page, large = FOLDER / "study-congestion.md", sys.argv[1:] == [LARGE]
    study = run_study(setup(LARGE if large else "64", {}))
    made = large_tables(study) if large else tables(study)
    page.write_text(filled(page.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
