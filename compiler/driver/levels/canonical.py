"""
The pass canonicalize in front of those of -O1 to -O3: where it leaves out work, but not where a step gets dearer.

Its patterns leave out operations, or put one in place of two, in the forward pass and so in the backward pass: no step
gets dearer. It may where two equal operations on parameters become one before autodiff: the backward pass then adds the
gradients of the results, which may be larger than those of the operands that it added before, as where the operation
expands its operand. There both programs are scored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import NpucError
from npuc.compiler.driver.levels.preset import state_of
from npuc.compiler.transforms.canonicalize import CanonicalizePass, canonicalize
from npuc.compiler.transforms.canonicalize.effect import Effect, effect_of
from npuc.compiler.transforms.rewrites import unobserved
from npuc.dialects.copies import copied

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from npuc.compiler.core.options import Options
    from npuc.compiler.driver.session import Session
    from npuc.compiler.report import Report

ROUNDING = 1e-12
"""So much more, relatively, may sums of floats be that are the same."""


def canonical_passes(
    module: ModuleOp, options: Options, level: str, dearer: Callable[[ModuleOp], bool] | None = None
) -> list[ModulePass]:
    """
    The pass canonicalize, if the level of -O has it for a program on its way to an IR level; else nothing.

    `dearer` says whether the canonical program costs more; it is asked where only costs can tell.
    """
    with unobserved():
        found = _effect(module, options, level)
        if found is None or (found.merged and dearer is not None and dearer(module)):
            return []
    return [CanonicalizePass()]


def depends_on_costs(module: ModuleOp, options: Options, level: str) -> bool:
    """Whether only costs tell if a program on its way to an IR level becomes canonical."""
    with unobserved():
        found = _effect(module, options, level)
    return found is not None and found.merged > 0


def _effect(module: ModuleOp, options: Options, level: str) -> Effect | None:
    """
    What the pass would do, `merged` where gradients are added elsewhere then; None where the level has no such pass or
    nothing is left out.
    """
    if options.pipeline is not None or options.opt_level == 0 or level == "train":
        return None
    state = state_of(module)
    if not state.has_train or state.scheduled:
        return None
    effect = effect_of(module)
    if not effect.spared:
        return None
    differentiated = state.has_loss and not state.is_step and not options.inference
    return effect if differentiated else replace(effect, merged=0)


def is_dearer(
    module: ModuleOp, *, session: Session, passes: str, scorer: Callable[[ModuleOp, Session], Report]
) -> bool:
    """
    Whether a program costs more once it is canonical: time, traffic, energy or memory, by the backend of a session.

    `passes` lower it, `scorer` runs them and scores. A program that cannot be scored costs more than any other.
    """
    canonical = copied(module)
    canonicalize(canonical)
    before, after = (_costs(one, session.costing(passes), scorer) for one in (copied(module), canonical))
    if before is None or after is None:
        return after is None and before is not None
    return any(new > old * (1 + ROUNDING) for old, new in zip(before, after, strict=True))


def _costs(
    module: ModuleOp, session: Session, scorer: Callable[[ModuleOp, Session], Report]
) -> tuple[float, ...] | None:
    """Seconds, bytes moved, energy and memory of a program, lowered in place; None where it cannot be scored."""
    try:
        totals = scorer(module, session).totals
    except NpucError:
        return None
    moved = (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0)
    return totals.seconds or 0.0, moved, totals.energy_j or 0.0, totals.peak_bytes or 0
