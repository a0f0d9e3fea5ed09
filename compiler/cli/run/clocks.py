"""The time of a step on a machine: what is executed is compiled as well, with the same options."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.cli.shared import aside

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.report.training.document import Clock
    from npuc.frontends.source import Source

_SHOWN = ("print_after", "print_changed", "time_passes", "verify_each")
"""Options that show passes, which the execution shows."""


def clocks_of(
    source: Source, backends: Sequence[str], keywords: CompileKeywords, read: Container[str], *, quiet: bool
) -> list[Clock]:
    """
    The time of a step by each backend that says one. What hardware keys none of them reads is said, unless the
    execution reads them (`read`).
    """
    from npuc.compiler.driver.compile import compile_program
    from npuc.compiler.report.training.document import Clock

    def say(text: str) -> None:
        key, found, _ = text.removeprefix("warning: ").partition(" has no effect: ")
        if not quiet and not (found and key in read):
            aside(text)

    shown: CompileKeywords = {**keywords}
    for name in _SHOWN:
        shown.pop(name, None)
    reports = compile_program(source, backends, shown, say).reports
    for report in reports:
        if report.totals.seconds is None and not quiet:
            aside(f"warning: the backend '{report.backend}' says no time here")
    timed = [(report, report.totals.seconds) for report in reports if report.totals.seconds is not None]
    return [Clock(one.backend, str(one.hardware.get("name", "custom")), seconds) for one, seconds in timed]
