"""
H-tree and torus: each plan's step on both, under each reading of the links (`platform.py`), and what the authors say.

    the H-tree is the better topology      "hierarchical partition favors H-tree"
    a torus needs a plan of its own        "topology-aware partition is required"

They give signs, no numbers that are known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.core.options import Convention, Strategy
from npuc.studies.hypar.claims import VARIANT, WITHIN_MODEL, FigureRow, Results, figure_row, mean, setting
from npuc.studies.hypar.networks import HyparNetwork
from npuc.studies.hypar.platform import EQUAL, LINK, READINGS, Links, Platform
from npuc.studies.hypar.results import NetworkResult
from npuc.studies.hypar.settings import (
    BASE,
    DEVICES,
    MEAN,
    NOTHING,
    OURS,
    TOPOLOGIES,
    TOPOLOGY_NAMES,
    TREE,
    Topology,
    published,
)
from npuc.studies.hypar.steps import AcceleratorStep, StepCost

Made = Mapping[str, Mapping[Topology, AcceleratorStep]]
"""By network, the steps of the plans that are made for each topology."""
OTHER: Topology = "torus"
BELOW, ABOVE = "below 1", "above 1"
TORUS_OVER_TREE = f"performance on the torus over that on the {TOPOLOGY_NAMES[TREE]}"
AWARE = f"performance on the torus of the plan made for it over {OURS}'s"
WHOLE: Links = "array"
"""The reading in which the slides' total is that of all levels."""
OVER_DP = f"{VARIANT}, 25.6 Gb/s over all levels: performance over {BASE}"


@dataclass(frozen=True)
class TopologyRow:
    """
    A plan under a reading of the links: what an accelerator sends along each level of the tree and each ring, in GB/s,
    and the seconds of a step on both topologies, all and between accelerators; None where there is no program.
    """

    network: str
    plan: str
    links: Links
    tree_gb_per_s: float
    torus_gb_per_s: float
    tree_seconds: float | None
    torus_seconds: float | None
    tree_communication: float | None
    torus_communication: float | None


def plans_of(network: str, results: Results, made: Made) -> dict[str, AcceleratorStep]:
    """The steps of a network that are set side by side, by the names of their plans."""
    own = {strategy: results[network][strategy].step for strategy in (BASE, OURS)}
    others = {f"for the {TOPOLOGY_NAMES[topology]}": made[network][topology] for topology in TOPOLOGIES}
    return own | others


def topology_rows(
    networks: Sequence[HyparNetwork], results: Results, made: Made, platform: Platform
) -> Iterator[TopologyRow]:
    """Every plan of every network under every reading."""
    for network in networks:
        for plan, step in plans_of(network.name, results, made).items():
            for links in READINGS:
                rates = [platform.rate(topology, DEVICES, links) for topology in (TREE, OTHER)]
                costs = step.readings.get(links, {})
                found = [costs.get(topology) for topology in (TREE, OTHER)]
                seconds = [None if cost is None else cost.seconds for cost in found]
                between = [None if cost is None else cost.communication for cost in found]
                yield TopologyRow(network.name, plan, links, *rates, *seconds, *between)


def topology_claims(
    networks: Sequence[HyparNetwork],
    results: Results,
    made: Made,
    convention: Convention,
    platform: Platform,
    *,
    means: bool,
) -> Iterator[FigureRow]:
    """What the authors say of topologies; `means` over the networks where these are the paper's."""
    for network in networks:
        for strategy in (BASE, OURS):
            yield _torus(network, strategy, results[network.name][strategy], convention, platform)
    if means:
        for strategy in (BASE, OURS):
            yield _torus_mean(results, strategy, convention, platform)
    aware = {network.name: _aware(network, results, made, platform) for network in networks}
    yield from aware.values()
    if means:
        yield _aware_mean(list(aware.values()), results, made, platform)
    gains = {network.name: _over_base(results[network.name]) for network in networks}
    for network in networks:
        theirs = published().get(network.name, NOTHING).performance.get(OURS)
        yield _variant(network.name, network.source, theirs, gains[network.name], convention, platform)
    known = [gain for gain in gains.values() if gain is not None]
    if means and len(known) > len(gains) / 2:
        yield _variant(
            MEAN, "the ten networks", published()[MEAN].performance.get(OURS), mean(known), convention, platform
        )


def torus_gain(step: AcceleratorStep, links: Links = LINK) -> float | None:
    """How many times faster a step is on the torus; None where there is no program."""
    costs = step.readings.get(links, {})
    return costs[TREE].seconds / costs[OTHER].seconds if costs else None


