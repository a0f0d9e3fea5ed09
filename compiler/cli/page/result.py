"""Pages of results that are rows: of a sweep, of mappings, of a study, of a check, of a difference."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.compiler.cli.page.command import shown_command
from npuc.compiler.report.page.model import Bars, Picture, Section, Table, TableColumn, Treemap
from npuc.compiler.report.page.result import (
    ROWS,
    TRAFFIC,
    named_by,
    result_page,
    scatter_of,
    table_of_csv,
    text_section,
    with_traffic,
)
from npuc.compiler.report.page.write import html_page, in_base64

if TYPE_CHECKING:
    from rich.console import Console

    from npuc.compiler.report.difference.result import Difference

WIDTH = 160
"""The letters of a line of text."""
MOST_CHARTS = 4


@dataclass(frozen=True)
class Printed:
    """What is shown on a terminal, as text without colours, and the verdict, which the head of a page has."""

    text: str
    verdict: str


def printed(show: Callable[[Console], object]) -> Printed:
    """What `show` prints."""
    from rich.console import Console

    text, verdicts = io.StringIO(), list[str]()

    class Told(Console):
        def keep_line(self, label: str, text: str) -> bool:
            if label == "verdict":
                verdicts.append(text)
            return label == "verdict"

    show(Told(file=text, width=WIDTH, highlight=False, color_system=None))
    return Printed(text.getvalue(), " ".join(verdicts))


def page_of(title: str, subtitle: str, sections: Sequence[Section | None], verdict: str = "") -> str:
    """The file of a page of those sections that there are."""
    return html_page(result_page(title, subtitle, _made(), [one for one in sections if one is not None], verdict))


def sweep_html(title: str, told: Printed, csv: str, keys: Sequence[str]) -> str:
    """The page of the points of a sweep over keys."""
    table = with_traffic(table_of_csv(csv, "Points", first=keys))
    charts = [
        scatter_of(table, keys[0], TRAFFIC, "seconds", title="Time over traffic", colour=keys[0]),
        *(scatter_of(table, key, key, "seconds", title=f"Time over {key}", colour=keys[0]) for key in keys),
        scatter_of(table, keys[0], "seconds", "energy_j", title="Energy over time", colour=keys[0]),
    ]
    found = [chart for chart in charts if chart is not None][:MOST_CHARTS]
    return page_of(title, "sweep", [text_section(told.text), *found, table], told.verdict)


def map_html(title: str, told: Printed, csv: str) -> str:
    """The page of the best mappings."""
    table = named_by(table_of_csv(csv, "Contractions", hidden=("curve", "contraction")), "layer", "phase")
    names = {column.name for column in table.columns}
    bars = Bars(title="Cycles", table=ROWS, label="layer phase", parts=["cycles"]) if "cycles" in names else None
    tree = Treemap(title="Where cycles go", table=ROWS, label="layer", measures=["cycles", "macs"], colour="phase")
    return page_of(title, "map", [text_section(told.text), bars, tree, table], told.verdict)


def study_html(name: str, told: Printed, csv: str, drawings: Sequence[bytes]) -> str:
    """The page of a study, with its figures."""
    pictures = [
        Picture(title=f"Figure {number}", svg=in_base64(svg), about=f"figure {number} of the study {name}")
        for number, svg in enumerate(drawings, 1)
    ]
    sections = [text_section(told.text), *pictures, table_of_csv(csv, "Rows")]
    return page_of(f"The study {name}", "study", sections, told.verdict)


def difference_html(difference: Difference) -> str:
    """The page of the difference of two steps."""
    from npuc.compiler.report.page.difference import difference_page

    return html_page(difference_page(difference, _made()))


def check_html(title: str, conclusion: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The page of a check: what was compared, and how that ended."""
    columns = [
        TableColumn(name=head.lower(), title=head, values=[row[place] for row in rows])
        for place, head in enumerate(heads)
    ]
    return page_of(title, conclusion, [Table(name=ROWS, title="Comparisons", columns=columns)])


def _made() -> str:
    """What made a page: the version and the command."""
    from npuc.compiler.driver.score import version

    return f"npuc {version()}: {shown_command()}"
