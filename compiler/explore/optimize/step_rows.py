"""
The operations of a step as the backend `cycle` costs them, before schedules are chosen, with what each takes at least.

*Products.* The bytes of contractions that the levels of `-O` may run together (dX and dW of a product) are bounded
jointly, whatever way they run in, and those of all others alone (docs/bounds.md). Their cycles are at least those of
all folds of the untiled nests, however they are tiled and spread over cores. What the array reads and writes of SPM is
least without tiles: each tile along rows or columns has a fold of its own at least, ceil(a / r) + ceil(b / r) >=
ceil((a + b) / r), and sums of a tiled third dimension are written again. DMA moves each byte of DRAM through SPM once.

*Streams.* Vector work and moves have no schedule: their cost is exact, given the room for what they read twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from npuc.backends.cycle.costed import costed_operations
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import busy_cycles_lower_bound, compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import BYTE, Bits, contract_widths
from npuc.compiler.analysis.programs.joint_bounds import joint_certificate
from npuc.compiler.analysis.timing.interleave import Widths
from npuc.compiler.analysis.timing.vector_traffic import streamed
from npuc.compiler.explore.pareto.front import Floats
from npuc.compiler.transforms.interleave.sharing import are_gradients, sharing
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.shared import Values, number_values
from npuc.dialects.npu.tensor_work import same_value
from npuc.dialects.provenance import repeat_of
from npuc.dialects.structural import structural_key
from npuc.dialects.train.signature import writes_of


@dataclass(frozen=True)
class ProductRow:
    """Contractions that may run as one operation: their nests, which inputs are one value, and the tensors' widths."""

    nests: tuple[Nest, ...]
    values: Values
    widths: Widths

    def least_bytes(self, spm: int) -> int:
        """What they move between DRAM and SPM at least, however they run, with so many bytes of SPM for blocks."""
        return joint_certificate(self.nests, self.values, spm, self.widths, 0).bound

    def least_cycles(self, array: Array, cores: int) -> int:
        """The cycles of the busiest of so many arrays at least."""
        macs = sum(nest.macs for nest in self.nests)
        return max(-(-macs // (array.elements * cores)), busy_cycles_lower_bound(self.nests, array, cores))

    def least_accesses(self, array: Array) -> float:
        """The bytes that arrays read from SPM and write there at least."""
        return sum(_accessed(nest, own, array) for nest, own in zip(self.nests, self.widths, strict=True))


@dataclass(frozen=True)
class StreamRow:
    """An operation that streams, `passes` times through SPM, and its vector operations."""

    op: Operation
    ops: int
    passes: int

    def bytes_moved(self, machine: Machine) -> int:
        """What it moves between DRAM and SPM."""
        return streamed(self.op, machine).moved()


@dataclass(frozen=True)
class StepRows:
    """The rows of a step on machines like one, with how often each runs."""

    machine: Machine
    products: tuple[ProductRow, ...]
    product_counts: Floats
    streams: tuple[StreamRow, ...]
    stream_counts: Floats

    @property
    def contractions(self) -> float:
        """How many contractions run, each by itself."""
        return float(sum(len(row.nests) * n for row, n in zip(self.products, self.product_counts, strict=True)))

    def on(self, spm: int, cores: int) -> Machine:
        """The machine with other memories: bytes of SPM that a schedule may use of each core's."""
        return replace(self.machine, spm_bytes=spm, cores=cores)


def step_rows(module: ModuleOp, machine: Machine, opt_level: int) -> StepRows | None:
    """
    The rows of a lowered program without schedules; None where a machine or a program has more than these laws are
    about.
    """
    if machine.levels or machine.policy != "explicit" or machine.array.stages is not None:
        return None
    ops = costed_operations(module)
    if any(isinstance(op, VectorOp) and op.macs for op in ops):
        return None
    products: dict[ProductRow, float] = {}
    for together in _products([op for op in ops if isinstance(op, ContractOp)], opt_level):
        row = ProductRow(
            tuple(op.nest for op in together),
            number_values([[same_value(value) for value in op.operands] for op in together]),
            tuple(contract_widths(op, machine) for op in together),
        )
        products[row] = products.get(row, 0.0) + min(map(repeat_of, together))
        if len(set(map(repeat_of, together))) > 1:
            return None
    streams: dict[Hashable, tuple[StreamRow, float]] = {}
    for op in ops:
        if not isinstance(op, ContractOp):
            key = structural_key(op)
            alike = id(op) if key is None or len(op.operands) != len(set(op.operands)) else key
            row, count = streams.get(alike, (_stream(op), 0.0))
            streams[alike] = row, count + repeat_of(op)
    rows, counts = zip(*streams.values(), strict=True) if streams else ((), ())
    return StepRows(machine, tuple(products), np.array([*products.values()]), rows, np.array(counts, np.float64))


def _stream(op: Operation) -> StreamRow:
    return StreamRow(op, op.ops, 2) if isinstance(op, VectorOp) else StreamRow(op, 0, 1)


def _products(contracts: list[ContractOp], opt_level: int) -> Iterator[tuple[ContractOp, ...]]:
    """Contractions by the sets that the pass `interleave` looks at; each alone at the level without it."""
    taken: set[ContractOp] = set()
    if opt_level > 0:
        blocks: dict[Block, list[ContractOp]] = {}
        for op in contracts:
            block = op.parent
            assert block is not None
            blocks.setdefault(block, []).append(op)
        for block, own in blocks.items():
            for found in sharing(own, writes_of(block), are_gradients):
                taken.update(found.ops)
                yield found.ops
    yield from ((op,) for op in contracts if op not in taken)


def _accessed(nest: Nest, widths: Bits, array: Array) -> float:
    """The bytes that an untiled nest takes from SPM and gives there, each block of a result once."""
    accesses = compute(nest, Schedule(), array).accesses
    return float(sum(accesses[name] * width for name, width in widths.with_sums(nest).items()) / BYTE)
