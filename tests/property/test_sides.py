"""Type sequences that are alike for a cost term move alike: the steps of its collectives and their seconds."""

from collections.abc import Hashable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from npuc.compiler.analysis.interconnect.topology import NetworkLevel
from npuc.compiler.analysis.sharding.cost.collective_steps import CollectiveStep, side_of, steps_of
from npuc.compiler.analysis.sharding.cost.cost_terms import EdgeRate, ReductionRate, TypeSequence, physical_terms
from npuc.compiler.analysis.sharding.cost.step_time import Times, key_of, message_seconds, time_graph
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES
from npuc.compiler.analysis.sharding.search.objectives import candidate_sequences
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.frontends import read_source
from tests.sharded_networks import ATTENTION, IMAGES, WORDS

SIZES = (2, 3)
SEQUENCES: list[TypeSequence] = candidate_sequences(PARTITION_TYPES, len(SIZES))


@pytest.mark.parametrize("text", [ATTENTION, IMAGES, WORDS], ids=["attention", "images", "words"])
def test_sequences_of_equal_sides_have_equal_steps(text: str) -> None:
    _, edges = plan_graph_for(the_function(read_source(text)))
    shared = 0
    for rate, count in {(term.rate, len(term.groups)) for term in physical_terms(edges) if term.groups}:
        assert isinstance(rate, EdgeRate | ReductionRate)
        known: dict[Hashable, tuple[CollectiveStep, ...]] = {}
        for sequences in product(SEQUENCES, repeat=count):
            sides = tuple(side_of(rate, sequence, n, count) for n, sequence in enumerate(sequences))
            shared += sides in known
            assert known.setdefault(sides, steps_of(rate, sequences, SIZES)) == steps_of(rate, sequences, SIZES)
    assert shared


@pytest.mark.parametrize("text", [ATTENTION, IMAGES, WORDS], ids=["attention", "images", "words"])
def test_the_graph_of_seconds_has_the_messages_of_a_plan(text: str) -> None:
    graph, edges = plan_graph_for(the_function(read_source(text)))
    levels = (NetworkLevel("pair", 2, Fraction(10**9), Fraction(1, 10**6)), NetworkLevel("pair", 3, Fraction(10**10)))
    labels = [candidate_sequences(group.types, len(SIZES)) for group in graph.groups]
    work = tuple({key_of(sequence): 0.0 for sequence in own} for own in labels)
    times, terms = Times(levels, 4, work), physical_terms(edges)
    choices = time_graph(graph.program, terms, labels, times, SIZES)
    r = np.random.default_rng(0)
    for _ in range(30):
        choice = [int(r.integers(len(own))) for own in labels]
        plan = [own[label] for own, label in zip(labels, choice, strict=True)]
        alone = [term for term in terms if term.groups]
        expected = message_seconds(graph.program, alone, plan, times, SIZES)
        assert float(choices.cost(choice)) == pytest.approx(float(expected), rel=1e-12)
