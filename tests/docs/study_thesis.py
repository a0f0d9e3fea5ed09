"""
The tables and figures of docs/study-thesis.md: the study as it runs, between markers.

    python -m tests.docs.study_thesis            runs it under all conventions, some minutes, and writes them anew
    python -m tests.docs.study_thesis figures    also draws the figures, another minute
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from npuc.studies.thesis.claims import ClaimRow
from npuc.studies.thesis.figures import FIGURES, draw, figure_points
from npuc.studies.thesis.settings import Value
from npuc.studies.thesis.study import ThesisPlan, ThesisResults, plan_study, run_study
from npuc.studies.thesis.view import GAIN_HEADS, gain_lines, published_text, tolerance_text, value_text
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

Studies = Mapping[str, ThesisResults]
"""The study by the name of its conventions."""
PLANS: Mapping[str, Callable[[], ThesisPlan]] = {
    "`thesis`": lambda: plan_study("thesis"),
    "order `dfs`": lambda: plan_study("thesis", overrides={"roofline.order": "dfs"}),
    "2 ops a MAC": lambda: plan_study("thesis", overrides={"compute.ops_per_mac": 2}),
    "`retain`": lambda: plan_study("retain"),
    "`networks`": lambda: plan_study("networks"),
    "`default`": lambda: plan_study("default"),
}
"""The conventions of the second table; those of the first come first."""
PICTURES = FOLDER / "figures"
REPRODUCED: Mapping[bool | None, str] = {True: "yes", False: "**no**", None: "not judged"}


def claim_rows(studies: Studies) -> Iterator[str]:
    """The claims under the preset `thesis`."""
    yield "| | claim | section | published | ours | within | reproduced |"
    yield "|---|---|---|--:|--:|--:|---|"
    for row in next(iter(studies.values())).rows:
        _, _, claim = row.claim.partition(" ")
        section = row.setting.partition("section ")[2]
        cells = [
            claim,
            section,
            _cell(row, row.published) or published_text(row),
            _cell(row, row.ours),
            tolerance_text(row),
        ]
        yield f"| {row.id} | {' | '.join(cells)} | {REPRODUCED[row.reproduced]} |"


def _cell(row: ClaimRow, value: Value | None) -> str:
    text = "<br>".join(value_text(value).split("; "))
    if isinstance(value, Mapping):
        return f"{row.unit}<br>{text}" if row.unit else text
    return "" if value is None else f"{text} {row.unit}".strip()


def gains_rows(studies: Studies) -> Iterator[str]:
    """What each idea gains, under the preset `thesis`."""
    study = next(iter(studies.values()))
    yield f"| network | {' | '.join(GAIN_HEADS)} |"
    yield f"|---|---|---|{'--:|' * (len(GAIN_HEADS) - 2)}"
    for network in study.networks:
        for number, cells in enumerate(gain_lines(study.gains, network.command)):
            yield f"| {'' if number else network.name} | {' | '.join(cells)} |"


def convention_rows(studies: Studies) -> Iterator[str]:
    """Ours under all conventions."""
    yield f"| | published | {' | '.join(studies)} |"
    yield f"|---|{'--:|' * (1 + len(studies))}"
    for number, row in enumerate(next(iter(studies.values())).rows):
        if row.published is not None and not isinstance(row.published, Mapping) and row.id not in ("P09", "P13"):
            cells = [convention_cell(study.rows[number]) for study in studies.values()]
            yield f"| {row.id} | {value_text(row.published)} | {' | '.join(cells)} |"


def convention_cell(row: ClaimRow) -> str:
    """Our value; bold where it is not what the study has."""
    return value_text(row.ours) if row.reproduced else f"**{value_text(row.ours)}**"


Rows = Callable[[Studies], Iterator[str]]
TABLES: Mapping[str, Rows] = {"claims": claim_rows, "gains": gains_rows, "conventions": convention_rows}


def with_tables(text: str, studies: Studies) -> str:
    """The page with its tables made anew."""
    return filled(text, {name: rows(studies) for name, rows in TABLES.items()})


def main(arguments: Sequence[str]) -> None:
    """Write the page's tables, and its figures when these are asked for."""
    page = FOLDER / "study-thesis.md"
    first, *others = PLANS
    studies = {first: run_study(PLANS[first]())}
    for name in others:  # the second table has neither other batches nor other caches
        plan = PLANS[name]()
        needed = tuple(point for point in plan.points if point.batch is None and not point.keys)
        studies[name] = run_study(replace(plan, points=needed))
    page.write_text(with_tables(page.read_text(encoding="utf-8"), studies), encoding="utf-8")
    if "figures" in arguments:
        plan = plan_study()
        study = run_study(plan, figure_points(list(FIGURES), plan.networks))
        PICTURES.mkdir(exist_ok=True)
        for number in FIGURES:
            (PICTURES / f"thesis-{number}.svg").write_bytes(draw(study, [number], "svg"))


if __name__ == "__main__":
    main(sys.argv[1:])
