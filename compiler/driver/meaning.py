"""Options that mean nothing for the backends that were chosen."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.backends.base import DEFAULT, Backend
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import DEFAULT_TOLERANCE, OBJECTIVES, ZERO_STAGES, Options
from npuc.compiler.driver.levels.fused import asks_groups
from npuc.hardware import Hardware

Scored = Sequence[tuple[Backend, Hardware]]
"""Backends, each with the machine that it scores on."""


def check_meaning(options: Options, scored: Scored, varied: Sequence[str] = ()) -> None:
    """
    Raise `UsageError` for an option that no backend takes; `varied` are options with several values besides.

    The objective and the tolerance are about schedules, a mapping is for backends that map contractions. Of -O a report
    says which passes were left out.
    """
    given = {
        "--objective": options.objective != OBJECTIVES[0] or "objective" in varied,
        "--tolerance": options.tolerance != DEFAULT_TOLERANCE or "tolerance" in varied,
    }
    if not any(model.level == "npu" and model.needs_schedules(machine) for model, machine in scored):
        for name, is_given in given.items():
            if is_given:
                raise _meaningless(name, scored, "schedules nothing", f"-b {DEFAULT}")
    stages = options.zero in ZERO_STAGES[1:-1]
    for name, is_given in (
        ("--recompute", options.recompute not in (None, "none")),
        ("--method", options.method is not None),
        ("--zero=1 and =2", stages),
    ):
        if is_given and all(model.derives_backward for model, _ in scored):
            raise _meaningless(name, scored, "derives the backward pass itself", f"-b {DEFAULT}")
    if asks_groups(options) or "fuse_layers" in varied:
        for model, machine in scored:
            if not (model.has_groups and model.needs_schedules(machine)):
                raise _meaningless("--fuse-layers", [(model, machine)], "scores no groups of layers", f"-b {DEFAULT}")
    if options.mapping is not None or "mapping" in varied:
        if all(model.mapping_pass(machine, None) is None for model, machine in scored):
            raise _meaningless("--mapping", scored, "uses no mappings", "-b maestro")


def _meaningless(option: str, scored: Scored, why: str, hint: str) -> UsageError:
    names = list(dict.fromkeys(f"'{model.name}'" for model, _ in scored))
    which = f"the backend {names[0]}, which {why}" if len(names) == 1 else f"any of {', '.join(names)}: each {why}"
    return UsageError(f"{option} does not apply to {which} on this machine", hint=f"leave out {option}, or {hint}")


def unused_goals(options: Options) -> list[str]:
    """The warnings of goals of schedules where -p leaves nothing to schedule."""
    given: dict[str, object] = {}
    if options.objective != OBJECTIVES[0]:
        given["--objective"] = options.objective
    if options.tolerance != DEFAULT_TOLERANCE:
        given["--tolerance"] = options.tolerance
    return [f"{name} {value} has no effect: the passes of -p have their own" for name, value in given.items()]
