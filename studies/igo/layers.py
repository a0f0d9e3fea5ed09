"""
The layers of the study, each of a size costed once in a setting, in several processes if asked for.

A layer is a point of the study: the networks of a setting share those of equal size. With its steps come the baselines
that split the gain, where the study has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.explore.workers import answers
from npuc.studies.igo.explicit import ExplicitCosts
from npuc.studies.igo.lru import PAPER, LruCosts
from npuc.studies.igo.networks import Product
from npuc.studies.igo.products import Size
from npuc.studies.igo.rivals import rival_times
from npuc.studies.igo.settings import LARGE, SMALL, Setting
from npuc.studies.igo.times import LayerCosts, LayerSteps, layer_steps

Request = TypeVar("Request")
Answer = TypeVar("Answer")
PRESETS: Mapping[str, Callable[[Machine], LayerCosts]] = {
    "lru": LruCosts,
    "paper": partial(LruCosts, assumptions=PAPER),
    "explicit": ExplicitCosts,
}
"""The assumptions that the study may rest on, by name."""
SPLIT = (LARGE, SMALL)
"""The settings in which baselines split the gain."""


class LayerPoint(NamedTuple):
    """A layer of the study: its size, and whether it has dX, in a setting."""

    setting: Setting
    size: Size
    has_dx: bool


@dataclass(frozen=True)
class CostedLayer:
    """The cost of each step, and the cycles of each baseline; none in settings without."""

    steps: LayerSteps
    rivals: Mapping[str, Fraction]


def points_of(setting: Setting, products: Iterable[Product]) -> Iterator[tuple[int, LayerPoint]]:
    """The layers of a network in a setting, and how often each occurs."""
    for product in products:
        size = Size(int(product.m * setting.scale), product.n, product.k)
        yield product.count, LayerPoint(setting, size, product.has_dx)


def cost_layers(
    preset: str, points: Iterable[LayerPoint], jobs: int, done: Callable[[str, int], None]
) -> dict[LayerPoint, CostedLayer]:
    """The cost of each layer under a preset, by `jobs` processes; `done` is called for each."""
    distinct = list(dict.fromkeys(points))
    found: dict[LayerPoint, CostedLayer] = {}
    for point, cost in zip(distinct, in_processes(distinct, partial(cost_layer, preset), jobs), strict=True):
        found[point] = cost
        done(point.setting.title, 1)
    return found


def cost_layer(preset: str, point: LayerPoint) -> CostedLayer:
    """The cost of a layer under a preset."""
    machine = _machine(point.setting)
    steps = layer_steps(PRESETS[preset](machine), point.size, point.has_dx)
    return CostedLayer(steps, rival_times(point.size, point.has_dx, machine) if point.setting in SPLIT else {})


def in_processes(requests: Sequence[Request], answer: Callable[[Request], Answer], jobs: int) -> Iterator[Answer]:
    """The answers to requests, in order; with one job, or one request, by this process."""
    return map(answer, requests) if min(jobs, len(requests)) < 2 else answers(requests, answer, jobs)


@lru_cache(maxsize=64)
def _machine(setting: Setting) -> Machine:
    return setting.machine
