"""
Constraints of mappings on machines that are searched: the spaces that they leave, and what no machine meets.

Constraints are about levels of clusters, whatever their size. So whether they can be met is seen on the smallest
clusters: a level has the sizes that rules demand, else one sub-cluster, or two where it must spread a dimension (four
where it would have to spread two, which no level of a design does).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from npuc.backends.maestro.machine import mapped_machine
from npuc.compiler.analysis.mapping.constraints.resolve import constraints_of, dimensions_of
from npuc.compiler.analysis.mapping.constraints.rules import Atom
from npuc.compiler.analysis.mapping.flexibility.axes import Supports, class_of
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.explore.design.budget import Budget
from npuc.compiler.explore.design.classes import is_free
from npuc.compiler.explore.design.clusters import Fanouts
from npuc.compiler.explore.design.costs import least_bytes
from npuc.compiler.explore.design.task import DesignTask
from npuc.compiler.explore.mapping.constrained.demands import Demands
from npuc.compiler.explore.mapping.constrained.possible import constrained, runs_on, smallest_conflict
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.mapping.task import ExactTask
from npuc.dialects.npu import ContractOp
from npuc.hardware import Hardware


def check_classes(demands: Demands, classes: Sequence[Supports]) -> None:
    """Raise `UsageError` where constraints meet a class whose mappings are those of a dataflow on some axis."""
    fixed = next((one for one in classes if not is_free(one)), None)
    if demands.rules and fixed is not None:
        raise UsageError(
            f"{demands.rules.words}: a machine of class {class_of(fixed)} has the mappings of its dataflow, which "
            "constraints do not change",
            hint="--class 1110 or 1111, whose mappings are all that constraints leave",
        )


@dataclass(frozen=True)
class ConstrainedTask:
    """
    A design under constraints: `firsts` is the first contraction of each work, with its search alone.

    With `reshaped` the array takes other clusters for each contraction.
    """

    task: DesignTask
    demands: Demands
    budget: Budget
    firsts: tuple[tuple[ExactTask, ContractOp], ...]
    reshaped: bool

    @property
    def fanouts(self) -> tuple[Fanouts, ...]:
        """Clusters of the sizes that rules demand, and the smallest ones, small machines first."""
        return self.firsts[0][0].space.fanouts

    def restricted(self) -> DesignTask:
        """
        The task with the spaces that constraints leave.

        Raises `UsageError` for levels and dimensions that no mapping has, `CapacityError` for constraints that no
        machine within the area meets.
        """
        self.demands.check_names(self.firsts)
        spaces = [self.demands.applied(one, op).space for one, op in self.firsts]
        self._check_together()
        pairs = zip(self.task.spaces, spaces, strict=True)
        own = (replace(old, divisors=new.divisors, constraints=new.constraints) for old, new in pairs)
        return replace(self.task, spaces=tuple(own))

    def _check_together(self) -> None:
        """Raise `CapacityError` for what no machine meets, or none of the area."""
        atoms, budget = [atom for rule in self.demands.rules.rules for atom in rule.atoms()], self.budget
        found = smallest_conflict(atoms, lambda some: self._least_area(some) is not None)
        if found:
            text = f"no clusters can meet, for all contractions together, {self.demands.listed(found)}"
            hint = None if self.reshaped else "--class 1111, where each contraction has clusters of its own"
            raise self.demands.error(CapacityError, found[0], text, hint)
        found = smallest_conflict(atoms, self._is_within)
        if found:
            least = self._least_area(atoms)
            limit, model = f"{budget.limit_mm2:g} mm2", budget.model.name
            text = f"no machine of {limit} meets {self.demands.listed(found)}"
            text += f": the smallest one takes {least:.3g} mm2 by the area model {model}"
            raise self.demands.error(CapacityError, found[0], text, f"an --area-mm2 of more than {least:.3g}")

    def _is_within(self, atoms: Sequence[Atom]) -> bool:
        least = self._least_area(atoms)
        return least is not None and least <= self.budget.limit_mm2

    def _least_area(self, atoms: Sequence[Atom]) -> float | None:
        """The least area of machines that meet demands, mm2; None where there are none."""
        spaces = [self._space(number, atoms) for number in range(len(self.firsts))]
        if self.reshaped:
            each = [next((prod(one) for one in self.fanouts if runs_on(space, one)), None) for space in spaces]
            known = [one for one in each if one is not None]
            elements = max(known) if len(known) == len(each) else None
        else:
            fits = (prod(one) for one in self.fanouts if all(runs_on(space, one) for space in spaces))
            elements = next(fits, None)
        if elements is None:
            return None
        needs = [least_bytes(work, space) for work, space in zip(self.task.works, spaces, strict=True)]
        return self.budget.area_mm2(elements, *(max(one) for one in zip(*needs, strict=True)))

    def _space(self, number: int, atoms: Sequence[Atom]) -> MapSpace:
        """The space of a work under some of the demands."""
        task, op = self.firsts[number]
        dims, divisors = dimensions_of(op.nest), self.demands.rules.divisors
        own = [one for one in self.demands.atoms(op, dims.kind) if one in atoms]
        return constrained(task.space, constraints_of(own, dims, task.space.levels, 1, divisors=divisors))


def constrained_task(
    task: DesignTask, hardware: Hardware, demands: Demands, budget: Budget, *, reshaped: bool
) -> ConstrainedTask:
    """A design under constraints, on machines like one whose elements and buffers are open."""
    machine, levels = mapped_machine(hardware), task.spaces[0].levels
    atoms = [atom for rule in demands.rules.rules for atom in rule.atoms()]
    sizes = [
        {1, 2, 4} | {int(str(one.value)) for one in atoms if (one.key, one.level) == ("fanout", at)}
        for at in range(levels)
    ]
    fanouts = tuple(sorted(product(*sizes), key=lambda one: (prod(one), one)))
    firsts: list[tuple[ExactTask, ContractOp]] = []
    for number, space in enumerate(task.spaces):
        op = task.contracts[task.numbers.index(number)]
        open_machine = replace(machine.for_contraction(op), l1_size=None, l2_size=None)
        firsts.append((ExactTask(op.nest, None, open_machine, replace(space, fanouts=fanouts)), op))
    return ConstrainedTask(task, demands, budget, tuple(firsts), reshaped)
