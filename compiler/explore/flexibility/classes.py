"""
The best mapping of a contraction in each class of flexibility.

Classes are searched one after the other, a class before its supersets, and the best mapping of a class is a candidate
of each of them. So a machine that supports more is never slower, whatever the number of mappings that are tried. Under
constraints a class has those of its mappings that meet them, perhaps none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from npuc.compiler.analysis.mapping.flexibility.axes import SUPPORTS, Supports, classes, is_within
from npuc.compiler.analysis.mapping.flexibility.flexion import AxisChoices
from npuc.compiler.explore.flexibility.buffers import class_costs
from npuc.compiler.explore.flexibility.expression import ClassExpression
from npuc.compiler.explore.flexibility.own import OwnMapping, whole_of
from npuc.compiler.explore.mapping.best import BestMapping, Limits, MappingCost, Objective, search
from npuc.compiler.explore.mapping.candidates import Candidates, join
from npuc.compiler.explore.mapping.mappers.genetic import GeneticMapper
from npuc.compiler.explore.mapping.task import ExactTask
from npuc.dialects.mapping import MappingAttr


@dataclass(frozen=True)
class ClassBest:
    """
    The best mapping of a class, its cost, and how many mappings of the class alone were tried.

    Both are None where none was found that meets constraints.
    """

    supports: Supports
    cost: MappingCost | None
    mapping: MappingAttr | None
    evaluations: int


@dataclass(frozen=True)
class ClassSearch:
    """How classes are searched: the objective, the mappings to try for each, and the seed."""

    objective: Objective
    budget: int
    seed: int

    def run(
        self,
        task: ExactTask,
        choices: AxisChoices,
        own: OwnMapping,
        wanted: Sequence[Supports],
        advance: Callable[[int], None],
    ) -> tuple[ClassBest, ...]:
        """
        The best mapping of each wanted class, in the given order; `advance` is told how many mappings were tried.

        The own mapping is a candidate of all, if it meets the constraints of the task's space.
        """
        first, whole = BestMapping(self.objective, Limits(task.capacity.l1, task.capacity.l2)), whole_of(task)
        alone = own.candidates(whole)
        first.add(alone, class_costs(task, alone, ("any", "any", "any", "any")))
        known: dict[Supports, BestMapping] = {}
        for supports in sorted(set(wanted), key=lambda one: sum(map(SUPPORTS.index, one))):
            subsets = [best for other, best in known.items() if is_within(other, supports)]
            known[supports] = self._best(task, replace(choices, supports=supports), own, [first, *subsets], advance)
        return tuple(_result(task, supports, known[supports]) for supports in wanted)

    def _best(
        self,
        task: ExactTask,
        choices: AxisChoices,
        own: OwnMapping,
        subsets: Sequence[BestMapping],
        advance: Callable[[int], None],
    ) -> BestMapping:
        best = BestMapping(self.objective, Limits(task.capacity.l1, task.capacity.l2))
        found = [one.found for one in subsets if isinstance(one.found, Candidates)]
        for one in subsets:
            if one.cost is not None and one.found is not None:
                best.add(one.found, one.cost.costs)
        if set(choices.supports) == {"fixed"}:
            return best
        best.evaluations = 0
        expression = ClassExpression.of(task, choices, own)
        if not expression.space.fanouts:
            return best
        start = expression.genomes(join(found)) if found else None
        if start is None and expression.space.constraints is not None:
            start = expression.smallest()
        mapper = GeneticMapper(expression.space, self.seed, task.capacity, expression=expression, first=start)
        search(
            mapper,
            lambda candidates: class_costs(task, candidates, choices.supports),
            best,
            self.budget,
            lambda costs: advance(len(costs)),
        )
        return best


def _result(task: ExactTask, supports: Supports, best: BestMapping) -> ClassBest:
    mapping = None if best.found is None else task.attribute(best.found)
    return ClassBest(supports, best.cost, mapping, best.evaluations)


def compared(supports: Supports) -> tuple[Supports, ...]:
    """The sixteen classes, and the machine's own choices where those are none of them."""
    return tuple(dict.fromkeys((*classes(), supports)))
