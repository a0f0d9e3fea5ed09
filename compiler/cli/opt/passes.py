"""Which passes the opt tool runs, and which of its options mean nothing beside the others."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.backends.base import DEFAULT
from npuc.backends.registry import get_backend
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import DEFAULT_TOLERANCE, OBJECTIVES, Options
from npuc.compiler.driver.devices import tell_network, tell_units
from npuc.compiler.driver.levels.asked import ASKED, asks_passes, check_backward, stating_densities, with_asked
from npuc.compiler.driver.passes import passes_by_hand, read_pipeline
from npuc.compiler.driver.precision import precision_passes
from npuc.compiler.driver.running.lower import check_shared, passes_for
from npuc.hardware import load_hardware

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from npuc.compiler.core.plugins import PassFactory
    from npuc.frontends.source import Source

PRINTING = ("print_op_generic", "print_no_properties", "print_debuginfo", "syntax_highlight")
"""Options of the printer of IR."""
WATCHING = ("time_passes", "statistics", "statistics_json", "debug_only", "print_changed", "print_after")
"""Options that show what passes do."""


@dataclass(frozen=True)
class AskedPasses:
    """The passes to run; `said`: they are not those of -p alone, `told_of`: those whose remarks are told."""

    passes: list[ModulePass]
    said: bool
    told_of: Container[str]


def passes_of(
    module: ModuleOp,
    options: Options,
    source: Source | None,
    named: Sequence[ModulePass],
    available: Mapping[str, PassFactory],
) -> AskedPasses:
    """The passes of -O, else those that are `named`, with those of other options where they belong."""
    told_of = {*passes_by_hand(options), *ASKED}
    if options.opt_level is not None:
        return AskedPasses(passes_for(source, module, options, "npu"), said=False, told_of=told_of)
    passes = list(named)
    options = stating_densities(options, module) if passes else options
    if asks_passes(options):
        check_backward(module, options)
        machine = load_hardware(options.hardware or get_backend(DEFAULT).default_hardware, options.overrides)
        check_shared(options, machine)
        passes = read_pipeline(",".join(with_asked([str(one) for one in passes], options, machine)), available)
        tell_network(module, passes, machine)
        tell_units(module, passes, machine)
    types = precision_passes(module, passes, None, options.precision, [])
    return AskedPasses([*types, *passes], said=bool(types) or asks_passes(options), told_of=told_of)


def check_together(given: Namespace, options: Options, passes: Sequence[str], *, is_network: bool) -> None:
    """Raise `UsageError` for options that mean nothing beside the others; `passes` are those of -p."""
    leveled = options.opt_level is not None
    check_one_on_stdout(o=given.output_file or "-", statistics_json=given.statistics_json)
    if not leveled:
        _check_unleveled(options)
    if not (passes or leveled or asks_passes(options) or options.precision is not None):
        for name in WATCHING:
            if getattr(given, name):
                raise UsageError(f"--{name.replace('_', '-')} needs -p or -O: no pass runs")
    if given.print_between_passes and (len(passes) < 2 or leveled):
        why = "needs two passes in -p: it prints between them"
        raise UsageError(f"--print-between-passes {why}", hint="--print-after all prints after each pass")
    if given.verify_diagnostics and given.disable_verify:
        raise UsageError("--verify-diagnostics does not apply with --disable-verify: nothing is verified")
    if given.no_implicit_module and is_network:
        raise UsageError("--no-implicit-module is for IR: a network is always a module")
    for name in PRINTING if given.target.partition("{")[0] != "mlir" else ():
        if getattr(given, name):
            raise UsageError(f"--{name.replace('_', '-')} does not apply with -t {given.target}: it is for mlir")


def _check_unleveled(options: Options) -> None:
    """Raise `UsageError` for options of the passes of -O where none of them runs."""
    if options.before or options.after:
        raise UsageError("--before and --after need -O, whose passes they name")
    for name, value, usual in (
        ("--objective", options.objective, OBJECTIVES[0]),
        ("--tolerance", options.tolerance, DEFAULT_TOLERANCE),
    ):
        if value != usual:
            raise UsageError(f"{name} {value} needs -O: passes of -p have options of their own for it")
