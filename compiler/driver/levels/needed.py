"""The passes of a level that a program still needs before a backend can score it, with what is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import DEFAULT_LEVEL
from npuc.compiler.driver.devices import without_loss
from npuc.compiler.driver.levels.preset import SCHEDULE, preset, state_of
from npuc.hardware.level_keys import outer_names

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.driver.session import Session


def needed_passes(module: ModuleOp, session: Session) -> list[str]:
    """The passes of -O that a program still needs. Adds to the session's warnings."""
    options, model, warnings = session.options, session.model, session.warnings
    state = state_of(module)
    training = not options.inference
    if state.has_train and training and not state.has_loss and not state.is_step:
        if options.inference is False:
            raise UsageError("there is no loss, so there is nothing to train", hint="add a loss to the network")
        warnings.append("the program has no loss: forward pass only")
        training = False
    if options.opt_level and not session.wants_schedules:
        reason = "takes the forward graph" if model.derives_backward else "costs each operation by itself"
        warnings.append(f"-O{options.opt_level}: its passes are left out, since the backend '{model.name}' {reason}")
    if model.derives_backward:
        if not training:
            without_loss(module)
        return []
    if not session.wants_schedules:
        return [name for name in preset(state, model.level, training=training, opt_level=0) if name != SCHEDULE]
    level = options.opt_level
    if state.mapped:
        if level:
            warnings.append(f"-O{level}: its passes are left out, since mappings of the source say what runs")
        level = 0
    if state.scheduled and (level is not None or state.unscheduled):
        warnings.append("-O is ignored for contractions that the source has scheduled")
    outer = outer_names(session.machine.values)

    def at(known: int | None) -> list[str]:
        return preset(
            state,
            model.level,
            training=training,
            opt_level=known,
            objective=options.objective,
            tolerance=options.tolerance,
        )

    passes = at(level)
    plain = at(0) if outer else passes
    if plain != passes:
        known = DEFAULT_LEVEL if level is None else level
        warnings.append(
            f"-O{known}: its passes are left out, since contractions that run in turn keep nothing in "
            f"{', '.join(outer)} (memory.levels)"
        )
    return plain