def _torus(
    network: HyparNetwork, strategy: Strategy, result: NetworkResult, convention: Convention, platform: Platform
) -> FigureRow:
    """The gain of the other topology."""
    note = result.step.refusal and f"no program: {result.step.refusal}"
    where = f"{setting(network.source, strategy, convention)} -b cycle {platform.command(OTHER)}"
    return figure_row(TORUS_OVER_TREE, network.name, strategy, where, None, torus_gain(result.step), "x", None, note)


def _torus_mean(results: Results, strategy: Strategy, convention: Convention, platform: Platform) -> FigureRow:
    """The mean, which the authors say is below 1 for their plans."""
    steps = [own[strategy].step for own in results.values()]
    ours = mean_of([torus_gain(step) for step in steps])
    others = [(EQUAL[links], mean_of([torus_gain(step, links) for step in steps])) for links in READINGS[1:]]
    told = "; ".join(f"{gain:.4g} if equal is {what}" for what, gain in others if gain is not None)
    where = f"{setting('the ten networks', strategy, convention)} -b cycle {platform.command(OTHER)}"
    note = f"ours gives each link of an accelerator the same in both; {told}"
    return _sign(TORUS_OVER_TREE, strategy, where, BELOW if strategy == OURS else None, ours, note)


def _aware(network: HyparNetwork, results: Results, made: Made, platform: Platform) -> FigureRow:
    """The gain of the plan made for the torus, on it."""
    step = made[network.name][OTHER]
    ours = _on_torus(results[network.name][OURS].step, step)
    beside = _on_torus(made[network.name][TREE], step)
    note = "" if beside is None else f"over the plan made in the same way for the {TOPOLOGY_NAMES[TREE]} {beside:.4g}"
    if ours is None:
        note = f"no program: {results[network.name][OURS].step.refusal or step.refusal}"
    return figure_row(AWARE, network.name, "joint", _made(network.source, platform), None, ours, "x", None, note)


def _aware_mean(rows: Sequence[FigureRow], results: Results, made: Made, platform: Platform) -> FigureRow:
    """The mean, which the authors say is above 1."""
    ours = mean_of([row.ours if isinstance(row.ours, float) else None for row in rows])
    beside = mean_of([_on_torus(own[TREE], own[OTHER]) for own in made.values()])
    tree = TOPOLOGY_NAMES[TREE]
    note = (
        ""
        if beside is None
        else f"over plans made in the same way for the {tree} {beside:.4g}: {_share(results, made)}"
    )
    return _sign(AWARE, "joint", _made("the ten networks", platform), ABOVE, ours, note)


def _share(results: Results, made: Made) -> str:
    """How many networks have a plan for the torus that is another one than that for the tree."""
    own = [steps for steps in made.values() if steps[TREE].costs and steps[OTHER].costs]
    others = sum(steps[TREE].costs != steps[OTHER].costs for steps in own)
    return f"{others} of {len(results)} networks have another plan for the torus"


def _on_torus(base: AcceleratorStep, other: AcceleratorStep) -> float | None:
    a, b = base.costs.get(OTHER), other.costs.get(OTHER)
    return None if a is None or b is None else a.seconds / b.seconds


def _over_base(own: Mapping[Strategy, NetworkResult]) -> float | None:
    """HyPar over data parallelism where the slides' total is that of all levels."""
    costs = [_cost(own[strategy].step, WHOLE) for strategy in (BASE, OURS)]
    first, second = costs
    return None if first is None or second is None else first.seconds / second.seconds


def _cost(step: AcceleratorStep, links: Links) -> StepCost | None:
    return step.readings.get(links, {}).get(TREE)


def _variant(
    name: str, source: str, theirs: float | None, ours: float | None, convention: Convention, platform: Platform
) -> FigureRow:
    """Performance over dp on slower links."""
    rate = platform.rate(TREE, DEVICES, WHOLE)
    where = f"{setting(source, OURS, convention)} -b cycle {platform.command()}, {rate:g} GB/s a level"
    note = "no program of both" if ours is None else ""
    return figure_row(OVER_DP, name, OURS, where, theirs, ours, "x", WITHIN_MODEL, note)


def _made(source: str, platform: Platform) -> str:
    return f"{source} --devices {DEVICES}, jointly for the least time of exchanges, -b cycle {platform.command(OTHER)}"


def _sign(claim: str, strategy: str, where: str, theirs: str | None, ours: float | None, note: str) -> FigureRow:
    """A row of which the authors give the sign alone."""
    same = None if theirs is None else ours is not None and (ours < 1 if theirs == BELOW else ours > 1)
    return FigureRow(claim, MEAN, strategy, where, theirs, ours, "x", None, same, note)


def mean_of(values: Sequence[float | None]) -> float | None:
    """The geometric mean of those that are known, if these are more than half of them."""
    known = [value for value in values if value is not None]
    return mean(known) if len(known) > len(values) / 2 else None
