"""
One program for several backends: which level each scores, and who lowers it.

A backend of the graph of layers that also takes lowered programs (`Backend.lowered`) takes one where the source is one,
where `-p` lowers it, and where another backend scores the level npu. Several backends of that level score one
program: that of the first which wants schedules, on its machine, else of the first which needs no mappings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.compiler.driver.passes import LOWER, names_in, state_of
from npuc.dialects.provenance import mapping_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend
    from npuc.hardware import Hardware


def scoring(model: Backend, pipeline: str | None, module: ModuleOp | None = None) -> Backend:
    """The model that a backend has for what `pipeline` leaves of a program: its own, or that of lowered programs."""
    if model.level != "train":
        return model
    lowers = LOWER in names_in(pipeline or "") or (module is not None and _is_lowered(module))
    return (model.lowered() or model) if lowers else model


def scoring_together(models: Sequence[Backend], pipeline: str | None, module: ModuleOp) -> list[Backend]:
    """The models of several backends of one program."""
    found = [scoring(model, pipeline, module) for model in models]
    if all(model.level != "npu" for model in found):
        return found
    return [model if model.level == "npu" else model.lowered() or model for model in found]


def leader(models: Sequence[Backend], machines: Sequence[Hardware], module: ModuleOp) -> int | None:
    """
    The number of the backend whose program the others of the level npu score, too; None where each has its own.

    Mappings of the source hold for some backends alone, so that a source with mappings is lowered for each.
    """
    numbers = [number for number, model in enumerate(models) if model.level == "npu"]
    if len(numbers) < 2 or any(mapping_of(op) is not None for op in module.walk()):
        return None
    wanting = [number for number in numbers if models[number].needs_schedules(machines[number])]
    free = [number for number in numbers if models[number].mapping_pass(machines[number], None) is None]
    return next(iter([*wanting, *free]), None)


def _is_lowered(module: ModuleOp) -> bool:
    """Whether a program has operations of the level npu and none above it."""
    return not state_of(module).has_train and any(op.name.startswith("npu.") for op in module.walk())
