"""
A strategy's plan for a network: the type sequence of each layer group, and the communication of each level.

Chains of layers under the papers' conventions are planned as the papers do, ties included; all other networks by the
searches of this folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, Sizes, TypeSequence, physical_terms
from npuc.compiler.analysis.sharding.cost.device_memory import DeviceMemory
from npuc.compiler.analysis.sharding.cost.paper_terms import InterLayerRate, layer_of_group, paper_terms
from npuc.compiler.analysis.sharding.cost.step_time import Times
from npuc.compiler.analysis.sharding.graph.chain import BASIC_TYPES, Layer
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph, with_paper_types
from npuc.compiler.analysis.sharding.reference.chain_terms import chain_groups, chain_terms
from npuc.compiler.analysis.sharding.reference.joint import MOST_LEVELS_OF_THREE
from npuc.compiler.analysis.sharding.reference.level_by_level import Choices
from npuc.compiler.analysis.sharding.reference.strategies import (
    Rule,
    best_of_chain,
    choices_of_chain,
    rule_of,
)
from npuc.compiler.analysis.sharding.search.least_movement import (
    elements_of,
    search_levels,
    search_within,
)
from npuc.compiler.analysis.sharding.search.many_levels import (
    MOST_LEVELS,
    has_many,
    is_bounded,
    least,
    search_joint,
)
from npuc.compiler.analysis.sharding.search.objectives import fastest, smallest
from npuc.compiler.analysis.sharding.search.partial_sums import with_addends
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import (
    STRATEGIES,
    Convention,
    PlanObjective,
    Strategy,
    is_joint,
    is_level_by_level,
    names_three_types,
)


@dataclass(frozen=True)
class Planned:
    """
    A plan for the devices of a mesh: `sizes` are the parts into which each level splits a group.

    `sequences` has each layer group's types; `levels` what one pair moves at each level, one direction, in elements;
    `bound` what no plan of the same types goes below in all, None where nothing is proved. `cost` and `cost_bound` are
    those of the goal's objective, where that is not movement.
    """

    strategy: Strategy
    convention: Convention
    sizes: Sizes
    sequences: tuple[TypeSequence, ...]
    levels: tuple[Fraction, ...]
    bound: Fraction | None
    objective: PlanObjective = "bytes"
    cost: float | None = None
    cost_bound: float | None = None

    @property
    def total(self) -> Fraction:
        """What all groups of all levels move, one direction, in elements."""
        return total_of(self.levels, self.sizes)


@dataclass(frozen=True)
class Goal:
    """
    What a joint strategy minimises; for `time` with what work and messages take.

    `room` is what a device keeps, for `memory`, and for all others the limit, if there is one. `exact`: an integer
    program goes on where elimination leaves a gap between plan and bound; so it does for every strategy's bound.
    Without `outputs` no layer is split along its output.
    """

    objective: PlanObjective = "bytes"
    times: Times | None = None
    room: DeviceMemory | None = None
    exact: bool = False
    outputs: bool = True

    def rule(self, strategy: Strategy, convention: Convention) -> Rule:
        """What is searched: a plan for time has all cuts, as messages take the same time under every convention."""
        rule = rule_of(strategy, "physical" if self.objective == "time" else convention)
        return rule if self.outputs else rule.without_outputs()


def total_of(levels: Sequence[Fraction], sizes: Sizes | None = None) -> Fraction:
    """The sum over all groups: as many at a level as the levels above it make (`sizes`; None: halves)."""
    parts = (2,) * len(levels) if sizes is None else sizes
    return sum((prod(parts[:h]) * amount for h, amount in enumerate(levels)), start=Fraction(0))


def terms_of(graph: PlanGraph, edges: PlanEdges, convention: Convention) -> list[CostTerm]:
    """What a convention charges."""
    return physical_terms(edges) if convention == "physical" else paper_terms(graph, edges, convention)


def plan_network(
    graph: PlanGraph,
    edges: PlanEdges,
    strategy: Strategy,
    convention: Convention,
    levels: int | Sizes,
    goal: Goal | None = None,
) -> Planned:
    """
    The plan of a strategy for a goal, by default the least movement: on so many levels of halves, or on levels that
    split into so many parts each.

    Raises `CapacityError` where no plan keeps within the memory of a device, `UsageError` where there are too many
    levels for accpar-joint, or where a strategy knows movement only.
    """
    goal = goal or Goal()
    sizes = (2,) * levels if isinstance(levels, int) else levels
    if convention != "physical" and goal.objective != "time":
        known = with_paper_types(graph, by_batch=rule_of(strategy, convention).by_batch)
        plan = _plan(known, edges, strategy, convention, sizes, goal)
        return replace(plan, sequences=with_addends(graph, edges, plan.sequences, sizes))
    return _plan(graph, edges, strategy, convention, sizes, goal)


def _plan(
    graph: PlanGraph, edges: PlanEdges, strategy: Strategy, convention: Convention, sizes: Sizes, goal: Goal
) -> Planned:
    """The plan among the types that a network's layer groups have."""
    halves, room, rule = all(size == 2 for size in sizes), goal.room, goal.rule(strategy, convention)
    if goal.objective != "bytes":
        return _for_goal(graph, edges, strategy, convention, sizes, goal)
    terms = terms_of(graph, edges, convention)
    chain = chain_of(graph, terms) if halves and convention != "physical" else None
    if room is not None and rule.joint:
        within = search_within(graph, edges, terms, rule, sizes, room, exact=goal.exact)
        amounts = amounts_of(terms, within.sequences, sizes)
        # what is kept is estimated: no plan at all goes below the bound without a limit
        bound = least(graph.groups, terms, rule_of(strategy, convention), sizes, exact=goal.exact)
        return Planned(strategy, convention, sizes, within.sequences, amounts, bound)
    if chain is not None:
        return plan_chain(chain, strategy, convention, len(sizes))
    _check_levels(strategy, convention, sizes)
    if is_level_by_level(strategy):
        # one level's least may leave more to those below it: mp along the input alone is tried, too
        rules = [rule, rule.without_outputs()] if not names_three_types(strategy) and rule.has_outputs else [rule]
        plans = [search_levels(graph.groups, terms, one, sizes, exact=goal.exact) for one in rules]
        plan = min(plans, key=lambda one: one.elements)
    else:
        plan = search_joint(graph.groups, terms, rule, sizes, exact=goal.exact)
    known = rule.joint and is_bounded(graph.groups, rule, sizes)
    bound = plan.bound if known else least(graph.groups, terms, rule, sizes, exact=goal.exact)
    return Planned(strategy, convention, sizes, plan.sequences, amounts_of(terms, plan.sequences, sizes), bound)


