"""
The conventions `table2` and `published`: the terms that the papers charge, on any graph of nodes.

A layer is charged for itself (`Sizes.within` of `chain`), a boundary half of the value for each level at which what the
maker hands on is not what the reader needs (`published`: only where the batch is cut on one side and the channels on
the other). A join, which the papers do not have, hands on what it takes. Amounts are in the units of `moves`.

    way      takes                        hands on
    I        its part of the batch        its part of the batch
    II       its part of the channels     all
    III      all                          its part of the channels
    whole    all                          all
    III of a join: its part of the channels, twice
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from npuc.compiler.analysis.parallel.chain import Layer
from npuc.compiler.analysis.parallel.flows import Flows, is_data
from npuc.compiler.analysis.parallel.moves import Amounts
from npuc.compiler.analysis.parallel.nodes import Network
from npuc.compiler.analysis.parallel.terms import Pattern, Sizes, Term
from npuc.compiler.analysis.parallel.ways import Way
from npuc.compiler.options import Convention

Part = Literal["batch", "channels", "all"]
TAKES: dict[Way, Part] = {"I": "batch", "II": "channels", "III": "all", "whole": "all"}
GIVES: dict[Way, Part] = {"I": "batch", "II": "all", "III": "channels", "whole": "all"}
# no join has way II, but tables have a place for every way
JOIN: dict[Way, Part] = {"I": "batch", "II": "all", "III": "channels", "whole": "all"}


@dataclass(frozen=True)
class WithinRate:
    """What a layer moves by itself at the levels where it has a certain way: as much again for each of them above."""

    way: Way

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """A level's size s takes s - 1 times what there is of the tensor in all groups above."""
        (pattern,) = patterns
        found: list[int] = []
        groups = 1
        for way, size in zip(pattern, sizes, strict=True):
            found.append(2 * prod(sizes) * groups * (size - 1) if way == self.way else 0)
            groups *= size if way == self.way else 1
        return tuple(found)


@dataclass(frozen=True)
class BetweenRate:
    """What a boundary moves; whether its two sides are layers with weights."""

    convention: Convention
    layers: tuple[bool, bool]

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """Half of the value where it is charged, in each group above that has the reader's value whole."""
        before, after = patterns
        found: list[int] = []
        groups = 1
        for made, read, size in zip(before, after, sizes, strict=True):
            charged, whole = self.cell(made, read)
            found.append(prod(sizes) * groups * (size - 1) if charged else 0)
            groups *= size if whole else 1
        return tuple(found)

    def cell(self, made: Way, read: Way) -> tuple[bool, bool]:
        """Whether a level with these ways is charged, and whether the reader takes all there."""
        gives = (GIVES if self.layers[0] else JOIN)[made]
        takes = (TAKES if self.layers[1] else JOIN)[read]
        charged = gives != takes and (self.convention == "table2" or "all" not in (gives, takes))
        return charged, takes == "all"

    def forward(self, patterns: tuple[Pattern, ...], amounts: Amounts) -> Amounts:
        """
        How much of `amounts` is of the value itself, the rest of its gradient.

        What all hand on is not moved forward, what all take has its gradient whole: else it is half of each.
        """
        found: list[int] = []
        for made, read, amount in zip(*patterns, amounts, strict=True):
            gives = (GIVES if self.layers[0] else JOIN)[made]
            takes = (TAKES if self.layers[1] else JOIN)[read]
            found.append(0 if gives == "all" else amount if takes == "all" else amount // 2)
        return tuple(found)


def layer_of_node(network: Network, node: int) -> Layer | None:
    """What a node with weights is in the papers' terms: `output` is what it hands on. None for others."""
    own = network.nodes[node]
    if own.kind is None:
        return None
    tasks, values = network.program.tasks, network.program.values
    weighted = next(tasks[n] for n in own.tasks if tasks[n].weight is not None)
    assert weighted.weight is not None
    weight = values[weighted.operands[weighted.weight]].elements
    data = values[weighted.operands[1 - weighted.weight]].elements
    handed = weighted.results[0]
    for number in own.tasks:
        for result in tasks[number].results:
            # neither losses nor statistics of a batch are handed on
            if result in network.cuttings.batch:
                handed = result
    return Layer(own.name, own.kind, data, weight, values[handed].elements)


def layer_terms(node: int, layer: Layer) -> list[Term]:
    """What a layer moves by itself, in each of its ways."""
    own: dict[Way, int] = {"I": layer.weight, "II": layer.output, "III": layer.input}
    return [Term(-1, elements, (node,), WithinRate(way), "within") for way, elements in own.items()]


def paper_terms(network: Network, flows: Flows, convention: Convention) -> list[Term]:
    """The terms of `table2` or `published`."""
    found: list[Term] = []
    layers = [layer_of_node(network, node) for node in range(len(network.nodes))]
    for node, layer in enumerate(layers):
        if layer is not None:
            found += layer_terms(node, layer)
    seen: set[tuple[int, int, int]] = set()
    for reading in flows.readings:
        maker, reader = reading.maker, reading.reader
        if maker is None or reader is None or maker == reader or not is_data(network, reading.value):
            continue
        if (key := (reading.value, maker, reader)) not in seen:
            seen.add(key)
            rate = BetweenRate(convention, (layers[maker] is not None, layers[reader] is not None))
            found.append(Term(reading.value, reading.elements, (maker, reader), rate, "boundary"))
    return found
