"""
The paper's statements on the sequential program and on the causes of the gain, beside our numbers.

    dY's share       of the bytes that the sequential gradients read, and of all that they move
    backward         its share of the forward and backward products, and of a whole training step
    proportional     the correlation of saved time with saved traffic, and the time saved per traffic saved
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation, fmean

from npuc.compiler.driver.compile import compile_file
from npuc.studies.base import Advance
from npuc.studies.igo.cost import NOTHING, Cost
from npuc.studies.igo.layers import in_processes
from npuc.studies.igo.networks import MODELS, StudyNetwork
from npuc.studies.igo.settings import AVERAGE, LARGE, STEPS, Setting, figures
from npuc.studies.igo.times import LayerSteps

Layers = Sequence[tuple[int, LayerSteps]]
"""The layers of a network: their counts and costs."""
WITHIN = 0.1
"""The relative tolerance: neither the paper's layers nor its programs are known."""
BOTH = "both"
"""The NPUs of a row over all of them."""
LAST = STEPS[-1]


@dataclass(frozen=True)
class PremiseRow:
    """
    A statement of the paper as a number, and ours; `tolerance` is in the same unit.

    `published` and `reproduced` are None where the paper gives no number, `npu` is `both` over all.
    """

    claim: str
    npu: str
    model: str
    published: float | None
    ours: float
    unit: str
    tolerance: float | None
    reproduced: bool | None
    note: str


def total(layers: Layers, step: str) -> Cost:
    """The cost of the products of a network, forward and backward, in a step or in the `sequential` program."""
    return sum((costs.step(step) * count for count, costs in layers), NOTHING)


def claim_rows(npus: Mapping[Setting, Mapping[str, Layers]]) -> Iterator[PremiseRow]:
    """The rows of the networks on each NPU."""
    if LARGE in npus:
        yield from _shared_operand(npus[LARGE])
    for setting, networks in npus.items():
        yield _backward_products(setting, networks)
    yield from _proportional(npus)
    if LARGE in npus:
        yield from _layers_of(npus[LARGE])


def _shared_operand(networks: Mapping[str, Layers]) -> Iterator[PremiseRow]:
    theirs = figures()["fig5_dY_traffic_share_large_npu"]
    gradients = {model: _gradients(layers) for model, layers in networks.items()}
    reads = {model: float(cost.dy_read / cost.read) for model, cost in gradients.items()}
    moves = {model: float(cost.dy_read / cost.moved) for model, cost in gradients.items()}
    titles = {"read": "dY's share of the bytes that gradients read", "read_write": "dY's share of all their traffic"}
    for (key, title), ours in zip(titles.items(), (reads, moves), strict=True):
        for model, value in {**ours, AVERAGE: fmean(ours.values())}.items():
            yield _row(title, LARGE.npu, model, theirs[key].get(model), value, "share", "")


def _gradients(layers: Layers) -> Cost:
    return sum((costs.gradients("sequential") * count for count, costs in layers), NOTHING)


def _backward_products(setting: Setting, networks: Mapping[str, Layers]) -> PremiseRow:
    shares = [float(_gradients(own).time / total(own, "sequential").time) for own in networks.values()]
    shown = figures()["text"]["a100_time_share"]
    theirs = shown["backward"] / (shown["forward"] + shown["backward"])
    note = "the paper's from its shares of a step on an A100"
    return _row("backward's share of forward and backward", setting.npu, AVERAGE, theirs, fmean(shares), "share", note)


def step_rows(
    networks: Sequence[StudyNetwork], jobs: int = 1, done: Advance = lambda name, count: None
) -> Iterator[PremiseRow]:
    """
    The share of the backward pass in a whole step of each network, vector work and updates included; by `jobs`
    processes, `done` is called for each network.
    """
    if not networks:
        return
    ours: dict[str, float] = {}
    for network, share in zip(networks, in_processes(networks, _backward_share, jobs), strict=True):
        ours[network.model] = share
        done(f"whole step of {MODELS[network.model]}", 1)
    theirs = figures()["text"]["a100_time_share"]["backward"]
    note = "the paper's on an A100, ours by the backend cycle at -O0"
    title = "backward's share of a training step"
    for model, value in ours.items():
        yield _row(title, LARGE.npu, model, None, value, "share", note)
    yield _row(title, LARGE.npu, AVERAGE, theirs, fmean(ours.values()), "share", note)


