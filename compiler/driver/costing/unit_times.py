"""
The seconds of layer groups by the units of their work: each of the equal ones is costed once, in one program.

    seconds of a group  =  sum over its components, updates and additions of the rows of their unit

For backends and passes that treat each unit by itself (`is_by_units`), these are the seconds of the groups in programs
of the whole step, to the last bit: sums are exact before they are rounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.cost.step_time import key_of
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.transforms.parallelize.divisible import Lengths, check_divides
from npuc.compiler.transforms.parallelize.unit_partitioner import UnitPartitioner
from npuc.compiler.transforms.parallelize.unit_program import OPTIMIZER, UnitProgram
from npuc.compiler.transforms.parallelize.work_units import Units
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.train.signature import ArgumentKind, arguments_of

Price = Callable[[ModuleOp], Mapping[str, Sequence[float]]]
"""The seconds of each row of a program by its layer."""
Sequences = Sequence[Sequence[TypeSequence]]


Rows = Mapping[str, Sequence[float]]
"""The seconds of each row by its layer: of units by their numbers."""


@dataclass(frozen=True)
class CountedUnits:
    """How often each unit is in each group's work by its keys, and in the work outside all groups."""

    groups: tuple[Mapping[str, Counter[int]], ...]
    rest: Counter[int]

    def seconds(self, rows: Rows) -> tuple[tuple[dict[str, float], ...], float]:
        """The seconds of each group by its keys, and of the work outside all groups."""

        def total(units: Counter[int]) -> float:
            return fsum(row for unit, times in units.items() for row in rows.get(str(unit), ()) for _ in range(times))

        return tuple({key: total(own) for key, own in group.items()} for group in self.groups), total(self.rest)


class UnitTimes:
    """The units of a forward function under the type sequences of each layer group, counted."""

    def __init__(self, func: FuncOp, graph: PlanGraph, edges: PlanEdges, mesh: Mesh, *, trains: bool):
        self.units, self.edges, self.mesh = Units(func, graph, edges), edges, mesh
        self.trains = trains and graph.program.trains
        self.program = UnitProgram(func, mesh, trains=self.trains)
        self.ids: dict[Hashable, int] = {}

    def seconds(self, wanted: Sequences, price: Price) -> tuple[tuple[dict[str, float], ...], float]:
        """
        The seconds of each group by its keys, and of the work outside all groups.

        `wanted` are the type sequences of each group, one for each key. Raises `CapacityError` where a cut is not
        divisible.
        """
        counted = self.counted(wanted)
        return counted.seconds(price(self.program.module) if self.ids else {})

    def counted(self, wanted: Sequences) -> CountedUnits:
        """
        The units of each group under its type sequences, one for each key, which are in the program then.

        Raises `CapacityError` where a cut is not divisible.
        """
        rounds = max(map(len, wanted), default=0)
        counts: list[dict[str, Counter[int]]] = [{} for _ in wanted]
        rest = Counter[int]()
        lengths: Lengths = {}
        for turn in range(rounds):
            plan = [own[min(turn, len(own) - 1)] for own in wanted]
            is_last = turn == rounds - 1
            check_divides(self.units.func, self.units.graph, plan, self.mesh, lengths)
            # what a group's work takes beside others is taken from the last program that has it
            open_groups: dict[int | None, Counter[int]] = {
                group: counts[group].setdefault(key_of(plan[group]), Counter())
                for group, own in enumerate(wanted)
                if is_last or turn < len(own) - 1
            }
            self._count(plan, open_groups | ({None: rest} if is_last else {}))
        return CountedUnits(tuple(counts), rest)

    def _count(self, plan: Sequence[TypeSequence], counts: Mapping[int | None, Counter[int]]) -> None:
        """Count the units of a plan, of groups that are asked for."""
        partitioner, program = UnitPartitioner(self.units, plan, self.mesh), self.program
        for number, component in enumerate(self.units.components):
            if component.group in counts:
                key = partitioner.key(number)
                if key not in self.ids:
                    name = self._new(key)
                    program.add(name, partitioner.build(number, name))
                counts[component.group][self.ids[key]] += 1
        if None in counts:
            name = self._new("constants")
            program.add(name, partitioner.constants_unit(name))
            counts[None][self.ids["constants"]] += 1
        if self.trains:
            self._count_additions(partitioner, counts)
            self._count_updates(partitioner, counts)

    def _count_additions(self, partitioner: UnitPartitioner, counts: Mapping[int | None, Counter[int]]) -> None:
        for group, type in partitioner.additions():
            if group in counts:
                key = ("addition", type)
                if key not in self.ids:
                    self.program.add_addition(self._new(key), type)
                counts[group][self.ids[key]] += 1

    def _count_updates(self, partitioner: UnitPartitioner, counts: Mapping[int | None, Counter[int]]) -> None:
        """Count updates, which are of the groups in which parameters are kept, and of the number of steps."""
        func = self.units.func
        spec = func.attributes.get(OPTIMIZER)
        arguments = arguments_of(func)
        groups = {
            a.index: placement.group if (placement := self.edges.placements.get(a.index)) else None for a in arguments
        }
        if isinstance(spec, DictionaryAttr):
            for argument in arguments:
                group = groups[argument.index]
                if argument.index not in self.units.trained or group not in counts:
                    continue
                if partitioner.given(argument.index).root not in partitioner.last:
                    continue
                type = partitioner.part_of_argument(argument.index)
                key = ("update", type, argument.fill, argument.bound)
                if key not in self.ids:
                    self.program.add_update(self._new(key), argument, type)
                counts[group][self.ids[key]] += 1
        steps = [groups[a.index] for a in arguments if a.name == "step" and a.kind is ArgumentKind.STATE]
        for group in steps or [None]:
            if group in counts and (steps or self.program.counts_steps):
                if "step" not in self.ids:
                    self.program.add_count(self._new("step"))
                counts[group][self.ids["step"]] += 1

    def _new(self, key: Hashable) -> str:
        """The name of a unit that there was none of."""
        self.ids[key] = len(self.ids)
        return str(self.ids[key])
