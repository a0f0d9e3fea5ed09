"""
The measurements: all-reduces of many sizes over six networks by three policies, and what the paper says of them.

Utilisation is the bytes that a device sends over those that it could send over all levels in the time; a speed-up is
the time of the baseline over that of a policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum

from npuc.compiler.analysis.interconnect.chunks.events import Latency
from npuc.compiler.analysis.interconnect.chunks.exact import exact_schedule
from npuc.compiler.analysis.interconnect.chunks.policies import POLICIES, Policy
from npuc.compiler.analysis.interconnect.chunks.schedule import ChunkedCollective, ChunkSchedule, scheduled
from npuc.compiler.analysis.interconnect.chunks.stages import LinkLevel, link_level
from npuc.compiler.analysis.interconnect.collectives import Collective
from npuc.compiler.analysis.interconnect.topology import Interconnect
from npuc.studies.base import Advance
from npuc.studies.themis.programs import OwnStep, group_levels, own_step
from npuc.studies.themis.settings import (
    CHUNKS,
    COMPUTE_SHARE,
    FEW_CHUNKS,
    FIRST,
    MODELS,
    PROGRAMS,
    SIZES,
    TODAY,
    TOPOLOGIES,
    OwnProgram,
    TrainedModel,
)


@dataclass(frozen=True)
class ThemisRow:
    """A figure of the paper beside ours; `reproduced` is null where there is no tolerance to judge by."""

    claim: str
    setting: str
    published: float | None
    ours: float
    tolerance: float | None = None
    note: str = ""

    @property
    def reproduced(self) -> bool | None:
        """Whether ours is the paper's within the tolerance."""
        if self.published is None or self.tolerance is None:
            return None
        return abs(self.ours - self.published) <= self.tolerance + 1e-12


@dataclass(frozen=True)
class TopologyResult:
    """A network by a policy, means over sizes: utilisation, speed-up, and the time over the lower bound less one."""

    topology: str
    policy: Policy
    utilisation: float
    speedup: float
    gap: float


@dataclass(frozen=True)
class ProgramResult:
    """A step of one of npuc's programs on a network: its work, and what its collectives take by both policies."""

    program: str
    topology: str
    work_s: float
    baseline_s: float
    themis_s: float

    @property
    def speedup(self) -> float:
        """The time of the step with the baseline over that with `themis-scf`."""
        return (self.work_s + self.baseline_s) / (self.work_s + self.themis_s)


@dataclass(frozen=True)
class ThemisResults:
    """The rows, the networks by policy, npuc's programs by network, and what is to be told of these."""

    latency: Latency
    rows: tuple[ThemisRow, ...]
    topologies: tuple[TopologyResult, ...]
    programs: tuple[ProgramResult, ...]
    warnings: tuple[str, ...] = ()


@dataclass
class _Measured:
    """All-reduces, each scheduled once."""

    latency: Latency
    known: dict[tuple[Interconnect, int, int, Policy], ChunkSchedule] = field(
        default_factory=dict[tuple[Interconnect, int, int, Policy], ChunkSchedule]
    )

    def __call__(self, network: Interconnect, size: int, policy: Policy, chunks: int = CHUNKS) -> ChunkSchedule:
        key = network, size, chunks, policy
        if key not in self.known:
            collective = ChunkedCollective("all_reduce", Fraction(size), chunks, levels_of(network), self.latency)
            self.known[key] = scheduled(collective, policy)
        return self.known[key]

    def in_step(self, kind: Collective, size: int, levels: tuple[LinkLevel, ...], policy: Policy) -> float:
        """The seconds of a collective of a program: it moves whole where it is no faster in chunks."""
        if not size or not levels:
            return 0.0
        counts = (CHUNKS, 1)
        collectives = [ChunkedCollective(kind, Fraction(size), chunks, levels, self.latency) for chunks in counts]
        return min(float(scheduled(one, policy).seconds) for one in collectives)

    def speedup(self, network: Interconnect, size: int, policy: Policy) -> float:
        """The time of the baseline over that of a policy."""
        return float(self(network, size, "baseline").seconds / self(network, size, policy).seconds)


