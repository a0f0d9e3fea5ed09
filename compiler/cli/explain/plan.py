"""`npuc explain --devices N`: where the movement of a plan for many devices comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from npuc.compiler.cli.progress import stages
from npuc.compiler.cli.shared import aside, check_rows, check_target, make_console, write_result
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.options import CHUNK_POLICIES, PLAN_OBJECTIVES, Options

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.explain.plan import Choose
    from npuc.compiler.report.text.plan_lines import PlanRows
    from npuc.hardware import Hardware

ROWS: tuple[PlanRows, ...] = ("folded", "all")
LISTED = 12
"""The most layers that an error names."""


def check_unused(given: Mapping[str, object]) -> None:
    """Raise `UsageError` for an option that does not affect plans."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"{name} does not apply with --devices: a plan covers the whole step, before any backend",
                hint=f"leave out {name}, or add -b cycle, which explains what the step of a device costs",
            )


def check_needless(given: Mapping[str, object], instead: str | None) -> None:
    """Raise `UsageError` for an option of plans where no plan is asked for, but what `-b` explains."""
    for name, value in given.items():
        if value:
            raise UsageError(
                f"{name} applies only to a plan for several devices",
                hint="leave out -b" if instead is None else f"add {instead}",
            )


def _check_equal(options: Options) -> None:
    """Raise `UsageError` for options that need equal shares."""
    given = {
        "--zero": options.zero,
        "--inference": options.inference,
        "--exact-plan": options.exact_plan,
        "-p": options.pipeline,
        "--collectives": options.collectives != CHUNK_POLICIES[0],
        "--chunks": options.chunks,
        "--bucket-mib": options.bucket_mib,
        "--plan-objective": options.plan_objective != PLAN_OBJECTIVES[0],
    }
    for name, value in given.items():
        if value:
            raise UsageError(
                f"{name} does not apply with network.groups: it needs equal shares",
                hint=f"leave out {name}, or network.groups",
            )


def show_plan(
    source: str,
    layer: str | None,
    options: CompileKeywords,
    json: str | None,
    rows: str | None,
    *,
    quiet: bool,
) -> None:
    """
    A plan for many devices, of all layers or of one: what it moves, or on heterogeneous devices what it takes.

    Raises `NpucError`s.
    """
    from npuc.compiler.driver.options import options_of

    asked = options_of(options)
    heterogeneous = _heterogeneous_machine(asked)
    if heterogeneous is not None:
        _check_equal(asked)
    elif asked.zero and asked.plan_objective == PLAN_OBJECTIVES[0]:
        raise UsageError(
            "--zero changes no movement, which is all that this plan is about", hint="add --plan-objective memory"
        )
    elif asked.collectives != CHUNK_POLICIES[0] or asked.chunks is not None or asked.bucket_mib is not None:
        raise UsageError(
            "--collectives, --chunks and --bucket-mib change no movement, which is all that this plan is about",
            hint="add -b cycle, which explains what the step of a device costs",
        )
    shown: PlanRows | None = next((known for known in ROWS if known == (rows or "folded")), None)
    if shown is None:
        raise UsageError(f"--rows {rows}: there are no such rows", hint=did_you_mean(str(rows), ROWS))
    from npuc.compiler.report.as_json import to_json
    from npuc.frontends.source import open_source

    check_target(json)
    check_rows(rows, json)
    choose: Choose | None = None if layer is None else lambda names: number_of(names, layer)
    if heterogeneous is None:
        from npuc.compiler.driver.lower import EXACT
        from npuc.compiler.explain.plan import explain_plan
        from npuc.compiler.report.text.plan import print_plan

        if asked.exact_plan and not quiet:
            aside(EXACT)
        with stages(quiet=quiet):
            plan = explain_plan(open_source(source), options, choose)
        text, show = to_json(plan), partial(print_plan, plan)
    else:
        from npuc.compiler.explain.heterogeneous import explain_heterogeneous
        from npuc.compiler.report.text.heterogeneous import print_heterogeneous

        with stages(quiet=quiet):
            shares = explain_heterogeneous(open_source(source), options, heterogeneous, choose)
        text, show = to_json(shares), partial(print_heterogeneous, shares)
    if json is not None:
        write_result(json, text)
    if json != "-":
        show(make_console(), rows=shown)


def _heterogeneous_machine(options: Options) -> Hardware | None:
    """The machine, if its devices are heterogeneous; None for any other."""
    if options.hardware is None and not options.overrides:
        return None
    from npuc.hardware import load_hardware

    machine = load_hardware(options.hardware or {}, options.overrides, options.precision)
    return machine if machine.written("network.groups") else None


def number_of(names: Sequence[str], layer: str) -> int:
    """The number of the one layer that a name, glob or number means. Raises `UsageError` for none and for several."""
    found = [n for n in range(len(names)) if names[n] == layer] or [
        n for n in range(len(names)) if fnmatchcase(names[n], layer)
    ]
    digits = layer.removeprefix("#")
    if not found and digits.isascii() and digits.isdecimal():
        if len(digits) > 10 or int(digits) >= len(names):
            raise UsageError(f"layer {layer}: there are {len(names)} layers, the last is #{len(names) - 1}")
        found = [int(digits)]
    if not found:
        raise UsageError(f"no layer is called '{layer}'", hint=did_you_mean(layer, names))
    if len(found) > 1:
        listed = ", ".join(f"{names[n]} (#{n})" for n in found[:LISTED])
        more = f" and {len(found) - LISTED:,} more" if len(found) > LISTED else ""
        raise UsageError(f"'{layer}' matches {len(found):,} layers: {listed}{more}", hint="name one of them")
    return found[0]
