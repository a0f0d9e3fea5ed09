"""Compares what two sides ask for: reads reports, compiles sources, writes and prints the difference."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import typer

from npuc.compiler.cli.diff.asked import AskedSide
from npuc.compiler.cli.shared import Verb, aside, check_target, make_console, write_result
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.verbs.tables import table_target
from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    from npuc.compiler.report.difference.result import Difference

FAILED = 1


def run(a: AskedSide, b: AskedSide) -> None:
    """Compare, write and print; exits with 1 where B is above a limit."""
    output, comparing = a.output, a.comparing
    with Verb(output.debug):
        table = table_target(output.table)
        on_stdout = check_one_on_stdout(json=output.json, csv=output.csv, table=None if table is None else table.path)
        for target in (output.json, output.csv, output.html):
            check_target(target)
        limits = comparing.limits()
        if on_stdout and table is None and comparing.top is not None:
            raise UsageError("--top is about the table, which is not printed where a result goes to standard output")
        from npuc.compiler.cli.diff.reports import reports_of
        from npuc.compiler.explain.difference import diff_reports

        difference = diff_reports(*reports_of(a, b, quiet=output.quiet))
        failures = failures_of(difference, limits)
        if output.json is not None:
            write_result(output.json, difference.to_json())
        if output.csv is not None:
            from npuc.compiler.report.difference.as_csv import difference_csv

            write_result(output.csv, difference_csv(difference))
        if output.html is not None:
            from npuc.compiler.cli.page.result import difference_html

            write_result(output.html, difference_html(difference))
        if table is not None or not on_stdout:
            from npuc.compiler.report.text.difference import TOP, print_difference

            top = TOP if comparing.top is None else comparing.top
            if table is not None:
                table.write(lambda console: print_difference(difference, console, top=top))
            if not on_stdout:
                print_difference(difference, make_console(), top=top)
        for failure in failures:
            aside(failure)
        if failures:
            raise typer.Exit(FAILED)


def failures_of(difference: Difference, limits: Mapping[str, Fraction]) -> list[str]:
    """
    What of B is more than so many percent above A, in words. Raises `UsageError` for a quantity that a report does not
    say, since nobody could tell.
    """
    from npuc.compiler.report.difference.totals import exceeds
    from npuc.compiler.report.text.signed import percent

    found: list[str] = []
    for name, most in limits.items():
        total = difference.total(name)
        failed = exceeds(total, most)
        if failed is None or total.a is None or total.b is None:
            silent = "A" if total.a is None else "B"
            raise UsageError(f"no limit of {name} can be checked: {silent} does not say it", hint="leave it out")
        if failed:
            change = f" ({percent(total.a, total.difference)} %)" if total.a else ""
            a, b = (_exactly(value, total.unit) for value in (total.a, total.b))
            found.append(f"{name} is {b} in B, more than {float(most):g} % above {a} in A{change}")
    return found


def _exactly(value: float, unit: str) -> str:
    """A value with as many digits as tell it from another; bytes and cycles with all."""
    return f"{value:,.10g}{f' {unit}' if unit not in ('', 'share') else ''}"
