"""A lowered program that differs between machines in the mappings of its contractions alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from npuc.backends.base import Variant
from npuc.backends.energy import with_energy
from npuc.compiler.analysis.machine.facts import processing_elements_of
from npuc.compiler.core.errors import NpucError
from npuc.compiler.driver.levels.asked import asks_passes
from npuc.compiler.driver.machine import stamp_target
from npuc.compiler.driver.mapping_file import is_mapping_file
from npuc.compiler.driver.passes import own_passes, read_pipeline
from npuc.dialects.provenance import mapping_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend
    from npuc.compiler.core.options import Options
    from npuc.compiler.driver.lower import Lowered
    from npuc.compiler.driver.session import Session
    from npuc.compiler.report import Report
    from npuc.dialects.mapping import MappingAttr
    from npuc.dialects.npu import ContractOp
    from npuc.dialects.npu.nest import Nest
    from npuc.hardware import Hardware

TOGETHER = 128
"""The most machines whose mappings are costed together: others wait for them."""


def is_mapped_alone(model: Backend, machine: Hardware, options: Options) -> bool:
    """Whether what a backend scores depends on the machine by named mappings alone, with the passes of -O."""
    if model.level != "npu" or model.needs_schedules(machine) or options.names_passes:
        return False
    if asks_passes(options) or is_mapping_file(options.mapping) or options.only or options.opt_level is not None:
        return False
    return model.mapping_pass(machine, options.mapping) is not None


@dataclass
class MappedProgram:
    """A lowered program, whose `contracts` get mappings for each machine; none where the source has them all."""

    module: ModuleOp
    session: Session
    contracts: list[list[ContractOp]]
    """Those of equal nests together."""
    _of_machines: dict[int, list[MappingAttr]] = field(default_factory=dict[int, "list[MappingAttr]"])
    _known: dict[tuple[str, int | None], list[MappingAttr]] = field(
        default_factory=dict[tuple[str, "int | None"], "list[MappingAttr]"]
    )

    @classmethod
    def of(cls, source: ModuleOp, module: ModuleOp, session: Session, lowered: Lowered) -> MappedProgram | None:
        """A program that was `lowered` for one machine; None where the source has mappings of some contractions."""
        from npuc.dialects.npu import ContractOp

        written = any(step.name == "map" for step in lowered.passes)
        if written and any(mapping_of(op) is not None for op in source.walk()):
            return None
        alike: dict[Nest, list[ContractOp]] = {}
        for op in module.walk():
            if written and isinstance(op, ContractOp):
                alike.setdefault(op.nest, []).append(op)
        return cls(module, session, list(alike.values()))

    def scores(self, machines: Sequence[Hardware]) -> Iterator[Report | NpucError]:
        """The reports on machines, in order, without names and places of rows; for one of them what it raises."""
        model = self.session.model
        for first in range(0, len(machines), TOGETHER):
            some = machines[first : first + TOGETHER]
            self._of_machines, self._known = {}, {}
            try:
                reports = model.costs_of_variants(self.module, [self._variant(machine) for machine in some])
                yield from map(self._with_energy, reports, some)
            except NpucError:
                yield from map(self._alone, some)

    def _alone(self, machine: Hardware) -> Report | NpucError:
        """The report on one machine, or what it raises."""
        try:
            (report,) = self.session.model.costs_of_variants(self.module, [self._variant(machine)])
            return self._with_energy(report, machine)
        except NpucError as error:
            return error

    def _with_energy(self, report: Report, machine: Hardware) -> Report:
        return with_energy(report, machine, self.session.model.energy_parts)

    def _variant(self, machine: Hardware) -> Variant:
        return Variant(machine, partial(self._write, machine))

    def _write(self, machine: Hardware) -> None:
        """Write the mappings for a machine."""
        if id(machine) not in self._of_machines:
            self._of_machines[id(machine)] = self._mappings(machine)
        for ops, mapping in zip(self.contracts, self._of_machines[id(machine)], strict=True):
            for op in ops:
                op.mapping_attr = mapping

    def _mappings(self, machine: Hardware) -> list[MappingAttr]:
        """The mappings for a machine, one for equal nests."""
        from npuc.compiler.transforms.map import MapPass

        model, asked = self.session.model, self.session.options.mapping
        stamp_target(self.module, machine, model.name, scheduled=False, mapped=True)
        text = model.mapping_pass(machine, asked)
        if not self.contracts or text is None:
            return []
        key = text, processing_elements_of(self.module)
        if key not in self._known:
            (step,) = read_pipeline(text, own_passes())
            assert isinstance(step, MapPass), "mappings have names"
            self._known[key] = step.mappings_of([ops[0] for ops in self.contracts])
        return self._known[key]
