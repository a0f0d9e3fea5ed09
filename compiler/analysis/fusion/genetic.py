"""
A plan by a genetic search, the teacher of DNNFuser's learned mapper (its G-Sampler [recalled]; the operators are ours).

An individual says for each step whether a group goes on from it to the next step, and by which micro-batch: 0 is a
synchronisation with DRAM, any other number a micro-batch that holds for the group that begins there. Impossible groups
run apart. Everything random comes from a seed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from npuc.compiler.analysis.fusion.problem import FusedGroup, FusionPlan, FusionProblem, Prices, improving, summed
from npuc.compiler.analysis.programs.reported_costs import ReportedCost

POPULATION = 80
GENERATIONS = 80
CLIMBERS = 24
"""The best of the last generation that single changes improve further."""
ELITES = 4
MUTATIONS = 0.08
"""The share of the genes that a child changes, at least one."""

FRESH = 0.1
"""The share of the individuals of a generation that are random again."""

Genes = tuple[int, ...]


@dataclass(frozen=True)
class Individual:
    """Genes with what they cost."""

    score: float
    genes: Genes


def genetic_plan(
    problem: FusionProblem,
    prices: Prices,
    seed: int = 0,
    population: int = POPULATION,
    generations: int = GENERATIONS,
) -> FusionPlan:
    """The best plan that a seeded genetic search finds, with only the groups that pay off."""
    random = Random(seed)
    choices = (0, *problem.micro_batches)
    count = max(len(problem.steps) - 1, 0)
    ends = [frozenset(prices.ends(step)) for step in range(len(problem.steps))]
    reach = [max(found, default=step) for step, found in enumerate(ends)]
    if not any(ends):
        return ()

    def scored(genes: Genes) -> Individual:
        return Individual(_cost(problem, prices, genes).score(problem.objective), genes)

    def fresh() -> Genes:
        share = random.random()
        return tuple(random.choice(choices) if random.random() < share else 0 for _ in range(count))

    alive = [scored((0,) * count), *(scored(fresh()) for _ in range(population - 1))]
    for _ in range(generations):
        alive = sorted({one.genes: one for one in alive}.values(), key=lambda one: one.score)[: population // 2]
        children = alive[:ELITES]
        while len(children) < population:
            if random.random() < FRESH:
                children.append(scored(fresh()))
                continue
            genes = _crossed(random.choice(alive).genes, random.choice(alive).genes, random)
            children.append(scored(_mutated(genes, choices, reach, random)))
        alive = children
    known = {one.genes: one for one in alive}
    climbed = [_climbed(one, choices, scored) for one in sorted(known.values(), key=lambda one: one.score)[:CLIMBERS]]
    best = min(climbed, key=lambda one: one.score)
    return improving(problem, prices, _plan(problem, prices, best.genes))


def _climbed(best: Individual, choices: tuple[int, ...], scored: Callable[[Genes], Individual]) -> Individual:
    """The individual that single changes lead to."""
    while (better := _neighbour(best, choices, scored)) is not None:
        best = better
    return best


def _neighbour(one: Individual, choices: tuple[int, ...], scored: Callable[[Genes], Individual]) -> Individual | None:
    """The best of the individuals that differ in one gene, or in one run of equal ones, where one is better."""
    genes, found = one.genes, list[Individual]()
    for at in range(len(genes)):
        end = at + 1
        while end < len(genes) and genes[end] == genes[at]:
            end += 1
        for choice in choices:
            for stop in (at + 1, end):
                changed = [*genes[:at], *(choice,) * (stop - at), *genes[stop:]]
                found.append(scored(tuple(changed)))
                for border in (at - 1, stop):  # a border moves: what was inside ends here, or the other way round
                    if 0 <= border < len(genes) and changed[border]:
                        found.append(scored((*changed[:border], 0, *changed[border + 1 :])))
    best = min(found, key=lambda other: other.score, default=one)
    return best if best.score < one.score else None


def _plan(problem: FusionProblem, prices: Prices, genes: Genes) -> FusionPlan:
    """The groups that genes mean: runs of steps that go on; one that is impossible ends where it is possible."""
    plan: list[FusedGroup] = []
    step = 0
    while step < len(genes):
        micro = genes[step]
        last = step
        while last < len(genes) and genes[last]:
            last += 1
        ends = sorted((end for end in prices.ends(step) if end <= last), reverse=True) if micro else []
        end = next((end for end in ends if prices.group(step, end, micro) is not None), step)
        if end > step:
            plan.append(FusedGroup(step, end, micro))
        step = end + 1
    return tuple(plan)


def _cost(problem: FusionProblem, prices: Prices, genes: Genes) -> ReportedCost:
    costs: list[ReportedCost] = []
    step = 0
    for group in _plan(problem, prices, genes):
        costs += [prices.alone(number) for number in range(step, group.first)]
        price = prices.group(group.first, group.last, group.micro)
        assert price is not None
        costs.append(price)
        step = group.last + 1
    return summed([*costs, *(prices.alone(number) for number in range(step, len(problem.steps)))])


def _crossed(one: Genes, other: Genes, random: Random) -> Genes:
    """The first part of one and the rest of the other."""
    if not one:
        return one
    at = random.randrange(len(one) + 1)
    return (*one[:at], *other[at:])


def _mutated(genes: Genes, choices: tuple[int, ...], reach: list[int], random: Random) -> Genes:
    """Some genes changed: a step by itself, or a whole range from a step that then is one group."""
    new = list(genes)
    for _ in range(max(1, round(MUTATIONS * len(new)))):
        if not new:
            break
        at = random.randrange(len(new))
        if random.random() < 0.5:
            new[at] = random.choice(choices)
            continue
        end = random.randint(at, max(at, min(reach[at], len(new)) - 1)) if reach[at] > at else at
        new[at : end + 1] = [random.choice(choices)] * (end + 1 - at)
    return tuple(new)
