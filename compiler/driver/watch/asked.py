"""The watchers of passes that options ask for: `--print-after`, `--print-changed`, `--time-passes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.driver.passes import write_pipeline
from npuc.compiler.driver.session import on_standard_error
from npuc.compiler.driver.watch.changes import Changes
from npuc.compiler.driver.watch.cost_trace import CostTrace
from npuc.compiler.driver.watch.times import Times

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from npuc.backends.base import Backend
    from npuc.compiler.core.options import Options, Say
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.hardware import Hardware


def check_shown(wanted: str | None, passes: Sequence[ModulePass]) -> None:
    """Raise `UsageError` for a program to be shown after a pass that does not run."""
    names = [p.name for p in passes]
    if wanted is None or wanted in ("all", *names):
        return
    text = write_pipeline(passes) or "(empty)"
    raise UsageError(
        f"--print-after {wanted}: the pipeline {text} has no such pass", hint=did_you_mean(wanted, ["all", *names])
    )


def asked_watchers(
    options: Options, module: ModuleOp, say: Say | None, scored: tuple[Backend, Hardware] | None = None
) -> list[Watcher]:
    """
    The watchers of the passes on `module`; of a program that is `scored` they say what it costs.

    What they show was asked for: where nobody has a `say`, as in Python, it goes to standard error.
    """
    if say is None:
        say = on_standard_error
    found: list[Watcher] = []
    if options.print_after is not None:
        found.append(CostTrace(scored, options.print_after, say, module))
    if options.print_changed is not None:
        found.append(Changes(say, lines=options.print_changed == "diff"))
    if options.time_passes:
        found.append(Times(say))
    return found