def _check_levels(strategy: Strategy, convention: Convention, sizes: Sizes) -> None:
    """Raise `UsageError` where accpar-joint is asked for more devices than it is searched for."""
    if (
        is_joint(strategy)
        and names_three_types(strategy)
        and has_many(rule_of(strategy, convention), sizes)
        and len(sizes) > MOST_LEVELS
    ):
        raise UsageError(
            f"{strategy}: found {2 ** len(sizes):,} devices, expected at most {2**MOST_LEVELS:,}",
            hint="accpar and joint take any number of devices",
        )


def plan_chain(chain: Sequence[Layer], strategy: Strategy, convention: Convention, levels: int) -> Planned:
    """The plan of a strategy for a chain of layers, of which the sizes are all that is known."""
    groups, terms, sizes = chain_groups(chain), chain_terms(chain, convention), (2,) * levels
    # a chain's mp is that of the papers under every convention
    rule = rule_of(strategy, "table2")
    printed, level_by_level = convention != "physical", is_level_by_level(strategy)
    # the optimum is known of two types, and by the papers' conventions of three
    known = not names_three_types(strategy) or (printed and levels <= MOST_LEVELS_OF_THREE)
    if level_by_level and not printed:
        sequences = search_levels(groups, terms, rule, sizes).sequences
    elif known or not is_joint(strategy):
        sequences = columns(choices_of_chain(chain, levels, strategy, convention), len(chain))
    else:
        beside = [columns(choices_of_chain(chain, levels, "accpar", convention), len(chain))] if printed else []
        _check_levels(strategy, convention, sizes)
        plan = search_joint(groups, terms, rule, sizes, beside)
        return Planned(
            strategy, convention, sizes, plan.sequences, amounts_of(terms, plan.sequences, sizes), plan.bound
        )
    if known:
        best = columns(best_of_chain(chain, levels, strategy, convention), len(chain))
        bound = total_of(amounts_of(terms, best, sizes))
    else:
        bound = least(groups, terms, rule, sizes)
    return Planned(strategy, convention, sizes, sequences, amounts_of(terms, sequences, sizes), bound)


