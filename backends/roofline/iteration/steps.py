"""The data of an iteration: its tensors, its steps, and the conventions of the model."""

from dataclasses import dataclass, field
from typing import Literal

from npuc.compiler.analysis.machine.skipping import NO_SKIPS, Skipping
from npuc.compiler.analysis.nest.elements import Width
from npuc.compiler.report import Phase
from npuc.compiler.report.sparse import SparseFacts

TensorKind = Literal["input", "value", "weight", "gradient", "weight_gradient", "state"]


@dataclass(frozen=True)
class Conventions:
    """
    Choices that the published model leaves open; each is a hardware key of the same name.

    `ops_per_mac`: operations per MAC. `element_bytes`: bytes per float element, None for the type's own size. `order`:
    layers depth-first from the inputs, or as the source lists them. `backward`: reads and work of a layer's backward
    follow the published table (twice the forward's MACs, all of the operands), or only the gradients that are needed.
    `loss`: the loss is a layer, or its gradient costs nothing. `update`: the optimizer runs at the end, right after a
    weight's gradient is complete, or not at all. `master_bytes`: bytes per element of the optimizer's states and, where
    the weights are narrower, of its copy of them. `prototype`: gradients that no layer writes are read from memory.
    `mantissa_bits`: bits of a mantissa that a multiplier takes at a time, None for a whole one. `skipping`: what
    multipliers make of zeros of sparse operands.
    """

    ops_per_mac: int = 2
    element_bytes: int | None = None
    order: Literal["dfs", "listed"] = "dfs"
    backward: Literal["needed", "table"] = "needed"
    loss: Literal["layer", "free"] = "layer"
    update: Literal["end", "eager", "none"] = "end"
    master_bytes: int | None = None
    prototype: bool = False
    mantissa_bits: int | None = None
    skipping: Skipping = NO_SKIPS


@dataclass(frozen=True)
class Transfers:
    """
    How the transfers of a plan are put on the bus; each field is a hardware key of the same name.

    `overlap`: a step that fits computes while it loads and writes, as one that streams does. `prefetch`: what misses is
    loaded so early that computation hides it, during the step before, or on demand. `offload`: a value that leaves is
    copied to memory right after its last use, or when the cache is full.
    """

    overlap: bool = True
    prefetch: Literal["latency", "next-layer", "none"] = "latency"
    offload: Literal["look-ahead", "when-full"] = "look-ahead"


@dataclass(frozen=True)
class IterationTensor:
    """
    A tensor in memory: its bytes, and the bytes of one row, the least that a streaming layer buffers.

    A gradient has the name of its primal tensor.
    """

    name: str
    bytes: int
    kind: TensorKind
    row_bytes: int


@dataclass(frozen=True)
class IterationStep:
    """
    One layer in one direction: the numbers of the tensors that it reads and writes, and its operations.

    A tensor in both is changed in place. `matrix`: the layer is of type I (convolutions and products), else of type II.
    `recomputed`: the backward pass runs it a second time. `width`: bits per element of its product's operands. `whole`:
    tensors that have to be in the cache all together, even where the step streams. `repeat`: how often it runs, once
    when its iteration is written out. `passes`: those of a product of each of its products through a multiplier, and
    `mac_passes` those of all MACs; an operation of each that is not skipped counts in `ops`. `sparse`: what is skipped.
    `operator`: the one that it has of which only the cost is known.
    """

    name: str
    op: str
    phase: Phase
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    macs: int
    vector_ops: int
    ops: int
    matrix: bool
    loc: str | None = None
    source: str | None = None
    recomputed: bool = False
    width: Width = 0
    whole: frozenset[int] = frozenset()
    repeat: int = 1
    passes: tuple[int, ...] = ()
    mac_passes: int = 0
    sparse: SparseFacts | None = None
    operator: str | None = None


@dataclass(frozen=True)
class Iteration:
    """Tensors and the steps over them, in order; `live_out` are the tensors that must be in memory at the end."""

    tensors: tuple[IterationTensor, ...]
    steps: tuple[IterationStep, ...]
    live_out: frozenset[int] = field(default_factory=frozenset[int])
    samples: int = 0

    @property
    def ops(self) -> int:
        """Operations of all steps."""
        return sum(step.ops for step in self.steps)

    def footprint(self, step: IterationStep) -> int:
        """Bytes of all tensors that a step touches."""
        return sum(self.tensors[t].bytes for t in {*step.reads, *step.writes})


def least_rows(iteration: Iteration) -> tuple[int, str]:
    """The largest sum over a step of one row of each of its tensors, or all of it, in bytes, and that step's layer."""

    def least(step: IterationStep, number: int) -> int:
        tensor = iteration.tensors[number]
        return tensor.bytes if number in step.whole else tensor.row_bytes

    rows = [(sum(least(step, t) for t in {*step.reads, *step.writes}), step.name) for step in iteration.steps]
    return max(rows, key=lambda row: row[0], default=(0, ""))
