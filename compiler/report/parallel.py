"""How a step is split over devices, as frozen data: the report's `parallel` object."""

from __future__ import annotations

from typing import Literal

from npuc.compiler.report.rows import ByName


class ParallelPair(ByName, frozen=True, kw_only=True):
    """
    A pair of sides that share their work unequally, and how many such pairs a level has.

    `groups` are the first and the last group of devices that it splits, `shares` the part of each layer that the first
    side computes (exact, `"2/3"`), `elements` half of the elements that both sides read from each other. `seconds` is
    the time of the pair alone, waiting included, `side_seconds` the busy time of each side.
    """

    groups: list[int]
    count: int
    choices: dict[str, str]
    shares: dict[str, str]
    elements: int | str
    seconds: float
    side_seconds: list[float]


class ParallelLevel(ByName, frozen=True, kw_only=True, omit_defaults=True):
    """
    One level of the tree of devices: the type of each layer, and the elements that one pair reads in one direction.

    `cuts` holds for each layer in `mp` the channels along which it is split, `input` or `output`, under conventions
    that leave the choice open; null under the others.

    With heterogeneous devices `pairs` lists all different pairs, and the rest is that of the first. Where a level
    splits into more than two `parts`, elements are half of those that all parts read from each other.
    """

    level: str
    choices: dict[str, str]
    elements: int | str
    cuts: dict[str, str] | None = None
    shares: dict[str, str] | None = None
    pairs: list[ParallelPair] | None = None
    parts: int = 2


class ParallelTotal(ByName, frozen=True):
    """
    Movement of all levels; a number that is not whole is an exact string (`"3/2"`).

    Bytes are those of the tensors' types, both directions; null where tensors differ in width and it is not known which
    of them are moved.
    """

    elements: int | str
    bytes: int | str | None


class PlanCost(ByName, frozen=True, kw_only=True):
    """The cost that a plan minimises, where it is not movement: seconds of a step (`time`) or bytes kept (`memory`)."""

    objective: Literal["time", "memory"]
    value: float
    lower_bound: float


class Parallel(ByName, frozen=True, kw_only=True, omit_defaults=True):
    """
    How the step is split over devices; `planned` is there for plans of other objectives than movement.

    `training` is false where a forward pass is planned, which has no gradients to move. `seconds` is the time of the
    products and the movement of a step on heterogeneous devices.
    """

    strategy: str
    convention: str
    devices: int
    levels: list[ParallelLevel]
    total: ParallelTotal
    lower_bound_elements: int | str | None
    planned: PlanCost | None = None
    seconds: float | None = None
    training: bool = True
