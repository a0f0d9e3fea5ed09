"""
The memory that a plan keeps on a device between the forward and the backward pass, by layer group.

Parameters are stored with the optimizer's states, in the layout of their placement. Activations are stored in the
layout in which they are produced where vector work of the backward pass reads them, and in the layout in which a layer
reads them for the gradient of its weights; inputs in that of their first consumer. All numbers are bytes. The peak of
the step is somewhat higher: gradients, and values that are produced and read at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence, layout_of
from npuc.compiler.analysis.sharding.cost.resharding import part_count
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.placement import UNSHARDED, AxisByType
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table
from npuc.dialects.train.signature import ArgumentKind


@dataclass(frozen=True)
class DeviceMemory:
    """
    The memory `limit` of a device in bytes, and the values that the backward pass reads.

    `float_bytes` are the bytes per float (None: those of its type), `states` the optimizer states per parameter.
    `by_weights` are the forward values, by number, that gradients of weights read, `by_others` those that other
    backward work reads.
    """

    limit: int
    float_bytes: int | None
    states: int
    by_weights: frozenset[int]
    by_others: frozenset[int]


@dataclass(frozen=True)
class KeptTensor:
    """
    A tensor that is kept: its number, its whole bytes, the layer group that determines its layout, and the axes.

    It takes no memory in a layout in which it is kept already: that of the axes `there` under the types of `producer`.
    """

    value: int
    size: int
    group: int | None
    produced: AxisByType
    there: AxisByType | None = None
    producer: int | None = None

    def bytes(self, sequence: TypeSequence, sizes: tuple[int, ...]) -> int:
        """
        The bytes that a device keeps under a type sequence of its group, if its producer has the same; rounded up.
        """
        layout = layout_of(self.produced, sequence)
        if self.there is not None and layout_of(self.there, sequence) == layout:
            return 0
        return -(-self.size // part_count(layout, sizes))


def kept_tensors(graph: PlanGraph, edges: PlanEdges, room: DeviceMemory) -> list[KeptTensor]:
    """All tensors that are kept for the backward pass, and the parameters."""
    found: list[KeptTensor] = []
    for number, value in enumerate(graph.program.values):
        if value.argument is ArgumentKind.PARAM:
            placement = edges.placements.get(number)
            copies = 1 + room.states if value.active else 1
            group, produced = (None, UNSHARDED) if placement is None else (placement.group, placement.produced)
            found.append(KeptTensor(number, copies * value.bytes(room.float_bytes), group, produced))
    for number, task in enumerate(graph.program.tasks):
        for place, result in enumerate(task.results):
            if result in room.by_others and not task.reshard_point:
                size = graph.program.values[result].bytes(room.float_bytes)
                found.append(
                    KeptTensor(result, size, edges.shardings[number].group, edges.shardings[number].produced(place))
                )
    inputs = set[int]()
    for edge in edges.reads:
        own = graph.program.values[edge.value]
        if own.argument is ArgumentKind.INPUT and edge.value not in inputs:
            inputs.add(edge.value)
            found.append(KeptTensor(edge.value, own.bytes(room.float_bytes), edge.consumer, edge.required))
        weighted = edge.consumer is not None and graph.groups[edge.consumer].kind is not None
        if edge.value in room.by_weights and weighted:
            there = edge.produced if edge.value in room.by_others else None
            found.append(
                KeptTensor(edge.value, own.bytes(room.float_bytes), edge.consumer, edge.required, there, edge.producer)
            )
    return found


def kept_graph(
    kept: Sequence[KeptTensor], labels: Sequence[Sequence[TypeSequence]], sizes: tuple[int, ...]
) -> tuple[int, Choices]:
    """The bytes kept under every plan, and a choice graph of the bytes that each label, or pair of labels, keeps."""
    alone = [tensor for tensor in kept if tensor.there is None or tensor.producer in (None, tensor.group)]
    fixed, unary = bytes_by_label(alone, labels, sizes)
    pairs: dict[tuple[int, int], Table] = {}
    for tensor in kept:
        producer, consumer = tensor.producer, tensor.group
        if tensor.there is None or producer is None or consumer is None or producer == consumer:
            continue
        in_parts = np.array(
            [-(-tensor.size // n) for n in _parts(tensor.produced, tuple(labels[consumer]), sizes)], np.int64
        )
        table = np.where(
            _alike(tensor.there, tuple(labels[producer]), tensor.produced, tuple(labels[consumer])), 0, in_parts
        )
        pairs[producer, consumer] = pairs[producer, consumer] + table if (producer, consumer) in pairs else table
    return fixed, Choices([len(own) for own in labels], unary, pairs)


@lru_cache(maxsize=256)
def _parts(produced: AxisByType, sequences: tuple[TypeSequence, ...], sizes: tuple[int, ...]) -> list[int]:
    """The parts of a tensor under each type sequence."""
    return [part_count(layout_of(produced, own), sizes) for own in sequences]


@lru_cache(maxsize=256)
def _alike(
    there: AxisByType, producers: tuple[TypeSequence, ...], produced: AxisByType, consumers: tuple[TypeSequence, ...]
) -> npt.NDArray[np.bool_]:
    """Whether a tensor has the same layout under a producer's sequence and a consumer's, [producer's, consumer's]."""
    numbers: dict[object, int] = {}
    layouts = [
        np.array([numbers.setdefault(layout_of(axes, own), len(numbers)) for own in sequences])
        for axes, sequences in ((there, producers), (produced, consumers))
    ]
    return layouts[0][:, None] == layouts[1][None, :]


def bytes_by_label(
    kept: Sequence[KeptTensor], labels: Sequence[Sequence[TypeSequence]], sizes: tuple[int, ...]
) -> tuple[int, list[Table]]:
    """The bytes kept under every plan, and for each layer group those that each of its labels keeps; rounded up."""
    fixed = 0
    tables: list[Table] = [np.zeros(len(own), np.int64) for own in labels]
    for tensor in kept:
        if tensor.group is None:
            fixed += tensor.size
            continue
        own = [tensor.bytes(sequence, sizes) for sequence in labels[tensor.group]]
        tables[tensor.group] = tables[tensor.group] + np.array(own, np.int64)
    return fixed, tables


def largest(
    graph: PlanGraph, kept: Sequence[KeptTensor], plan: Sequence[TypeSequence], sizes: tuple[int, ...], count: int
) -> list[tuple[str, int]]:
    """The layer groups whose tensors take most under a plan, by name, with their bytes."""
    total: dict[str, int] = {}
    for tensor in kept:
        name = "all layers" if tensor.group is None else graph.groups[tensor.group].name
        size = tensor.size if tensor.group is None else tensor.bytes(plan[tensor.group], sizes)
        total[name] = total.get(name, 0) + size
    return sorted(total.items(), key=lambda item: -item[1])[:count]
