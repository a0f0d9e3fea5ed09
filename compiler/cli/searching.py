"""What the verbs that search mappings have in common: `map`, `design`, `flexibility`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from npuc.compiler.cli.groups import Group
from npuc.compiler.cli.options import Output
from npuc.compiler.cli.plot.target import PictureTarget, picture_target
from npuc.compiler.cli.shared import check_target, whole, write_result
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.verbs.tables import TableTarget, on_stdout, table_target
from npuc.compiler.core import interrupts
from npuc.compiler.core.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.analysis.mapping.constraints.rules import MapRules
    from npuc.compiler.core.options import Say

BACKEND = "maestro"
TILES = ("divisors", "any")
MOST_LEVELS = 3


@dataclass(frozen=True)
class Searching(Group):
    """How mappings are searched."""

    title: ClassVar[str] = "Search"

    budget: Annotated[int, typer.Option("--budget", metavar="N", parser=whole(), help="Mappings to try.")] = 10_000
    seed: Annotated[int, typer.Option("--seed", metavar="N", parser=whole(), help="Seed of the random numbers.")] = 0
    levels: Annotated[
        int, typer.Option("--levels", metavar="N", parser=whole(), help="Levels of a mapping, 1 to 3.")
    ] = 2
    tiles: Annotated[
        str,
        typer.Option("--tiles", metavar="|".join(TILES), help="Tile sizes to try: divisors of a dimension, or any."),
    ] = "divisors"

    constraints: Annotated[
        str | None,
        typer.Option(
            "--constraints",
            metavar="NAME|FILE.toml",
            help="Constraints that mappings meet, beside the machine's (npuc list constraints).",
        ),
    ] = None

    def check(self) -> None:
        """Raise `UsageError` for a value that no search has."""
        chosen("--tiles", self.tiles, TILES)
        check_count("--budget", self.budget, 1)
        check_count("--seed", self.seed, 0)
        check_count("--levels", self.levels, 1, MOST_LEVELS)

    def rules(self) -> MapRules:
        """The constraints that were asked for. Raises `UsageError`."""
        from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES
        from npuc.hardware import load_constraints

        return NO_RULES if self.constraints is None else load_constraints(self.constraints)


@dataclass(frozen=True)
class LongSearching(Searching):
    """How mappings are searched, by how many processes, and where a search goes on."""

    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="FILE", help="Keep the search's progress in FILE, and go on from there."),
    ] = None
    jobs: Annotated[
        int, typer.Option("-j", "--jobs", metavar="N", parser=whole(1), help="Number of worker processes.")
    ] = 1

    def check(self) -> None:
        """Raise `UsageError`, too, for a record that cannot be written."""
        super().check()
        if self.resume == "-":
            raise UsageError("--resume -: a record needs a file", hint="give it a name")
        check_target(self.resume)

    def last(self, interrupt: KeyboardInterrupt, evaluations: int) -> BaseException:
        """What ends an interrupted search of so many mappings, whose result has been written."""
        found = interrupts.WithResult(interrupt)
        further = "--resume FILE would go on" if self.resume is None else "the same command goes on"
        found.add_note(f"the result is the best of {evaluations:,} mappings; {further}")
        return found

    def tell(self, say: Say, count: int, before: int, seconds: float, what: str = "") -> None:
        """Say how many mappings were tried, of which a record had some before."""
        if before:
            say(f"'{self.resume}' had {before:,} mappings and was continued")
        own = count - before
        say(f"{own:,} mappings{what} in {seconds:.1f} s, {own / max(seconds, 1e-9):,.0f} a second")


def chosen(option: str, value: str, known: Sequence[str]) -> str:
    """A value that is one of some words. Raises `UsageError`."""
    if value not in known:
        text = f"{option} {value}: expected {', '.join(known[:-1])} or {known[-1]}"
        raise UsageError(text, hint=did_you_mean(value, known))
    return value


def check_count(option: str, value: int, least: int, most: int | None = None) -> None:
    """Raise `UsageError` for a number out of its range."""
    if value < least or (most is not None and value > most):
        raise UsageError(f"{option} {value}: expected {least} {'or more' if most is None else f'to {most}'}")


def check_area(area_mm2: float | None) -> None:
    """Raise `UsageError` for an area of machines that no chip has."""
    from npuc.compiler.explore.design.budget import RETICLE_MM2

    if area_mm2 is not None and area_mm2 <= 0:
        raise UsageError(f"--area-mm2 {area_mm2:g}: expected more than 0")
    if area_mm2 is not None and area_mm2 > RETICLE_MM2:
        raise UsageError(
            f"--area-mm2 {area_mm2:g}: expected at most {RETICLE_MM2:g}",
            hint="no chip is larger than the 26 mm x 33 mm that a mask exposes at once",
        )


def all_rows(rows: str | None) -> bool:
    """Whether `--rows` asks for all rows of the table. Raises `UsageError` for another word."""
    if rows not in (None, "folded", "all"):
        raise UsageError(f"--rows {rows}: expected folded or all")
    return rows == "all"


@dataclass(frozen=True)
class SearchTargets:
    """
    Where results go: `-` is standard output, None nowhere. `output` is what the verb's -o writes, `html` a page.

    `shows`: whether standard output is free for the table.
    """

    json: str | None
    csv: str | None
    output: str | None
    picture: PictureTarget | None
    shows: bool
    html: str | None = None
    table: TableTarget | None = None


def search_targets(
    asked: Output, statistics: str | None, *, takes_table: bool = False, **more: str | None
) -> SearchTargets:
    """
    Where results go; `more` are those that not all of these verbs have, by the names of their options, and of tables
    `takes_table` says whether the verb writes them.

    Raises `UsageError` before any work is done.
    """
    table = table_target(asked.table)
    tables = {"table": on_stdout(table)} if takes_table else {}
    shows = not check_one_on_stdout(json=asked.json, csv=asked.csv, **tables, **more, statistics_json=statistics)
    for path in (asked.json, asked.csv, asked.html, *more.values()):
        check_target(path)
    picture = picture_target(asked.plot, made_for=asked.plot_as)
    return SearchTargets(asked.json, asked.csv, asked.output, picture, shows, asked.html, table)


def write_program(path: str | None, module: ModuleOp) -> None:
    """Write a program as text, where somebody wants it."""
    if path is not None:
        from xdsl.printer import Printer

        text = io.StringIO()
        Printer(text).print_op(module)
        write_result(path, text.getvalue() + "\n")