def levels_of(network: Interconnect) -> tuple[LinkLevel, ...]:
    """The levels of a whole network as chunks see them, the innermost first."""
    mesh = network.place([level.size for level in network.levels])
    return tuple(link_level(group) for group in mesh.along(range(len(network.levels))))


def run_study(latency: Latency = "overlap", done: Advance = lambda name, count: None) -> ThemisResults:
    """All rows; `done` is called for each network and for each of npuc's programs."""
    measured = _Measured(latency)
    topologies = list[TopologyResult]()
    for name, network in TOPOLOGIES.items():
        topologies += [_topology(measured, name, network, policy) for policy in POLICIES]
        done(name, 1)
    programs, warnings = list[ProgramResult](), list[str]()
    for program in PROGRAMS:
        step = own_step(program, warnings.append)
        programs += [_program(measured, program, step, topology) for topology in TOPOLOGIES]
        done(program.name, 1)
    rows = (*_example(latency), *_means(measured, topologies), *_chunk_counts(measured), *_steps(measured))
    rows += tuple(_own_steps(programs))
    return ThemisResults(latency, rows, tuple(topologies), tuple(programs), tuple(warnings))


def mean(values: list[float]) -> float:
    """The arithmetic mean."""
    return fsum(values) / len(values)


def _topology(measured: _Measured, name: str, network: Interconnect, policy: Policy) -> TopologyResult:
    found = [measured(network, size, policy) for size in SIZES]
    return TopologyResult(
        name,
        policy,
        mean([float(one.utilisation) for one in found]),
        mean([measured.speedup(network, size, policy) for size in SIZES]),
        mean([float(one.gap) for one in found]),
    )


EXAMPLE = (LinkLevel(4, Fraction(1, 2)), LinkLevel(4, Fraction(1)))
"""4 x 4 devices, the inner level twice as fast, no latency (figure 5): a chunk of 64 MB is one byte here."""
EXAMPLE_CHUNKS = 4


def _example(latency: Latency) -> list[ThemisRow]:
    """The worked example, in units of a reduce-scatter of one chunk along the inner level."""
    collective = ChunkedCollective("all_reduce", Fraction(EXAMPLE_CHUNKS), EXAMPLE_CHUNKS, EXAMPLE, latency)
    unit = Fraction(3, 4) * EXAMPLE[0].byte_s
    published: Mapping[Policy, float | None] = {"baseline": 8, "themis-fifo": None, "themis-scf": 7}
    rows = [
        ThemisRow(
            "worked example, units",
            policy,
            published[policy],
            float(scheduled(collective, policy).seconds / unit),
            0.0 if published[policy] else None,
            "figure 5",
        )
        for policy in POLICIES
    ]
    exact = exact_schedule(collective)
    note = "the optimum" if exact.proved else "the best found"
    return [*rows, ThemisRow("worked example, units", "exact", None, float(exact.schedule.seconds / unit), None, note)]


def _means(measured: _Measured, topologies: list[TopologyResult]) -> list[ThemisRow]:
    """Means over networks and sizes."""
    setting = f"{len(TOPOLOGIES)} networks, {len(SIZES)} sizes, {CHUNKS} chunks"
    published: Mapping[Policy, tuple[float, float]] = {
        "baseline": (56.31, 1.5),
        "themis-fifo": (87.67, 3.0),
        "themis-scf": (95.14, 4.0),
    }
    by = {policy: [one for one in topologies if one.policy == policy] for policy in POLICIES}
    rows = [
        ThemisRow(
            f"mean utilisation, %, {policy}", setting, figure, 100 * mean([t.utilisation for t in by[policy]]), within
        )
        for policy, (figure, within) in published.items()
    ]
    gains: Mapping[Policy, tuple[float, float]] = {"themis-fifo": (1.58, 0.06), "themis-scf": (1.72, 0.1)}
    speedups = {policy: mean([one.speedup for one in by[policy]]) for policy in gains}
    rows += [
        ThemisRow(f"mean speed-up, {policy}", setting, figure, speedups[policy], within)
        for policy, (figure, within) in gains.items()
    ]
    each = [measured.speedup(network, size, "themis-scf") for network in TOPOLOGIES.values() for size in SIZES]
    today = mean([float(measured(TODAY, size, "baseline").utilisation) for size in SIZES])
    other = "its networks are not those of the published version"
    return [
        *rows,
        ThemisRow("greatest speed-up, themis-scf", setting, 2.70, max(each), 0.1),
        ThemisRow("mean utilisation, %, baseline", "a platform of the time, 16 x 64", 97.7, 100 * today, 1.0),
        ThemisRow("mean speed-up, themis-scf", f"{setting}; {FIRST}", 1.88, speedups["themis-scf"], None, other),
        ThemisRow("greatest speed-up, themis-scf", f"{setting}; {FIRST}", 2.92, max(each), None, other),
    ]


