"""
From layers to the steps of an iteration: forward, backward in exact reverse order, update.

Gradients accumulate: the first backward consumer of a tensor writes its gradient, and each later one updates it in
place; so it is with a weight that several layers share. Inputs have no gradient.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from npuc.backends.roofline.iteration.graph import Graph, GraphLayer, is_bias, read_graph
from npuc.backends.roofline.iteration.memory import TensorNumbers
from npuc.backends.roofline.iteration.order import ordered_layers
from npuc.backends.roofline.iteration.parts import MemoryPart
from npuc.backends.roofline.iteration.repeats import written_out
from npuc.backends.roofline.iteration.rules import (
    Backward,
    StepWork,
    derived_backward,
    forward_work,
    is_product,
    kind_key,
    table_backward,
)
from npuc.backends.roofline.iteration.steps import Conventions, Iteration, IterationStep, Phase
from npuc.backends.roofline.iteration.update import update_steps
from npuc.compiler.analysis.nest.elements import element_bits
from npuc.dialects.npu.widths import passes_of_factors
from npuc.dialects.provenance import location_text, repeat_of, source_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.loss import CrossEntropyOp


def iteration_of(func: FuncOp, conventions: Conventions, *, training: bool = True) -> Iteration:
    """
    The steps of an iteration of a training function, from its forward operations, whether or not it has a backward.

    Without a loss, or when not `training`, these are the forward steps only, and the outputs are live at the end.
    """
    graph = read_graph(func, conventions.element_bytes)
    memory = TensorNumbers(graph)
    builder = _Builder(graph, conventions, memory)
    layers = [layer for layer in ordered_layers(graph, conventions.order) if not builder.is_free(layer)]
    training = training and graph.loss is not None
    backward = [builder.backward(layer) for layer in reversed(layers)] if training else []
    forward = [builder.forward(layer) for layer in layers]
    recomputed = {step.name for step in forward} & graph.recomputed
    steps = [*forward, *with_recomputed(backward, [step for step in forward if step.name in recomputed])]
    steps = [step for step in steps if step.reads or step.writes]
    if training:
        steps, live_out = update_steps(func, memory, steps, conventions)
    else:
        live_out = {number for part in graph.outputs for number in memory.known(part)}
    return written_out(Iteration(memory.tensors(), tuple(steps), frozenset(live_out), graph.samples))


def with_recomputed(backward: Sequence[IterationStep], recomputed: Sequence[IterationStep]) -> list[IterationStep]:
    """
    Backward steps with the recomputed forward steps, each before the first step that reads its results.

    The inputs of a recomputed step may have to be recomputed first. The original results then die with their last use
    in the forward pass, since they are overwritten before they are read.
    """
    makers = {tensor: number for number, step in enumerate(recomputed) for tensor in step.writes}
    steps: list[IterationStep] = []
    done: set[int] = set()
    for step in backward:
        wanted, found = list(step.reads), set[int]()
        while wanted:
            maker = makers.get(wanted.pop())
            if maker is not None and maker not in done and maker not in found:
                found.add(maker)
                wanted += recomputed[maker].reads
        done |= found
        # the order of the forward pass has what each reads before it
        steps += [replace(recomputed[number], recomputed=True) for number in sorted(found)]
        steps.append(step)
    return steps


@dataclass
class _Builder:
    """
    Makes the steps of layers.

    `gradients` are the parts whose gradient some layer has written, `free` those whose gradient costs nothing,
    `scalars` the scalars with a gradient, and `saved` the parts that backward steps read.
    """

    graph: Graph
    conventions: Conventions
    memory: TensorNumbers
    gradients: set[MemoryPart] = field(default_factory=set[MemoryPart])
    free: set[MemoryPart] = field(default_factory=set[MemoryPart])
    scalars: set[SSAValue] = field(default_factory=set[SSAValue])
    saved: set[MemoryPart] = field(default_factory=set[MemoryPart])
    rules: dict[Hashable, Backward | None] = field(default_factory=dict[Hashable, "Backward | None"])

    def __post_init__(self) -> None:
        """Find the loss layers: the one that makes the loss, or those whose scalars it sums."""
        self.gradients.update(leaf for part in self.graph.returned for leaf in part.leaves())
        self.losses: set[GraphLayer] = set()
        makers: dict[SSAValue, GraphLayer] = {
            result: layer for layer in self.graph.layers for op in layer.ops for result in op.results
        }
        wanted = [] if self.graph.loss is None else [self.graph.loss]
        while wanted:
            value = wanted.pop()
            wanted += self.graph.seen_in.get(value, ())
            if value in self.scalars or value not in makers:
                continue
            self.scalars.add(value)
            operands = [operand for op in makers[value].ops for operand in op.operands]
            if any(self.graph.parts(operand) for operand in operands):
                self.losses.add(makers[value])
            else:
                wanted += operands

    def is_free(self, layer: GraphLayer) -> bool:
        """Whether a layer is a loss whose gradient costs nothing; a cross entropy still has its softmax."""
        if self.conventions.loss == "layer" or layer not in self.losses:
            return False
        if any(isinstance(op, CrossEntropyOp) for op in layer.ops):
            return False
        parts = [part for op in layer.ops for value in op.operands for part in self.graph.parts(value)]
        if self.conventions.prototype:  # only that of the network's last layer
            before = [one for one in self.graph.layers if one is not layer][-1:]
            parts = [part for part in parts if self.graph.made_by.get(part) in before]
        self.free.update(parts)
        self.gradients |= self.free
        return True

    def forward(self, layer: GraphLayer) -> IterationStep:
        """The forward step of a layer; all backward steps must have been made, since they decide what it saves."""
        graph, work, reads, writes = self.graph, StepWork(), list[MemoryPart](), list[MemoryPart]()
        for op in layer.ops:
            operands = op.operands[:1] if isinstance(op, CrossEntropyOp) else op.operands
            reads += [part for value in operands for part in graph.parts(value) if not self._inside(part, layer)]
            writes += [part for value in op.results for part in graph.parts(value)]
            writes += graph.beside.get(op, ())
            work += StepWork() if is_bias(op, layer, graph) else forward_work(op)
        made = [part for part in writes if part in self.saved or not self._inside(part, layer)]
        return self._step(layer, "forward", self._numbers(reads), self._numbers(made), work)

    def backward(self, layer: GraphLayer) -> IterationStep:
        """The backward step of a layer; it touches no tensors where no gradient arrives."""
        work, found = StepWork(), _Touched()
        for op in reversed(layer.ops):
            work += self._backward(op, layer, found)
        return self._step(layer, "dxdw", tuple(found.reads), tuple(found.writes), work)

    def _backward(self, op: TrainOp, layer: GraphLayer, found: _Touched) -> StepWork:
        """Record the tensors that the backward of an operation touches, and return its work."""
        arriving = [part for value in op.results for part in self.graph.parts(value) if self._arrives(part)]
        needs = self.graph.needs(op)
        if not any(needs) or not (arriving or any(value in self.scalars for value in op.results)):
            return StepWork()
        rule = self._rule(op, layer, needs)
        if rule is None:
            return StepWork()
        if rule.reads_gradient:
            outside = [part for part in arriving if not self._inside(part, layer)]
            found.read(self.memory.gradient(part) for part in outside if part not in self.free)
        for value, need in zip(op.operands, needs, strict=True):
            if need:
                self._give(value, layer, found)
        values = [op.operands[i] for i in rule.operands] + [op.results[i] for i in rule.results]
        parts = [part for value in values for part in self.graph.parts(value)]
        self._save([*parts, *self.graph.beside.get(op, ())], found)
        return rule.work

    def _arrives(self, part: MemoryPart) -> bool:
        """Whether a part has a gradient; the prototype reads gradients that no layer writes from memory."""
        return part in self.gradients or (self.conventions.prototype and part in self.graph.active_parts)

    def _save(self, parts: Iterable[MemoryPart], found: _Touched) -> None:
        """Make a backward step read parts of the forward pass."""
        for part in parts:
            self.saved.add(part)
            found.read([self.memory.of(part)])

    def _give(self, value: SSAValue, layer: GraphLayer, found: _Touched) -> None:
        """Write the gradient of an operand, or accumulate into it."""
        if not self.graph.parts(value):
            self.scalars.add(value)
            for one in self.graph.seen_in.get(value, ()):
                self._give(one, layer, found)
        for part in self.graph.parts(value):
            if part not in self.graph.active_parts:
                continue
            if not self._inside(part, layer):
                number = self.memory.gradient(part)
                if part in self.gradients and number not in found.writes:
                    found.read([number])
                found.write(number)
            self.gradients.add(part)

    def _rule(self, op: TrainOp, layer: GraphLayer, needs: Sequence[bool]) -> Backward | None:
        """The reads and the work of an operation's backward, by the conventions."""
        if is_bias(op, layer, self.graph):
            return Backward((), (), StepWork())
        key = kind_key(op, needs)
        if key is None or key not in self.rules:
            derived = self.conventions.backward == "needed" and is_product(op)
            table = self.conventions.backward == "table"
            rule = None if derived else table_backward(op, throughout=table)
            rule = derived_backward(op, needs) if rule is None else rule
            if key is None:
                return rule
            self.rules[key] = rule
        return self.rules[key]

    def _inside(self, part: MemoryPart, layer: GraphLayer) -> bool:
        """Whether only the layer that makes a part reads it."""
        readers = self.graph.read_by.get(part)
        if not readers or self.graph.made_by.get(part) is not layer or part in self.graph.output_parts:
            return False
        return all(reader is layer for reader in readers)

    def _numbers(self, parts: Iterable[MemoryPart]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.memory.of(part) for part in parts))

    def _step(
        self, layer: GraphLayer, phase: Phase, reads: tuple[int, ...], writes: tuple[int, ...], work: StepWork
    ) -> IterationStep:
        main, bits = layer.main, self.conventions.mantissa_bits
        # Gradients have the type of the values that they are of.
        passes = passes_of_factors(main.operands[:2], bits) if work.macs else 1
        ops = self.conventions.ops_per_mac * work.macs * passes + work.vector_ops
        return IterationStep(
            layer.name,
            main.name,
            phase,
            reads,
            writes,
            work.macs,
            work.vector_ops,
            ops,
            layer.matrix or work.macs > 0,
            location_text(main),
            source_of(main),
            width=element_bits(main.operands[0].type, self.conventions.element_bytes) if layer.matrix else 0,
            repeat=repeat_of(main),
            passes=(passes,) if bits and work.macs else (),
            mac_passes=passes * work.macs,
            operator=layer.operator,
        )


@dataclass
class _Touched:
    """Tensors that a step reads and writes, each once, in order."""

    reads: dict[int, None] = field(default_factory=dict[int, None])
    writes: dict[int, None] = field(default_factory=dict[int, None])

    def read(self, numbers: Iterable[int]) -> None:
        """Add tensors that are read."""
        self.reads.update((number, None) for number in numbers)

    def write(self, number: int) -> None:
        """Add a tensor that is written."""
        self.writes[number] = None
