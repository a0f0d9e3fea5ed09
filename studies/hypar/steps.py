"""
The cost of a training step on several accelerators: the work of one of them and the communication between them.

The backend `cycle` scores the work once; only the communication is scored again for other links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from npuc.backends.communication import with_communication
from npuc.backends.registry import get_backend
from npuc.compiler.core.errors import CapacityError, InternalError
from npuc.compiler.core.options import CompileKeywords, Convention, Strategy
from npuc.compiler.distributed.plan import plan_of_program
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.report import Report
from npuc.frontends.source import open_source
from npuc.studies.hypar.networks import HyparNetwork
from npuc.studies.hypar.platform import LEAST, LINK, READINGS, Links, Platform
from npuc.studies.hypar.settings import TOPOLOGIES, TREE, Topology

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

BACKEND = "cycle"


@dataclass(frozen=True)
class StepCost:
    """
    The cost of a step: `seconds` in all, of which `communication` does not overlap work; `joules` of one accelerator,
    None where its machine or its links have no energies.
    """

    seconds: float
    communication: float
    joules: float | None


@dataclass(frozen=True)
class AcceleratorStep:
    """
    A step of one accelerator: its MACs, and its cost by topology; `readings` has those under each reading of the links.

    `refusal` is the reason why there is no cost: tensors that cannot be cut evenly have no program. `gb` is the traffic
    of the program's plan by its convention, in 10^9 bytes (joint plans cut evenly); None for one accelerator.
    """

    macs: int
    costs: Mapping[Topology, StepCost]
    refusal: str = ""
    gb: float | None = None
    readings: Mapping[Links, Mapping[Topology, StepCost]] = field(
        default_factory=dict[Links, Mapping[Topology, StepCost]]
    )

    @property
    def cost(self) -> StepCost | None:
        """The cost on the paper's tree; None without a program."""
        return self.costs.get(TREE)


def step_of(
    network: HyparNetwork,
    strategy: Strategy,
    convention: Convention,
    devices: int,
    platform: Platform,
    readings: Sequence[Links] = READINGS,
) -> AcceleratorStep:
    """The step of a network under a strategy. Raises `NpucError`s but for tensors that cannot be cut evenly."""
    options: CompileKeywords = {"hardware": platform.machine_of(TREE, devices).values, "tolerance": LEAST}
    if devices > 1:
        options |= {"devices": devices, "parallel": strategy, "convention": convention}
    try:
        module, _ = lowered_module(open_source(network.source), get_backend(BACKEND), options, None, [])
    except CapacityError as e:
        return AcceleratorStep(0, {}, e.message)
    return scored_step(module, devices, platform, readings)


def scored_step(
    module: ModuleOp, devices: int, platform: Platform, readings: Sequence[Links] = READINGS
) -> AcceleratorStep:
    """The step of a program that is lowered for so many accelerators of a platform."""
    work = get_backend(BACKEND).score(module, platform.machine_of(TREE, devices))
    found: dict[Links, Mapping[Topology, StepCost]] = {}
    for links in readings:
        costs: dict[Topology, StepCost] = {}
        for topology in TOPOLOGIES:
            report = with_communication(work, module, platform.machine_of(topology, devices, links))
            costs[topology] = _cost(report, work, priced="pj_per_byte" in platform.link)
        found[links] = costs
    plan = plan_of_program(module)
    moved = None if plan is None or plan.total.bytes is None else float(Fraction(plan.total.bytes)) / 1e9
    return AcceleratorStep(work.totals.macs or 0, found[LINK], gb=moved, readings=found)


def _cost(report: Report, work: Report, *, priced: bool) -> StepCost:
    """The cost of a step from its reports with and without communication; `priced`: links have an energy."""
    seconds, alone = report.totals.seconds, work.totals.seconds
    if seconds is None or alone is None:
        raise InternalError(f"backend {BACKEND} gives no time")
    known = priced and work.totals.energy_j is not None
    return StepCost(seconds, seconds - alone, report.totals.energy_j if known else None)