def _chunk_counts(measured: _Measured) -> list[ThemisRow]:
    """Few and many chunks."""
    published: Mapping[tuple[Policy, int], float] = {
        ("themis-fifo", 4): 43.13,
        ("themis-fifo", 512): 87.81,
        ("themis-scf", 4): 48.58,
        ("themis-scf", 512): 91.18,
    }
    rows: list[ThemisRow] = []
    for (policy, chunks), figure in published.items():
        own = [float(measured(TOPOLOGIES[name], SIZES[0], policy, chunks).utilisation) for name in FEW_CHUNKS]
        setting = f"hetero, 4D-Ring_FC_Ring_SW, {chunks} chunks"
        rows.append(ThemisRow(f"mean utilisation, %, {policy}", setting, figure, 100 * mean(own), 4.0))
    return rows


def _steps(measured: _Measured) -> list[ThemisRow]:
    """Training steps whose one all-reduce is exposed."""
    published = {"ResNet-50": (1.49, 1.96), "GNMT": (1.41, 1.81)}
    rows: list[ThemisRow] = []
    for model in MODELS:
        gains = [_step_gain(measured, model, network) for network in TOPOLOGIES.values()]
        setting = f"{model.name}, work x {COMPUTE_SHARE}; {FIRST}"
        average, most = published[model.name]
        rows.append(ThemisRow("mean speed-up of a step, themis-scf", setting, average, mean(gains), 0.03))
        rows.append(ThemisRow("greatest speed-up of a step, themis-scf", setting, most, max(gains), 0.03))
    return rows


def _step_gain(measured: _Measured, model: TrainedModel, network: Interconnect) -> float:
    work = COMPUTE_SHARE * model.compute_s
    before, after = (
        work + float(measured(network, model.size, policy).seconds) for policy in ("baseline", "themis-scf")
    )
    return before / after


def _program(measured: _Measured, program: OwnProgram, step: OwnStep, topology: str) -> ProgramResult:
    """A step on a network: collectives one after another, the gradients of all weights together at its end."""
    inside, outside = group_levels(TOPOLOGIES[topology], program.group)

    def exchanged(policy: Policy) -> float:
        within = [count * measured.in_step(*one, inside, policy) for one, count in step.transfers.items()]
        sums = ((step.group_sums, inside), (step.copy_sums, outside))
        return fsum([*within, *(measured.in_step("all_reduce", size, levels, policy) for size, levels in sums)])

    return ProgramResult(program.name, topology, step.work, exchanged("baseline"), exchanged("themis-scf"))


def _own_steps(programs: list[ProgramResult]) -> list[ThemisRow]:
    """The same of npuc's own programs, beside what each version of the paper has for a network of this name."""
    rows: list[ThemisRow] = []
    for program in PROGRAMS:
        gains = [one.speedup for one in programs if one.program == program.name]
        for version, (average, most) in program.published.items():
            setting, note = f"{program.name}, our program; {version}", "the paper's program is not public"
            rows.append(ThemisRow("mean speed-up of a step, themis-scf", setting, average, mean(gains), None, note))
            rows.append(ThemisRow("greatest speed-up of a step, themis-scf", setting, most, max(gains), None, note))
    return rows
