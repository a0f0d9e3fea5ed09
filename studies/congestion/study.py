"""
The measurements: collectives over the fabric by each scheme, and patterns that congest it.

The paper's finding is in words: schemes have little impact on collectives that know their topology. Here that is a
difference of at most 5 % of the slowest scheme's time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from npuc.compiler.analysis.interconnect.collectives import collective_cost
from npuc.compiler.analysis.interconnect.fluid.engine import FluidResult, run_fluid
from npuc.compiler.analysis.interconnect.fluid.fabric import NANOSECONDS, ClosFabric
from npuc.compiler.analysis.interconnect.fluid.law import CongestionLaw
from npuc.compiler.analysis.interconnect.fluid.routes import ROUTINGS, Routing
from npuc.compiler.analysis.interconnect.fluid.traffic import (
    ALGORITHMS,
    Algorithm,
    CollectiveTraffic,
    collective_plan,
)
from npuc.compiler.analysis.interconnect.topology import Interconnect, NetworkLevel
from npuc.studies.base import Advance
from npuc.studies.congestion.patterns import FINE_SIZE, SETTLED_MS, UNTIL_NS, ended, incast, victim, waiting_ring
from npuc.studies.congestion.settings import INCAST, INCAST_SIZE, CongestionSetup
from npuc.studies.themis.settings import MODELS

LITTLE = 5.0
"""Percent of the slowest scheme's time that count as little."""
Verdict = Literal["at most", "above"]


@dataclass(frozen=True)
class CongestionRow:
    """A claim of the paper, and ours; `bound` is what ours has to be `verdict`, where it is judged."""

    claim: str
    setting: str
    published: str
    ours: float
    verdict: Verdict = "at most"
    bound: float | None = None
    note: str = ""

    @property
    def reproduced(self) -> bool | None:
        """Whether ours agrees with the claim."""
        if self.bound is None:
            return None
        return self.ours <= self.bound if self.verdict == "at most" else self.ours > self.bound


@dataclass(frozen=True)
class CollectiveTime:
    """A collective by a scheme: microseconds, those of the alpha-beta model, pauses, most KB that waited at a port."""

    algorithm: Algorithm
    routing: Routing
    scheme: str
    us: float
    model_us: float
    pauses: int
    queue_kb: float


@dataclass(frozen=True)
class PatternResult:
    """
    The patterns by a scheme. Of the incast: microseconds, pauses, milliseconds of ports that were paused, most KB that
    waited; `step_error`, by how many percent a shorter incast differs with half the step. Of the victim: its share of a
    link, and those of the local flow and of the mean other one. `deadlock`: ports that wait for each other for ever.
    """

    scheme: str
    incast_us: float
    pauses: int
    paused_ms: float
    queue_kb: float
    step_error: float
    victim: float
    local: float
    remote: float
    deadlock: tuple[str, ...]


@dataclass(frozen=True)
class CurvePoint:
    """The incast by a scheme over time: KB that wait at the receiver's port, Gb/s of the local flow and of all."""

    scheme: str
    us: float
    queue_kb: float
    local_gbit_per_s: float
    total_gbit_per_s: float


@dataclass(frozen=True)
class CongestionResults:
    """All that the study finds."""

    setup: CongestionSetup
    rows: tuple[CongestionRow, ...]
    collectives: tuple[CollectiveTime, ...]
    patterns: tuple[PatternResult, ...]
    curves: tuple[CurvePoint, ...]


def points(setup: CongestionSetup) -> int:
    """How many runs the study has."""
    return len(setup.laws) * (len(ALGORITHMS) * len(ROUTINGS) + 1)


def run_study(setup: CongestionSetup, done: Advance = lambda name, count: None) -> CongestionResults:
    """All measurements; `done` is called for each collective and for the patterns of each scheme."""
    collectives: list[CollectiveTime] = []
    for algorithm in ALGORITHMS:
        for routing in ROUTINGS:
            for law in setup.laws:
                collectives.append(collective_time(setup, algorithm, routing, law))
                done(f"{algorithm}, {law.name}", 1)
    patterns: list[PatternResult] = []
    curves: list[CurvePoint] = []
    for law in setup.laws:
        found = incast(setup, law, setup.run.step_ns)
        patterns.append(_patterns(setup, law, found))
        curves += _curves(law, found)
        done(f"patterns, {law.name}", 1)
    rows = (*_finding(setup, collectives), *_drawbacks(setup, patterns))
    return CongestionResults(setup, rows, tuple(collectives), tuple(patterns), tuple(curves))


def model_seconds(fabric: ClosFabric, algorithm: Algorithm, size: int) -> float:
    """What the alpha-beta model says of a collective over all hosts, the latency that of the links of a route."""
    rate, delay = Fraction(fabric.bytes_per_s), Fraction(fabric.delay_ns, NANOSECONDS)
    if algorithm == "halving-doubling":
        levels = (NetworkLevel("switch", fabric.leaves, rate, 4 * delay),
                  NetworkLevel("switch", fabric.hosts, rate, 2 * delay))  # fmt: skip
    else:
        kind = "ring" if algorithm == "ring" else "switch"
        levels = (NetworkLevel(kind, fabric.all_hosts, rate, 4 * delay),)
    mesh = Interconnect(levels).place([level.size for level in levels])
    collective = "all_to_all" if algorithm == "pairwise" else "all_reduce"
    return float(collective_cost(collective, size, mesh, range(len(levels))).seconds)


