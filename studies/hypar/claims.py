"""The paper's numbers beside ours: one row per network, strategy and figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log
from typing import TypeAlias

from npuc.compiler.core.options import Convention, Strategy
from npuc.studies.hypar.networks import HyparNetwork
from npuc.studies.hypar.platform import Platform
from npuc.studies.hypar.results import NetworkResult, Quantity, gain, needed_seconds, peak_seconds
from npuc.studies.hypar.settings import (
    BASE,
    DEVICES,
    MEAN,
    NOTHING,
    OURS,
    STUDIED_STRATEGIES,
    over_owt,
    published,
)

Value: TypeAlias = float | str | tuple[str, ...]
"""A number, a sign in words, or a word of letters for each level."""
Results: TypeAlias = Mapping[str, Mapping[Strategy, NetworkResult]]
"""By network and strategy."""
WITHIN_READING = 0.005
"""The relative tolerance of the communication figure, whose labels have three digits."""
WITHIN_MODEL = 0.1
"""The relative tolerance of ratios of times or energies, as the paper's model is not known."""
VARIANT = "variant"
"""How claims begin that repeat others under another reading of the paper."""
BARS_OF_MP = "what the paper counts in its bars of mp is not said"
TITLES: Mapping[Quantity, str] = {"performance": "performance", "energy": "energy efficiency"}


ROUNDING = 1e-9
"""The relative tolerance between two computations of one number."""


@dataclass(frozen=True)
class FigureRow:
    """
    A number of the paper and ours, in `unit`, and whether ours is within the tolerance, in the same unit.

    `setting` is the configuration to compile for it. `published` and `reproduced` are None where no number of the paper
    is known, `ours` where there is no program to score.
    """

    claim: str
    network: str
    strategy: str
    setting: str
    published: Value | None
    ours: Value | None
    unit: str
    tolerance: float | None
    reproduced: bool | None
    note: str


def claim_rows(
    networks: Sequence[HyparNetwork], results: Results, convention: Convention, platform: Platform, *, means: bool
) -> Iterator[FigureRow]:
    """All rows, figure by figure; `means` over the networks where these are the paper's."""
    for network in networks:
        for strategy in STUDIED_STRATEGIES:
            yield _choices(network, strategy, results[network.name][strategy], convention)
    for network in networks:
        for strategy in STUDIED_STRATEGIES:
            yield _moved(network, strategy, results[network.name][strategy], convention)
    if means:
        yield from _moved_means(results, convention)
    quantities: tuple[Quantity, ...] = ("performance", "energy")
    for quantity in quantities:
        for network in networks:
            for strategy in STUDIED_STRATEGIES:
                if strategy != BASE:
                    yield _gain(network, strategy, results[network.name], quantity, convention, platform)
        if means:
            yield from _gain_means(results, quantity, convention, platform)


def _choices(network: HyparNetwork, strategy: Strategy, result: NetworkResult, convention: Convention) -> FigureRow:
    theirs = published().get(network.name, NOTHING).choices if strategy == OURS else None
    where = setting(network.source, strategy, convention)
    same = None if theirs is None else theirs == result.choices
    note = "" if same is not False else f"the convention {convention} prices boundaries in another way"
    return FigureRow("choices, H1 to H4", network.name, strategy, where, theirs, result.choices, "", None, same, note)


def _moved(network: HyparNetwork, strategy: Strategy, result: NetworkResult, convention: Convention) -> FigureRow:
    theirs = published().get(network.name, NOTHING).communication_gb.get(strategy)
    others = ", ".join(f"{name} {gb:.4g}" for name, gb in result.others.items())
    note = f"by other conventions {others}"
    if theirs is not None and strategy == "mp":
        note += f"; {BARS_OF_MP}"
    return figure_row(
        "communication of a step", network.name, strategy, setting(network.source, strategy, convention),
        theirs, result.gb, "GB", WITHIN_READING, note,
    )  # fmt: skip


def _moved_means(results: Results, convention: Convention) -> Iterator[FigureRow]:
    for strategy in STUDIED_STRATEGIES:
        ours = mean([own[strategy].gb for own in results.values()])
        theirs = published()[MEAN].communication_gb.get(strategy)
        note = BARS_OF_MP if strategy == "mp" else ""
        where = setting("the ten networks", strategy, convention)
        yield figure_row("communication of a step", MEAN, strategy, where, theirs, ours, "GB", WITHIN_READING, note)


