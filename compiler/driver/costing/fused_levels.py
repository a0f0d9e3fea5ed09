"""
Groups of layers beside the passes of a level: the program that costs less with them, or without.

Contractions of a backward pass that run in turn, as -O1 to -O3 have some, are in no group. So the step is compiled with
groups twice, with those passes and without, and what costs less by the objective is kept; equal ones keep the passes.
Beside them groups never cost more than the level alone does, so that neither does what is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import DEFAULT_LEVEL, Options
from npuc.compiler.core.stages import tell
from npuc.compiler.driver.levels.fused import asks_groups
from npuc.compiler.driver.levels.needed import needed_passes
from npuc.compiler.driver.passes import names_in
from npuc.compiler.transforms.schedule.searches import objective_named
from npuc.dialects.copies import copied

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.driver.session import Session

LoweredT = TypeVar("LoweredT")
"""What lowering says of a program."""


@frozen
class _Trial(Generic[LoweredT]):
    """A copy of the program, lowered, with its session and its cost by the objective."""

    session: Session
    module: ModuleOp
    lowered: LoweredT
    score: float
    options: Options


def lower_fused(module: ModuleOp, session: Session, lower: Callable[[ModuleOp, Session], LoweredT]) -> LoweredT | None:
    """
    Lower a module in place to the program with groups that costs least; None where there is nothing to choose.

    `lower` runs the passes of a session on a module, in place. Adds to the session's warnings, which passes of the
    level were left out among them.
    """
    left_out = _beside_groups(module, session)
    if not left_out:
        return None
    kept = _trial(module, session, None, lower)
    try:
        plain = _trial(module, session, 0, lower)
    except NpucError:  # what only the passes of the level make possible
        plain = kept
    best = plain if plain.score < kept.score else kept
    if best is plain:
        level = DEFAULT_LEVEL if session.options.opt_level is None else session.options.opt_level
        saved = 100 * (1 - plain.score / kept.score)
        best.session.warnings.append(
            f"-O{level}: its {' and '.join(left_out)} left out, since with groups of layers the program costs "
            f"{saved:.2g} % less {session.options.objective} without"
        )
    if _is_watched(session):
        done = lower(module, replace(session, options=best.options, warnings=[]))
    else:
        _replace(module, best.module)
        done = best.lowered
    session.warnings.extend(best.session.warnings)
    return done


def _beside_groups(module: ModuleOp, session: Session) -> list[str]:
    """The passes of the level that take contractions which could be in groups; none where there are no groups."""
    options = session.options
    if not asks_groups(options) or options.pipeline is not None or not session.wants_schedules:
        return []
    level, plain = (
        needed_passes(module, session.aside(replace(options, opt_level=known), session.machine))
        for known in (options.opt_level, 0)
    )
    return [name for step in level if step not in plain for name in names_in(step)]


def _trial(
    module: ModuleOp, session: Session, level: int | None, lower: Callable[[ModuleOp, Session], LoweredT]
) -> _Trial[LoweredT]:
    """The program with groups at a level, None the session's own, and what it costs."""
    options = session.options if level is None else replace(session.options, opt_level=level)
    tell("choosing passes beside groups of layers")
    silent = replace(options, print_after=None, print_changed=None, time_passes=False)
    program, aside = copied(module), session.aside(silent, session.machine)
    lowered = lower(program, aside)
    totals = session.model.costs(program, session.machine).totals
    moved = (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0)
    cost = ReportedCost(int(totals.cycles or 0), moved, totals.energy_j)
    return _Trial(aside, program, lowered, cost.score(objective_named(options.objective)), options)


def _is_watched(session: Session) -> bool:
    """Whether somebody looks at the passes, so that those that are kept run where they are seen."""
    options = session.options
    shown = (options.print_after, options.print_changed, options.time_passes or None)
    return bool(session.watchers) or any(one is not None for one in shown)


def _replace(module: ModuleOp, other: ModuleOp) -> None:
    """Make a module what another one is, which is used up."""
    body = other.detach_region(0)
    module.detach_region(0)
    module.add_region(body)
    module.attributes = dict(other.attributes)
