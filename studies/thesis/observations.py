"""The observations that the study words without a number: what we measure of them, and when they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from npuc.studies.thesis.measures import (
    bandwidth_ratio,
    best_batch,
    captured_reuse,
    share_of_other_layers,
    time_ratio,
    traffic_reduction,
)
from npuc.studies.thesis.networks import ThesisNetwork
from npuc.studies.thesis.scores import Point, Scores
from npuc.studies.thesis.settings import BATCH_MIB, BATCHES, CAPACITIES, LEAST, Value

Networks = Mapping[str, ThesisNetwork]
Numbers = dict[str, float]

FLAT = 0.95
"""A network's time is flat where the larger cache takes at least this share of it."""
HIDDEN = 5.0
"""Layers are hidden whose share of the time is below so many per cent."""
BOUND_BY_BANDWIDTH = 1.1
"""The bandwidth matters where the lower one takes at least so many times as long."""
ALMOST_ALL = 95.0
"""Almost all are so many per cent."""
FALLING = "mobilenet_v2"
"""The network whose time and bandwidth the study sets apart from the others."""
MOST = CAPACITIES[-1]
REUSE_MIB = 180
SCOPES = ("adjacent", "block")


@dataclass(frozen=True)
class Observation:
    """
    What we measure of an observation, None where a network does not fit, whether that is what the study says, and a
    note on how that is decided. Without `holds` the study's answer is not known.
    """

    value: Callable[[Scores, Networks], Value | None]
    note: str
    holds: Callable[[Value], bool] | None = None


def reused_points(networks: Iterable[ThesisNetwork]) -> list[Point]:
    """The points whose captured reuse is needed."""
    return [Point(one, REUSE_MIB) for one in networks if one.name == "transformer"]


def _complete(found: Mapping[str, float | None]) -> Numbers | None:
    """The numbers by name; None if one is missing."""
    known = {name: value for name, value in found.items() if value is not None}
    return known if len(known) == len(found) else None


def _pairs(found: Mapping[str, tuple[float | None, float | None]]) -> dict[str, tuple[float, float]] | None:
    """As `_complete`, for two numbers each."""
    known = {name: (a, b) for name, (a, b) in found.items() if a is not None and b is not None}
    return known if len(known) == len(found) else None


def _flat(scores: Scores, networks: Networks) -> Numbers | None:
    return _complete({name: time_ratio(scores, one, 400, MOST) for name, one in networks.items()})


def _hidden(scores: Scores, networks: Networks) -> Numbers | None:
    names = ("resnet50", "transformer")
    return _complete({name: share_of_other_layers(scores, networks[name], 400) for name in names})


def _effects(scores: Scores, networks: Networks) -> Value | None:
    effects = {
        name: (bandwidth_ratio(scores, one, LEAST), bandwidth_ratio(scores, one, MOST))
        for name, one in networks.items()
    }
    return _pairs(effects)


def _effects_at_most(scores: Scores, networks: Networks) -> Numbers | None:
    return _complete({name: bandwidth_ratio(scores, one, MOST) for name, one in networks.items()})


def _captured(scores: Scores, networks: Networks) -> Numbers | None:
    one = networks["transformer"]
    reuse = captured_reuse(scores, one, REUSE_MIB, SCOPES)
    return _complete({"traffic reduction": traffic_reduction(scores, one, REUSE_MIB), "captured": reuse})


def _batches(scores: Scores, networks: Networks) -> Value | None:
    found = {name: tuple(best_batch(scores, one, mib) for mib in BATCH_MIB) for name, one in networks.items()}
    return _pairs({name: (least, most) for name, (least, most) in found.items()})


def _numbers(value: Value) -> Numbers:
    assert isinstance(value, Mapping)
    return {name: number for name, number in value.items() if isinstance(number, float | int)}


def _falls_alone(value: Value) -> bool:
    return all((ratio < FLAT) is (name == FALLING) for name, ratio in _numbers(value).items())


def _shrinks(value: Value) -> bool:
    assert isinstance(value, Mapping)
    pairs = [pair for pair in value.values() if isinstance(pair, tuple)]
    return all(float(least) > float(most) for least, most in pairs)


OBSERVATIONS: Mapping[str, Observation] = {
    "P21": Observation(_flat, f"flat from {FLAT:g}; {FALLING} alone is to be below", _falls_alone),
    "P22": Observation(
        _hidden, f"hidden below {HIDDEN:g} %", lambda value: all(share < HIDDEN for share in _numbers(value).values())
    ),
    "P23": Observation(_effects, f"at {LEAST} and at {MOST} MB; each is to shrink", _shrinks),
    "P24": Observation(
        _effects_at_most,
        f"at {MOST} MB; bandwidth matters from {BOUND_BY_BANDWIDTH:g}, to {FALLING} alone",
        lambda value: all((r >= BOUND_BY_BANDWIDTH) is (name == FALLING) for name, r in _numbers(value).items()),
    ),
    "P25": Observation(
        _captured,
        f"captured: of the bytes that adjacent-layer and block reuse save; almost all from {ALMOST_ALL:g} %",
        lambda value: _numbers(value)["captured"] >= ALMOST_ALL,
    ),
    "P26": Observation(
        _batches,
        f"at {BATCH_MIB[0]} and at {BATCH_MIB[1]} MB, of {BATCHES[0]} to {BATCHES[-1]}; the study has a figure alone",
    ),
}
"""By the claim's id."""
