"""A plan explained layer by layer: parts that add up, and the next best choices by brute force."""

from fractions import Fraction
from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES
from npuc.compiler.analysis.sharding.search.attribution import Explainer
from npuc.compiler.analysis.sharding.search.least_movement import labels_of
from npuc.compiler.analysis.sharding.search.planning import amounts_of, plan_network, total_of
from npuc.compiler.core.options import CONVENTIONS, STRATEGIES, Convention, Strategy
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.parallelize import plan_graph_for
from tests.sharded_networks import whole_networks

MOST_PLANS = 3000


def explainer_of(module: ModuleOp, strategy: Strategy, convention: Convention, levels: int) -> Explainer:
    graph, edges = plan_graph_for(the_function(module))
    return Explainer(graph, edges, plan_network(graph, edges, strategy, convention, levels))


@settings(max_examples=100)
@given(
    module=whole_networks(),
    strategy=st.sampled_from(STRATEGIES),
    convention=st.sampled_from(CONVENTIONS),
    levels=st.integers(1, 4),
)
def test_the_parts_of_all_layers_are_what_the_plan_moves_at_each_level(
    module: ModuleOp, strategy: Strategy, convention: Convention, levels: int
) -> None:
    explainer = explainer_of(module, strategy, convention, levels)
    parts = [part for group in range(len(explainer.graph.groups)) for part in explainer.parts(group)]
    assert all(part.elements > 0 and min(part.levels) >= 0 for part in parts)
    for level, pairs in enumerate(explainer.planned.levels):
        assert sum((part.levels[level] for part in parts), start=Fraction(0)) == 2**level * pairs


@settings(max_examples=60)
@given(
    module=whole_networks(),
    strategy=st.sampled_from(STRATEGIES),
    convention=st.sampled_from(CONVENTIONS),
    levels=st.integers(1, 2),
    choose=st.data(),
)
def test_no_other_pattern_costs_less_than_the_next_best(
    module: ModuleOp, strategy: Strategy, convention: Convention, levels: int, choose: st.DataObject
) -> None:
    explainer = explainer_of(module, strategy, convention, levels)
    graph, sizes = explainer.graph, explainer.sizes
    labels = labels_of(graph.groups, explainer.free, (2,) * levels)
    count = 1
    for own in labels:
        count *= len(own)
    assume(count <= MOST_PLANS)
    group = choose.draw(st.integers(0, len(labels) - 1))
    terms = explainer.terms
    now = explainer.planned.sequences

    def moved(plan: tuple[TypeSequence, ...]) -> Fraction:
        return total_of(amounts_of(terms, plan, sizes))

    types = {type for label in labels[group] for type in label}
    sequences: list[TypeSequence] = list(product([type for type in PARTITION_TYPES if type in types], repeat=levels))
    others = [sequence for sequence in sequences if sequence != now[group]]
    alone = [moved((*now[:group], other, *now[group + 1 :])) for other in others]
    best = explainer.best_other(group)
    assert (best is None) == (not others)
    assert best is None or best.elements == min(alone) == moved((*now[:group], best.sequence, *now[group + 1 :]))

    def differs(label: TypeSequence) -> bool:
        return label != now[group] and (explainer.free.has_outputs or sorted(label) != sorted(now[group]))

    together = [moved(plan) for plan in product(*labels) if differs(plan[group])]
    adapted = explainer.best_adapted(group)
    assert (adapted is None) == (not together)
    assert adapted is None or (adapted.elements == adapted.bound == min(together) and differs(adapted.sequence))