def columns(choices: Choices, layers: int) -> tuple[TypeSequence, ...]:
    """The type sequence of each layer, from types given level by level."""
    return tuple(tuple(row[n] for row in choices) for n in range(layers))


def _for_goal(
    graph: PlanGraph, edges: PlanEdges, strategy: Strategy, convention: Convention, sizes: tuple[int, ...], goal: Goal
) -> Planned:
    """The plan for another objective than movement, which is counted all the same."""
    if not is_joint(strategy):
        joints = " and ".join(known for known in STRATEGIES if is_joint(known))
        raise UsageError(
            f"{strategy} is a rule of movement: a plan for {goal.objective} is searched by {joints} only",
            hint=f"--parallel joint --plan-objective {goal.objective}",
        )
    terms, rule = terms_of(graph, edges, convention), goal.rule(strategy, convention)
    if goal.objective == "time":
        if goal.times is None:
            raise UsageError(
                "a plan for time needs the times of work and messages",
                hint="npuc compile --devices N --plan-objective time finds them on the backend and the hardware",
            )
        best = fastest(graph, edges, rule, sizes, goal.times, goal.room, exact=goal.exact)
    else:
        assert goal.room is not None, "a plan for memory is given what a device keeps"
        best = smallest(graph, edges, terms, rule, sizes, goal.room, exact=goal.exact)
    amounts = amounts_of(terms, best.sequences, sizes)
    known = rule if goal.outputs else replace(goal, outputs=True).rule(strategy, convention)
    bound = least(graph.groups, terms, known, sizes, exact=goal.exact)
    return Planned(strategy, convention, sizes, best.sequences, amounts, bound, goal.objective, best.cost, best.bound)


def amounts_of(
    terms: Sequence[CostTerm], sequences: Sequence[TypeSequence], sizes: tuple[int, ...]
) -> tuple[Fraction, ...]:
    """What one pair of groups moves at each level under a plan."""
    rows = [term.amounts(sequences, sizes) for term in terms]
    return tuple(elements_of(sum(row[h] for row in rows), sizes) / prod(sizes[:h]) for h in range(len(sizes)))


def bytes_of(
    graph: PlanGraph,
    terms: Sequence[CostTerm],
    sequences: Sequence[TypeSequence],
    sizes: Sizes,
    float_bytes: int | None,
) -> Fraction:
    """
    What a plan moves in all, one direction, in bytes: each tensor's by its own element type; `float_bytes` are those of
    every float, where the machine says.
    """
    values = graph.program.values
    return elements_of(sum(term.bytes(values, sequences, sizes, float_bytes) for term in terms), sizes)


def chain_of(graph: PlanGraph, terms: Sequence[CostTerm]) -> list[Layer] | None:
    """
    The layers of a network in which each hands on to the next alone, may have any type and has all its gradients; None
    for others.
    """
    layers = [layer_of_group(graph, group) for group in range(len(graph.groups))]
    chain = [layer for layer in layers if layer is not None]
    boundaries = [term.groups for term in terms if len(term.groups) == 2]
    has_all = len(terms) == len(BASIC_TYPES) * len(chain) + len(boundaries)
    if not has_all or any(isinstance(term.rate, InterLayerRate) and not term.rate.active for term in terms):
        return None
    if any(set(group.types) < set(BASIC_TYPES) for group in graph.groups):
        return None
    if len(chain) < len(layers) or boundaries != [(n, n + 1) for n in range(len(layers) - 1)]:
        return None
    return chain


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of layers, those that come again with their number."""
    seen: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return found
