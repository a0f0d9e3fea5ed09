"""
What each pass did: the program after it, and how its work and cost changed.

    // after lower-to-npu: 24 -> 19 operations (-20.8%), 104,726 MACs, 5,120 -> 4,480 vector operations (-12.5%)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.core.errors import NpucError
from npuc.compiler.driver.watch.watcher import Watcher, ir_text
from npuc.compiler.layers import get_layer
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.train.base import TrainOp

if TYPE_CHECKING:
    from npuc.backends.base import Backend
    from npuc.compiler.core.options import Say
    from npuc.compiler.report import Report
    from npuc.hardware import Hardware

Measures = dict[str, int | float]
_COSTS = {"cycles": "cycles", "seconds": "s", "dram_read_bytes": "B read", "dram_write_bytes": "B written"}


def work_of(module: ModuleOp) -> Measures:
    """The operations, multiply-accumulates and vector operations of a program above the level of tiles."""
    operations = macs = vector_ops = 0
    for op in module.walk():
        operations += op.name.startswith(("train.", "npu.", "dist."))
        if isinstance(op, TrainOp):
            work = get_layer(op).work(op)
            macs, vector_ops = macs + work.macs, vector_ops + work.vector_ops
        elif isinstance(op, ContractOp):
            macs += op.nest.macs
        elif isinstance(op, VectorOp):
            macs, vector_ops = macs + op.macs, vector_ops + op.ops
    return {"operations": operations, "MACs": macs, "vector operations": vector_ops}


def report_of(module: ModuleOp, model: Backend, machine: Hardware) -> Report | None:
    """The report of a program as it stands; None while the backend cannot score it."""
    from npuc.backends.energy import with_energy

    for op in module.walk():
        if op.name not in ("builtin.module", "func.func", "func.return") and model.supports(op) is not None:
            return None
    try:
        return with_energy(model.score(module, machine), machine, model.energy_parts)
    except NpucError:
        return None


def cost_of(module: ModuleOp, model: Backend, machine: Hardware) -> Measures:
    """The cost of a program as it stands; nothing while the backend cannot score it."""
    report = report_of(module, model, machine)
    if report is None:
        return {}
    totals = report.totals
    found = {unit: totals[name] for name, unit in _COSTS.items()}
    if totals.cycles is not None:
        found["s"] = None
    return {unit: value for unit, value in found.items() if isinstance(value, int | float)}


class CostTrace(Watcher):
    """
    Shows a program after the passes that are `wanted` (a name, or `all`), with what each did to its work, and to its
    cost where it is `scored` by a backend on a machine.
    """

    def __init__(self, scored: tuple[Backend, Hardware] | None, wanted: str, say: Say, module: ModuleOp):
        self.scored, self.wanted, self.say = scored, wanted, say
        self.earlier = self._measures(module)

    def _measures(self, module: ModuleOp) -> Measures:
        return work_of(module) | ({} if self.scored is None else cost_of(module, *self.scored))

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """See `Watcher`."""
        after = self._measures(module)
        if self.wanted in ("all", step.name):
            self.say(f"// after {step}: {describe_change(self.earlier, after)}\n{ir_text(module)}")
        self.earlier = after


def describe_change(before: Measures, after: Measures) -> str:
    """The measures of a program, each with its change from the one before, in one line."""
    parts: list[str] = []
    for unit, new in after.items():
        old = before.get(unit)
        if old is None or old == new:
            parts.append(f"{new:,} {unit}")
        else:
            parts.append(f"{old:,} -> {new:,} {unit}" + (f" ({(new - old) / old:+.1%})" if old else ""))
    return ", ".join(parts)
