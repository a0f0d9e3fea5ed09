"""
A forward program as layers over parts of memory.

Consecutive operations of one source layer form one layer; views form none. A value that only its own layer reads is no
tensor, unless the layer's backward reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from npuc.backends.roofline.iteration.parts import MemoryPart, Value, leaves, moved_of, view_of, whole
from npuc.backends.roofline.iteration.rules import STATISTICS
from npuc.compiler.analysis.sharding.samples import samples_of
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind
from npuc.dialects.distributed import DistOp
from npuc.dialects.provenance import Role, is_recomputed, layer_of, role_of
from npuc.dialects.tensors import is_float
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.loss import CrossEntropyOp
from npuc.dialects.train.opaque import operator_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of


@dataclass(eq=False)
class GraphLayer:
    """Operations that form one layer: `matrix` where one of them is a product or a convolution."""

    name: str
    ops: list[TrainOp]

    @property
    def matrix(self) -> bool:
        """Whether the layer is of type I."""
        return any(get_layer(op).kind is Kind.MATRIX for op in self.ops)

    @property
    def operator(self) -> str | None:
        """The operator of which only the cost is known, where the layer has one."""
        names = (operator_of(op.name.removeprefix("train."), op.properties) for op in self.ops)
        return next((name for name in names if name is not None), None)

    @property
    def main(self) -> TrainOp:
        """The representative operation: the layer's product, else its first."""
        return next((op for op in self.ops if get_layer(op).kind is Kind.MATRIX), self.ops[0])


@dataclass(eq=False)
class Weight:
    """A parameter: its part of memory, whether it is trained."""

    name: str
    value: SSAValue
    part: MemoryPart
    trained: bool


@dataclass(eq=False)
class Graph:
    """
    Layers in source order, and the parts of memory of their values.

    `made_by` is the layer that writes a part, `read_by` the layers that read it. `active` are the values that depend on
    a trained parameter, `constants` those that depend on no argument, `seen_in` maps values to the parts that views
    show, and `beside` the extra state that operations leave for their backward. `outputs` are the returned parts
    besides the loss, `recomputed` the layers that the backward pass partly recomputes. `received` are the parts that
    come from other devices, with the layers that want them, and `returned` those whose gradients go to other devices.
    """

    layers: list[GraphLayer] = field(default_factory=list[GraphLayer])
    values: dict[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])
    made_by: dict[MemoryPart, GraphLayer] = field(default_factory=dict[MemoryPart, GraphLayer])
    read_by: dict[MemoryPart, dict[GraphLayer, None]] = field(
        default_factory=dict[MemoryPart, "dict[GraphLayer, None]"]
    )
    active: set[SSAValue] = field(default_factory=set[SSAValue])
    active_parts: set[MemoryPart] = field(default_factory=set[MemoryPart])
    inputs: list[tuple[str, MemoryPart]] = field(default_factory=list[tuple[str, MemoryPart]])
    weights: list[Weight] = field(default_factory=list[Weight])
    weight_values: set[SSAValue] = field(default_factory=set[SSAValue])
    constants: set[SSAValue] = field(default_factory=set[SSAValue])
    beside: dict[Operation, Value] = field(default_factory=dict[Operation, Value])
    seen_in: dict[SSAValue, tuple[SSAValue, ...]] = field(default_factory=dict[SSAValue, tuple[SSAValue, ...]])
    outputs: list[MemoryPart] = field(default_factory=list[MemoryPart])
    output_parts: set[MemoryPart] = field(default_factory=set[MemoryPart])
    recomputed: set[str] = field(default_factory=set[str])
    received: dict[MemoryPart, str] = field(default_factory=dict[MemoryPart, str])
    returned: set[MemoryPart] = field(default_factory=set[MemoryPart])
    loss: SSAValue | None = None
    samples: int = 0

    def parts(self, value: SSAValue) -> list[MemoryPart]:
        """The parts of a value, each once."""
        return list(dict.fromkeys(leaves(self.values.get(value, ()))))

    def needs(self, op: Operation) -> list[bool]:
        """Which operands of an operation need a gradient."""
        return [value in self.active for value in op.operands]


