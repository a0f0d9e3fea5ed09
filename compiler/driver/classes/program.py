"""A lowered program that is costed on many machines: schedules, and how products run together, by classes of equals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import Attribute, Operation

from npuc.backends.energy import with_energy
from npuc.compiler.analysis.machine.facts import TARGET, Machine, machine_of
from npuc.compiler.core.errors import CapacityError, NpucError
from npuc.compiler.core.units import MIB
from npuc.compiler.driver.classes.operations import (
    Classes,
    EqualOperations,
    EqualProducts,
    classes_of_products,
    equal_operations,
)
from npuc.compiler.driver.classes.watch import REARRANGE, BeforeSchedules
from npuc.compiler.driver.levels.asked import asks_passes
from npuc.compiler.driver.levels.canonical import depends_on_costs
from npuc.compiler.driver.lower_program import lower_program
from npuc.compiler.driver.machine import stamp_target
from npuc.compiler.transforms.interleave import InterleavePass
from npuc.compiler.transforms.interleave.best import best_way
from npuc.compiler.transforms.interleave.round_robin import keep_schedules
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.rearrange import RearrangePass, published_schedule
from npuc.compiler.transforms.schedule import SchedulePass, schedule_operation
from npuc.compiler.transforms.schedule.patterns import JointSchedule, SetJointSchedule, SetSchedule
from npuc.compiler.transforms.schedule.searches import Goal, goal_of
from npuc.dialects.copies import copied
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.hardware import Hardware, machine_target

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from npuc.backends.base import Backend
    from npuc.compiler.core.options import Options
    from npuc.compiler.driver.lower import Lowered
    from npuc.compiler.driver.session import Session
    from npuc.compiler.report import Report

Scheduled = Sequence[tuple[Operation, int]]
"""Operations with schedules, and how many there are that are equal."""
Schedules = Sequence["ClassSchedules"]
"""The operations of a program as they run on a machine, those of each class by themselves."""


def is_scheduled_alone(model: Backend, machine: Hardware, options: Options) -> bool:
    """Whether what a backend scores depends on the machine by schedules alone, with the passes of -O."""
    if model.level != "npu" or not model.needs_schedules(machine) or options.names_passes or asks_passes(options):
        return False
    return not (options.only or options.load or options.mapping or options.verify_each)


def shares_programs(model: Backend, machine: Hardware) -> bool:
    """
    Whether a program of a machine is that of others, and costs what its operations cost: not where a memory decides
    how products run, nor where these are counted in passes of the machine's own.
    """
    return model.adds_up(machine) and Hardware(machine.values).get("array.mantissa_bits", int) is None


@dataclass(frozen=True)
class ClassedProgram:
    """
    A lowered program, which `schedules` schedules on a machine; `modules` have its operations, each with the target.

    `reads` are the keys of a machine that were read while it was lowered, whatever the machine.
    """

    module: ModuleOp
    lowered: Lowered
    model: Backend
    warnings: Sequence[str]
    reads: frozenset[str]
    modules: Sequence[ModuleOp]
    schedules: Schedules
    lists_layers: bool

    @classmethod
    def of(cls, source: ModuleOp, session: Session) -> ClassedProgram | None:
        """
        A program as it was read, lowered for the machine of a session and others that differ in no width of an element;
        None where it is another program on each machine. Adds to the session's warnings.
        """
        model, machine = session.model, session.machine
        if depends_on_costs(source, session.options, model.level):
            return None
        told = Hardware(machine.values)
        machine_target(told, backend=model.name)
        watcher, module = BeforeSchedules(machine.reads), copied(source)
        lowered = lower_program(module, replace(session, watchers=(*session.watchers, watcher)))
        shared = _shared(watcher, model)
        if shared is None:
            return None
        classes, schedules = shared
        lists, reads = session.source.frontend.lists_layers, watcher.reads - told.reads
        return cls(module, lowered, model, session.warnings, reads, classes.modules, schedules, lists)

    def score(self, machine: Hardware) -> Report | None:
        """
        The report on a machine that `shares_programs`, without names and places of rows; None where the program may
        not fit it.

        Raises what a compilation for this machine alone raises, though not with its words.
        """
        capacity, peak = machine.get("dram.capacity_mib", float), self.lowered.peak
        if capacity is not None and (self.lists_layers or (peak and peak.memory.peak_bytes > capacity * MIB)):
            return None
        facts = self._stamped(machine)
        if facts is None:
            return None
        ops, counts = zip(*(one for own in self.schedules for one in own.on(facts)), strict=True)
        report = self.model.costs_of_classes(ops, counts, machine)
        return with_energy(report, machine, self.model.energy_parts)

    def search(self, machines: Sequence[Hardware]) -> None:
        """
        Search the schedules for several machines, to be found at once when these are scored.

        A class is searched on all of them before the next one, so that what its searches share is still there.
        """
        facts = [found for machine in machines if (found := self._stamped(machine)) is not None]
        for own in self.schedules:
            own.forget()
        for own, machine in product(self.schedules, facts):
            with suppress(NpucError):  # raised again where the machine is scored
                own.search(machine)

    def _stamped(self, machine: Hardware) -> Machine | None:
        """The facts of a machine, which all modules have as their target from now on."""
        stamp_target(self.modules[0], machine, self.model.name)
        for module in self.modules:
            module.attributes[TARGET] = self.modules[0].attributes[TARGET]
        return machine_of(self.modules[0])


class ClassSchedules:
    """The operations of one class as they run on a machine: `schedule` gives them their schedules there."""

    def __init__(self, schedule: Callable[[Machine], Scheduled]):
        self._schedule = schedule
        self._searched: dict[Machine, tuple[Scheduled, list[_Attributes]]] = {}

    def search(self, machine: Machine) -> None:
        """Search the schedules on a machine, and remember them until they are asked for."""
        found = self._schedule(machine)
        inside = (inner for op, _ in found for inner in op.walk())
        self._searched[machine] = found, [(op, dict(op.attributes), dict(op.properties)) for op in inside]

    def forget(self) -> None:
        """Forget what was searched and not asked for."""
        self._searched.clear()

    def on(self, machine: Machine) -> Scheduled:
        """The operations, with their schedules on a machine. Raises `CapacityError` where one does not fit."""
        if machine not in self._searched:
            return self._schedule(machine)
        found, inside = self._searched.pop(machine)
        for op, attributes, properties in inside:
            op.attributes, op.properties = attributes, properties
        return found


_Attributes: TypeAlias = "tuple[Operation, dict[str, Attribute], dict[str, Attribute]]"
"""An operation with its attributes and properties."""


def _shared(watcher: BeforeSchedules, model: Backend) -> tuple[Classes, Schedules] | None:
    """A program by classes, and what schedules them, as the passes did; None where these are not those of -O."""
    lowered, arranged, steps = watcher.lowered, watcher.arranged, watcher.steps
    if lowered is None or arranged is None or any(_is_scheduled(op) for op in lowered.walk()):
        return None
    *first, last = steps
    if not isinstance(last, SchedulePass) or last.only is not None:
        return None
    goal = goal_of(last.objective, last.tolerance)
    if any(_goal(step) not in (None, goal) for step in first):
        return None
    modes = [step.mode if isinstance(step, InterleavePass) else step.name for step in first]
    if modes == ["best"]:
        ops = model.costed(lowered)
        classes = None if ops is None else classes_of_products(lowered, ops)
        return None if classes is None else (classes, tuple(map(ClassSchedules, _in_the_best_way(classes, goal))))
    if modes not in ([], ["zip"], ["zip", REARRANGE]):
        return None
    ops = model.costed(arranged)
    if ops is None:
        return None
    classes = Classes((), equal_operations(ops), (arranged,))
    ordered = frozenset(one.op for one in classes.others if isinstance(one.op, ContractOp) and _is_scheduled(one.op))
    return classes, tuple(
        ClassSchedules(partial(_alone, one, goal, ordered=one.op in ordered)) for one in classes.others
    )


def _is_scheduled(op: Operation) -> bool:
    return isinstance(op, ContractOp) and op.schedule_attr is not None


def _goal(step: ModulePass) -> Goal | None:
    """What schedules minimise by a pass of -O; None for a pass that is none of them, or of some layers alone."""
    if isinstance(step, InterleavePass) and (step.only, step.what) == (None, "gradients"):
        return goal_of(step.objective, step.tolerance)
    if isinstance(step, RearrangePass) and (step.only, step.rule) == (None, "published"):
        return goal_of(step.objective, step.tolerance)
    return None


def _in_the_best_way(classes: Classes, goal: Goal) -> Iterator[Callable[[Machine], Scheduled]]:
    """Products that share an operand run as costs least, all others have their best schedules."""
    for products in classes.products:
        yield partial(_together, products, goal)
    for one in classes.others:
        yield partial(_alone, one, goal)


def _together(products: EqualProducts, goal: Goal, machine: Machine) -> Scheduled:
    """Products that share an operand, as they run at the least cost."""
    return [(op, products.count) for op in _best(products, goal, machine)]


def _alone(one: EqualOperations, goal: Goal, machine: Machine, *, ordered: bool = False) -> Scheduled:
    """An operation with its best schedule; an `ordered` one is one nest in the order of the published rule."""
    _schedule(one.op, goal, machine, ordered=ordered)
    return [(one.op, one.count)]


def _schedule(op: Operation, goal: Goal, machine: Machine, *, ordered: bool = False) -> None:
    """Give an operation its best schedule, if it has any."""
    contracts = op.contracts if isinstance(op, InterleaveOp) else (op,) if isinstance(op, ContractOp) else ()
    for contract in contracts:
        contract.schedule = None  # of another machine
    if ordered and isinstance(op, ContractOp):
        apply_pattern(SetSchedule(lambda one: published_schedule(one, machine, goal)), op)
    elif contracts:
        schedule_operation(op, machine, goal)


def _best(products: EqualProducts, goal: Goal, machine: Machine) -> Sequence[Operation]:
    """Products as they run at the least cost. Raises `CapacityError` where not even the smallest tiles of one fit."""
    best = best_way(products.found, machine, goal)
    if best is None:
        raise CapacityError("the smallest tiles of a product do not fit the scratchpad")
    if best.kind == "fused":
        assert products.fused is not None
        (products.fused.schedule,) = best.schedules
        return (products.fused,)
    contracts = products.alone if best.kind == "sequential" else products.in_turn.contracts
    for contract, schedule in zip(contracts, best.schedules, strict=True):
        contract.schedule = schedule
    if best.kind == "sequential":
        return contracts
    if not keep_schedules(products.in_turn, machine):
        joint = JointSchedule(best.schedules, machine.spm_bytes)
        apply_pattern(SetJointSchedule(lambda _: joint), products.in_turn)
    return (products.in_turn,)
