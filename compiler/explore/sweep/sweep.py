"""A sweep as data: a source, the grid of points, and the options that all points share."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from npuc.backends.registry import get_backend
from npuc.compiler.core.arguments import argument
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords, Options
from npuc.compiler.driver.machine import backend_for, machine_for
from npuc.compiler.driver.meaning import check_meaning
from npuc.compiler.driver.options import check_options
from npuc.compiler.driver.score import version
from npuc.compiler.driver.together import lowering, scoring
from npuc.compiler.explore.sweep.axes import Vary, make_grid, options_at_first, read_parameters
from npuc.compiler.explore.sweep.compare import Comparison, compare
from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.points import Points
from npuc.compiler.explore.sweep.values import MOST_POINTS
from npuc.frontends.source import Source
from npuc.hardware import load_hardware

if TYPE_CHECKING:
    from npuc.backends.base import Backend
    from npuc.hardware import Hardware

COMPAT = "cycle.compat"
"""The key that says whether the backend `cycle` schedules."""


class Sweep:
    """
    The points that `vary` spans over a source.

    There are at most so many points (`most`). Everything that needs no scored point is checked here: raises
    `UsageError`, and `SourceError` for a network that does not parse.
    """

    def __init__(
        self,
        source: Source,
        vary: Vary,
        backend: str | Sequence[str] | None,
        options: CompileKeywords,
        *,
        most: int = MOST_POINTS,
    ):
        argument("vary", vary, Vary)
        argument("backend", backend, Sequence[str] | str | None)
        backends = [backend] if isinstance(backend, str) else list(backend or [])
        given = options.copy()
        if cast("object", given.get("objective", "time")) is None:
            given["objective"] = "time"
        if "pipeline" in vary:
            given.pop("load", None)  # each pipeline is checked with what it loads
        given = check_options(options_at_first(given, vary))
        options = cast("CompileKeywords", {name: given.get(name, value) for name, value in options.items()})
        if any(options.get(name) for name in ("print_after", "print_changed", "time_passes")):
            raise UsageError("a sweep does not show the IR after passes, nor what they take", hint="compile one point")
        if len(backends) > 1 and "backend" not in vary:
            vary, backends = {**vary, "backend": backends}, []
        for name in backends:
            get_backend(name)
        self.source = source
        self.options: CompileKeywords = options.copy()
        self.grid: Grid = make_grid(source, vary, options, backends, most)
        if self.options.get("objective") is None:
            self.options["objective"] = "time"
        self.backend = backends[0] if backends else backend_for(source)
        self._points = Points(source, self.grid, self.backend, self.options)
        options_of_first = self._points.choices.options_of(0)
        machine_for(self._points.choices.backend_of(0), options_of_first, source.format)
        varied = [axis.target for axis in self.grid.axes if axis.place == "option"]
        compared = replace(options_of_first, objective="time")  # points are compared by it, whatever scores them
        check_meaning(compared, list(self._scored(options_of_first)), varied)

    def _scored(self, first: Options) -> Iterator[tuple[Backend, Hardware]]:
        """The backends of all points, each on every kind of machine: those that may want schedules at some of them."""
        values = {axis.target: axis.values for axis in self.grid.axes if axis.place != "define"}
        backends, machines = values.get("backend", (self.backend,)), values.get("hardware", (first.hardware,))
        pipelines = dict.fromkeys(one.passes for one in self.grid.pipelines) or (first.pipeline,)
        every = product(backends, machines, values.get(COMPAT, (None,)), pipelines)
        for name, machine, compat, pipeline in every:
            overrides = first.overrides if compat is None else {**first.overrides, COMPAT: compat}
            chosen = replace(first, hardware=machine, overrides=overrides)
            model = scoring(
                get_backend(name), lowering(pipeline, first.quantize, first.density), self._points.choices.program_in_ir
            )
            yield model, machine_for(model, chosen, self.source.format)

    @property
    def objective(self) -> str:
        """The objective by which points are compared."""
        return self.options.get("objective", "time")

    @property
    def title(self) -> str:
        """The source, backend and machine, as far as they are the same at all points."""
        varied = {axis.target for axis in self.grid.axes if axis.place == "option"}
        options, backend = self._points.choices.options_of(0), self._points.choices.backend_of(0)
        chosen = replace(options, overrides=self.options.get("overrides") or {})
        machine = machine_for(backend, chosen, self.source.format)
        parts = [] if varied & {"hardware", "backend"} else [f"on {machine.name}"]
        parts += [] if "backend" in varied else [f"backend {self.backend}"]
        fixed = self.options.get("precision")
        parts += [] if fixed is None else [f"precision {fixed}"]
        parts += [f"{self.grid.devices:,} devices"] if self.grid.devices > 1 else []
        return ", ".join([" ".join([self.source.shown, *parts[:1]]), *parts[1:]])

    @property
    def scorer(self) -> Points:
        """What scores any of the points, in this process or, copied, in others."""
        return self._points

    def compare(self, points: Sequence[SweepPoint]) -> Comparison:
        """All points, compared by the objective; by time where that is varied."""
        return compare(self.grid, points, self.objective)

    def points(self, start: int = 0, *, jobs: int | None = None, dask: str | None = None) -> Iterator[SweepPoint]:
        """
        The points from number `start` on, in order, each as soon as it is known: by `jobs` processes (1), or with
        `dask` by the cluster at that address, or one of `jobs` processes if it is `local`.
        """
        indices = range(start, self.grid.count)
        if argument("jobs", 1 if jobs is None else jobs, int) < 1:
            raise UsageError(f"found {jobs} jobs, expected at least one")
        argument("dask", dask, str | None)
        if dask is not None:
            from npuc.compiler.explore.sweep.spread.cluster import LOCAL, score_on_cluster

            if jobs is not None and dask != LOCAL:
                raise UsageError("--jobs is of this machine, --dask of others", hint="leave out one of them")
            return score_on_cluster(self._points, indices, dask, jobs)
        jobs = jobs or 1
        if jobs == 1 or len(indices) < 2:
            return self._points.score(indices)
        from npuc.compiler.explore.sweep.spread.processes import score_in_processes

        return score_in_processes(self._points, indices, jobs)

    def digest(self) -> str:
        """A hash of everything that the rows depend on: the source, the points, the machine, the options, npuc."""
        said: dict[str, Any] = {name: value for name, value in self.options.items() if name not in _NO_RESULT}
        parameters = read_parameters(self.source)
        texts = () if parameters is None else parameters.texts
        said["source"] = [self.source.shown, self.source.format, self.source.text or self.source.fingerprint(), *texts]
        said["backend"] = self.backend
        said["axes"] = [
            [axis.key, axis.target, [repr(v) for v in axis.pipelines or axis.values]] for axis in self.grid.axes
        ]
        said["machines"] = [dict(load_hardware(name).values) for name in self._machines()]
        said["hardware"] = None
        said["load"] = [_text(path) for path in self.options.get("load") or ()]
        costs = self.options.get("opaque_costs")
        said["opaque_costs"] = None if costs is None else _text(os.fspath(costs))
        said["npuc"] = version()
        text = json.dumps(said, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _machines(self) -> list[Any]:
        """The base descriptions of the points' machines, without the defaults of backends."""
        varied = next((axis.values for axis in self.grid.axes if axis.target == "hardware"), None)
        return [name for name in varied or (self.options.get("hardware"),) if name is not None]


_NO_RESULT = ("verify_each", "print_after", "print_changed", "time_passes", "load", "hardware")
"""Options that change no row, or whose referenced content is hashed instead."""


def _text(path: str) -> str:
    """A hash of a file that an option names; empty where it cannot be read, which reading it will report."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""
