"""
Groups of layers, which `--fuse-layers` asks for: the pass, where it comes, and what it means nothing beside.

    fuse_pass("dp=64")                       # "fuse-layers{mapper=dp budget-kib=64}"
    behind_schedules(["schedule"], options)  # ["schedule", "fuse-layers"]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import UsageError, either
from npuc.compiler.core.numbers import integer_of
from npuc.compiler.core.options import NO_GROUPS
from npuc.compiler.driver.levels.preset import LOWER, SCHEDULE
from npuc.compiler.driver.passes import names_in, passes_by_hand

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.core.options import Options

FUSE_LAYERS = "fuse-layers"
_KIB = 1024
"""Bytes in one."""


def fuse_pass(text: str | None, objective: str = "time") -> str | None:
    """The pass that `--fuse-layers` asks for; None: no groups. Raises `UsageError` for another form."""
    if text is None or text == NO_GROUPS:
        return None
    from npuc.compiler.transforms.fuse_layers import MAPPERS, FuseLayersPass

    mapper, equals, value = text.partition("=")
    budget = integer_of(value) if equals else None
    if mapper not in MAPPERS or (equals and (budget is None or budget < 1)):
        raise UsageError(
            f"--fuse-layers {text}: expected {either([NO_GROUPS, *MAPPERS])}, a mapper with =KIB of SPM for a group",
            hint="for example --fuse-layers dp, or dp=64",
        )
    return str(FuseLayersPass(mapper, budget, objective))


def asks_groups(options: Options) -> bool:
    """Whether options ask for groups of layers."""
    return options.fuse_layers not in (None, NO_GROUPS)


def is_fusing(step: str) -> bool:
    """Whether a pass, by its text, makes groups of layers."""
    return FUSE_LAYERS in names_in(step)


def behind_schedules(steps: Sequence[str], options: Options) -> list[str]:
    """Passes with the one that makes groups, behind the last that schedules, or at the end."""
    step = fuse_pass(options.fuse_layers, options.objective)
    if step is None:
        return [*steps]
    place = max((n + 1 for n, one in enumerate(steps) if SCHEDULE in names_in(one)), default=len(steps))
    return [*steps[:place], step, *steps[place:]]


def check_asked_groups(options: Options) -> None:
    """Raise `UsageError` for groups of several devices, or beside passes that name them or schedule nothing."""
    if not asks_groups(options):
        return
    said = f"--fuse-layers {options.fuse_layers}"
    if options.devices > 1:
        raise UsageError(
            f"{said} does not apply to several devices: groups of layers are of one", hint="leave out one of them"
        )
    if FUSE_LAYERS in passes_by_hand(options):
        where = "-p" if options.pipeline is not None else "--before or --after"
        raise UsageError(f"--fuse-layers and the pass {FUSE_LAYERS} of {where} say the same", hint="leave out one")
    names = names_in(options.pipeline or "")
    if LOWER in names and SCHEDULE not in names:
        raise UsageError(
            f"{said}: groups come after the pass {SCHEDULE}, which -p does not name", hint=f'-p "…,{SCHEDULE}"'
        )


def check_machine(module: ModuleOp, options: Options) -> None:
    """Raise `UsageError` for a machine on which groups have no price, or that has less memory than their budget."""
    if not asks_groups(options):
        return
    from npuc.compiler.analysis.machine.facts import machine_of
    from npuc.compiler.analysis.programs.resident import refusal

    machine = machine_of(module)
    if machine is None:  # which the pass says
        return
    said = f"--fuse-layers {options.fuse_layers}"
    problem = refusal(machine)
    if problem is not None:
        raise UsageError(f"{said} does not apply to this machine: {problem}", hint="leave out --fuse-layers")
    budget = integer_of((options.fuse_layers or "").partition("=")[2])
    if budget is not None and budget * _KIB > machine.spm_bytes:
        raise UsageError(
            f"{said}: a schedule may use {machine.spm_bytes // _KIB:,} KiB of SPM on this machine, and a group no more",
            hint=f"up to ={machine.spm_bytes // _KIB}, or without =KIB",
        )
