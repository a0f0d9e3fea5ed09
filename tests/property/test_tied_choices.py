"""Graphs whose nodes are equal: tied to one label and untied again, against enumeration and without ties."""

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.solvers.choices.descent import descend
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table
from npuc.compiler.analysis.solvers.choices.minimise import minimise
from npuc.compiler.analysis.solvers.choices.tied import refinements, tied_labels
from tests.choices import exactly, least

seeds = st.integers(0, 10**6)


def repeated(r: Random, steps: int, *, floats: bool = False) -> Choices:
    """A ring of equal steps of three nodes, all of which read one node; costs of few values, with many ties."""
    kind = np.float64 if floats else np.int64

    def table(*shape: int) -> Table:
        return np.array([r.randrange(4) for _ in range(int(np.prod(shape)))], kind).reshape(shape)

    sizes = [r.randint(2, 3) for _ in range(4)]
    unary = [table(size) for size in sizes]
    inside = {(a, b): table(sizes[a], sizes[b]) for a, b in ((0, 1), (1, 2), (0, 2))}
    shared, onward = [table(sizes[n], sizes[3]) for n in range(3)], table(sizes[2], sizes[0])
    pairs: dict[tuple[int, int], Table] = {}
    for step in range(steps):
        first = 3 * step
        pairs.update({(first + a, first + b): own for (a, b), own in inside.items()})
        pairs.update({(first + n, 3 * steps): own for n, own in enumerate(shared)})
        if steps > 2 or step + 1 < steps:
            pairs[first + 2, 3 * ((step + 1) % steps)] = onward
    return Choices([*sizes[:3] * steps, sizes[3]], [*unary[:3] * steps, unary[3]], pairs)


@given(seeds, st.integers(2, 6), st.booleans())
@settings(max_examples=60)
def test_classes_split_and_every_tied_choice_is_one_of_the_graph(seed: int, steps: int, floats: bool) -> None:
    r = Random(seed)
    choices = repeated(r, steps, floats=floats)
    before: tuple[int, ...] | None = None
    for classes in refinements(choices):
        assert len(classes) == len(choices.sizes)
        members = [[n for n, own in enumerate(classes) if own == c] for c in range(max(classes) + 1)]
        for own in members:
            assert len({choices.unary[n].tobytes() for n in own}) == 1
            assert before is None or len({before[n] for n in own}) == 1
        before = classes

    def check(tied: Choices) -> tuple[int, ...]:
        labels = tuple(r.randrange(size) for size in tied.sizes)
        solved.append((tied, labels))
        return labels

    solved: list[tuple[Choices, tuple[int, ...]]] = []
    found = tied_labels(choices, check, lambda _, labels: labels)
    assert found is None or any(exactly(choices, found) == exactly(tied, labels) for tied, labels in solved)


@given(seeds, st.integers(2, 3), st.booleans(), st.integers(1, 30))
@settings(max_examples=60)
def test_the_search_of_repeated_graphs_is_within_its_bound(seed: int, steps: int, floats: bool, table: int) -> None:
    choices = repeated(Random(seed), steps, floats=floats)
    best = least(choices)
    assert exactly(choices, minimise(choices).choice) == best
    found = minimise(choices, max_table=table)
    assert found.bound <= best <= exactly(choices, found.choice)
    assert not found.exact or exactly(choices, found.choice) == best
    assert found.choice == minimise(choices, max_table=table).choice


@given(seeds, st.integers(2, 8))
@settings(max_examples=40)
def test_labels_are_no_worse_than_without_ties(seed: int, steps: int) -> None:
    """A search from tied labels never ends above them, and one that may not look at anything changes nothing."""
    choices = repeated(Random(seed), steps)
    start = (0,) * len(choices.sizes)
    tied = tied_labels(choices, lambda graph: descend(graph, (0,) * len(graph.sizes)), descend)
    known = start if tied is None else tied
    assert exactly(choices, known) <= exactly(choices, start)
    assert exactly(choices, descend(choices, known)) <= exactly(choices, known)
    assert descend(choices, known, most=0) == tuple(known)
