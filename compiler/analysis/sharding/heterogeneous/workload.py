"""
The workload that heterogeneous devices share: the products of a training step, and the communication of `table2`.

Each product of the forward pass has two in the backward pass with as many multiply-accumulates, the gradients of its
two operands; a gradient that nothing needs is left out. Other work takes no time here.
"""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.analysis.sharding.cost.paper_terms import InterLayerRate, layer_of_group, paper_terms
from npuc.compiler.analysis.sharding.graph.chain import BASIC_TYPES, Layer
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph, with_paper_types
from npuc.compiler.analysis.sharding.heterogeneous.shares import LocalWork, Workload
from npuc.compiler.analysis.sharding.reference.strategies import rule_of
from npuc.compiler.analysis.sharding.search.least_movement import candidate_types

PRODUCTS = 3
"""Of a layer with weights: forward, the gradient of its input, the gradient of its weights."""


def workload_of_chain(layers: Sequence[Layer], macs: Sequence[int], element_bytes: int, ops_per_mac: int) -> Workload:
    """A chain of layers whose forward products take so many multiply-accumulates."""
    work = [PRODUCTS * ops_per_mac * own for own in macs]
    count = len(layers)
    return Workload(
        [BASIC_TYPES] * count,
        [True] * count,
        range(count - 1),
        range(1, count),
        LocalWork.of(_partial_sums(layers), work, [layer.input for layer in layers[1:]]),
        element_bytes,
    )


def workload_of_network(graph: PlanGraph, edges: PlanEdges, float_bytes: int | None, ops_per_mac: int) -> Workload:
    """
    The workload of a network, joins and reshard points included. `float_bytes` per float, if the machine says so;
    else an element has the bytes of its type. Where the tensors that move differ, all count as the widest of them.
    """
    graph = with_paper_types(graph, by_batch=False)
    numbers = range(len(graph.groups))
    layers = [layer_of_group(graph, group) for group in numbers]
    terms = paper_terms(graph, edges, "table2")
    between = [term for term in terms if isinstance(term.rate, InterLayerRate)]
    floats = [value for term in terms if (value := graph.program.values[term.value]).is_float]
    element_bytes = max((value.element_bytes(float_bytes) for value in floats), default=1)
    return Workload(
        [candidate_types(group, rule_of("accpar", "table2")) for group in graph.groups],
        [layer is not None for layer in layers],
        [term.groups[0] for term in between],
        [term.groups[1] for term in between],
        LocalWork.of(
            _partial_sums(layers),
            [_macs(graph, group) * ops_per_mac for group in numbers],
            [term.elements for term in between],
        ),
        element_bytes,
    )


def _partial_sums(layers: Sequence[Layer | None]) -> list[list[int]]:
    """The elements of the weights, outputs and inputs of layers; joins produce no partial sums."""
    sizes = [(0, 0, 0) if layer is None else (layer.weight, layer.output, layer.input) for layer in layers]
    return [[size[row] for size in sizes] for row in range(3)]


def _macs(graph: PlanGraph, group: int) -> int:
    """The multiply-accumulates of a layer group's products, forward and backward."""
    tasks, values = graph.program.tasks, graph.program.values
    own = [tasks[number] for number in graph.groups[group].tasks]
    return sum(task.macs * (1 + sum(values[operand].active for operand in task.operands)) for task in own)