def _gain(
    network: HyparNetwork,
    strategy: Strategy,
    own: Mapping[Strategy, NetworkResult],
    quantity: Quantity,
    convention: Convention,
    platform: Platform,
) -> FigureRow:
    """The gain of a strategy over dp."""
    entry = published().get(network.name, NOTHING)
    theirs = (entry.performance if quantity == "performance" else entry.energy).get(strategy)
    ours = gain(own[BASE], own[strategy], quantity)
    note = own[strategy].step.refusal and f"no program: {own[strategy].step.refusal}"
    if not note and theirs is not None and ours is not None and not near(ours, theirs, WITHIN_MODEL):
        note = _why(own[BASE], own[strategy], theirs, quantity, platform)
    moved = own[strategy].step.gb
    if moved is not None and not near(moved, own[strategy].gb, ROUNDING):
        note += f"{'; ' if note else ''}of a plan with divisible cuts, which moves {moved:.4g} GB"
    where = f"{setting(network.source, strategy, convention)} -b cycle {platform.command()}"
    return figure_row(
        f"{TITLES[quantity]} over {BASE}", network.name, strategy, where, theirs, ours, "x", WITHIN_MODEL, note
    )


def _why(base: NetworkResult, other: NetworkResult, theirs: float, quantity: Quantity, platform: Platform) -> str:
    """The assumption under which our model would give the paper's number."""
    if quantity == "energy":
        return "the paper's energies of its unit and its links are not known"
    work = needed_seconds(base, other, theirs)
    if work is None:
        return "no time of work gives this beside our communication: the paper's links or its collectives differ"
    needed = f"it takes work of {work:.3g} s beside our communication"
    if platform.peak_flops is None:
        return needed
    peak, rate = peak_seconds(base.step, platform.peak_flops), platform.peak_flops / 1e9
    return f"{needed}; at the stated {rate:.0f} GOPS it is {peak:.3g} s"


def _gain_means(
    results: Results, quantity: Quantity, convention: Convention, platform: Platform
) -> Iterator[FigureRow]:
    """Means over the networks; the last row is HyPar's over owt's."""
    entry = published()[MEAN]
    known = entry.performance if quantity == "performance" else entry.energy
    for strategy in STUDIED_STRATEGIES:
        if strategy != BASE:
            yield _gain_mean(results, (BASE, strategy), quantity, known.get(strategy), convention, platform)
    yield _gain_mean(results, ("owt", OURS), quantity, over_owt()[quantity], convention, platform)


def _gain_mean(
    results: Results,
    pair: tuple[Strategy, Strategy],
    quantity: Quantity,
    theirs: float | None,
    convention: Convention,
    platform: Platform,
) -> FigureRow:
    """The mean over the networks that have programs, if these are more than half of them."""
    base, strategy = pair
    found = [gain(own[base], own[strategy], quantity) for own in results.values()]
    there = [value for value in found if value is not None]
    ours = mean(there) if len(there) > len(found) / 2 else None
    note = f"{len(there)} of {len(found)} networks have a program" if len(there) < len(found) else ""
    if ours is not None and theirs is not None and not near(ours, theirs, WITHIN_MODEL):
        note += f"{'; ' if note else ''}as of the networks"
    where = f"{setting('the ten networks', strategy, convention)} -b cycle {platform.command()}"
    return figure_row(f"{TITLES[quantity]} over {base}", MEAN, strategy, where, theirs, ours, "x", WITHIN_MODEL, note)


def figure_row(
    claim: str, network: str, strategy: str, where: str, theirs: float | None, ours: float | None, unit: str,
    within: float | None, note: str,
) -> FigureRow:  # fmt: skip
    """A row of numbers; `within` is relative to the paper's."""
    tolerance = None if theirs is None or within is None else within * theirs
    same = None if theirs is None or within is None else ours is not None and near(ours, theirs, within)
    return FigureRow(claim, network, strategy, where, theirs, ours, unit, tolerance, same, note)


def near(ours: float, theirs: float, within: float) -> bool:
    """Whether ours is within a tolerance relative to theirs."""
    return abs(ours - theirs) <= within * theirs


def setting(source: str, strategy: Strategy, convention: Convention) -> str:
    """The configuration to compile."""
    return f"{source} --devices {DEVICES} --parallel {strategy} --convention {convention}"


def mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(fsum(map(log, values)) / len(values))
