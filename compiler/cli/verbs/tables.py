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
        from npuc.compiler.report.text.exported import grids_of, to_latex, to_markdown

        grids = [grid for grid in grids_of(show) if grid]
        if not grids:
            raise UsageError("--table: the result has no table", hint="leave it out")
        write_result(self.path, to_latex(grids) if self.form == "latex" else to_markdown(grids))


def table_target(asked: str | None) -> TableTarget | None:
    """What `--table` asks for. Raises `UsageError` for a name of no kind, and for a file that cannot be written."""
    if asked is None:
        return None
    if asked in FORMS:
        return TableTarget("-", FORMS[asked])
    form: Form | None = next((form for suffix, form in SUFFIXES.items() if asked.lower().endswith(suffix)), None)
    if form is None:
        hint = (
            did_you_mean(asked, [*FORMS]) if asked.isalpha() else "a name ending in .tex or .md, or latex or markdown"
        )
        raise UsageError(f"--table {asked}: cannot tell the kind of table", hint=hint)
    check_target(asked)
    return TableTarget(asked, form)


def on_stdout(target: TableTarget | None) -> str | None:
    """The path of tables, for what checks that one result alone goes to standard output."""
    return None if target is None else target.path
