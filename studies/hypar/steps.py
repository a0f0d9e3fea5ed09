"""
The cost of a training step on several accelerators: the work of one of them and the communication between them.

The backend `cycle` scores the work once; only the communication is scored again for another topology.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from npuc.backends.communication import with_communication
from npuc.backends.registry import get_backend
from npuc.compiler.core.errors import CapacityError, InternalError
from npuc.compiler.core.options import CompileKeywords, Convention, Strategy
from npuc.compiler.distributed.plan import plan_of_program
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.report import Report
from npuc.frontends.source import open_source
from npuc.studies.hypar.networks import HyparNetwork
from npuc.studies.hypar.settings import HARDWARE, TOPOLOGIES, TREE, Topology, machine_of

BACKEND = "cycle"


@dataclass(frozen=True)
class StepCost:
    """
    The cost of a step: `seconds` in all, of which `communication` does not overlap work; `joules` of one accelerator.
    """

    seconds: float
    communication: float
    joules: float


@dataclass(frozen=True)
class AcceleratorStep:
    """
    A step of one accelerator: its MACs, and its cost by topology.

    `refusal` is the reason why there is no cost: tensors that cannot be cut evenly have no program. `gb` is the traffic
    of the program's plan by its convention, in 10^9 bytes (joint plans cut evenly); None for one accelerator.
    """

    macs: int
    costs: Mapping[Topology, StepCost]
    refusal: str = ""
    gb: float | None = None

    @property
    def cost(self) -> StepCost | None:
        """The cost on the paper's tree; None without a program."""
        return self.costs.get(TREE)


def step_of(network: HyparNetwork, strategy: Strategy, convention: Convention, devices: int) -> AcceleratorStep:
    """The step of a network under a strategy. Raises `NpucError`s but for tensors that cannot be cut evenly."""
    machine = machine_of(TREE, devices)
    options: CompileKeywords = {"hardware": machine.values}
    if devices > 1:
        options |= {"devices": devices, "parallel": strategy, "convention": convention}
    model = get_backend(BACKEND)
    try:
        module, machine = lowered_module(open_source(network.source), model, options, lambda _: None, [])
    except CapacityError as e:
        return AcceleratorStep(0, {}, e.message)
    work = model.score(module, machine)
    found: dict[Topology, StepCost] = {
        topology: _cost(with_communication(work, module, machine_of(topology, devices)), work)
        for topology in TOPOLOGIES
    }
    plan = plan_of_program(module)
    moved = None if plan is None or plan.total.bytes is None else float(Fraction(plan.total.bytes)) / 1e9
    return AcceleratorStep(work.totals.macs or 0, found, gb=moved)


def _cost(report: Report, work: Report) -> StepCost:
    """The cost of a step from its reports with and without communication."""
    seconds, joules = report.totals.seconds, report.totals.energy_j
    alone = work.totals.seconds
    if seconds is None or alone is None or joules is None:
        raise InternalError(f"backend {BACKEND} gives no time or energy on {HARDWARE}")
    return StepCost(seconds, seconds - alone, joules)
