"""How a step is split over devices, as frozen data: the report's `parallel` object."""

from __future__ import annotations

from typing import Literal

from npuc.compiler.report.rows import ByName


class ParallelPair(ByName, frozen=True, kw_only=True):
    """
    A pair of sides that share their work unequally, and how many such pairs a level has.

    `groups` are the first and the last group of devices that it splits, `shares` what the first side does of each layer
    (exact, `"2/3"`), `elements` half of what both sides read of each other. `seconds` are the time of the pair by
    itself, waiting included, `side_seconds` what each side takes of it.
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
    One level of the tree of devices: what each layer does, and the elements one pair reads in one direction.

    `cuts` says of each layer in `mp` along which of its channels it is cut, `input` or `output`, under conventions that
    leave it open; null under the others.

    With heterogeneous devices `pairs` are all different ones, and the rest is that of the first. Where a level splits
    into more than two `parts`, elements are half of what all parts read of each other.
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
    """What a plan was searched for, where that is not movement: seconds of a step (`time`) or bytes kept (`memory`)."""

    objective: Literal["time", "memory"]
    value: float
    lower_bound: float


class Parallel(ByName, frozen=True, kw_only=True, omit_defaults=True):
    """
    How the step is split over devices; `planned` is there for plans of other objectives than movement.

    `training` is false where a forward pass is planned, which has no gradients to move. `seconds` is what the products
    and the movement of a step take on heterogeneous devices.
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
