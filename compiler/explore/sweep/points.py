"""
Scores the points of a sweep: each program is read once for each set of network parameters, machines come in batches.

    points = Points(source, grid, "cycle", options)
    for point in points.score(range(grid.count)): ...

A backend of level `train`, and one whose machines differ in mappings alone, gets a lowered program and a run of
machines (`machines.py`); other backends of level `npu` get schedules for each machine, on
one program where nothing else depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.gc_pause import collect_cycles, without_cycle_collection
from npuc.compiler.core.options import CompileKeywords, Options
from npuc.compiler.driver.machine import machine_for
from npuc.compiler.driver.score import score_lowered
from npuc.compiler.driver.together import Together
from npuc.compiler.explore.sweep.choices import Choices
from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.machines import MachineRuns
from npuc.compiler.explore.sweep.messages import Said, warned
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.programs import Programs
from npuc.frontends.source import Source

MOST_MACHINES = 1024
"""The most machines that are described and scored in one call."""
POINTS_BETWEEN_COLLECTIONS = 8
"""Modules are reference cycles: the most points between two collections of their memory."""
POINTS_BETWEEN_FULL_COLLECTIONS = 64
"""The most points between two collections of all memory, also of programs that several points shared."""


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
    _together: dict[str, tuple[Together, list[Said]]] = field(default_factory=dict[str, "tuple[Together, list[Said]]"])
    _single: dict[str, SweepPoint] = field(default_factory=dict[str, SweepPoint])
    _scored: int = 0

    @cached_property
    def choices(self) -> Choices:
        """What each point chooses."""
        return Choices(self.source, self.grid, self.backend, self.options)

    @cached_property
    def _programs(self) -> Programs:
        """The programs of points, and what they come to."""
        return Programs(self.choices)

    @cached_property
    def _machines(self) -> MachineRuns:
        """What scores runs of machines."""
        return MachineRuns(self.choices, self._programs)

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

    def _score_run(self, indices: Sequence[int]) -> Iterator[SweepPoint]:
        """Points that differ in the machine alone."""
        if not self._machines.may_share(indices[0]):
            yield from map(self._score_once, indices)
            return
        self._collect()
        for index, point in zip(indices, self._machines.score(indices), strict=True):
            yield self._score_once(index) if point is None else point

    def _score_once(self, index: int) -> SweepPoint:
        """A point; those of one device differ in no option of several devices, so that one is scored for all."""
        if self.grid.devices_of(index) > 1 or not self.grid.is_shared:
            return self._score_alone(index)
        key = repr((self.choices.backend_of(index).name, self.choices.options_of(index)))
        if key not in self._single:
            self._single = {key: self._score_alone(index)}
        return replace(self._single[key], index=index, values=self.grid.values(index))

    def _score_alone(self, index: int) -> SweepPoint:
        """A point with a program that is lowered for its machine."""
        self._collect()
        model, messages, number = self.choices.backend_of(index), Said(), self.choices.number_of(index)
        try:
            with without_cycle_collection():
                together, said = self._together_of(index, self.choices.options_of(index))
                session, messages = together.sessions[number], said[number]
                module, lowered = together.lowered(number)
                machine = session.machine
                if (remark := model.forecast(module, machine)) is not None:
                    messages.add(remark)
                report = score_lowered(module, model, machine, costs_alone=True)
                messages_of_point = (*messages, *warned(session.warnings, report))
                return self._programs.point(index, report, lowered, module, machine, messages_of_point)
        except NpucError as error:
            return self._programs.failed(index, error, messages)

    def _together_of(self, index: int, options: Options) -> tuple[Together, list[Said]]:
        """The compilations of a point for all backends, which score one program, and what each says."""
        backend = next((axis.key for axis in self.grid.axes if axis.target == "backend"), None)
        key = repr([value for name, value in self.grid.values(index).items() if name != backend])
        if backend is None or key not in self._together:
            models = list(self.choices.models_of(index).by_name.values())
            said = [Said() for _ in models]
            machines = [machine_for(model, options, self.source.format) for model in models]
            program = self._programs.read(machines[self.choices.number_of(index)], options, index)
            sessions = [
                self._programs.session(options, model, machine, program, one)
                for model, machine, one in zip(models, machines, said, strict=True)
            ]
            self._together = {key: (Together(program.module, sessions), said)}
        return self._together[key]

    def _collect(self) -> None:
        """Free the memory of earlier points, now and then."""
        self._scored += 1
        if self._scored % POINTS_BETWEEN_COLLECTIONS == 0:
            collect_cycles(full=self._scored % POINTS_BETWEEN_FULL_COLLECTIONS == 0)
