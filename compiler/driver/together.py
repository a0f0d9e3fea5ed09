"""
One program for several backends: which level each scores, and who lowers it.

A backend of the graph of layers that also takes lowered programs (`Backend.lowered`) takes one where the source is one,
where `-p` lowers it, and where another backend scores the level npu. Several backends of that level score one
program: that of the first which wants schedules, on its machine, else of the first which needs no mappings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.driver.levels.asked import states_densities
from npuc.compiler.driver.levels.preset import LOWER, state_of
from npuc.compiler.driver.lower_program import follow_program, lower_program
from npuc.compiler.driver.passes import names_in
from npuc.dialects.copies import copied
from npuc.dialects.provenance import mapping_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend
    from npuc.compiler.core.options import Densities
    from npuc.compiler.driver.lower import Lowered
    from npuc.compiler.driver.session import Session
    from npuc.hardware import Hardware


def lowering(pipeline: str | None, quantize: str | None, density: Densities = None) -> str | None:
    """
    The passes that say whether programs are lowered: those of the caller; formats and densities are of products, which
    are.
    """
    asked = quantize not in (None, "none") or density is not None
    return LOWER if asked and pipeline is None else pipeline


def scoring(model: Backend, pipeline: str | None, module: ModuleOp | None = None) -> Backend:
    """The model that a backend has for what `pipeline` leaves of a program: its own, or that of lowered programs."""
    if model.level != "train":
        return model
    lowers = LOWER in names_in(pipeline or "") or _is_of_products(module)
    return (model.lowered() or model) if lowers else model


def scoring_together(models: Sequence[Backend], pipeline: str | None, module: ModuleOp) -> list[Backend]:
    """The models of several backends of one program."""
    found = [scoring(model, pipeline, module) for model in models]
    if all(model.level != "npu" for model in found):
        return found
    return [model if model.level == "npu" else model.lowered() or model for model in found]


def _leader(models: Sequence[Backend], machines: Sequence[Hardware], module: ModuleOp) -> int | None:
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


@dataclass
class Together:
    """A program as it was read, and the compilations of it for several backends, a session each."""

    module: ModuleOp
    sessions: list[Session]

    def check(self) -> None:
        """Raise `UsageError` before anything is lowered where a machine lacks what one of several backends needs."""
        if len(self.sessions) > 1:
            for session in self.sessions:
                session.model.check(session.machine)

    @cached_property
    def leading(self) -> int | None:
        """The number of the session whose program others score, too."""
        models, machines = [one.model for one in self.sessions], [one.machine for one in self.sessions]
        return _leader(models, machines, self.module)

    @cached_property
    def _shared(self) -> tuple[ModuleOp, Lowered]:
        """The program that several backends score."""
        assert self.leading is not None
        session, program = self.sessions[self.leading], copied(self.module)
        return program, lower_program(program, session)

    def lowered(self, number: int) -> tuple[ModuleOp, Lowered]:
        """What the backend of a session scores: a module of its own. Adds to the session's warnings."""
        session = self.sessions[number]
        if self.leading is None or session.model.level != "npu":
            program = copied(self.module)
            return program, lower_program(program, session)
        module, lowered = self._shared
        if number == self.leading:
            return copied(module), lowered
        program, told = copied(module), [*session.warnings]
        try:
            return program, follow_program(program, session, lowered)
        except (SourceError, UsageError) as error:
            if session.options.pipeline is not None:
                raise
            session.warnings[:] = [*told, f"scored without the passes of -O that the others have: {error.message}"]
        program = copied(self.module)
        return program, lower_program(program, session)


def _is_of_products(module: ModuleOp | None) -> bool:
    """Whether a program is lowered already, or will be as it says densities of operands of its products."""
    return module is not None and (_is_lowered(module) or states_densities(module))


def _is_lowered(module: ModuleOp) -> bool:
    """Whether a program has operations of the level npu and none above it."""
    return not state_of(module).has_train and any(op.name.startswith("npu.") for op in module.walk())
