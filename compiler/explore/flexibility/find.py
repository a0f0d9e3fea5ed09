"""The flexibility of a machine for the contractions of a module."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.mapping.constraints.resolve import dimensions_of
from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES
from npuc.compiler.analysis.mapping.flexibility.axes import Supports
from npuc.compiler.analysis.mapping.flexibility.flexion import (
    Allowed,
    AxisChoices,
    hardware_flexion,
    workload_flexion,
)
from npuc.compiler.analysis.mapping.flexibility.tiles import Among, TileBuffer, TileCounts, count_tiles
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.verify import location_of
from npuc.compiler.explore.flexibility.allowed import allowed_choices
from npuc.compiler.explore.flexibility.classes import ClassSearch, compared
from npuc.compiler.explore.flexibility.machine import FlexibleMachine
from npuc.compiler.explore.flexibility.own import LEVELS, OwnMapping, own_mapping, whole_of
from npuc.compiler.explore.flexibility.result import ContractionFlexion, Flexibility, FlexRow, FlexSettings
from npuc.compiler.explore.mapping.constrained.demands import Demands, Hints
from npuc.compiler.explore.mapping.space import MapSpace, fanouts_of
from npuc.compiler.explore.mapping.task import ExactTask, exact_task
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of, repeat_of, role_of
from npuc.hardware import Hardware

Advance = Callable[[int], None]
HINTS = Hints(
    spread="rows share one dimension, columns another one",
    levels="constraints of two levels, the rows and the columns of the array",
)
NO_DEMANDS = Demands(NO_RULES)


@dataclass
class _TileCounter:
    """Counts of tiles, each found once."""

    samples: int | None
    seed: int
    known: dict[Hashable, TileCounts] = field(default_factory=dict[Hashable, TileCounts])
    exact: bool = True
    """Whether all counts that were asked for, since this was last set, are exact."""

    def __call__(self, buffer: TileBuffer, sizes: dict[str, int], *, among: Among | None = None) -> TileCounts:
        key = buffer, tuple(sizes.items()), among
        if key not in self.known:
            self.known[key] = count_tiles(buffer, sizes, self.samples, self.seed, among=among)
        self.exact &= self.known[key].exact
        return self.known[key]


@dataclass(frozen=True)
class _Prepared:
    """A distinct contraction with the dataflow's mapping; `task` has what constraints leave of the classes' space."""

    task: ExactTask
    op: ContractOp
    own: OwnMapping
    choices: AxisChoices


@dataclass(frozen=True)
class FlexSearch:
    """The contractions of a module that a machine's classes are compared by."""

    module: ModuleOp
    hardware: Hardware
    machine: FlexibleMachine
    settings: FlexSettings
    wanted: tuple[Supports, ...] = ()
    """The classes to search; empty: all sixteen, and the machine's own choices."""
    demands: Demands = NO_DEMANDS
    """The constraints of mappings."""

    @cached_property
    def contracts(self) -> list[ContractOp]:
        """All contractions, in program order."""
        return [op for op in self.module.walk() if isinstance(op, ContractOp)]

    @cached_property
    def distinct(self) -> dict[Hashable, tuple[ExactTask, ContractOp]]:
        """The distinct contractions, each with its first operation."""
        found: dict[Hashable, tuple[ExactTask, ContractOp]] = {}
        for op in self.contracts:
            task = self._task(op)
            found.setdefault(self._key(task, op), (task, op))
        return found

    def _key(self, task: ExactTask, op: ContractOp) -> Hashable:
        return task_key(task), self.demands.rows(op)

    @cached_property
    def prepared(self) -> list[_Prepared]:
        """
        The distinct contractions under their constraints.

        Raises `CapacityError` for a contraction that the machine cannot run, or none of whose mappings meets them, and
        `UsageError` for constraints of what mappings have not.
        """
        self.demands.check_names(list(self.distinct.values()))
        return [self._prepare(task, op) for task, op in self.distinct.values()]

    @property
    def weighted(self) -> list[tuple[ExactTask, int]]:
        """The distinct contractions, and how often each runs in a step."""
        times = dict.fromkeys(self.distinct, 0)
        for op in self.contracts:
            times[self._key(self._task(op), op)] += repeat_of(op)
        return [(task, times[key]) for key, (task, _) in self.distinct.items()]

    @property
    def evaluations(self) -> int:
        """The most mappings that are tried."""
        return len(self.distinct) * (len(self._classes) - 1) * self.settings.budget

    @cached_property
    def _fanouts(self) -> tuple[tuple[int, ...], ...]:
        """All clusters of the machine, of which classes have some."""
        return fanouts_of(self.machine.mapped.array.num_pes, LEVELS)

    @property
    def _classes(self) -> tuple[Supports, ...]:
        return self.wanted or compared(self.machine.supports)

    def _task(self, op: ContractOp) -> ExactTask:
        return exact_task(op.nest, op.mapping_attr, self.machine.mapped.for_contraction(op), 2, 1, divisors=False)

    @cached_property
    def _largest(self) -> dict[tuple[str, ...], dict[str, int]]:
        """Of each set of dimensions the largest size that a contraction has."""
        found: dict[tuple[str, ...], dict[str, int]] = {}
        for task, _ in self.distinct.values():
            known = found.setdefault(task.space.names, {})
            for name, size in task.space.dims:
                known[name] = max(size, known.get(name, 1))
        return found

    def run(self, title: str, source: str, advance: Advance) -> Flexibility:
        """
        Count choices and search the classes; `advance` is told how many mappings were tried.

        Raises as `prepared`, and `CapacityError` where no mapping is found that meets constraints.
        """
        count = _TileCounter(self.settings.samples, self.settings.seed)
        numbers = {key: number for number, key in enumerate(self.distinct)}
        found = tuple(self._find(one, count, advance) for one in self.prepared)
        keys = [self._key(self._task(op), op) for op in self.contracts]
        rows = tuple(
            FlexRow(layer_of(op), role_of(op).value, repeat_of(op), op.nest.macs, numbers[key])
            for op, key in zip(self.contracts, keys, strict=True)
        )
        machine, mapped = self.machine, self.machine.mapped
        return Flexibility(
            title,
            source,
            self.hardware.name,
            machine.dataflow,
            machine.supports,
            machine.values,
            machine.block,
            mapped.array.num_pes,
            mapped.peak,
            mapped.clock_mhz,
            self.settings,
            rows,
            found,
            self.demands.rules,
        )

    def _prepare(self, task: ExactTask, op: ContractOp) -> _Prepared:
        machine = self.machine
        try:
            own = own_mapping(task, machine.dataflow, machine.supports, self.settings.objective)
        except CapacityError as error:
            raise CapacityError(
                f"{_named(op)}: {error.message}",
                location=location_of(op),
                hint=f"a larger maestro.l1_size or {machine.mapped.l2_key}",
            ) from None
        choices = choices_of(task, machine, own)
        if self.demands.rules:
            wide = max(1, *map(len, own.spread))
            space = MapSpace(task.space.dims, choices.all_shapes, wide, divisors=False)
            task = self.demands.applied(replace(task, space=space), op)
        return _Prepared(task, op, own, choices)

    def _find(self, one: _Prepared, count: _TileCounter, advance: Advance) -> ContractionFlexion:
        settings, task, own, choices = self.settings, one.task, one.own, one.choices
        search = ClassSearch(settings.objective, settings.budget, settings.seed)
        best = search.run(task, choices, own, self._classes, advance)
        values = [found.cost.of(settings.objective) for found in best if found.cost is not None]
        if not values:
            raise CapacityError(
                f"{_named(one.op)}: no mapping was found that meets the constraints and fits the machine's buffers",
                location=location_of(one.op),
                hint=f"a larger --budget, or a larger {self.machine.mapped.l1_key} or {self.machine.mapped.l2_key}",
            )
        sizes, largest = dict(task.space.dims), self._largest[task.space.names]
        count.exact = True
        hardware = hardware_flexion(choices, largest, count, self._allowed(one, largest))
        workload = workload_flexion(choices, sizes, count, self._allowed(one, sizes))
        free = replace(task.space, parallel=max(1, *map(len, own.spread)), fanouts=self._fanouts, constraints=None)
        return ContractionFlexion(
            task.space.dims,
            tuple(largest.items()),
            choices.buffer.words,
            choices.own,
            hardware,
            workload,
            count.exact,
            best,
            min(task.bound(settings.objective).of_space(free), *values),
            task.costs(own.candidates(whole_of(task))).row(0),
        )

    def _allowed(self, one: _Prepared, sizes: dict[str, int]) -> Allowed | None:
        """What constraints leave of the choices for a contraction that has these sizes."""
        if not self.demands.rules:
            return None
        space = replace(one.task.space, dims=tuple(sizes.items()), fanouts=one.choices.all_shapes, constraints=None)
        dims = replace(dimensions_of(one.op.nest), sizes=tuple(sizes.values()))
        elements = self.machine.mapped.array.num_pes
        return allowed_choices(one.choices, self.demands.restricted(space, one.op, dims, elements))


def _named(op: ContractOp) -> str:
    return f"{layer_of(op) or 'a contraction'} ({role_of(op).value})"


def task_key(task: ExactTask) -> Hashable:
    """What a contraction's costs depend on: contractions with equal keys cost the same on the machine."""
    machine = task.machine
    return task.works, task.has, machine.l2_size, machine.sum_size, machine.array


def choices_of(task: ExactTask, machine: FlexibleMachine, own: OwnMapping) -> AxisChoices:
    """
    The choices of a machine for a contraction.

    Of the shared buffer, a step's tiles have one half: the other is for those of the next step.
    """
    capacity = task.capacity
    words = None if capacity.l2 is None else capacity.l2 / 2
    buffer = TileBuffer(task.works, words, capacity.sum_size)
    choice = own.choice(task.space.names, whole_of(task))
    return AxisChoices(buffer, machine.mapped.array.num_pes, machine.supports, choice, machine.block)