def collective_time(
    setup: CongestionSetup, algorithm: Algorithm, routing: Routing, law: CongestionLaw
) -> CollectiveTime:
    """A collective of the setup's bytes over all hosts. Raises `CapacityError` for one that does not end."""
    found = _sent(setup, algorithm, routing, law, setup.run.bytes)
    model = model_seconds(setup.fabric, algorithm, setup.run.bytes)
    return CollectiveTime(
        algorithm, routing, law.name, 1e6 * found.seconds, 1e6 * model, found.all_pauses, found.waited.max() / 1e3
    )


def _sent(setup: CongestionSetup, algorithm: Algorithm, routing: Routing, law: CongestionLaw, size: int) -> FluidResult:
    plan = collective_plan(algorithm, setup.fabric.all_hosts, size)
    traffic = CollectiveTraffic(setup.fabric, plan, routing, setup.run.seed)
    found = run_fluid(setup.fabric, traffic, law, setup.run.step_ns, UNTIL_NS)
    return ended(found, f"{algorithm}, routes by {routing}, by {law.name},")


def _patterns(setup: CongestionSetup, law: CongestionLaw, found: FluidResult) -> PatternResult:
    shared = victim(setup, law)
    late = shared.rates[shared.times >= SETTLED_MS * 1e-3].mean(axis=0) / setup.fabric.bytes_per_s
    ring = waiting_ring(setup, law).ring
    return PatternResult(
        law.name,
        1e6 * found.seconds,
        found.all_pauses,
        1e3 * float(found.paused_s.sum()),
        float(found.waited.max()) / 1e3,
        _step_error(setup, law),
        float(late[-1]),
        float(late[-2]),
        float(late[:-2].mean()),
        tuple(setup.fabric.port_name(port) for port in ring),
    )


def _step_error(setup: CongestionSetup, law: CongestionLaw) -> float:
    """Percent by which the time of a short incast differs from that with half the step; 0 of the shortest step."""
    step = setup.run.step_ns
    times = [incast(setup, law, one, FINE_SIZE).seconds for one in (step, step // 2 if step % 2 == 0 else step)]
    return 100 * abs(times[0] / times[1] - 1)


def _curves(law: CongestionLaw, found: FluidResult) -> Iterator[CurvePoint]:
    gbit = 8e-9 * found.rates
    for at, waiting, rates in zip(found.times, found.queues[:, 0], gbit, strict=True):
        yield CurvePoint(law.name, 1e6 * float(at), float(waiting) / 1e3, float(rates[-1]), float(np.sum(rates)))


def difference(times: Sequence[float]) -> float:
    """Percent of the slowest time by which the fastest is shorter."""
    return 100 * (max(times) - min(times)) / max(times)


def _finding(setup: CongestionSetup, found: Sequence[CollectiveTime]) -> Iterator[CongestionRow]:
    """Collectives, whose flows share no link where routes are by destination."""
    claim = "slowest over fastest scheme, %"
    for algorithm in ALGORITHMS:
        for routing in reversed(ROUTINGS):
            times = [one.us for one in found if (one.algorithm, one.routing) == (algorithm, routing)]
            aware = routing == "destination" or algorithm == "ring"
            setting = f"{algorithm}, routes by {routing}"
            note = "" if aware else "flows share links by chance"
            yield CongestionRow(claim, setting, "little", difference(times), "at most", LITTLE if aware else None, note)
    model = MODELS[0]
    steps = [
        model.compute_s + _sent(setup, "halving-doubling", "destination", law, model.size).seconds for law in setup.laws
    ]
    setting = f"a step of {model.name}, its all-reduce after its work"
    yield CongestionRow(claim, setting, "little", difference(steps), "at most", LITTLE)
    worst = max(abs(one.us / one.model_us - 1) for one in found if one.routing == "destination" and one.scheme == "pfc")
    yield CongestionRow("beside the alpha-beta model, %", "routes by destination, pfc", "", 100 * worst, bound=1e-6)


def _drawbacks(setup: CongestionSetup, found: Sequence[PatternResult]) -> Iterator[CongestionRow]:
    """What PFC alone suffers from, by the paper: unfairness, head-of-line blocking, deadlock."""
    alone, *others = found
    setting = f"{INCAST} to 1, {INCAST_SIZE // 10**6} MB each"
    yield CongestionRow("pauses with PFC alone", setting, "many", alone.pauses, "above", 0)
    most = max(one.pauses for one in others)
    yield CongestionRow("pauses with a scheme, at most", setting, "fewer", most, "at most", alone.pauses - 1)
    yield CongestionRow(
        "local flow over others with PFC alone", "victim", "unfairness", alone.local / alone.remote, "above", 2
    )
    free = 1 - 5 / 16  # the link to its spine switch carries five of the 16 flows to one host, each a 16th of a link
    yield CongestionRow(
        "victim's share of what is free, %, PFC alone", "victim", "head-of-line blocking", 100 * alone.victim / free,
        "at most", 50,
    )  # fmt: skip
    yield CongestionRow("deadlocks with PFC alone", "ring", "deadlock", float(bool(alone.deadlock)), "above", 0)
    yield CongestionRow(
        "deadlocks with a scheme", "ring", "", float(sum(bool(one.deadlock) for one in others)), "at most", 0
    )
    for one in found:
        yield CongestionRow(
            "error of the step, %", f"incast, {one.scheme}", "", one.step_error, note="against half of it"
        )
