"""The shortest step for any price of a network, or any total where it has none, and the splits of one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, TypeAlias

import msgspec

from npuc.compiler.core.drawing.figure import WIDTH, Figure, picture
from npuc.compiler.core.drawing.palette import GREEN, RIM, SERIES
from npuc.compiler.explore.network.result import NetworkResult, to_json
from npuc.compiler.report.text.quantities import time_text

Amount: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e150)]
Rate: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e150)]


class _Place(msgspec.Struct):
    """A split or a shape: its bandwidths, its price where that is known, and its time."""

    seconds: Amount
    gb_per_s: Annotated[tuple[Rate, ...], msgspec.Meta(min_length=1)]
    usd: Rate | None = None


class _Split(_Place, kw_only=True):
    split: str


class _Point(msgspec.Struct):
    seconds: Amount
    usd: Amount | None = None
    total_gb_per_s: Amount | None = None


class _Network(msgspec.Struct):
    """What a picture shows of the file of a network."""

    network: str
    hardware: str
    mesh: Annotated[tuple[Annotated[int, msgspec.Meta(ge=1)], ...], msgspec.Meta(min_length=1)]
    splits: Annotated[tuple[_Split, ...], msgspec.Meta(min_length=1, max_length=len(SERIES))]
    shapes: tuple[_Place, ...]
    curve: Annotated[tuple[_Point, ...], msgspec.Meta(min_length=1)]


def draw(result: NetworkResult, kind: str) -> bytes:
    """The picture of a result with its curve, as a file of a kind (`svg`, `png`, `pdf`)."""
    return draw_file(to_json(result, "").encode(), kind)


def draw_file(data: bytes, kind: str) -> bytes:
    """The same of a result that was written as JSON. Raises `msgspec.MsgspecError` for what is none."""
    result = msgspec.json.decode(data, type=_Network)
    priced = result.curve[0].usd is not None
    places = [_amount(one, priced=priced) for one in (*result.splits, *result.shapes, *result.curve)]
    if min(places) <= 0:
        raise msgspec.ValidationError("a network has no bandwidth, or no price that others have")
    best = next((one for one in result.splits if one.split == "best"), None)
    if best is None:
        raise msgspec.ValidationError("it has no best split")
    return picture(
        kind,
        (WIDTH, 4.4),
        lambda figure: _fill(figure, result, priced=priced),
        title=f"A step of {result.network} takes {time_text(best.seconds)} with the best bandwidths",
        about=f"{result.hardware}, {prod(result.mesh):,} devices; the line is the shortest step of any split",
    )


def _amount(one: _Place | _Point, *, priced: bool) -> float:
    """Where something stands: its price, or where the curve has none its total; 0 for what lacks that."""
    if priced:
        return one.usd or 0.0
    return one.total_gb_per_s or 0.0 if isinstance(one, _Point) else sum(one.gb_per_s)


def _fill(figure: Figure, result: _Network, *, priced: bool) -> None:
    axes = figure.subplots()
    unit, name = _unit(result) if priced else (1.0, "GB/s of a device")

    def along(some: Sequence[_Place | _Point]) -> tuple[list[float], list[float]]:
        return [_amount(one, priced=priced) / unit for one in some], [one.seconds * 1e3 for one in some]

    axes.plot(*along(result.curve), color=GREEN, label="any split")
    # the best shape may be the best split
    if result.shapes:
        axes.plot(*along(result.shapes), "x", color=RIM, label="shapes")
    for number, one in enumerate(result.splits):
        axes.plot(*along([one]), "o", color=SERIES[number], label=one.split)
    axes.set_xscale("log")
    axes.set_xlabel(name)
    axes.set_ylabel("step, ms")
    axes.legend()


def _unit(result: _Network) -> tuple[float, str]:
    """The unit of prices, in which those of the curve are few digits."""
    middle = sorted(one.usd or 0.0 for one in result.curve)[len(result.curve) // 2]
    unit, word = next(((unit, word) for unit, word in UNITS if middle >= unit), (1.0, ""))
    return unit, f"network, {word}USD"


UNITS = ((1e9, "billion "), (1e6, "million "), (1e3, "thousand "))
"""Units of prices, the largest first."""
