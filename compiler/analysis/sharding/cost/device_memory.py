"""
What a plan keeps in the memory of a device between the forward and the backward pass, node by node.

Parameters stand there with the optimizer's states, in the form in which they are kept. Activations stand in the form
in which they are made where vector work of the backward pass reads them, in that in which a layer reads them for the
gradient of its weights; inputs in that of their first reader. All numbers are bytes. What the step takes at its peak is
a little more: gradients, and what is made and read at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.sharding.cost.cost_terms import Pattern, layout_of
from npuc.compiler.analysis.sharding.cost.resharding import part_count
from npuc.compiler.analysis.sharding.graph.edges import Flows
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.placement import UNSHARDED, AxisByType
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table
from npuc.dialects.train.signature import ArgumentKind


@dataclass(frozen=True)
class DeviceMemory:
    """
    The memory of a device in bytes, the bytes of every float (None: those of its type), the states of the optimizer for
    each parameter, and the values of the forward pass, by number, that gradients of weights and that other backward
    work reads.
    """

    limit: int
    float_bytes: int | None
    states: int
    by_weights: frozenset[int]
    by_others: frozenset[int]


@dataclass(frozen=True)
class KeptTensor:
    """
    A tensor that is kept: its number, its bytes as a whole, the node whose ways say how it is cut, and the axes.

    It takes nothing in a form in which it is there already: that of the axes `there`, by the ways of the node `maker`.
    """

    value: int
    size: int
    group: int | None
    made: AxisByType
    there: AxisByType | None = None
    maker: int | None = None

    def bytes(self, pattern: Pattern, sizes: tuple[int, ...]) -> int:
        """What a device keeps of it under a pattern of its node, if its maker goes the same ways; rounded up."""
        layout = layout_of(self.made, pattern)
        if self.there is not None and layout_of(self.there, pattern) == layout:
            return 0
        return -(-self.size // part_count(layout, sizes))


def kept_tensors(network: PlanGraph, flows: Flows, room: DeviceMemory) -> list[KeptTensor]:
    """All tensors that count."""
    found: list[KeptTensor] = []
    for number, value in enumerate(network.program.values):
        if value.argument is ArgumentKind.PARAM:
            home = flows.homes.get(number)
            copies = 1 + room.states if value.active else 1
            group, made = (None, UNSHARDED) if home is None else (home.group, home.made)
            found.append(KeptTensor(number, copies * value.bytes(room.float_bytes), group, made))
    for number, task in enumerate(network.program.tasks):
        for place, result in enumerate(task.results):
            if result in room.by_others and not task.hub:
                size = network.program.values[result].bytes(room.float_bytes)
                found.append(KeptTensor(result, size, flows.sharing[number].group, flows.sharing[number].made(place)))
    inputs = set[int]()
    for reading in flows.readings:
        own = network.program.values[reading.value]
        if own.argument is ArgumentKind.INPUT and reading.value not in inputs:
            inputs.add(reading.value)
            found.append(KeptTensor(reading.value, own.bytes(room.float_bytes), reading.reader, reading.needed))
        weighted = reading.reader is not None and network.groups[reading.reader].kind is not None
        if reading.value in room.by_weights and weighted:
            there = reading.made if reading.value in room.by_others else None
            found.append(
                KeptTensor(
                    reading.value, own.bytes(room.float_bytes), reading.reader, reading.needed, there, reading.maker
                )
            )
    return found


def kept_graph(
    kept: Sequence[KeptTensor], labels: Sequence[Sequence[Pattern]], sizes: tuple[int, ...]
) -> tuple[int, Choices]:
    """What is kept whatever is chosen, and what the labels of nodes, and of makers and readers, keep; in bytes."""
    alone = [tensor for tensor in kept if tensor.there is None or tensor.maker in (None, tensor.group)]
    fixed, unary = bytes_by_label(alone, labels, sizes)
    pairs: dict[tuple[int, int], Table] = {}
    for tensor in kept:
        maker, reader = tensor.maker, tensor.group
        if tensor.there is None or maker is None or reader is None or maker == reader:
            continue
        in_parts = np.array([-(-tensor.size // n) for n in _parts(tensor.made, tuple(labels[reader]), sizes)], np.int64)
        table = np.where(_alike(tensor.there, tuple(labels[maker]), tensor.made, tuple(labels[reader])), 0, in_parts)
        pairs[maker, reader] = pairs[maker, reader] + table if (maker, reader) in pairs else table
    return fixed, Choices([len(own) for own in labels], unary, pairs)


@lru_cache(maxsize=256)
def _parts(made: AxisByType, patterns: tuple[Pattern, ...], sizes: tuple[int, ...]) -> list[int]:
    """The parts of a tensor under each pattern."""
    return [part_count(layout_of(made, own), sizes) for own in patterns]


@lru_cache(maxsize=256)
def _alike(
    there: AxisByType, makers: tuple[Pattern, ...], made: AxisByType, readers: tuple[Pattern, ...]
) -> npt.NDArray[np.bool_]:
    """Whether a tensor has one form under a maker's pattern and a reader's, [maker's, reader's]."""
    numbers: dict[object, int] = {}
    layouts = [
        np.array([numbers.setdefault(layout_of(axes, own), len(numbers)) for own in patterns])
        for axes, patterns in ((there, makers), (made, readers))
    ]
    return layouts[0][:, None] == layouts[1][None, :]


def bytes_by_label(
    kept: Sequence[KeptTensor], labels: Sequence[Sequence[Pattern]], sizes: tuple[int, ...]
) -> tuple[int, list[Table]]:
    """What is kept whatever is chosen, and for each node what it keeps under each of its labels; rounded up."""
    fixed = 0
    tables: list[Table] = [np.zeros(len(own), np.int64) for own in labels]
    for tensor in kept:
        if tensor.group is None:
            fixed += tensor.size
            continue
        own = [tensor.bytes(pattern, sizes) for pattern in labels[tensor.group]]
        tables[tensor.group] = tables[tensor.group] + np.array(own, np.int64)
    return fixed, tables


def largest(
    network: PlanGraph, kept: Sequence[KeptTensor], plan: Sequence[Pattern], sizes: tuple[int, ...], count: int
) -> list[tuple[str, int]]:
    """The nodes whose tensors take most under a plan, by name, and their bytes."""
    total: dict[str, int] = {}
    for tensor in kept:
        name = "all layers" if tensor.group is None else network.groups[tensor.group].name
        size = tensor.size if tensor.group is None else tensor.bytes(plan[tensor.group], sizes)
        total[name] = total.get(name, 0) + size
    return sorted(total.items(), key=lambda item: -item[1])[:count]
