"""
The compatibility mode, `cycle.compat = "scalesim3"`: every product scored as SCALE-Sim 3.0.0 does.

A contraction is taken by its sizes alone; schedules, padding and element types do not exist there. `native` holds
SCALE-Sim's columns of one product, the other fields of a row follow from them: a word is a byte, `cycles` a count
(SCALE-Sim prints the index of the last cycle), and a batch of products is that many times one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace
from xdsl.ir import Operation

from npuc.backends.cycle.facts import ProductFacts
from npuc.backends.operations import contraction_row, opaque_facts, sparsity_warnings, uncosted_row
from npuc.compiler.analysis.machine.table import Energy
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow, TensorBytes
from npuc.compiler.report.sections import columns
from npuc.dialects.npu import ContractOp, InterleaveOp, VectorOp
from npuc.dialects.npu.resident import HasResidency
from npuc.dialects.provenance import Role, role_of, sparsity_of
from npuc.hardware import Hardware

if TYPE_CHECKING:
    from npuc.backends.cycle.scalesim import Columns, Configuration, Layer
    from npuc.backends.cycle.scalesim.layer import Representation

COMPAT = "scalesim3"
_OPERANDS = ("ifmap", "filter", "ofmap")


@frozen
class CompatMachine:
    """
    What this mode takes from a hardware description.

    `sparsity` says whether the N:M of layers counts; without `clock_mhz` there are no times, without `energy` no
    energies.
    """

    config: Configuration
    sparsity: bool
    clock_mhz: float | None
    energy: Energy | None

    def seconds(self, cycles: int) -> float | None:
        """The time of cycles."""
        return None if self.clock_mhz is None else cycles / (self.clock_mhz * 1e6)


def is_compat(hardware: Hardware) -> bool:
    """Whether a hardware description asks for this mode."""
    return hardware.get("cycle.compat", str) == COMPAT


def compat_machine(hardware: Hardware) -> CompatMachine:
    """The machine that a hardware description means in this mode. Raises `UsageError` for a key that is missing."""
    from npuc.backends.cycle.scalesim import Configuration

    dataflow = hardware.require("array.dataflow", str, backend="cycle")
    if dataflow not in ("os", "ws", "is"):
        hint = "--set array.dataflow=os, or ws or is"
        raise UsageError(f"SCALE-Sim has no array.dataflow = '{dataflow}'", hint=hint)
    if hardware.require("array.cores", int, backend="cycle") > 1:
        raise UsageError("SCALE-Sim has one array, array.cores is more", hint="--set array.cores=1")
    memory = hardware.get("scalesim.memory", bool) is not False
    buffers = [f"scalesim.{operand}_sram_kb" for operand in _OPERANDS] if memory else []
    hardware.require_all(["array.rows", "array.cols", *buffers], backend="cycle")
    sizes = [64, 64, 64]
    if memory:
        sizes = [hardware.require(buffer, int, backend="cycle") for buffer in buffers]
    config = Configuration(
        hardware.require("array.rows", int, backend="cycle"),
        hardware.require("array.cols", int, backend="cycle"),
        dataflow,
        *sizes,
        memory=memory,
        representation=cast("Representation", hardware.get("scalesim.sparse_rep", str) or "ellpack_block"),
    )
    keys = ("energy.mac_pj", "energy.spm_pj_per_byte", "energy.dram_pj_per_byte")
    prices = [price for price in (hardware.known(key, float) for key in keys) if price is not None]
    wires = hardware.known("energy.edge_pj_per_byte", float) or 0.0
    energy = Energy(prices[0], prices[1] + wires, prices[2]) if len(prices) == len(keys) else None
    sparsity = hardware.get("scalesim.sparsity", bool) is True
    return CompatMachine(config, sparsity, hardware.get("clock_mhz", float), energy)


def compat_warnings(hardware: Hardware, ops: Sequence[Operation]) -> list[str]:
    """What of a program or a machine this mode leaves out."""
    found: list[str] = []
    if hardware.get("scalesim.bandwidth_mode", str) == "USER":
        found.append("bandwidth mode USER is scored as CALC: reads never stall (docs/scalesim.md)")
    others = sum(not isinstance(op, ContractOp) and opaque_facts(op) is None for op in ops)
    if others:
        found.append(f"SCALE-Sim has no vector unit: {others:,} rows without products have no cost")
    resident = sum(isinstance(op, HasResidency) and bool(op.resident.names) for op in ops)
    if resident:
        found.append(f"SCALE-Sim has no resident values: {resident:,} rows cost as if nothing were resident")
    if hardware.get("scalesim.sparsity", bool) is not True:
        found += sparsity_warnings(ops, "scalesim.sparsity is false")
    return found


@lru_cache(maxsize=8192)
def _simulate(layer: Layer, config: Configuration) -> Columns:
    from npuc.backends.cycle.scalesim import simulate

    return simulate(layer, config)


def compat_row(op: Operation, machine: CompatMachine, index: int) -> OpRow:
    """The row of an operation: SCALE-Sim's numbers of a contraction, nothing of other work."""
    if isinstance(op, ContractOp):
        return _product_row(op, machine, index)
    if isinstance(op, InterleaveOp):
        message = "SCALE-Sim has no contractions that run round-robin"
        raise UsageError(message, location=location_of(op), hint="leave out the pass that joined them")
    row = uncosted_row(op, index)
    return row if not isinstance(op, VectorOp) or op.operator is None else _opaque_row(op, row, machine)


