"""`npuc check`: compare what a program computes before and after every pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, cast

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.progress import said, stages, warnings_shown
from npuc.compiler.cli.run import warn_of_unread
from npuc.compiler.cli.shared import Verb, check_target, real, whole, write_result
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.options import DEFAULT_LEVEL, Only

if TYPE_CHECKING:
    from npuc.compiler.driver.check import PassCheck
    from npuc.compiler.driver.running.options import RunKeywords
    from npuc.compiler.driver.watch.watcher import Watcher


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check")(expanded(command))


def command(
    program: Annotated[Program, Takes(without=without("check", Program))],
    machine: Annotated[
        Machine,
        Takes(
            without=without("check", Machine),
            help={"hw": "Machine to schedule for; every float is computed in float64."},
        ),
    ],
    optimisation: Annotated[Optimisation, Takes(without=without("check", Optimisation))],
    devices: Devices,
    messages: Annotated[Output, Takes(without=without("check", Output))],
    limit: Annotated[
        float, typer.Option("--limit", metavar="MACS", parser=real(1, 1e30), help="Refuse a run of more MACs.")
    ] = 2e10,
    seed: Annotated[int, typer.Option("--seed", metavar="S", parser=whole(0), help="Seed of the random data.")] = 0,
    others: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="iree|xla", help="Run the step by another compiler, and compare; repeatable."),
    ] = None,
) -> None:
    """Check that no pass changes what the program computes. Runs it on random data before and after each pass."""
    with Verb(messages.debug):
        from npuc.compiler.driver.running.options import RunKeywords

        given = collected(program, machine, optimisation, known=RunKeywords.__annotations__)
        options = cast(RunKeywords, {**given, "seed": seed, **devices.shared()})
        out = optimisation.statistics_json != "-"
        check_target(messages.html)
        if others:
            agreed = compare_compilers(program.source, options, others, limit=int(limit), quiet=messages.quiet)
            if messages.html is not None:
                _write_page(program, messages.html, f"{len(agreed)} compilers agree", COMPILERS, agreed)
            return
        with watching(optimisation) as watchers:
            checked = compare_passes(
                program.source, options, limit=int(limit), out=out, quiet=messages.quiet, watchers=watchers
            )
        if messages.html is not None:
            rows = [(one.step, str(one.comparison), "yes" if one.changed else "no") for one in checked]
            conclusion = f"{len(rows)} passes checked, the program computes the same after each"
            _write_page(program, messages.html, conclusion, PASSES, rows)


COMPILERS = ("Compiler", "Version", "Result")
PASSES = ("Pass", "Result", "Changed")
"""The columns of pages."""


def _write_page(
    program: Program, path: str, conclusion: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    from npuc.compiler.cli.page.result import check_html

    write_result(path, check_html(f"Check of {program.source}", conclusion, heads, rows))


def compare_compilers(
    source: str, options: RunKeywords, others: list[str], *, limit: int, quiet: bool
) -> list[tuple[str, str, str]]:
    """
    Compare what other compilers compute of the step with the interpreter, a line each on standard output.

    The name, the version and what was found of each, in their order.
    """
    from npuc.compiler.others.agree import check_with
    from npuc.frontends.source import open_source

    with stages(quiet=quiet) as line, warnings_shown(quiet=quiet):
        found = check_with(
            open_source(source),
            options,
            list(dict.fromkeys(others)),
            limit=limit,
            progress=lambda outcome: line(str(outcome), out=True),
            say=said(line, quiet=quiet),
        )
    return [(one.compiler, one.version, str(one)) for one in found]


def compare_passes(
    source: str,
    options: RunKeywords,
    *,
    only: Only = None,
    limit: int,
    out: bool,
    quiet: bool,
    watchers: tuple[Watcher, ...] = (),
) -> list[PassCheck]:
    """
    Check every pass, a line each: on standard output if that is the result (`out`), else as messages; `watchers` look
    at the program around each.

    Raises `CheckError` for the first pass that changes the program.
    """
    from npuc.compiler.driver.check import check_program
    from npuc.compiler.driver.running.options import run_options
    from npuc.frontends.source import open_source

    # where the check is an option of compile, the report has what passes remark
    with stages(quiet=quiet) as line, warnings_shown(quiet=quiet or not out):

        def show(outcome: PassCheck) -> None:
            if out:
                line(str(outcome), out=True)
            elif not quiet:
                line(f"npuc: check: {outcome}")

        checked = check_program(
            open_source(source),
            options,
            only=only,
            limit=limit,
            progress=show,
            say=said(line, quiet=quiet),
            watchers=watchers,
        )
    if out:
        asked = run_options(options)
        warn_of_unread(asked, lowered=True, quiet=quiet)
        level = DEFAULT_LEVEL if asked.opt_level is None else asked.opt_level
        named = "" if asked.pipeline is not None else f" (-O{level})"
        changed = [one.step.partition("{")[0] for one in checked if one.comparison.changed is not None]
        but = f" but {' and '.join(changed)}, which is to change numbers" if changed else ""
        print(f"{len(checked)} passes checked{named}, the program computes the same after each{but}")
    return checked
