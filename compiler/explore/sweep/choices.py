"""What the points of a sweep choose: options, backends, and the parts of the grid that differ in the machine alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from npuc.backends.base import Backend
from npuc.compiler.core.options import CompileKeywords, Options
from npuc.compiler.driver.levels.asked import density_text, orders_collectives
from npuc.compiler.driver.options import fields_of
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.together import lowering
from npuc.compiler.explore.sweep.devices import shared
from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.models import Models
from npuc.frontends.source import Source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.core.options import Densities
    from npuc.hardware import Hardware


@dataclass
class Choices:
    """The grid of a sweep of a source. `backend` and `options` are those of points that do not vary them."""

    source: Source
    grid: Grid
    backend: str
    options: CompileKeywords
    _models: dict[str | None, Models] = field(default_factory=dict[str | None, Models])

    def models_of(self, index: int) -> Models:
        """The models of the backends of all points, for the pipeline of one."""
        chosen = {**self.options, **self.chosen(index)}
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
        return models.by_name[models.names[self.number_of(index)]]

    def number_of(self, index: int) -> int:
        """The number of the backend that scores a point."""
        return self.models_of(index).names.index(str(self.chosen(index).get("backend", self.backend)))

    def chosen(self, index: int) -> dict[str, Any]:
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
        chosen = self.chosen(index)
        chosen.pop("backend", None)
        own = cast("CompileKeywords", chosen)
        options: CompileKeywords = {**self.options, **own, "overrides": overrides, "defines": defines}
        return Options(**fields_of(shared(options, strategies="parallel" in chosen)))

    def is_lowered_for_machines(self, index: int, machines: Iterable[Hardware]) -> bool:
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
