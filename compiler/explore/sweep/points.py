"""
Scores the points of a sweep: each program is read once for each set of network parameters, machines come in batches.

    points = Points(source, grid, "cycle", options)
    for point in points.score(range(grid.count)): ...

A backend of level `train` gets a lowered program and a run of machines, one of level `npu` schedules for each machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from npuc.backends.base import Backend
from npuc.compiler.core.errors import CapacityError, NpucError, SourceError, UsageError
from npuc.compiler.core.gc_pause import collect_cycles, without_cycle_collection
from npuc.compiler.core.options import CompileKeywords, Options
from npuc.compiler.driver.compile import lowering_options, read_for
from npuc.compiler.driver.levels.asked import density_text, orders_collectives
from npuc.compiler.driver.lower_program import lower_program
from npuc.compiler.driver.machine import machine_for
from npuc.compiler.driver.options import fields_of
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.score import full_totals, score_lowered, score_on_many
from npuc.compiler.driver.session import Session
from npuc.compiler.driver.together import Together, lowering
from npuc.compiler.driver.unread import unread_in_sweep
from npuc.compiler.explore.sweep.devices import MOVED, Moved, moved_by, shared
from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.messages import Said, one_line, point_text, warned
from npuc.compiler.explore.sweep.models import Models
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.report import Report
from npuc.frontends.source import Source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.core.options import Densities
    from npuc.compiler.driver.lower import Lowered
    from npuc.hardware import Hardware

PROGRAMS_KEPT = 8
"""Programs that are kept as they were read; a sweep with the network's parameters last comes back to them."""
MOST_MACHINES = 4096
"""The most machines that are described and scored in one call."""
POINTS_BETWEEN_COLLECTIONS = 8
"""Modules are reference cycles: the most points between two collections of their memory."""
POINTS_BETWEEN_FULL_COLLECTIONS = 64
"""The most points between two collections of all memory, also of programs that several points shared."""


@dataclass(frozen=True)
class _Program:
    """A program as read, with the messages of its reader."""

    module: ModuleOp
    remarks: list[str]


