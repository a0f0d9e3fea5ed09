"""The data of an iteration: tensors, steps, conventions."""

from dataclasses import dataclass, field
from typing import Literal

Phase = Literal["forward", "dxdw", "update"]
TensorKind = Literal["input", "value", "weight", "gradient", "weight_gradient", "state"]


@dataclass(frozen=True)
class Conventions:
    """
    Where the published model leaves a choice; each is a hardware key of the same name.

    `ops_per_mac`: operations of a MAC. `element_bytes`: bytes of every float element, None for the type's own.
    `order`: layers depth-first from the inputs, or as the source lists them. `backward`: what a layer's backward reads
    and computes is what the published table says (twice the forward's MACs, all of the operands), or what the gradients
    that somebody needs take. `loss`: the loss is a layer, or its gradient is there for nothing. `update`: the optimizer
    runs at the end, right after a weight's gradient is complete, or not at all. `master_bytes`: bytes of an element of
    the optimizer's states and, where the weights are narrower, of its copy of them. `prototype`: gradients that no
    layer writes are read from memory.
    """

    ops_per_mac: int = 2
    element_bytes: int | None = None
    order: Literal["dfs", "listed"] = "dfs"
    backward: Literal["needed", "table"] = "needed"
    loss: Literal["layer", "free"] = "layer"
    update: Literal["end", "eager", "none"] = "end"
    master_bytes: int | None = None
    prototype: bool = False


@dataclass(frozen=True)
class Tensor:
    """
    A tensor in memory: its size in bytes, and that of one row of it, the least a streaming layer buffers.

    A gradient has the name of what it is the gradient of.
    """

    name: str
    bytes: int
    kind: TensorKind
    row_bytes: int


@dataclass(frozen=True)
class Step:
    """
    One layer in one direction: tensors, by number, that it reads and writes, and its operations.

    A tensor in both is changed in place. `matrix`: the layer is of type I (convolutions and products), else type II.
    `again`: it runs a second time, in the backward pass.
    `width`: bits of an element of the operands of its product.
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
    again: bool = False
    width: int = 0


@dataclass(frozen=True)
class Iteration:
    """Tensors and the steps over them, in order; `kept` are the tensors that must be in memory at the end."""

    tensors: tuple[Tensor, ...]
    steps: tuple[Step, ...]
    kept: frozenset[int] = field(default_factory=frozenset[int])
    samples: int = 0

    @property
    def ops(self) -> int:
        """Operations of all steps."""
        return sum(step.ops for step in self.steps)

    def footprint(self, step: Step) -> int:
        """Bytes of all tensors that a step touches."""
        return sum(self.tensors[t].bytes for t in {*step.reads, *step.writes})


def least_rows(iteration: Iteration) -> tuple[int, str]:
    """The most that a step needs for one row of each of its tensors, in bytes, and its layer."""
    rows = [
        (sum(iteration.tensors[t].row_bytes for t in {*step.reads, *step.writes}), step.name)
        for step in iteration.steps
    ]
    return max(rows, key=lambda row: row[0], default=(0, ""))
