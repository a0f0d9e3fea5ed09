"""What is told of a training that ran: its losses by step, its time on machines, and what to look out for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuc.compiler.interpreter.execute import Run
    from npuc.compiler.report.training.document import Training

ALL_STEPS, SOME_STEPS = 20, 11
"""So many losses are all printed; of more steps at most so many, evenly spaced, and the last."""


def result_lines(run: Run) -> Iterator[str]:
    """The losses, or the shape and mean of each output where there is no loss, to six digits."""
    if not run.losses:
        for name, array in run.outputs.items():
            mean = float(array.mean()) if array.size else 0.0
            yield f"{name}: {array.dtype} {list(array.shape)}, mean {mean:.6g}"
        return
    count, wide = len(run.losses), len(str(len(run.losses) - 1))
    for step in shown_steps(count):
        right = f", accuracy {run.accuracies[step]:.1%}" if run.accuracies else ""
        yield (f"step {step:>{wide}}: " if count > 1 else "") + f"loss {run.losses[step]:.6g}{right}"
    if run.densities:
        last = run.densities[-1].values()
        kept, stated, size = (sum(found) for found in zip(*((d.kept, d.stated, d.size) for d in last), strict=True))
        yield f"sparse operands keep {kept / size:.1%} of their values, {stated / size:.1%} are stated"
    if run.unit_products:
        from npuc.compiler.interpreter.on_units import totals_by_unit

        for unit, one in totals_by_unit(run.unit_products[-1]).items():
            spread = f" +- {one.variance**0.5:,.0f}" if one.variance else ""
            yield f"unit {unit}: {one.counted:,} products, {one.expected:,.0f}{spread} are expected"
    if run.held_out is not None:
        yield f"accuracy {run.held_out:.1%} on held-out data, after the last step"


def shown_steps(count: int) -> list[int]:
    """The steps whose losses are printed: all, or of many the first, some between, and the last."""
    if count <= ALL_STEPS:
        return list(range(count))
    scale = 10 ** (len(str(count // SOME_STEPS)) - 1)
    stride = next(scale * digit for digit in (1, 2, 5, 10) if scale * digit * SOME_STEPS >= count)
    return sorted({*range(0, count, stride), count - 1})


def clock_lines(training: Training) -> Iterator[str]:
    """The time of a step on each machine, and that of all steps."""
    from npuc.compiler.report.text.quantities import time_text

    for clock in training.simulated:
        seconds = clock.seconds_per_step
        whole = f", {time_text(seconds * training.steps)} for {training.steps:,} steps" if training.steps > 1 else ""
        yield f"{clock.hardware}, backend {clock.backend}: {time_text(seconds)} a step{whole}"


def remarks(run: Run, training: Training) -> Iterator[str]:
    """What stands beside the result: what the data are, how long it took here, and a loss that is no number."""
    from npuc.compiler.report.text.quantities import time_text

    if run.data is not None:
        yield run.data
    if training.steps > 1:
        steps = training.steps
        yield f"{steps:,} steps took {time_text(run.seconds)} here, {time_text(run.seconds / steps)} each"
    lost = next((step for step, loss in enumerate(training.losses) if loss is None), None)
    if lost is not None:
        found = f"the loss is {run.losses[lost]} from step {lost:,} on"
        yield f"warning: {found}; a smaller learning rate may keep it finite"
