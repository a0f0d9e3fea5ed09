"""
The roofline study: its claims beside our numbers, what its ideas gain, and the data of its figures.

All numbers come from the backend `roofline` (docs/roofline.md), except the published ones in `published.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.unread import warnings_of
from npuc.studies.base import Advance
from npuc.studies.thesis.claims import ClaimRow, claim_rows, measure_rows
from npuc.studies.thesis.gains import GainRow, gain_points, gain_rows
from npuc.studies.thesis.measures import claimed_points, measured_points
from npuc.studies.thesis.networks import ThesisNetwork, networks_of
from npuc.studies.thesis.observations import reused_points
from npuc.studies.thesis.scores import Point, Scores, score_points
from npuc.studies.thesis.settings import PRESETS, VARIED


@dataclass(frozen=True)
class ThesisResults:
    """
    The rows of a study under a preset, and the scores that they and figures come from.

    `theirs`: the networks are the study's own and the rows its claims; else rows are measures of the networks. `gains`
    say what each idea of the study's cache gains. `overrides` are the keys that were set.
    """

    preset: str
    networks: tuple[ThesisNetwork, ...]
    theirs: bool
    rows: tuple[ClaimRow, ...]
    gains: tuple[GainRow, ...]
    scores: Scores
    overrides: frozenset[str] = frozenset()

    @property
    def warnings(self) -> list[str]:
        """A line for each network that a cache does not hold, so that points are left out, and for each unread key."""
        first: dict[str, str] = {}
        for point, error in self.scores.failures.items():
            first.setdefault(point.network.name, error.message)
        left_out = [f"{name}: points are left out: {message}" for name, message in first.items()]
        unread = {key: why for key, why in self.scores.unread.items() if key in self.overrides}
        return [*left_out, *warnings_of(unread)]


@dataclass(frozen=True)
class ThesisPlan:
    """A study whose options are validated, with the points that it scores."""

    preset: str
    networks: tuple[ThesisNetwork, ...]
    theirs: bool
    keys: Mapping[str, object]
    points: tuple[Point, ...]
    overrides: frozenset[str] = frozenset()


def plan_study(
    preset: str = "thesis",
    sources: Sequence[str] = (),
    defines: Mapping[str, int | str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> ThesisPlan:
    """
    The study's claims under a preset; with `sources` the same measures of those networks, with `defines` set for all.

    `overrides` are keys of the hardware, which win over the preset. Raises `UsageError` for keys that the study varies,
    for `defines` without sources, and as `networks_of`.
    """
    for key in overrides or {}:
        if key in VARIED:
            raise UsageError(f"--set {key}: the study varies this key itself")
    if defines and not sources:
        raise UsageError("-D sets parameters of the networks of --network, and there are none")
    own = PRESETS[preset].own
    networks = networks_of(list(sources), defines or {}, own=own)
    for key in overrides or {}:
        if all(key in dict(network.keys) for network in networks):
            raise UsageError(f"--set {key}: the study sets this key for {', '.join(one.name for one in networks)}")
    keys = {**PRESETS[preset].keys, **(overrides or {})}
    needed = measured_points if sources else claimed_points
    points = [point for network in networks for find in (needed, gain_points) for point in find(network)]
    return ThesisPlan(preset, networks, not sources, keys, tuple(points), frozenset(overrides or {}))


def run_study(
    plan: ThesisPlan, points: Iterable[Point] = (), done: Advance = lambda name, count: None
) -> ThesisResults:
    """
    The study, with `points` of figures scored as well; `done` is called as each network's points are done.

    Raises `NpucError`s for a wrong network.
    """
    reused = reused_points(plan.networks) if plan.theirs else []
    scores = score_points([*plan.points, *points], plan.networks, plan.keys, done, reused)
    if plan.theirs:
        rows = claim_rows(scores, {one.name: one for one in plan.networks}, plan.preset)
    else:
        rows = measure_rows(scores, plan.networks, plan.preset)
    gains = tuple(gain_rows(scores, plan.networks))
    return ThesisResults(plan.preset, plan.networks, plan.theirs, tuple(rows), gains, scores, plan.overrides)
