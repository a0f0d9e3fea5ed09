"""
The authors' workloads as steps, and npuc's own programs on the same networks.

`workloads.csv` holds the rows of the public repository of LIBRA (MIT licence): of each layer the time of each phase in
ns, and a collective with its bytes. They are a block of each model, not the whole of it.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from importlib.resources import files

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.bandwidth.traffic import LevelBytes, StepTraffic, step_traffic
from npuc.compiler.analysis.interconnect.collectives import COLLECTIVES, Collective, collective_cost
from npuc.compiler.analysis.interconnect.topology import Interconnect, NetworkLevel
from npuc.compiler.core.options import CompileKeywords, Say
from npuc.compiler.explore.network.program import SharedStep, shared_step
from npuc.studies.libra.settings import BATCH, COMMUNICATORS, MACHINE, PHASES, Group, PricedLevel


def rows_of(workload: str) -> list[dict[str, str]]:
    """The layers of a workload."""
    text = (files("npuc.studies.libra") / "workloads.csv").read_text(encoding="utf-8")
    return [row for row in csv.DictReader(text.splitlines()) if row["workload"] == workload]


def sent_by(kind: Collective, size: int, group: Group) -> LevelBytes:
    """What a device sends along each level, the innermost first, in a collective of so many bytes."""
    crossed = [level for level, count in enumerate(group) if count > 1]
    levels = [NetworkLevel("ring", group[level], Fraction(1)) for level in reversed(crossed)]
    mesh = Interconnect(tuple(levels)).place([level.size for level in levels])
    cost = collective_cost(kind, size, mesh, range(len(levels)))
    sent = {crossed[len(crossed) - 1 - number]: float(bytes) for number, bytes in cost.sent_by_level().items()}
    return LevelBytes(tuple(sent.get(level, 0.0) for level in range(len(group))))


def workload_step(network: str, workload: str) -> StepTraffic:
    """A step of a workload on a network, levels the innermost first: no latency, all levels at the same time."""
    work, transfers = 0, list[LevelBytes]()
    for row in rows_of(workload):
        for phase, group in zip(PHASES, COMMUNICATORS[network][workload], strict=True):
            work += int(row[f"{phase}_ns"])
            kinds: list[Collective] = [one for one in COLLECTIVES if one == row[f"{phase}_collective"]]
            if max(group) > 1:
                transfers += [sent_by(one, int(row[f"{phase}_bytes"]), group) for one in kinds]
    levels = len(COMMUNICATORS[network][workload][0])
    return step_traffic(levels, work * 1e-9, transfers, pipelined=True)


def program_step(source: str, network: Sequence[PricedLevel], say: Say) -> tuple[SharedStep, StepTraffic]:
    """A step of a program on a network by the same model, and its traffic with levels the innermost first."""
    outside = [{"kind": one.kind, "size": one.size, "gb_per_s": 1.0} for one in reversed(network)]
    options: CompileKeywords = {
        "hardware": MACHINE,
        "overrides": {"network.levels": outside},
        "mesh": "x".join(str(one.size) for one in reversed(network)),
        "parallel": "joint",
        "opt_level": 0,
        "defines": {"batch": BATCH},
    }
    step = shared_step(source, get_backend("roofline"), options, say)
    return step, step.traffic(step.levels, pipelined=True).inside_out()
