"""
What a training step takes on several accelerators: the work of one of them and what moves between them.

The work is priced by the backend `cycle` once; networks of different topology stand beside the same program.
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
from npuc.studies.hypar.networks import Network
from npuc.studies.hypar.settings import HARDWARE, TOPOLOGIES, TREE, Topology, machine_of

BACKEND = "cycle"


@dataclass(frozen=True)
class Cost:
    """
    A step: `seconds` in all and those of `communication`, one thing after the other; `joules` of one accelerator.
    """

    seconds: float
    communication: float
    joules: float


@dataclass(frozen=True)
class Step:
    """
    A step of one accelerator: its MACs, and the cost by topology.

    `refusal` says why there is none: there is no program where tensors cannot be cut evenly. `gb` is what the plan of
    the program moves by its convention: a joint plan takes only what goes even. None for one accelerator.
    """

    macs: int
    costs: Mapping[Topology, Cost]
    refusal: str = ""
    gb: float | None = None

    @property
    def cost(self) -> Cost | None:
        """On the paper's tree; None without a program."""
        return self.costs.get(TREE)


def step_of(network: Network, strategy: Strategy, convention: Convention, devices: int) -> Step:
    """The step of a network under a strategy. Raises `NpucError`s but for tensors that cannot be cut evenly."""
    machine = machine_of(TREE, devices)
    options: CompileKeywords = {"hardware": machine.values}
    if devices > 1:
        options |= {"devices": devices, "parallel": strategy, "convention": convention}
    model = get_backend(BACKEND)
    try:
        module, machine = lowered_module(open_source(network.source), model, options, lambda _: None, [])
    except CapacityError as e:
        return Step(0, {}, e.message)
    work = model.score(module, machine)
    found: dict[Topology, Cost] = {
        topology: _cost(with_communication(work, module, machine_of(topology, devices)), work)
        for topology in TOPOLOGIES
    }
    plan = plan_of_program(module)
    moved = None if plan is None or plan.total.bytes is None else float(Fraction(plan.total.bytes)) / 1e9
    return Step(work.totals.macs or 0, found, gb=moved)


def _cost(report: Report, work: Report) -> Cost:
    """The cost of a step from the reports with and without what moves between accelerators."""
    seconds, joules = report.totals.seconds, report.totals.energy_j
    alone = work.totals.seconds
    if seconds is None or alone is None or joules is None:
        raise InternalError(f"backend {BACKEND} gives no time or energy on {HARDWARE}")
    return Cost(seconds, seconds - alone, joules)
