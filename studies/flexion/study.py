"""
The study: machines of class 0000 designed for the networks of 2014, and later networks on them, with axes freed.

A gain is the time on the machine as it is over that with axes freed. Beside it stands what the machine would take had
it been designed for the network alone, still with one mapping for all of its contractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log

from npuc.compiler.analysis.mapping.flexibility.axes import Supports, class_of
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.options import HardwareLike
from npuc.compiler.explore.flexibility.classes import ClassSearch
from npuc.compiler.explore.flexibility.find import choices_of
from npuc.compiler.explore.flexibility.own import whole_of
from npuc.dialects.mapping import Clusters
from npuc.studies.base import Advance
from npuc.studies.flexion.design import WiredMachine, best_machine
from npuc.studies.flexion.networks import MappedNetwork, mapped_network
from npuc.studies.flexion.settings import (
    ALL,
    CLASSES,
    EVALUATIONS,
    FIXED,
    MACHINES,
    MACHINES_EACH,
    NETWORKS,
    PUBLISHED_GAIN,
    Age,
    Preset,
    StudiedNetwork,
)

MEAN = "geometric mean"
SEED = 0


@dataclass(frozen=True)
class FlexionRow:
    """
    A network on a machine, in a class: cycles, how many times less than with all axes fixed, and over a lower bound.

    Of the rows `geometric mean`, over the later networks, cycles are null. `published` is the paper's, of another
    machine.
    """

    machine: str
    network: str
    age: Age
    free: str
    cycles: float | None
    gain: float
    over_bound: float
    published: float | None = None


@dataclass(frozen=True)
class MachineResult:
    """
    A machine: its elements, its wired mapping by roles, the rows, and by network what one designed for it alone takes.

    `refitted` is how many times less cycles that is than on the machine that was designed for the networks of 2014.
    """

    name: str
    elements: int
    mapping: Clusters
    rows: tuple[FlexionRow, ...]
    refitted: Mapping[str, float]
    warnings: tuple[str, ...] = ()

    def gain(self, network: str, supports: Supports) -> float:
        """The gain of a class."""
        return next(row.gain for row in self.rows if (row.network, row.free) == (network, class_of(supports)))

    @property
    def networks(self) -> tuple[tuple[str, Age], ...]:
        """The networks with their age, those of 2014 first; the mean is none."""
        return tuple(dict.fromkeys((row.network, row.age) for row in self.rows if row.network != MEAN))


@dataclass(frozen=True)
class FlexionResults:
    """The machines, what was tried for each, and the preset."""

    preset: Preset
    evaluations: int
    machines: tuple[MachineResult, ...]

    @property
    def rows(self) -> tuple[FlexionRow, ...]:
        """The rows of all machines."""
        return tuple(row for machine in self.machines for row in machine.rows)


@dataclass(frozen=True)
class FlexionPlan:
    """What is asked for: the networks, the machines with other values of keys, and how much is tried."""

    preset: Preset
    networks: tuple[StudiedNetwork | str, ...]
    machines: tuple[HardwareLike, ...]
    settings: Mapping[str, object]
    evaluations: int

    @property
    def count(self) -> int:
        """The steps of the study: a design and the networks, for each machine."""
        return len(self.machines) * (1 + len(self.networks))


def plan_study(
    preset: Preset = "inference",
    networks: Sequence[str] = (),
    hardware: HardwareLike | None = None,
    settings: Mapping[str, object] | None = None,
    evaluations: int | None = None,
) -> FlexionPlan:
    """
    The study, with other later networks, or with another machine, whose dataflow does not count.

    Raises `UsageError` where no network is a later one.
    """
    old = tuple(one for one in NETWORKS if one.age == "2014")
    known = {one.name: one for one in NETWORKS} | {one.source: one for one in NETWORKS}
    later = tuple(known.get(name, name) for name in networks) or NETWORKS[len(old) :]
    chosen = tuple(dict.fromkeys((*old, *later)))
    if chosen == old:
        names = ", ".join(one.name for one in old)
        raise UsageError(
            f"--network: expected a later network than those that the machine is designed for, {names}",
            hint="these have their rows always; name another one beside them, as resnet50",
        )
    return FlexionPlan(
        preset, chosen, (hardware,) if hardware else MACHINES, settings or {}, evaluations or EVALUATIONS
    )


def run_study(plan: FlexionPlan, done: Advance = lambda name, count: None) -> FlexionResults:
    """Design the machines and run the networks on them; `done` is called for each. Raises `NpucError`s."""
    return FlexionResults(
        plan.preset, plan.evaluations, tuple(_machine(plan, hardware, done) for hardware in plan.machines)
    )


def _machine(plan: FlexionPlan, hardware: HardwareLike, done: Advance) -> MachineResult:
    networks = [mapped_network(one, plan.preset, hardware, plan.settings) for one in plan.networks]
    tried = MACHINES_EACH * plan.evaluations
    machine = best_machine([one for one in networks if one.age == "2014"], tried, SEED)
    done("the machine of 2014", 1)
    rows, refitted = list[FlexionRow](), dict[str, float]()
    for network in networks:
        own, fixed = totals(network, machine, best_machine([network], tried, SEED), plan.evaluations)
        rows += [_row(network, supports, own) for supports in CLASSES]
        refitted[network.name] = own[FIXED] / fixed
        done(network.name, 1)
    first = networks[0]
    return MachineResult(
        first.hardware.name,
        first.machine.mapped.array.num_pes,
        machine.mapping,
        (*rows, *_means(rows)),
        refitted,
        tuple(dict.fromkeys(warning for network in networks for warning in network.warnings)),
    )


def totals(
    network: MappedNetwork, machine: WiredMachine, alone: WiredMachine, evaluations: int
) -> tuple[dict[Supports, float], float]:
    """
    The cycles of the network in each class on the machine, and on the better of it and the one designed for it alone.

    The mapping of the latter is one of those that a machine with all axes free can choose.
    """
    found, alone_total = dict.fromkeys(CLASSES, 0.0), 0.0
    run = ClassSearch("time", evaluations, SEED).run
    for task, count in network.contractions:
        try:
            own, other = (one.wired.own(task, FIXED, "time") for one in (machine, alone))
        except CapacityError as error:
            raise CapacityError(f"{network.name}: {error.message}", hint="a larger maestro.l1_size") from None
        mapped = task.costs(other.candidates(whole_of(task))).row(0).cycles
        for best in run(task, choices_of(task, network.machine, own), own, CLASSES, lambda tried: None):
            assert best.cost is not None  # there are no constraints
            cycles = min(best.cost.cycles, mapped) if best.supports == ALL else best.cost.cycles
            found[best.supports] += count * cycles
        alone_total += count * mapped
    return found, min(found[FIXED], alone_total)


def _row(network: MappedNetwork, supports: Supports, totals: Mapping[Supports, float]) -> FlexionRow:
    cycles, name = totals[supports], network.hardware.name
    gain, over = totals[FIXED] / cycles, cycles / network.bound
    return FlexionRow(name, network.name, network.age, class_of(supports), cycles, gain, over)


def _means(rows: Sequence[FlexionRow]) -> list[FlexionRow]:
    """The geometric means over the later networks, beside what is published of all axes."""
    found: list[FlexionRow] = []
    for supports in CLASSES:
        own = [row for row in rows if row.age == "later" and row.free == class_of(supports)]
        published = PUBLISHED_GAIN if supports == ALL else None
        gain, over = (geometric_mean(values) for values in ([r.gain for r in own], [r.over_bound for r in own]))
        found.append(FlexionRow(own[0].machine, MEAN, "later", class_of(supports), None, gain, over, published))
    return found


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers."""
    return exp(fsum(map(log, values)) / len(values))