def _backward_share(network: StudyNetwork) -> float:
    hardware = f"igo-{network.npu}"
    report = compile_file(
        network.source,
        backend="cycle",
        hardware=hardware,
        opt_level=0,
        tolerance=0.0,
        defines=dict(network.defines),
    )
    assert not isinstance(report, list)
    seconds = {phase: time or 0.0 for phase, time in report.totals.seconds_by_phase.items()}
    outside = seconds.get("forward", 0.0) + seconds.get("update", 0.0)
    return 1 - outside / sum(seconds.values())


def _proportional(npus: Mapping[Setting, Mapping[str, Layers]]) -> Iterator[PremiseRow]:
    """Over the networks, with the last step: each NPU, then all."""
    points = {setting.npu: [_saved(total(own, "sequential"), total(own, LAST)) for own in networks.values()]
              for setting, networks in npus.items()}  # fmt: skip
    if len(points) > 1:
        points[BOTH] = [point for own in points.values() for point in own]
    for npu, own in points.items():
        yield from _line(own, npu, AVERAGE, "over networks", None, "the paper: proportional")


def _layers_of(networks: Mapping[str, Layers]) -> Iterator[PremiseRow]:
    """Over the layers on the large NPU, with the published rule: the paper shows twelve of them."""
    bars = figures()["fig13_large_rearrangement_by_layer"]
    theirs = [(1 - bars["dram_traffic"][layer], 1 - time) for layer, time in bars["norm_exec_time"].items()]
    distinct = dict.fromkeys(costs for layers in networks.values() for _, costs in layers)
    moving = [costs for costs in distinct if costs.sequential != costs.rearrangement]
    ours = [_saved(costs.step("sequential"), costs.step("rearrangement")) for costs in moving]
    note = f"the paper's over the {len(theirs)} layers that it shows, ours over {len(ours)} distinct ones"
    yield from _line(ours, LARGE.npu, AVERAGE, "over layers, by the published rule", theirs, note)


Point = tuple[float, float]
"""The traffic and the time that a program saves, over the sequential program's."""


def _saved(before: Cost, after: Cost) -> Point:
    return float(1 - after.moved / before.moved), float(1 - after.time / before.time)


def _line(
    ours: Sequence[Point], npu: str, model: str, over: str, theirs: Sequence[Point] | None, note: str
) -> Iterator[PremiseRow]:
    """The correlation of points and the slope of their line through the origin; None for fewer than three points."""
    found = _fit(ours)
    if found is None:
        return
    published = (None, None) if theirs is None else _fit(theirs) or (None, None)
    names = "correlation of saved time with saved traffic", "time saved per traffic saved"
    for name, own, other in zip(names, found, published, strict=True):
        yield _row(f"{name}, {over}", npu, model, other, own, "", note)


def _fit(points: Sequence[Point]) -> tuple[float, float] | None:
    if len(points) < 3:
        return None
    traffic, time = [x for x, _ in points], [y for _, y in points]
    try:
        return correlation(traffic, time), sum(x * y for x, y in points) / sum(x * x for x in traffic)
    except StatisticsError:
        return None


def _row(claim: str, npu: str, model: str, theirs: float | None, ours: float, unit: str, note: str) -> PremiseRow:
    tolerance = None if theirs is None else WITHIN * abs(theirs)
    same = None if theirs is None or tolerance is None else abs(ours - theirs) <= tolerance
    return PremiseRow(claim, npu, model, theirs, ours, unit, tolerance, same, note)