def _opaque_row(op: VectorOp, row: OpRow, machine: CompatMachine) -> OpRow:
    """The row of work that is known by its cost alone: its MACs, one of each element in each cycle."""
    elements = machine.config.rows * machine.config.cols
    cycles = -(-op.macs // elements)
    return replace(
        row,
        macs=op.macs,
        cycles=cycles,
        compute_cycles=cycles,
        stall_cycles=0,
        seconds=machine.seconds(cycles),
        utilization=op.macs / (elements * cycles) if cycles else 0.0,
        limit="compute" if cycles else None,
        native=columns(opaque_facts(op)),
    )


def compat_product(op: ContractOp, machine: CompatMachine) -> tuple[int, Layer]:
    """The number of products in a contraction, and one of them as a layer. Raises `UsageError` for joined ones."""
    from npuc.backends.cycle.products import product_of
    from npuc.backends.cycle.scalesim import Sparsity

    if len(op.nest.statements) != 1:
        message = "SCALE-Sim has no contraction with several statements"
        raise UsageError(message, location=location_of(op), hint="leave out the pass that joined them")
    ratio = sparsity_of(op) if machine.sparsity and role_of(op) is Role.FORWARD else None
    return product_of(op.nest, None if ratio is None else Sparsity(*ratio))


def _product_row(op: ContractOp, machine: CompatMachine, index: int) -> OpRow:
    from npuc.backends.cycle.scalesim import Sparsity
    from npuc.backends.cycle.scalesim.sparsity import storage

    nest, config = op.nest, machine.config
    products, layer = compat_product(op, machine)
    columns = _simulate(layer, config)
    if machine.sparsity and layer.sparsity is None:  # a dense filter is then stored like the sparse ones
        words = storage(layer, Sparsity(1, 1), config.representation)
        stored: Columns = {"filter_words_original": words.original, "filter_words_new": words.new}
        columns = {**columns, **stored, "filter_metadata_words": words.metadata}
    cycles = products * (_count(columns, "compute_cycles") + 1)
    moved = _moved(op, columns, products) if config.memory else {}
    read = sum(t.read_bytes for t in moved.values()) if moved else None
    written = sum(t.write_bytes for t in moved.values()) if moved else None
    energy = None
    if machine.energy is not None and read is not None and written is not None:
        accesses = sum(columns[name] or 0 for name in ("ifmap_sram_reads", "filter_sram_reads", "ofmap_sram_writes"))
        energy = machine.energy.joules(nest.macs, round(products * accesses) + read + written, read + written)
    return contraction_row(
        op,
        index,
        nest,
        macs=nest.macs,
        cycles=cycles,
        compute_cycles=cycles,
        peak=config.rows * config.cols,
        seconds=machine.seconds(cycles),
        dram_read_bytes=read,
        dram_write_bytes=written,
        energy_j=energy,
        limit="compute",
        tensors=moved,
        native={**columns, **ProductFacts(products=products).columns()},
    )


def _count(columns: Columns, name: str) -> int:
    value = columns[name]
    assert isinstance(value, int), f"{name} is a count"
    return value


def _moved(op: ContractOp, columns: Columns, products: int) -> dict[str, TensorBytes]:
    """DRAM traffic by tensor, in words of a byte: the operands of the product are ifmap and filter."""
    statement = op.nest.statements[0]
    return {
        statement.lhs: TensorBytes(products * _count(columns, "ifmap_dram_reads"), 0),
        statement.rhs: TensorBytes(products * _count(columns, "filter_dram_reads"), 0),
        statement.out: TensorBytes(0, products * _count(columns, "ofmap_dram_writes")),
    }
