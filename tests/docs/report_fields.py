"""
The tables of docs/report.md that list the keys of a report, between markers.

    python -m tests.docs.report_fields          writes them anew
"""

from collections.abc import Iterator

from npuc.compiler.reference.report import field_rows
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

PAGE = FOLDER / "report.md"
TABLES = {
    "report keys": "",
    "totals keys": "totals",
    "memory keys": "memory",
    "row keys": "ops",
    "schedule keys": "ops.schedule",
    "certificate keys": "certificates",
}
"""The tables by the names of their markers, each with the path of what it lists."""


def rows(path: str) -> Iterator[str]:
    """A row a key."""
    yield "| field | meaning |"
    yield "|---|---|"
    for name, meaning in field_rows(path):
        cell = meaning.replace("|", "\\|")
        yield f"| `{name}` | {cell} |"


def with_fields(text: str) -> str:
    """The page with its tables made anew."""
    return filled(text, {name: rows(path) for name, path in TABLES.items()})


if __name__ == "__main__":
    PAGE.write_text(with_fields(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
