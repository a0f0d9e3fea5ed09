"""
Every matrix product of a training step, costed as folds of a systolic array and as a mapping of the same dataflow.

Both models execute the same steps. Each term in which they differ has a name, so that the terms of a model add up to
its cycles.

    cycle      ideal + edges + tiles + edge waits + fill and drain + DRAM
    mapping    ideal + edges + network

ideal: MACs over processing elements. edges: folds that do not fill the array. tiles: folds cut by the tiles of the
scratchpad. edge waits (`edge_cycles`): folds that wait for operands or results to cross the array's edge. The mapping
has no scratchpad and no fill: only the network limits how fast operands arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from npuc.backends.cycle.facts import ArrayFacts
from npuc.backends.registry import get_backend
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.analysis.mapping.systolic import MappedTime, mapped_time
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords, HardwareLike
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.driver.unread import unread_warnings
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import EdgeFacts
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest
from npuc.dialects.provenance import layer_of, repeat_of, role_of
from npuc.frontends.source import open_source

if TYPE_CHECKING:
    from npuc.backends.base import Backend
    from npuc.hardware import Hardware

Dataflow = Literal["os", "ws", "is"]
DATAFLOWS: tuple[Dataflow, ...] = ("os", "ws", "is")
PRESETS: Mapping[str, tuple[Dataflow, ...]] = {"all": DATAFLOWS, "os": ("os",), "ws": ("ws",), "is": ("is",)}
NETWORK = "samples:resnet50"
HARDWARE = "igo-large"


@dataclass(frozen=True)
class ProductRow:
    """
    A product under a dataflow: its size, and the cycles of one run in both models, by term.

    `ideal` is a fraction of cycles as a float; all other numbers are integers except `edges`, which completes it.
    """

    dataflow: str
    layer: str
    phase: str
    repeat: int
    batch: int
    m: int
    n: int
    k: int
    ideal: float
    edges: float
    tiles: int
    fill_drain: int
    dram: int
    cycle: int
    network: int
    mapping: int
    edge_cycles: int

    @property
    def ratio(self) -> float:
        """Cycles of the array over those of the mapping."""
        return self.cycle / self.mapping

    @property
    def reason(self) -> str:
        """The term with the largest difference."""
        parts = {
            "fill and drain": self.fill_drain,
            "DRAM bandwidth": self.dram,
            "tiles of the scratchpad": self.tiles,
            "the array's edge": self.edge_cycles,
            "network of the mapping": self.network,
        }
        name = max(parts, key=lambda part: parts[part])
        return name if parts[name] else "none"


@dataclass(frozen=True)
class CrossCheckResults:
    """
    The rows, with the source, the machine's name and the network's elements per cycle; `warnings` name the keys that
    were set and have no effect.
    """

    source: str
    hardware: str
    noc_bw: int
    rows: tuple[ProductRow, ...]
    warnings: tuple[str, ...] = ()

    def of(self, dataflow: str) -> tuple[ProductRow, ...]:
        """The rows of a dataflow."""
        return tuple(row for row in self.rows if row.dataflow == dataflow)


def run_crosscheck(
    source: str = NETWORK,
    hardware: HardwareLike = HARDWARE,
    *,
    overrides: Mapping[str, object] | None = None,
    defines: Mapping[str, object] | None = None,
    dataflows: Sequence[Dataflow] = DATAFLOWS,
    done: Callable[[str, int], None] = lambda _, __: None,
) -> CrossCheckResults:
    """
    The products of a source on a systolic array, under each dataflow.

    The mapping's network delivers `maestro.noc_bw` elements per cycle if `overrides` has it, else as many as the array
    has rows and columns, the width of its edges. `done` is called for each dataflow. Raises `NpucError`s.
    """
    rows: list[ProductRow] = []
    name, width = "", 0
    if "array.dataflow" in (overrides or {}):
        raise UsageError("--set array.dataflow: the study varies this key itself", hint="--preset os, ws or is")
    scored: list[tuple[Backend, Hardware]] = []
    for dataflow in dataflows:
        options: CompileKeywords = {
            "hardware": hardware,
            "overrides": {**(overrides or {}), "array.dataflow": dataflow},
            "defines": defines,
            "opt_level": 0,
            "tolerance": 0.0,
        }
        model = get_backend("cycle")
        module, machine = lowered_module(open_source(source), model, options, None, [])
        report = model.score(module, machine)
        facts = machine_of(module)
        assert facts is not None, "the driver writes the machine into the module"
        written = machine.get("maestro.noc_bw", int) if "maestro.noc_bw" in (overrides or {}) else None
        scored.append((model, machine))
        name, width = machine.name, written or facts.array.rows + facts.array.cols
        ops = [op for op in module.walk() if isinstance(op, ContractOp)]
        costs = [row for row in report.ops if row.op == ContractOp.name]
        for op, cost in zip(ops, costs, strict=True):
            rows.append(_row(op, cost, facts.array, width))
        done(dataflow, 1)
    return CrossCheckResults(source, name, width, tuple(rows), tuple(unread_warnings(overrides or {}, scored)))


def _row(op: ContractOp, cost: OpRow, array: Array, noc_bw: int) -> ProductRow:
    """The row of a contraction whose cost is known."""
    batch, m, n, k = _sizes(op.nest)
    cycles, stalls = _whole(cost.cycles), _whole(cost.stall_cycles)
    facts, edge = ArrayFacts.found_in(cost), EdgeFacts.found_in(cost)
    assert facts is not None, "the backend says it of every product"
    filling, waits = facts.fill_drain_cycles, 0 if edge is None else edge.edge_cycles
    mapped = _mapped(array, noc_bw, m, n, k)
    ideal = Fraction(op.nest.macs, array.elements)
    return ProductRow(
        dataflow=array.dataflow,
        layer=layer_of(op),
        phase=role_of(op),
        repeat=repeat_of(op),
        batch=batch,
        m=m,
        n=n,
        k=k,
        ideal=float(ideal),
        edges=float(batch * mapped.steps - ideal),
        tiles=cycles - stalls - filling - waits - batch * mapped.steps,
        fill_drain=filling,
        dram=stalls,
        cycle=cycles,
        network=batch * mapped.waits,
        mapping=batch * mapped.cycles,
        edge_cycles=waits,
    )


def _whole(cycles: object) -> int:
    """A number of cycles of the report, 0 where it has none."""
    return cycles if isinstance(cycles, int) else 0


def _sizes(nest: Nest) -> tuple[int, int, int, int]:
    return gemm_view(nest, nest.statements[0]).sizes(nest.sizes)


@lru_cache(maxsize=4096)
def _mapped(array: Array, noc_bw: int, m: int, n: int, k: int) -> MappedTime:
    return mapped_time(array, noc_bw, m, n, k)
