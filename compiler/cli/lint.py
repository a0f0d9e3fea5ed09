"""`npuc lint`: report likely mistakes in a program."""

from __future__ import annotations

import json as json_format
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.shared import (
    Debug,
    Defines,
    MaxOps,
    Verb,
    check_target,
    parse_defines,
    report_error,
    write_result,
)
from npuc.compiler.core.errors import NpucError, UsageError, did_you_mean
from npuc.compiler.core.options import MAX_OPS

if TYPE_CHECKING:
    from npuc.frontends.dsl.lint import Finding

SCHEMA = "npuc.lint/1"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("lint")(command)


def command(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE", help=".dsl files, samples:NAME, or - for standard input.")
    ],
    define: Defines = None,
    select: Annotated[
        list[str] | None, typer.Option("--select", metavar="RULE", help="Check only these rules.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", metavar="RULE", help="Skip these rules.")] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the findings as JSON.")] = None,
    max_ops: MaxOps = MAX_OPS,
    debug: Debug = False,
) -> None:
    """Report likely mistakes in a program. Exits with status 1 if there are any."""
    with Verb(debug):
        rules = _rules(select, ignore)
        check_target(json)
        defines = parse_defines(define)
        status, found = 0, list["Finding"]()
        for source in dict.fromkeys(sources):
            try:
                found += _lint(source, defines, rules, max_ops)
            except NpucError as error:
                status = max(status, report_error(error))
        # Findings of some sources alone would pass for those of all.
        if json is not None and status == 0:
            write_result(json, _document(found))
        if json != "-":
            _print(found, len(dict.fromkeys(sources)), whole=status == 0)
        raise typer.Exit(status or int(bool(found)))


def _rules(select: list[str] | None, ignore: list[str] | None) -> list[str]:
    """The rules to apply. Raises `UsageError` for an unknown one."""
    from npuc.frontends.dsl.lint import RULES

    chosen = [name.strip() for item in select or [",".join(RULES)] for name in item.split(",")]
    left_out = [name.strip() for item in ignore or [] for name in item.split(",")]
    for name in (*chosen, *left_out):
        if name not in RULES:
            raise UsageError(f"there is no rule '{name}'", hint=did_you_mean(name, list(RULES)))
    return [name for name in RULES if name in chosen and name not in left_out]


def _lint(path: str, defines: dict[str, int | str], rules: Sequence[str], max_ops: int) -> Sequence[Finding]:
    from npuc.frontends.dsl.lint import lint_source
    from npuc.frontends.source import LANGUAGE, open_source

    source = open_source(path)
    if source.format != LANGUAGE:
        raise UsageError(f"cannot lint '{path}'", hint="only networks in .dsl have rules")
    return lint_source(source.text, source.filename, defines=defines, rules=rules, max_ops=max_ops)


def _document(found: Sequence[Finding]) -> str:
    findings = [{"rule": f.rule, "message": f.message, "loc": str(f.location), "hint": f.hint} for f in found]
    return json_format.dumps({"schema": SCHEMA, "findings": findings}, indent=2, ensure_ascii=False) + "\n"


def _print(found: Sequence[Finding], sources: int, *, whole: bool) -> None:
    """The findings, and a line that counts them."""
    for finding in found:
        print(finding.render())
    if found:
        counts = Counter(finding.rule for finding in found).items()
        listed = ", ".join(f"{count} {rule}" for rule, count in sorted(counts))
        print(f"{len(found)} finding{'s' * (len(found) > 1)}: {listed}")
    elif whole:
        print(f"no findings in {sources} source{'s' * (sources > 1)}")
