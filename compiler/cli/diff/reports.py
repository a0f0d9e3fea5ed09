"""The two reports that are compared: read from files, or compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.compiler.cli.diff.asked import AskedSide
from npuc.compiler.cli.progress import stages
from npuc.compiler.cli.shared import aside
from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    from npuc.compiler.report import Report
    from npuc.frontends.source import Source

STDIN = "-"
SIDES = 2


def reports_of(a: AskedSide, b: AskedSide, *, quiet: bool) -> tuple[Report, Report]:
    """
    The reports of both sides.

    Raises `UsageError` where both are the same, where a file is no report, where it has several and nobody says which,
    and for options of a compilation beside reports alone.
    """
    if a.source == b.source == STDIN and not a.same_as(b):
        raise UsageError("standard input can be one side alone", hint="give the source a file")
    found_a = _opened(a)
    found_b = found_a if a.source == b.source else _opened(b)
    if a.same_as(b) and not (isinstance(found_a, list) and len(found_a) == SIDES and not a.backend):
        if isinstance(found_a, list):
            listed = ", ".join(report.backend for report in found_a)
            several = len(found_a) > 1
            raise UsageError(
                f"A and B are the same: '{a.source}' has the report{'s' * several} of {listed}",
                hint="-b NAME -b NAME chooses two of them" if several else "give a second report",
            )
        raise UsageError(
            f"A and B are the same: {a.source}",
            hint="give two sources, or an option twice: --hw A --hw B, -O0 -O3, -D batch=8 -D batch=16",
        )
    _check_needed(a, b, found_a, found_b)
    if isinstance(found_a, list) and isinstance(found_b, list):
        return _chosen(a, b, found_a, found_b)
    told: tuple[list[str], list[str]] = ([], [])
    with stages(quiet=quiet):
        report_a = _one(a, found_a, None) if isinstance(found_a, list) else _compiled(a, found_a, told[0])
        report_b = _one(b, found_b, None) if isinstance(found_b, list) else _compiled(b, found_b, told[1])
    if not quiet:
        _tell(*told)
    return report_a, report_b


def _tell(of_a: Sequence[str], of_b: Sequence[str]) -> None:
    """Say what compilations had to say, with the side where it is one's alone."""
    for text in dict.fromkeys((*of_a, *of_b)):
        side = "" if text in of_a and text in of_b else "A: " if text in of_a else "B: "
        aside(f"{side}{text}")


def _opened(side: AskedSide) -> list[Report] | Source:
    """The reports in a file, or a source, which is to be compiled; standard input may be either."""
    from npuc.compiler.core.files.texts import decoded
    from npuc.compiler.report.difference.read import reports_in
    from npuc.frontends.files import read_bytes
    from npuc.frontends.source import LANGUAGE, open_source, text_source

    path = side.source
    if path != STDIN and not path.endswith(".json"):
        return open_source(path)
    data = read_bytes(path)
    reports = reports_in(data, "<stdin>" if path == STDIN else path)
    if reports is not None:
        return reports
    return text_source(decoded(data, "<stdin>"), LANGUAGE, "<stdin>") if path == STDIN else open_source(path)


def _check_needed(a: AskedSide, b: AskedSide, read_a: object, read_b: object) -> None:
    """Raise `UsageError` for options of a compilation that would be ignored."""
    for name, side, read, other in (("A", a, read_a, b), ("B", b, read_b, a)):
        if not isinstance(read, list):
            continue
        others = other.given()
        for option in side.given():
            both_read = isinstance(read_a, list) and isinstance(read_b, list)
            if both_read or option not in others or _value(side, option) != _value(other, option):
                what = "both are reports" if both_read else f"{name} is a report"
                raise UsageError(
                    f"{option} is about a compilation, and {what}: '{side.source}' was compiled already",
                    hint="leave it out, or give the source in place of the report",
                )


def _value(side: AskedSide, option: str) -> object:
    groups = side.program, side.machine, side.optimisation, side.devices
    return next((given[option] for group in groups if option in (given := group.given())), None)


def _chosen(a: AskedSide, b: AskedSide, read_a: list[Report], read_b: list[Report]) -> tuple[Report, Report]:
    """One report of each file: that of the backend that is asked for, or the one that the other has, too."""
    if a.source == b.source and not a.backend and not b.backend:
        return read_a[0], read_b[1]
    names_a, names_b = ([report.backend for report in read] for read in (read_a, read_b))
    common = [name for name in names_a if name in names_b]
    shared = common[0] if len(common) == 1 else None
    return _one(a, read_a, shared), _one(b, read_b, shared)


def _one(side: AskedSide, reports: Sequence[Report], shared: str | None) -> Report:
    """The report of a file that is meant. Raises `UsageError` where several may be, or none is."""
    wanted = side.backend[0] if side.backend else shared
    if wanted is None and len(reports) == 1:
        return reports[0]
    listed = ", ".join(report.backend for report in reports)
    found = [report for report in reports if report.backend == wanted]
    if wanted is not None and not found:
        raise UsageError(f"'{side.source}' has no report of the backend {wanted}", hint=f"it has {listed}")
    if len(found) != 1:
        raise UsageError(
            f"'{side.source}' has reports of {listed}, and it is not clear which is meant", hint="-b NAME chooses one"
        )
    return found[0]


def _compiled(side: AskedSide, source: Source, told: list[str]) -> Report:
    """Compile a side's source as `npuc compile` does; what there is to say is added to `told`."""
    from npuc.compiler.driver.compile import compile_program
    from npuc.compiler.driver.machine import backend_for

    return compile_program(source, side.backend or [backend_for(source)], side.keywords(), told.append).reports[0]
