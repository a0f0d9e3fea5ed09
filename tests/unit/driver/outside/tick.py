"""A cost model of somebody else, written only against npuc's public protocol: every operation takes a tick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from npuc.compiler.core.errors import CapacityError, NpucError
from npuc.compiler.report import OpRow, Report, make_report
from npuc.dialects.provenance import layer_of, location_text, role_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from npuc.hardware import Hardware


class TickBackend:
    """A microsecond an operation, whatever it is."""

    name = "tick"
    level: Literal["train", "npu"] = "train"
    default_hardware = "rtx2080ti"

    def supports(self, op: Operation) -> str | None:
        """Everything of the train level but dropout."""
        if not op.name.startswith("train."):
            return "it is not of the train level"
        return "it is random" if op.name == "train.dropout" else None

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """One row an operation."""
        per_op = 1e-6 * hardware.require("dram.gb_per_s", float, backend=self.name) / 616.0
        rows: list[OpRow] = []
        for op in module.walk():
            if op.name.startswith("train."):
                kind = "matrix" if "matmul" in op.name or "conv2d" in op.name else "vector"
                rows.append(
                    OpRow(
                        index=len(rows),
                        name=layer_of(op),
                        op=op.name,
                        loc=location_text(op),
                        phase=role_of(op).value,
                        kind=kind,
                        seconds=per_op,
                        limit="ticks",
                    )
                )
        return make_report(self.name, hardware.as_dict(), rows)


class NpuTickBackend(TickBackend):
    """The same below, where contractions are."""

    name = "npu-tick"
    level: Literal["train", "npu"] = "npu"
    default_hardware = "igo-large"

    def supports(self, op: Operation) -> str | None:
        """Everything of the npu level."""
        return None if op.name.startswith("npu.") else "it is not of the npu level"

    def needs_schedules(self, hardware: Hardware) -> bool:
        """Ticks do not depend on schedules, but some machines pretend."""
        return hardware.name != "unscheduled"

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """One row an operation."""
        rows = [
            OpRow(index=i, name=layer_of(op), op=op.name, phase=role_of(op).value, seconds=1e-6)
            for i, op in enumerate(o for o in module.walk() if o.name.startswith("npu."))
        ]
        return make_report(self.name, hardware.as_dict(), rows)


class ManyTickBackend(TickBackend):
    """The same for many machines at once; those with less than 1 GB/s are too slow for it."""

    name = "many-tick"
    calls: ClassVar[list[int]] = []
    """How many machines were asked for at once."""

    def score_many(self, module: ModuleOp, machines: Sequence[Hardware]) -> Iterator[Report | NpucError]:
        """One report a machine."""
        self.calls.append(len(machines))
        for machine in machines:
            if machine.require("dram.gb_per_s", float, backend=self.name) < 1:
                yield CapacityError("too slow")
            else:
                yield super().score(module, machine)

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """Not what a sweep should call."""
        raise AssertionError("one machine")
