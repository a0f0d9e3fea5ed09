"""
The joint optimum: the least communication of any choice of types for all layers and levels.

With I and II, the communication of a layer by itself depends only on how many of its levels have each type,

    W (2^d - 1) + O (2^m - 1)        d levels of type I, m of type II

and a boundary is cheapest where one layer's levels of type II contain the other's, so that the numbers m suffice:

    table2      I / 2  max(m, m')
    published   I / 2  max(0, m' - m)
    physical    I / 2 (max(0, m' - m) + 2^m - 1)

A shortest path over m in 0 .. H for each layer is the optimum. (Exchanging two neighbouring levels shows the first; the
lowered programs are counted for the last.) With III, a boundary's amount at a level is doubled by each level of type
III above it in the consumer; then the path is over the 3^H sequences of a layer, level by level from the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.sharding.graph.chain import BASIC_TYPES, FREE, BasicType, Layer
from npuc.compiler.analysis.sharding.reference.level_by_level import Choices
from npuc.compiler.core.options import Convention

Numbers = NDArray[np.int64]
"""Whole numbers; Python's where 64 bits do not hold them."""
MOST_LEVELS_OF_THREE = 8
"""3^8 sequences of a layer: with more, long chains would take minutes and gigabytes."""


def joint(layers: Sequence[Layer], levels: int, types: Sequence[BasicType], convention: Convention) -> Choices:
    """Types for all layers and levels that move least. Where there are three, `convention` is one of the papers'."""
    if len(types) > 2:
        return _three(layers, levels, convention)
    counts = _counts(layers, levels, types, convention)
    # In one order for all layers: the levels of type II are the lowest.
    return tuple(tuple("II" if h >= levels - m else "I" for m in counts) for h in range(levels))


def _counts(layers: Sequence[Layer], levels: int, types: Sequence[BasicType], convention: Convention) -> list[int]:
    """The number of levels of type II of each layer; of equally good ones the smallest, last layer first."""
    known: Numbers = np.arange(levels + 1) if len(types) == 2 else np.array([0 if types[0] == "I" else levels])
    wide = _is_wide(layers, levels)
    before, after = known[:, None], known[None, :]
    moved = np.maximum(before, after) if convention == "table2" else np.maximum(after - before, 0)
    if convention == "physical":
        moved = moved + 2**before - 1
    weights, outputs = _numbers(2 ** (levels - known) - 1, wide), _numbers(2**known - 1, wide)
    charged, cost = _numbers(moved, wide), _numbers(np.zeros(len(known), np.int64), wide)
    back: list[NDArray[np.intp]] = []
    for number, layer in enumerate(layers):
        if number:
            paths = cost[:, None] + layer.input * charged
            back.append(paths.argmin(axis=0))
            cost = paths.min(axis=0)
        # Twice the elements, so that halves are whole.
        cost = cost + 2 * (layer.weight * weights + layer.output * outputs)
    chosen = [int(cost.argmin())]
    for step in reversed(back):
        chosen.append(int(step[chosen[-1]]))
    return [int(known[number]) for number in reversed(chosen)]


def _is_wide(layers: Sequence[Layer], levels: int) -> bool:
    """Whether some sum may not fit into 64 bits."""
    most = sum(layer.input + layer.weight + layer.output for layer in layers) * 2 ** (levels + 3)
    return most >= 2**62


def _numbers(array: Numbers, wide: bool) -> Numbers:
    return cast("Numbers", array.astype(np.object_)) if wide else array


def _three(layers: Sequence[Layer], levels: int, convention: Convention) -> Choices:
    """The shortest path over sequences of types: index digit h, most significant first, is the type at level h."""
    wide, digits = _is_wide(layers, levels), _digits(levels)
    charged: Numbers = np.array([[(p, q) not in FREE[convention] for q in BASIC_TYPES] for p in BASIC_TYPES], np.int64)
    charged = _numbers(charged, wide)
    own = [_numbers(_powers(digits == number) - 1, wide) for number in range(3)]
    cost = _numbers(np.zeros(int(3**levels), np.int64), wide)
    passed: list[list[NDArray[np.int8]]] = []
    for number, layer in enumerate(layers):
        if number:
            cost, choice = _boundary(cost, layer.input * charged, levels)
            passed.append(choice)
        cost = cost + 2 * (layer.weight * own[0] + layer.output * own[1] + layer.input * own[2])
    at = int(cost.argmin())
    chosen = [at]
    for choice in reversed(passed):
        chosen.append(_before(chosen[-1], choice, levels))
    chosen.reverse()
    return tuple(tuple(BASIC_TYPES[int(digits[h, sequence])] for sequence in chosen) for h in range(levels))


def _digits(count: int) -> NDArray[np.int64]:
    """All numbers of so many digits to base 3, [digit, number], the most significant digit first."""
    numbers: Numbers = np.arange(int(3**count))
    units: Numbers = np.array([3 ** (count - 1 - h) for h in range(count)], np.int64)
    return numbers[None, :] // units[:, None] % 3


def _powers(digits: NDArray[np.bool_]) -> Numbers:
    """2 to the number of digits that are so."""
    count: Numbers = np.add.reduce(digits, axis=0, dtype=np.int64)
    return 2**count


def _boundary(cost: Numbers, charged: Numbers, levels: int) -> tuple[Numbers, list[NDArray[np.int8]]]:
    """
    The least cost up to each sequence of the consumer, and for each level which type of the producer it was reached by.

    `charged` is what a level moves by the types of producer and consumer, if no level above is of type III.
    Level by level the producer's type gives way to the consumer's; what the level moves is known by then, since it
    depends on the consumer's types above.
    """
    choice: list[NDArray[np.int8]] = []
    table = cost.reshape((3,) * levels)
    for h in range(levels):
        front = table.reshape(3**h, 3, -1)
        times = _numbers(_powers(_digits(h) == 2), cost.dtype == np.object_)
        paths = front[:, :, None, :] + times[:, None, None, None] * charged[None, :, :, None]
        choice.append(paths.argmin(axis=1).astype(np.int8).reshape(-1))
        table = paths.min(axis=1)
    return table.reshape(-1), choice


def _before(sequence: int, choice: list[NDArray[np.int8]], levels: int) -> int:
    """The producer's sequence by which a consumer's was reached."""
    found = sequence
    for h in range(levels - 1, -1, -1):
        unit = 3 ** (levels - 1 - h)
        digit = found // unit % 3
        found += (int(choice[h][found]) - digit) * unit
    return found
