"""Where `--table` writes the tables of a verb, and as what."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from npuc.compiler.cli.shared import check_target, write_result
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.frozen import frozen

if TYPE_CHECKING:
    from rich.console import Console

Form = Literal["latex", "markdown"]
FORMS: dict[str, Form] = {"latex": "latex", "markdown": "markdown"}
SUFFIXES: dict[str, Form] = {".tex": "latex", ".md": "markdown"}


@frozen
class TableTarget:
    """Where tables go (`-`: standard output), and as what."""

    path: str
    form: Form

    def write(self, show: Callable[[Console], object]) -> None:
        """Write the tables that `show` prints. Raises `UsageError` where there are none."""
        from npuc.compiler.report.text.exported import tables_of, to_latex, to_markdown

        tables = [table for table in tables_of(show) if table.grid]
        if not tables:
            raise UsageError("--table: the result has no table", hint="leave it out")
        write_result(self.path, to_latex(tables) if self.form == "latex" else to_markdown(tables))


def table_target(asked: str | None) -> TableTarget | None:
    """What `--table` asks for. Raises `UsageError` for a name of no kind, and for a file that cannot be written."""
    if asked is None:
        return None
    if asked in FORMS:
        return TableTarget("-", FORMS[asked])
    form: Form | None = next((form for suffix, form in SUFFIXES.items() if asked.lower().endswith(suffix)), None)
    if form is None:
        raise UsageError(f"--table {asked}: cannot tell the kind of table", hint=_hint(asked))
    check_target(asked)
    return TableTarget(asked, form)


def _hint(asked: str) -> str | None:
    if asked == "-":
        return "--table latex or --table markdown write to standard output"
    return did_you_mean(asked, [*FORMS]) if asked.isalpha() else "a name ending in .tex or .md, or latex or markdown"


def on_stdout(target: TableTarget | None) -> str | None:
    """The path of tables, for what checks that one result alone goes to standard output."""
    return None if target is None else target.path
