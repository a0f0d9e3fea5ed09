"""The flexibility of a machine for the contractions of a module."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.mapping.flexibility.axes import Supports
from npuc.compiler.analysis.mapping.flexibility.flexion import AxisChoices, hardware_flexion, workload_flexion
from npuc.compiler.analysis.mapping.flexibility.tiles import TileBuffer, TileCounts, count_tiles
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.verify import location_of
from npuc.compiler.explore.flexibility.classes import ClassSearch, compared
from npuc.compiler.explore.flexibility.machine import FlexibleMachine
from npuc.compiler.explore.flexibility.own import OwnMapping, own_mapping, whole_of
from npuc.compiler.explore.flexibility.result import ContractionFlexion, Flexibility, FlexRow, FlexSettings
from npuc.compiler.explore.mapping.task import ExactTask, exact_task
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of, repeat_of, role_of
from npuc.hardware import Hardware

Advance = Callable[[int], None]


@dataclass
class _TileCounter:
    """Counts of tiles, each found once."""

    samples: int | None
    seed: int
    known: dict[Hashable, TileCounts] = field(default_factory=dict[Hashable, TileCounts])

    def __call__(self, buffer: TileBuffer, sizes: dict[str, int]) -> TileCounts:
        key = buffer, tuple(sizes.items())
        if key not in self.known:
            self.known[key] = count_tiles(buffer, sizes, self.samples, self.seed)
        return self.known[key]


@dataclass(frozen=True)
class FlexSearch:
    """The contractions of a module that a machine's classes are compared by."""

    module: ModuleOp
    hardware: Hardware
    machine: FlexibleMachine
    settings: FlexSettings
    wanted: tuple[Supports, ...] = ()
    """The classes to search; empty: all sixteen, and the machine's own choices."""

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
            found.setdefault(task_key(task), (task, op))
        return found

    @property
    def weighted(self) -> list[tuple[ExactTask, int]]:
        """The distinct contractions, and how often each runs in a step."""
        times = dict.fromkeys(self.distinct, 0)
        for op in self.contracts:
            times[task_key(self._task(op))] += repeat_of(op)
        return [(task, times[key]) for key, (task, _) in self.distinct.items()]

    @property
    def evaluations(self) -> int:
        """The most mappings that are tried."""
        return len(self.distinct) * (len(self._classes) - 1) * self.settings.budget

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

        Raises `CapacityError` for a contraction that the machine cannot run.
        """
        count = _TileCounter(self.settings.samples, self.settings.seed)
        numbers = {key: number for number, key in enumerate(self.distinct)}
        found = tuple(self._find(task, op, count, advance) for task, op in self.distinct.values())
        rows = tuple(
            FlexRow(layer_of(op), role_of(op).value, repeat_of(op), op.nest.macs, numbers[task_key(self._task(op))])
            for op in self.contracts
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
        )

    def _find(self, task: ExactTask, op: ContractOp, count: _TileCounter, advance: Advance) -> ContractionFlexion:
        settings, machine = self.settings, self.machine
        try:
            own = own_mapping(task, machine.dataflow, machine.supports, settings.objective)
        except CapacityError as error:
            raise CapacityError(
                f"{layer_of(op) or 'a contraction'} ({role_of(op).value}): {error.message}",
                location=location_of(op),
                hint=f"a larger maestro.l1_size or {machine.mapped.l2_key}",
            ) from None
        choices = choices_of(task, machine, own)
        search = ClassSearch(settings.objective, settings.budget, settings.seed)
        best = search.run(task, choices, own, self._classes, advance)
        largest, sizes = self._largest[task.space.names], dict(task.space.dims)
        hardware, workload = hardware_flexion(choices, largest, count), workload_flexion(choices, sizes, count)
        spread = max(map(len, own.spread))
        bound = task.bound(settings.objective).of_space(replace(task.space, parallel=max(1, spread)))
        least = min(one.cost.of(settings.objective) for one in best)
        return ContractionFlexion(
            task.space.dims,
            tuple(largest.items()),
            choices.buffer.words,
            choices.own,
            hardware,
            workload,
            count(choices.buffer, sizes).exact and count(choices.buffer, largest).exact,
            best,
            min(bound, least),
        )


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