def read_graph(func: FuncOp, float_bytes: int | None) -> Graph:
    """The layers of the forward operations of a training function, whether or not it has a backward."""
    graph = Graph(samples=samples_of(func))
    _read_arguments(graph, func, float_bytes)
    reads: list[tuple[GraphLayer, SSAValue]] = []
    for op in func.body.block.ops:
        if isinstance(op, ReturnOp):
            _read_results(graph, func, op)
        elif isinstance(op, TrainOp) and role_of(op) is Role.FORWARD:
            if is_recomputed(op):
                graph.recomputed.add(layer_of(op))
                continue
            _read_operation(graph, op, reads, float_bytes)
    for layer, value in reads:
        for part in graph.parts(value):
            graph.read_by.setdefault(part, {})[layer] = None
    for layer in graph.layers:
        for op in layer.ops:
            graph.made_by.update((part, layer) for part in graph.beside.get(op, ()))
            for result in op.results:
                graph.made_by.update((part, layer) for part in graph.parts(result))
                graph.active_parts.update(graph.parts(result) if result in graph.active else ())
    graph.active_parts.update(leaf for weight in graph.weights if weight.trained for leaf in weight.part.leaves())
    graph.active_parts.update(leaf for part in graph.received if part in graph.active_parts for leaf in part.leaves())
    graph.received = {leaf: name for part, name in graph.received.items() for leaf in part.leaves()}
    graph.output_parts.update(leaf for part in graph.outputs for leaf in part.leaves())
    return graph


def _read_arguments(graph: Graph, func: FuncOp, float_bytes: int | None) -> None:
    for argument in arguments_of(func):
        value = func.body.block.args[argument.index]
        if argument.kind in (ArgumentKind.STATE, ArgumentKind.STAT):
            graph.values[value] = ()
            continue
        graph.values[value] = parts = whole(value, float_bytes)
        trained = argument.kind is ArgumentKind.PARAM and not argument.frozen and is_float(value)
        if trained:
            graph.active.add(value)
        if argument.kind is ArgumentKind.INPUT:
            graph.inputs += [(argument.name, part) for part in parts]
        else:
            graph.weight_values.add(value)
            graph.weights += [Weight(argument.name, value, part, trained) for part in parts]


def _read_results(graph: Graph, func: FuncOp, op: ReturnOp) -> None:
    named = results_of(func)
    for result in named:
        value = op.operands[result.index]
        if result.loss:
            graph.loss = value
        elif result.output is not None:
            graph.outputs += graph.parts(value)
    if not named:
        graph.outputs += [part for value in op.operands for part in graph.parts(value)]


def _read_operation(
    graph: Graph, op: TrainOp, reads: list[tuple[GraphLayer, SSAValue]], float_bytes: int | None
) -> None:
    values = [graph.values.get(value, ()) for value in op.operands]
    through = (value for i, value in enumerate(op.operands) if i not in get_layer(op).without_gradient)
    if any(value in graph.active for value in through):
        graph.active.update(result for result in op.results if is_float(result))
    if get_layer(op).kind is Kind.CONSTANT or (op.operands and all(v in graph.constants for v in op.operands)):
        graph.values.update((result, ()) for result in op.results)
        graph.constants.update(op.results)
        return
    if isinstance(op, DistOp):
        _read_movement(graph, op)
        return
    view = view_of(op, values)
    if view is not None:
        graph.values.update(zip(op.results, view, strict=True))
        graph.seen_in.update((result, tuple(op.operands)) for result in op.results)
        return
    layer = graph.layers[-1] if graph.layers and graph.layers[-1].name == layer_of(op) else None
    if layer is None:
        layer = GraphLayer(layer_of(op), [])
        graph.layers.append(layer)
    layer.ops.append(op)
    reads += [(layer, value) for value in op.operands]
    for index, result in enumerate(op.results):
        hidden = index > 0 and isinstance(op, STATISTICS)
        graph.values[result] = () if hidden else whole(result, float_bytes)
    if isinstance(op, CrossEntropyOp):  # the probabilities, which backward reads
        graph.values[op.results[0]] = ()
        graph.beside[op] = whole(op.operands[0], float_bytes)


def _read_movement(graph: Graph, op: DistOp) -> None:
    """A communication operation is no layer: the network reads and writes memory beside the device's work."""
    value = graph.values.get(op.x, ())
    weight = op.x in graph.weight_values
    # a weight that every device keeps whole is updated whole
    graph.values[op.out], others = moved_of(op, value, cut=not weight)
    graph.seen_in[op.out] = (op.x,)
    if len(graph.parts(op.out)) > len(graph.parts(op.x)):
        graph.received.update((part, layer_of(op)) for part in others)
        graph.active_parts.update(others if op.x in graph.active else ())
    elif op.x in graph.active:
        graph.returned.update(others)
    if weight:
        graph.weight_values.add(op.out)


def is_bias(op: Operation, layer: GraphLayer, graph: Graph) -> bool:
    """Whether an addition adds the bias to its layer's product: the bias initialises the accumulator, at no cost."""
    if not isinstance(op, AddOp) or not layer.matrix or op is layer.main:
        return False
    return any(value in graph.weight_values for value in op.operands)
