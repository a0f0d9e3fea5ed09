"""Random graphs of choices, and what enumeration says of them."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np

from npuc.compiler.analysis.solvers.choices.graph import Choices, Number, Table

Pair = tuple[int, int]
SHAPES = ("tree", "chain", "ring", "series-parallel", "clique", "grid", "any", "parts")
KINDS = ("whole", "float", "wide", "fractions")


def edges(r: Random, shape: str, count: int) -> set[Pair]:
    """The pairs of a graph of so many nodes."""
    every = {(i, j) for j in range(count) for i in range(j)}
    chain = {(i, i + 1) for i in range(count - 1)}
    match shape:
        case "tree":
            return {(r.randrange(j), j) for j in range(1, count)}
        case "chain":
            return chain
        case "ring":
            return chain | ({(0, count - 1)} if count > 2 else set())
        case "series-parallel":
            # each node hangs on both ends of a pair that is there already
            found = set(list(chain)[:1])
            for j in range(2, count):
                i, k = r.choice(sorted(found))
                found |= {(i, j), (k, j)}
            return found
        case "clique":
            return every
        case "grid":
            return {(i, j) for i, j in every if j - i == 2 or (j - i == 1 and j % 2)}
        case "parts":
            return {(i, j) for i, j in every if i % 2 == j % 2}
        case _:
            return {pair for pair in sorted(every) if r.random() < 0.5}


def costs(r: Random, shape: tuple[int, ...], kind: str, most: int) -> Table:
    """Random costs, few of them different so that there are ties; some not allowed where the kind knows that."""

    def one() -> Number:
        if kind != "whole" and r.random() < 0.15:
            return math.inf
        value = r.randint(-most, most)
        return {"whole": value, "float": value / 8, "wide": value * 10**25, "fractions": Fraction(value, 3)}[kind]

    numbers = np.empty(shape, dtype=np.object_)
    flat: Table = numbers.reshape(-1)
    flat[:] = np.array([one() for _ in range(flat.size)], dtype=np.object_)
    return numbers.astype({"whole": np.int64, "float": np.float64}.get(kind, np.object_))


def random_choices(r: Random, shape: str, kind: str) -> Choices:
    count = r.randint(1, 6)
    sizes = [r.randint(1, 3) for _ in range(count)]
    most = r.choice([1, 3, 100])
    pairs: dict[Pair, Table] = {}
    for i, j in sorted(edges(r, shape, count)):
        a, b = (i, j) if r.random() < 0.5 else (j, i)
        pairs[a, b] = costs(r, (sizes[a], sizes[b]), kind, most)
    return Choices(sizes, [costs(r, (size,), kind, most) for size in sizes], pairs)


def every_choice(choices: Choices) -> Iterator[tuple[int, ...]]:
    return product(*map(range, choices.sizes))


def exactly(choices: Choices, choice: tuple[int, ...]) -> Number:
    """What a choice costs by the definition, without rounding."""
    terms: list[Number] = [table.item(label) for table, label in zip(choices.unary, choice, strict=True)]
    terms += [table.item(choice[i], choice[j]) for (i, j), table in choices.pairs.items()]
    return math.inf if math.inf in terms else sum((Fraction(term) for term in terms), start=Fraction(0))


def least(choices: Choices) -> Number:
    return min(exactly(choices, choice) for choice in every_choice(choices))
