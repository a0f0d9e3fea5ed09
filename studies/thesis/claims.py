"""The study's claims beside our numbers, and the same measures of other networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from npuc.studies.thesis.measures import (
    RIDGE,
    balancing_gb_per_s,
    bound_of,
    largest_tensor,
    share_above_ridge,
    share_of_other_layers,
    smallest_map,
    speedup,
    time_reduction,
    traffic_reduction,
)
from npuc.studies.thesis.networks import ThesisNetwork
from npuc.studies.thesis.observations import OBSERVATIONS
from npuc.studies.thesis.scores import Scores
from npuc.studies.thesis.settings import CAPACITIES, FASTER_TFLOPS, HARDWARE, TFLOPS, Claim, Value, claims

Networks = Mapping[str, ThesisNetwork]
"""The study's networks by name."""


@dataclass(frozen=True)
class ClaimRow:
    """
    A claim: the study's value and ours, in `unit`, and whether ours is within the tolerance.

    Without a published value it is an observation in words, or a measure of a network outside the study; `reproduced`
    is None where the study's finding is not known.
    """

    id: str | None
    claim: str
    setting: str
    published: Value | None
    ours: Value | None
    tolerance: float | None
    reproduced: bool | None
    note: str
    unit: str


@dataclass(frozen=True)
class Measure:
    """A measure of a network: its title, its unit, and the function that computes it."""

    title: str
    unit: str
    value: Callable[[Scores, ThesisNetwork], float | None]


MEASURES = (
    Measure("execution time reduction, 24 -> 500 MB", "%", lambda s, n: time_reduction(s, n, 500)),
    Measure("off-chip traffic reduction, 24 -> 500 MB", "%", lambda s, n: traffic_reduction(s, n, 500)),
    Measure("share of execution time in type-II layers at 24 MB", "%", share_of_other_layers),
    Measure("speedup from throughput 13.45 -> 23.04 TFLOPS at 24 MB, bandwidth fixed", "%", speedup),
    Measure("largest single tensor", "MB", largest_tensor),
    Measure("type-I steps with a reuse frequency above the ridge", "%", lambda s, n: 100 * share_above_ridge(s, n)),
)
"""The measures of networks that the study does not have."""


def measure_rows(scores: Scores, networks: Sequence[ThesisNetwork], preset: str) -> Iterator[ClaimRow]:
    """The measures of networks, one network after another."""
    for network in networks:
        for measure in MEASURES:
            ours = measure.value(scores, network)
            setting, note = setting_of(network, preset), _missing(scores, network) if ours is None else ""
            yield ClaimRow(None, measure.title, setting, None, ours, None, None, note, measure.unit)


def claim_rows(scores: Scores, networks: Networks, preset: str) -> Iterator[ClaimRow]:
    """The claims in the study's order."""
    for claim in claims():
        network = None if claim.network is None else networks[claim.network]
        ours, note = _ours(claim, scores, networks)
        if ours is None and network is not None:
            note = _missing(scores, network)
        where = f"{'' if network is None else f'{setting_of(network, preset)}; '}section {claim.section}"
        within = reproduced(claim, ours)
        text = f"{claim.id} {claim.claim}"
        yield ClaimRow(claim.id, text, where, claim.published, ours, claim.tolerance, within, note, claim.unit)


def setting_of(network: ThesisNetwork, preset: str) -> str:
    """A network, the machine, and the conventions."""
    return f"{network.command} on {HARDWARE}, preset {preset}"


def reproduced(claim: Claim, ours: Value | None) -> bool | None:
    """Whether our value fulfils a claim, by its kind and tolerance; None where there is nothing to compare."""
    published = claim.published
    if published is None:
        holds = OBSERVATIONS[claim.id].holds
        return None if holds is None else ours is not None and holds(ours)
    if ours is None:
        return False
    if isinstance(published, Mapping) or isinstance(ours, Mapping):
        return published == ours
    match claim.kind:
        case "upper_limit":
            return ours < published
        case "order_of_magnitude":
            return ours > 0 and round(math.log10(ours)) == round(math.log10(published))
        case _:
            return round(ours) == published if claim.tolerance is None else abs(ours - published) <= claim.tolerance


def _ours(claim: Claim, scores: Scores, networks: Networks) -> tuple[Value | None, str]:
    """Our value of a claim, and a note on it."""
    if claim.id in OBSERVATIONS:
        found = OBSERVATIONS[claim.id]
        return found.value(scores, networks), found.note
    one = networks.get(claim.network or "")
    if one is None:
        return _of_all(claim, scores, networks)
    match claim.id:
        case "P01" | "P08" | "P15" | "P16":
            return time_reduction(scores, one, 500), ""
        case "P02":
            return traffic_reduction(scores, one, 500), ""
        case "P03":
            return traffic_reduction(scores, one, 296), "'around 70%' in the text"
        case "P04":
            return share_of_other_layers(scores, one), "ours has pooling and softmax as well"
        case "P17":
            return share_of_other_layers(scores, one), "as P04"
        case "P19":
            return traffic_reduction(scores, one, 442), "'70%' by adjacent-layer and block reuse; ours is all reuse"
        case "P05" | "P10" | "P18" | "P20":
            return speedup(scores, one), "ours is to be below" if claim.kind == "upper_limit" else ""
        case "P06":
            return largest_tensor(scores, one), ""
        case "P07":
            return traffic_reduction(scores, one, 128), ""
        case "P11":
            return balancing_gb_per_s(scores, one, "train.relu"), "the forward of ReLU; the same power of ten"
        case "P14":
            return smallest_map(scores, one), "the smallest output of a convolution; no tolerance is stated"
        case _:
            raise AssertionError(claim.id)


def _of_all(claim: Claim, scores: Scores, networks: Networks) -> tuple[Value, str]:
    """As `_ours`, for claims that are not about one network."""
    match claim.id:
        case "P09":
            return FASTER_TFLOPS / TFLOPS, f"{FASTER_TFLOPS:g} / {TFLOPS:g} TFLOPS"
        case "P12":
            return _classes(claim, scores, networks)
        case "P13":
            return len(CAPACITIES), "the capacities of the figures"
        case _:
            raise AssertionError(claim.id)


def _classes(claim: Claim, scores: Scores, networks: Networks) -> tuple[Value, str]:
    """The networks by class, under the names and in the order of the claim."""
    assert isinstance(claim.published, Mapping)
    own = {name.replace("_", ""): network for name, network in networks.items()}
    groups = [group for group in claim.published.values() if not isinstance(group, float | int)]
    names = [name for group in groups for name in group if isinstance(name, str)]
    shares = {name: share_above_ridge(scores, own[name.replace("_", "")]) for name in names}
    found = {kind: [name for name in names if bound_of(shares[name]) == kind] for kind in claim.published}
    text = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
    return found, f"compute where most type-I steps have rf > ridge ({RIDGE:.1f} ops/byte); their share: {text}"


def _missing(scores: Scores, network: ThesisNetwork) -> str:
    """The reason why a network has no measure."""
    errors = [error for point, error in scores.failures.items() if point.network == network]
    return errors[0].message if errors else ""
