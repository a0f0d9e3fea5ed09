"""
Runs of points that differ in the machine alone, on a program that is lowered once for all of them.

Such are those of a backend of level `train`, those of one of level `npu` that wants no schedules but mappings, and
those of one that wants schedules by the passes of -O: the lowered program is the same on all machines, with mappings or
schedules for each. What a backend keeps of a program from one call to the next stays until the program is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npuc.backends.base import Backend
from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import Options
from npuc.compiler.driver.classes.program import ClassedProgram, is_scheduled_alone, shares_programs
from npuc.compiler.driver.lower_program import lower_program
from npuc.compiler.driver.machine import machine_for
from npuc.compiler.driver.mapped import MappedProgram, is_mapped_alone
from npuc.compiler.driver.score import scorer_of
from npuc.compiler.explore.sweep.choices import Choices
from npuc.compiler.explore.sweep.messages import Said, warned
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.programs import Programs
from npuc.compiler.report import Report
from npuc.dialects.copies import copied
from npuc.hardware import Hardware

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.driver.lower import Lowered

SEARCHED_AT_ONCE = 16
"""The most points whose schedules are searched before the first of them is known."""
PROGRAMS_BY_CLASSES = 4
"""Programs that are kept by their classes, as where network parameters vary faster than the machine."""
Scores = Callable[[Sequence[Hardware]], Iterator[Report | NpucError]]
"""The reports on machines, in order, or for one of them why there is none."""


@dataclass(frozen=True)
class _Shared:
    """A program that is lowered for all machines of a run, what scores it, and what was said and read on the way."""

    module: ModuleOp
    lowered: Lowered
    scores: Scores
    messages: Said
    warnings: list[str]
    reads: frozenset[str]


@dataclass(frozen=True)
class _Classed:
    """A program by its classes of operations, and what was said on the way to it."""

    program: ClassedProgram
    messages: Said


@dataclass
class MachineRuns:
    """Scores runs of machines."""

    choices: Choices
    programs: Programs
    _shared: dict[str, _Shared] = field(default_factory=dict[str, _Shared])
    _classed: dict[str, _Classed | None] = field(default_factory=dict[str, "_Classed | None"])

    def may_share(self, index: int) -> bool:
        """Whether the points of a run may be scored on one program."""
        model = self.choices.backend_of(index)
        if model.level == "train":
            return True
        if self.choices.grid.is_shared or len(self.choices.models_of(index).names) > 1:
            return False
        options = self.choices.options_of(index)
        try:
            machine = machine_for(model, options, self.choices.source.format)
            return is_mapped_alone(model, machine, options) or self._may_schedule(model, machine, options)
        except NpucError:  # raised again, with the point
            return False

    def _may_schedule(self, model: Backend, machine: Hardware, options: Options) -> bool:
        """Whether there are several machines, and schedules for each may be all that differs."""
        several = any(axis.of_machine and len(axis.values) > 1 for axis in self.choices.grid.axes)
        return several and is_scheduled_alone(model, machine, options)

    def score(self, indices: Sequence[int]) -> Iterator[SweepPoint | None]:
        """
        The points of a run, in order, each as soon as it is known; None for one that needs a program of its own.
        """
        choices, programs = self.choices, self.programs
        model, messages, first = choices.backend_of(indices[0]), Said(), indices[0]
        if model.level == "npu" and not choices.options_of(first).mapping and self._wants_schedules(first):
            for some in growing(indices):
                self._search(some)
                yield from map(self._scheduled, some)
            return
        try:
            format = choices.source.format
            machines = [machine_for(model, choices.options_of(index), format) for index in indices]
            if choices.is_lowered_for_machines(first, machines):
                yield from (None for _ in indices)
                return
            with without_cycle_collection():
                shared = self._program(first, model, machines[0], messages)
        except NpucError as error:
            yield from (programs.failed(index, error, messages) for index in indices)
            return
        if shared is None:
            yield from (None for _ in indices)
            return
        for index, machine, found in zip(indices, machines, shared.scores(machines), strict=True):
            if isinstance(found, Report):
                machine.reads.update(shared.reads)
                said = (*shared.messages, *warned(shared.warnings, found))
                yield programs.point(index, found, shared.lowered, shared.module, machine, said)
            else:
                yield programs.failed(index, found, shared.messages)

    def _program(self, index: int, model: Backend, machine: Hardware, messages: Said) -> _Shared | None:
        """The program of a run, as it was lowered last where that is the same; None where mappings differ in kind."""
        fixed = [value for key, value in self.choices.grid.values(index).items() if not self._of_machine(key)]
        types = machine.get("precision", str), machine.get("memory.element_bytes", int)
        key = repr((model.name, model.level, fixed, types, model.level == "npu" and machine.get("maestro.mode", str)))
        if key in self._shared:
            return self._shared[key]
        options = self.choices.options_of(index)
        program = self.programs.read(machine, options, index)
        session = self.programs.session(options, model, machine, program, messages)
        module = copied(program.module)
        lowered = lower_program(module, session)
        scores: Scores = scorer_of(module, model)
        if model.level == "npu":
            mapped = MappedProgram.of(program.module, module, session, lowered)
            if mapped is None:
                return None
            scores = mapped.scores
        reads = frozenset(machine.reads)
        self._shared = {key: _Shared(module, lowered, scores, messages, session.warnings, reads)}
        return self._shared[key]

    def _wants_schedules(self, index: int) -> bool:
        """Whether a point's backend scores schedules on its machine."""
        options, model = self.choices.options_of(index), self.choices.backend_of(index)
        return model.needs_schedules(machine_for(model, options, self.choices.source.format))

    def _search(self, indices: Sequence[int]) -> None:
        """Search the schedules of several points, a class of operations on all machines before the next one."""
        found: dict[int, tuple[ClassedProgram, list[Hardware]]] = {}
        with suppress(NpucError), without_cycle_collection():  # raised again, with the point
            for index in indices:
                model, options = self.choices.backend_of(index), self.choices.options_of(index)
                machine = machine_for(model, options, self.choices.source.format)
                known = self._program_by_classes(index, model, machine) if shares_programs(model, machine) else None
                if known is not None:
                    found.setdefault(id(known), (known.program, []))[1].append(machine)
            for program, machines in found.values():
                if len(machines) > 1:
                    program.search(machines)

    def _scheduled(self, index: int) -> SweepPoint | None:
        """A point on a program that is lowered for all machines, with schedules for its own; None where it is none."""
        model, options = self.choices.backend_of(index), self.choices.options_of(index)
        try:
            machine = machine_for(model, options, self.choices.source.format)
            if not shares_programs(model, machine):
                return None
            with without_cycle_collection():
                known = self._program_by_classes(index, model, machine)
                found = None if known is None else known.program.score(machine)
        except NpucError:  # raised again by the program of its own, with the place in it
            return None
        if known is None or found is None:
            return None
        machine.reads.update(known.program.reads)
        said = (*known.messages, *warned(known.program.warnings, found))
        return self.programs.point(index, found, known.program.lowered, known.program.module, machine, said)

    def _program_by_classes(self, index: int, model: Backend, machine: Hardware) -> _Classed | None:
        """The program of a point by its classes of operations; None where it has none."""
        fixed = [value for key, value in self.choices.grid.values(index).items() if not self._of_machine(key)]
        types = machine.get("precision", str), machine.get("memory.element_bytes", int)
        key = repr((model.name, fixed, types))
        if key not in self._classed:
            while len(self._classed) >= PROGRAMS_BY_CLASSES:
                self._classed.pop(next(iter(self._classed)))
            messages, options = Said(), self.choices.options_of(index)
            program = self.programs.read(machine, options, index)
            session = self.programs.session(options, model, machine, program, messages)
            found = ClassedProgram.of(program.module, session)
            self._classed[key] = None if found is None else _Classed(found, messages)
        return self._classed[key]

    def _of_machine(self, key: str) -> bool:
        """Whether a varied key is one of the machine."""
        return any(axis.key == key and axis.of_machine for axis in self.choices.grid.axes)


def growing(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    """All in order: one, as many as there were, and so on, so that the first ones are soon known."""
    start, count = 0, 1
    while start < len(indices):
        yield indices[start : start + count]
        start, count = start + count, min(max(1, start + count), SEARCHED_AT_ONCE)
