"""
The passes that a level of -O stands for, as far as a program still needs them.

    preset(state_of(module), "npu", training=True)
    # ["autodiff", "lower-to-npu", "interleave{mode=best}", "schedule"]
"""

from __future__ import annotations

from decimal import Decimal

from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import DEFAULT_LEVEL, DEFAULT_TOLERANCE, LEVELS
from npuc.dialects.npu import ContractOp
from npuc.dialects.train.signature import has_loss, is_differentiated, training_functions

AUTODIFF, CANONICALIZE, LOWER, SCHEDULE = "autodiff", "canonicalize", "lower-to-npu", "schedule"


@frozen
class State:
    """How far a program has come: what decides which passes are still needed."""

    has_train: bool
    has_loss: bool
    is_step: bool
    scheduled: int
    unscheduled: int
    mapped: bool = False
    """Whether a contraction has a mapping or units, which say what runs."""


def state_of(module: ModuleOp) -> State:
    """How far `module` has come."""
    functions = list(training_functions(module))
    has_train, mapped, scheduled, unscheduled = False, False, 0, 0
    for op in module.walk():
        if isinstance(op, ContractOp):
            done = op.schedule_attr is not None
            mapped = mapped or op.mapping_attr is not None or op.units_attr is not None
            scheduled, unscheduled = scheduled + done, unscheduled + (not done)
        elif op.name.startswith("train."):
            has_train = True
    return State(
        has_train=has_train,
        has_loss=any(has_loss(func) for func in functions),
        is_step=any(is_differentiated(func) for func in functions),
        scheduled=scheduled,
        unscheduled=unscheduled,
        mapped=mapped,
    )


def preset(
    state: State,
    level: str,
    *,
    training: bool,
    opt_level: int | None = None,
    objective: str = "time",
    tolerance: float = DEFAULT_TOLERANCE,
) -> list[str]:
    """
    The passes that a program in `state` still needs before a backend of `level` can score it.

    What `opt_level` does comes before the schedules, where contractions may be of a backward pass and none has a
    schedule. Raises `UsageError` for a level that does not exist.
    """
    known = DEFAULT_LEVEL if opt_level is None else opt_level
    if known not in LEVELS:
        raise UsageError(
            f"unknown optimisation level {opt_level!r}", hint=f"known: {', '.join(str(level) for level in LEVELS)}"
        )
    names: list[str] = []
    if state.has_train and training and not state.is_step:
        names.append(AUTODIFF)
    if level == "npu" and (state.has_train or state.unscheduled > 0):
        names += [LOWER] * state.has_train
        backward = training or state.is_step or not state.has_train
        steps = STEPS[known] if backward and not state.scheduled else ()
        names += [with_goal(step, objective, tolerance) for step in (*steps, SCHEDULE)]
    return names


STEPS: tuple[tuple[str, ...], ...] = (
    (),
    ("interleave{mode=zip}",),
    ("interleave{mode=zip}", "rearrange{rule=published}"),
    ("interleave{mode=best}",),
)
"""What each level of -O does with the contractions of the backward pass before the rest gets schedules."""


def with_goal(step: str, objective: str, tolerance: float) -> str:
    """The text of a pass with an objective and a tolerance, as far as they are not those where nothing is said."""
    said = [f"objective={objective}"] if objective != "time" else []
    # pipelines are read without exponents
    said += [f"tolerance={Decimal(repr(float(tolerance))):f}"] if tolerance != DEFAULT_TOLERANCE else []
    options = [step[:-1], *said] if step.endswith("}") else [f"{step}{{{' '.join(said)}"]
    return " ".join(options) + "}" if said else step