@dataclass
class Points:
    """
    Scores points of a grid; shared work is done once.

    `backend` and `options` are those of points that do not vary them.
    """

    source: Source
    grid: Grid
    backend: str
    options: CompileKeywords
    _programs: dict[tuple[object, ...], _Program] = field(default_factory=dict[tuple[object, ...], _Program])
    _models: dict[str | None, Models] = field(default_factory=dict[str | None, Models])
    _together: dict[str, tuple[Together, list[Said]]] = field(default_factory=dict[str, "tuple[Together, list[Said]]"])
    _single: dict[str, SweepPoint] = field(default_factory=dict[str, SweepPoint])
    _scored: int = 0
    _right: bool | None = None

    def score(self, indices: range) -> Iterator[SweepPoint]:
        """
        The points of those numbers, in order, each as soon as it is known.

        Raises `NpucError`s but for points that do not fit their machine, or whose parameters make no program.
        """
        run = self.grid.run
        while indices:
            end = min(indices.stop, (indices.start // run + 1) * run, indices.start + MOST_MACHINES)
            yield from self._score_run(range(indices.start, end))
            indices = range(end, indices.stop)

    def score_all(self, indices: range) -> list[SweepPoint]:
        """The points of those numbers, as `score` has them."""
        return list(self.score(indices))

    def score_some(self, indices: Sequence[int]) -> Iterator[SweepPoint]:
        """The points of any numbers, in their order; neighbours that differ in the machine alone as in `score`."""
        for _, together in groupby(indices, lambda index: index // self.grid.run):
            yield from self._score_run([*together])

    def models_of(self, index: int) -> Models:
        """The models of the backends of all points, for the pipeline of one."""
        chosen = {**self.options, **self._chosen(index)}
        own, formats = (None if chosen.get(one) is None else str(chosen[one]) for one in ("pipeline", "quantize"))
        pipeline = lowering(own, formats, density_text(cast("Densities", chosen.get("density"))))
        if pipeline not in self._models:
            varied = next((axis.values for axis in self.grid.axes if axis.target == "backend"), (self.backend,))
            self._models[pipeline] = Models(tuple(map(str, varied)), pipeline, self.program_in_ir)
        return self._models[pipeline]

    @cached_property
    def program_in_ir(self) -> ModuleOp | None:
        """A source of IR, which may be lowered already; None for networks and tables, which are not."""
        if not self.source.frontend.is_ir:
            return None
        return read_program(self.source, self.options_of(0), texts_of(self.source))

    def backend_of(self, index: int) -> Backend:
        """The backend that scores a point."""
        models = self.models_of(index)
        return models.by_name[models.names[self._number(index)]]

    def _number(self, index: int) -> int:
        """The number of the backend that scores a point."""
        return self.models_of(index).names.index(str(self._chosen(index).get("backend", self.backend)))

    def _chosen(self, index: int) -> dict[str, Any]:
        """The options that a point varies, by keyword."""
        values, chosen = self.grid.values(index), dict[str, Any]()
        for axis in self.grid.axes:
            if axis.place == "option":
                chosen.update(axis.keywords(values[axis.key]))
        return chosen

    def options_of(self, index: int) -> Options:
        """The options of a point."""
        values = self.grid.values(index)
        overrides: dict[str, object] = dict(self.options.get("overrides") or {})
        defines: dict[str, Any] = dict(self.options.get("defines") or {})
        for axis in self.grid.axes:
            if axis.place != "option":
                (overrides if axis.place == "hardware" else defines)[axis.target] = values[axis.key]
        chosen = self._chosen(index)
        chosen.pop("backend", None)
        own = cast("CompileKeywords", chosen)
        options: CompileKeywords = {**self.options, **own, "overrides": overrides, "defines": defines}
        return Options(**fields_of(shared(options, strategies="parallel" in chosen)))

    def _score_run(self, indices: Sequence[int]) -> Iterator[SweepPoint]:
        """Points that differ in the machine alone."""
        together = self.backend_of(indices[0]).level == "train"
        yield from self._score_together(indices) if together else map(self._score_once, indices)

    def _score_once(self, index: int) -> SweepPoint:
        """A point; those of one device differ in no option of several devices, so that one is scored for all."""
        if self.grid.devices_of(index) > 1 or not self.grid.is_shared:
            return self._score_alone(index)
        key = repr((self.backend_of(index).name, self.options_of(index)))
        if key not in self._single:
            self._single = {key: self._score_alone(index)}
        return replace(self._single[key], index=index, values=self.grid.values(index))

    def _score_alone(self, index: int) -> SweepPoint:
        """A point with a program that is lowered for its machine."""
        self._collect()
        model, messages = self.backend_of(index), Said()
        try:
            with without_cycle_collection():
                together, said = self._together_of(index, self.options_of(index))
                session, messages = together.sessions[self._number(index)], said[self._number(index)]
                module, lowered = together.lowered(self._number(index))
                machine = session.machine
                if (remark := model.forecast(module, machine)) is not None:
                    messages.add(remark)
                report = score_lowered(module, model, machine, costs_alone=True)
                messages_of_point = (*messages, *warned(session.warnings, report))
                return self._point(index, report, lowered, module, machine, messages_of_point)
        except NpucError as error:
            return self._failed(index, error, messages)

    def _together_of(self, index: int, options: Options) -> tuple[Together, list[Said]]:
        """The compilations of a point for all backends, which score one program, and what each says."""
        backend = next((axis.key for axis in self.grid.axes if axis.target == "backend"), None)
        key = repr([value for name, value in self.grid.values(index).items() if name != backend])
        if backend is None or key not in self._together:
            models = list(self.models_of(index).by_name.values())
            said = [Said() for _ in models]
            machines = [machine_for(model, options, self.source.format) for model in models]
            program = self._program(machines[self._number(index)], options, index)
            sessions = [
                self._session(options, model, machine, program, one)
                for model, machine, one in zip(models, machines, said, strict=True)
            ]
            self._together = {key: (Together(program.module, sessions), said)}
        return self._together[key]

    def _score_together(self, indices: Sequence[int]) -> Iterator[SweepPoint]:
        """A run of points on a program that is lowered once."""
        self._collect()
        model, messages = self.backend_of(indices[0]), Said()
        try:
            format = self.source.format
            machines = [machine_for(model, self.options_of(index), format) for index in indices]
        except NpucError as error:
            yield from (self._failed(index, error, messages) for index in indices)
            return
        if self._is_lowered_for_machines(indices[0], machines):
            yield from map(self._score_once, indices)
            return
        try:
            with without_cycle_collection():
                options = self.options_of(indices[0])
                program = self._program(machines[0], options, indices[0])
                session = self._session(options, model, machines[0], program, messages)
                module = program.module.clone()
                lowered = lower_program(module, session)
        except NpucError as error:
            yield from (self._failed(index, error, messages) for index in indices)
            return
        lowering = frozenset(machines[0].reads)
        for index, machine, found in zip(indices, machines, score_on_many(module, model, machines), strict=True):
            if isinstance(found, Report):
                machine.reads.update(lowering)
                messages_of_point = (*messages, *warned(session.warnings, found))
                yield self._point(index, found, lowered, module, machine, messages_of_point)
            else:
                yield self._failed(index, found, messages)

    def _program(self, machine: Hardware, options: Options, index: int) -> _Program:
        """The program of a point, cached."""
        values = self.grid.values(index)
        varied = (repr(values[axis.key]) for axis in self.grid.axes if axis.place == "define")
        key = (machine.get("cycle.compat", str), *varied)
        program = self._programs.pop(key, None)
        if program is None:
            remarks: list[str] = []
            program = _Program(read_for([machine], self.source, options, texts_of(self.source), remarks), remarks)
        while len(self._programs) >= PROGRAMS_KEPT:
            self._programs.pop(next(iter(self._programs)))
        self._programs[key] = program
        return program

    def _session(
        self, options: Options, model: Backend, machine: Hardware, program: _Program, messages: Said
    ) -> Session:
        """The compilation of a point, whose warnings begin with those of its reader."""
        source, remarks = self.source, list(program.remarks)
        left = lowering_options(source, options)
        return Session(source, left, model, machine, texts_of(source), messages.add, remarks)

    def _is_lowered_for_machines(self, index: int, machines: Iterable[Hardware]) -> bool:
        """
        Whether the lowered program depends on the machine: through its types, plans for time, orders of collectives,
        or its memory.
        """
        options = self.options_of(index)
        if options.plan_objective == "time" or orders_collectives(options):
            return True
        machines = list(machines)
        limited = any(machine.get("dram.capacity_mib", float) is not None for machine in machines)
        widths = {(machine.get("precision", str), machine.get("memory.element_bytes", int)) for machine in machines}
        return limited or len(widths) > 1

    def _point(
        self,
        index: int,
        report: Report,
        lowered: Lowered,
        module: ModuleOp,
        machine: Hardware,
        messages: tuple[str, ...],
    ) -> SweepPoint:
        moved = moved_by(report, module) if self.grid.is_shared else None
        unread = unread_in_sweep(self.options_of(index).overrides, self.backend_of(index), machine)
        return SweepPoint(index, self.grid.values(index), full_totals(report, lowered), None, messages, moved, unread)

    def _failed(self, index: int, error: NpucError, messages: Iterable[str]) -> SweepPoint:
        """A point without totals. Raises the error again where it is one of the whole sweep."""
        values = self.grid.values(index)
        if isinstance(error, CapacityError) or (isinstance(error, SourceError) and self._is_right_elsewhere()):
            moved: Moved | None = dict.fromkeys(MOVED) if self.grid.is_shared else None
            return SweepPoint(index, values, None, one_line(error), tuple(messages), moved)
        if isinstance(error, UsageError):
            message = f"{point_text(values)}: {error.message}"
            raise UsageError(message, location=error.location, hint=error.hint, source_line=error.source_line)
        raise error

    def _is_right_elsewhere(self) -> bool:
        """Whether network parameters are varied and the program is valid with their defaults."""
        if not any(axis.place == "define" for axis in self.grid.axes):
            return False
        if self._right is None:
            try:
                read_program(self.source, Options(**fields_of(self.options)), texts_of(self.source))
                self._right = True
            except SourceError:
                self._right = False
            except UsageError:  # a parameter has no default
                self._right = True
        return self._right

    def _collect(self) -> None:
        """Free the memory of earlier points, now and then."""
        self._scored += 1
        if self._scored % POINTS_BETWEEN_COLLECTIONS == 0:
            collect_cycles(full=self._scored % POINTS_BETWEEN_FULL_COLLECTIONS == 0)
