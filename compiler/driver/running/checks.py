"""
Checking passes from Python: `check_file` and `check_source`.

    check_file("net.dsl", load=["own.py"], pipeline="own-pass,autodiff,lower-to-npu")
"""

from __future__ import annotations

from typing import cast

from typing_extensions import Unpack

from npuc.compiler.core.arguments import argument, keywords_of
from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.frame import DataFrame, frame
from npuc.compiler.core.display.shown import Shown, table_of
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import ProgramKeywords
from npuc.compiler.driver.check import MAC_LIMIT, PassCheck, check_program
from npuc.compiler.driver.running.options import RunKeywords
from npuc.frontends.source import Source, SourceLike, open_source, text_source

NAMES = ("pass", "equal", "changed", "found")


class PassChecks(Displayed, list[PassCheck]):
    """The passes that were checked, in their order: each computes what the program computed before it."""

    def rows(self) -> list[tuple[object, ...]]:
        """The values of `NAMES` for each pass: whether numbers are equal, whether it changed the program, in words."""
        return [(one.step, one.comparison.equal, one.changed, str(one.comparison)) for one in self]

    def to_pandas(self) -> DataFrame:
        """A row a pass as a table of pandas. Raises `UsageError` without pandas."""
        return frame(NAMES, self.rows(), {})

    def shown(self) -> Shown:
        changed = sum(one.changed for one in self)
        summary = f"{len(self):,} passes are right, {changed:,} of them changed the program"
        return Shown("PassChecks", "", summary, table=table_of(NAMES, self.rows(), "passes"))


def check_file(
    path: SourceLike, *, seed: int = 0, limit: int = MAC_LIMIT, **options: Unpack[ProgramKeywords]
) -> PassChecks:
    """
    Run the program in a file before and after each of its passes, on random data of `seed`, and compare the numbers.

    The passes are those that `compile_file` runs with these options down to the level `npu`. Raises `CheckError` that
    names the first pass which does not take the program or changes what it computes, `UsageError` where a run takes
    more than `limit` multiply-accumulates, and other `NpucError`s as `run_file` does.
    """
    return _checked(open_source(path), seed, limit, options)


def check_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    seed: int = 0,
    limit: int = MAC_LIMIT,
    **options: Unpack[ProgramKeywords],
) -> PassChecks:
    """Check the passes of the program that a text holds; everything else as `check_file`."""
    return _checked(text_source(text, format, filename), seed, limit, options)


def _checked(source: Source, seed: int, limit: int, options: ProgramKeywords) -> PassChecks:
    given = keywords_of(options, ProgramKeywords)
    known: int = argument("limit", limit, int)
    if known < 1:
        raise UsageError(f"limit is {known}, expected at least 1")
    keywords = cast("RunKeywords", {**given, "seed": argument("seed", seed, int)})
    return PassChecks(check_program(source, keywords, limit=known))
