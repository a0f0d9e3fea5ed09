"""The measures of the study in its units; None where a cache is too small for the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuc.backends.roofline.facts import StepFacts
from npuc.compiler.core.units import MIB
from npuc.compiler.report import OpRow, Report
from npuc.compiler.report.sections import IterationFacts
from npuc.studies.thesis.networks import ThesisNetwork
from npuc.studies.thesis.scores import Point, Scores
from npuc.studies.thesis.settings import (
    BATCH_MIB,
    BATCHES,
    CAPACITIES,
    FASTER_GB_PER_S,
    FASTER_TFLOPS,
    GB_PER_S,
    LEAST,
    TFLOPS,
)

RIDGE = TFLOPS * 1e3 / GB_PER_S
"""The ridge of the study's machine, in operations per byte."""


def measured_points(network: ThesisNetwork) -> Iterator[Point]:
    """The points of the measures of networks outside the study."""
    yield from (Point(network, mib) for mib in (LEAST, 500))
    yield Point(network, LEAST, FASTER_TFLOPS)


def claimed_points(network: ThesisNetwork) -> Iterator[Point]:
    """The points that the claims are about."""
    yield from measured_points(network)
    yield from (Point(network, mib) for mib in (128, 180, 296, 400, 442, CAPACITIES[-1]))
    yield from (Point(network, mib, gb_per_s=FASTER_GB_PER_S) for mib in (LEAST, CAPACITIES[-1]))
    yield from (Point(network, mib, batch=batch) for batch in BATCHES for mib in BATCH_MIB)


def moved_bytes(report: Report) -> int:
    """Bytes in and out of an iteration."""
    return (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)


def seconds(report: Report) -> float:
    """The time of an iteration."""
    return report.totals.seconds or 0.0


def seconds_of_type(report: Report, layer_type: str) -> float:
    """The time of layers of type I or II in an iteration."""
    return report.totals.seconds_by_kind["matrix" if layer_type == "I" else "vector"] or 0.0


def time_reduction(scores: Scores, network: ThesisNetwork, mib: int) -> float | None:
    """The reduction of an iteration's time from the smallest cache to `mib`, %."""
    least, more = (scores.reports.get(Point(network, size)) for size in (LEAST, mib))
    return None if least is None or more is None else 100 * (1 - seconds(more) / seconds(least))


def traffic_reduction(scores: Scores, network: ThesisNetwork, mib: int) -> float | None:
    """The reduction of an iteration's traffic from the smallest cache to `mib`, %."""
    least, more = (scores.reports.get(Point(network, size)) for size in (LEAST, mib))
    return None if least is None or more is None else 100 * (1 - moved_bytes(more) / moved_bytes(least))


def speedup(scores: Scores, network: ThesisNetwork) -> float | None:
    """The speedup of an iteration by the higher throughput at the smallest cache, %."""
    slow, fast = (scores.reports.get(Point(network, LEAST, tflops)) for tflops in (TFLOPS, FASTER_TFLOPS))
    return None if slow is None or fast is None else 100 * (seconds(slow) / seconds(fast) - 1)


def time_ratio(scores: Scores, network: ThesisNetwork, least: int, most: int) -> float | None:
    """An iteration's time with a cache of `most` MB over that with `least`."""
    less, more = (scores.reports.get(Point(network, size)) for size in (least, most))
    return None if less is None or more is None else seconds(more) / seconds(less)


def bandwidth_ratio(scores: Scores, network: ThesisNetwork, mib: int) -> float | None:
    """An iteration's time at the bandwidth of the study's machine over that at the higher one."""
    slow, fast = (scores.reports.get(Point(network, mib, gb_per_s=rate)) for rate in (GB_PER_S, FASTER_GB_PER_S))
    return None if slow is None or fast is None else seconds(slow) / seconds(fast)


def best_batch(scores: Scores, network: ThesisNetwork, mib: int) -> int | None:
    """Of the batches that fit the one of most samples a second."""
    found: dict[int, float] = {}
    for batch in BATCHES:
        report = scores.reports.get(Point(network, mib, batch=batch))
        facts = None if report is None else IterationFacts.found_in(report)
        if facts is not None:
            found[batch] = facts.samples_per_second
    return max(found, key=found.__getitem__, default=None)


def captured_reuse(scores: Scores, network: ThesisNetwork, mib: int, scopes: Sequence[str]) -> float | None:
    """The share of the bytes of some scopes of reuse that the plan of a cache saves, %."""
    report = scores.reuse.get(Point(network, mib))
    own = [] if report is None else [row for row in report.scopes if row.scope in scopes]
    every = sum(row.bytes for row in own)
    return 100 * sum(row.captured_bytes for row in own) / every if every else None


def share_of_other_layers(scores: Scores, network: ThesisNetwork, mib: int = LEAST) -> float | None:
    """The share of layers of type II in the time, %."""
    report = scores.reports.get(Point(network, mib))
    return None if report is None else 100 * seconds_of_type(report, "II") / seconds(report)


def reuse(row: OpRow) -> float:
    """The reuse frequency of a step, in operations per byte of its tensors."""
    return step_facts(row).reuse_frequency


def step_facts(row: OpRow) -> StepFacts:
    """The section of the roofline in a step's row."""
    found = StepFacts.found_in(row)
    assert found is not None
    return found


def share_above_ridge(scores: Scores, network: ThesisNetwork) -> float:
    """The share of the steps of type I whose reuse frequency is above the ridge; 0 without such steps."""
    rows = [row for row in scores.layers[network].rows if step_facts(row).layer_type == "I"]
    return sum(reuse(row) > RIDGE for row in rows) / max(len(rows), 1)


def bound_of(share: float) -> str:
    """The class of a network by the share of its steps of type I above the ridge."""
    return "compute" if share > 0.5 else "memory"


def largest_tensor(scores: Scores, network: ThesisNetwork) -> float:
    """The largest value that a layer computes, MB."""
    return max(scores.layers[network].maps.values(), default=0) / MIB


def smallest_map(scores: Scores, network: ThesisNetwork) -> float | None:
    """The smallest value that a convolution computes, MB."""
    return min(scores.layers[network].outputs("train.conv"), default=0) / MIB


def balancing_gb_per_s(scores: Scores, network: ThesisNetwork, op: str) -> float | None:
    """The bandwidth at which the first layer of an operation's forward would be limited by throughput, GB/s."""
    first: Sequence[float] = [
        reuse(row) for row in scores.layers[network].rows if row.op == op and row.phase == "forward"
    ][:1]
    return TFLOPS * 1e3 / first[0] if first else None
