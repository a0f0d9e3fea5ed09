"""The gain of each class over the machine's dataflow alone, a bar each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from npuc.compiler.core.drawing.figure import WIDTH, Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, ORANGE, QUIET
from npuc.compiler.explore.flexibility.result import Flexibility


class _Class(msgspec.Struct, rename={"name": "class"}):
    name: str
    gain: Annotated[float, msgspec.Meta(gt=0, le=1e150)] | None


class _Best(msgspec.Struct):
    own: bool


class _Contraction(msgspec.Struct):
    best: tuple[_Best, ...]


class _Gains(msgspec.Struct):
    """What a picture shows of the file of a result."""

    network: str
    hardware: str
    dataflow: str
    objective: str
    own: _Class
    classes: Annotated[tuple[_Class, ...], msgspec.Meta(min_length=1)]
    contractions: tuple[_Contraction, ...]


def draw(result: Flexibility, kind: str) -> bytes:
    """The picture of a result as a file of a kind (`svg`, `png`, `pdf`)."""
    return draw_file(result.to_json().encode(), kind)


def draw_file(data: bytes, kind: str) -> bytes:
    """The same of a result that was written as JSON. Raises `msgspec.MsgspecError` for what is none."""
    result = msgspec.json.decode(data, type=_Gains)
    # The machine's own choices are a bar of their own where they are none of the classes.
    apart = any(len(one.best) > len(result.classes) for one in result.contractions)
    shown = [*((one, not apart and one.name == result.own.name) for one in result.classes)]
    shown += [(result.own, True)] if apart else []
    names = [one.name + ("\nmachine" if own else "") for one, own in shown]
    gains = [one.gain or 0.0 for one, _ in shown]

    def fill(figure: Figure) -> None:
        marked = [own for _, own in shown]
        draw_gains(figure, names, gains, marked, f"gain in {result.objective} over the dataflow alone")

    title = f"Flexibility on all axes gains {_told(result.classes[-1])} for {result.network}"
    about = f"{result.hardware}, dataflow {result.dataflow}: class {result.own.name} gains {_told(result.own)}"
    return picture(kind, (WIDTH, 4.2), fill, title=title, about=about)


def _told(one: _Class) -> str:
    return "nothing" if one.gain is None else f"{one.gain:.3g}"


def draw_gains(figure: Figure, names: Sequence[str], gains: Sequence[float], marked: Sequence[bool], what: str) -> None:
    """A bar a class, some of them marked; a class without a gain, 0, has no mappings."""
    axes = figure.subplots()
    axes.bar(range(len(gains)), gains, color=[ORANGE if one else BLUE for one in marked], width=0.72)
    for at, gain in enumerate(gains):
        axes.annotate(f"{gain:.3g}" if gain else "-", (at, gain), ha="center", va="bottom", fontsize=8)
    axes.axhline(1.0, color=QUIET, linewidth=1.0, linestyle=(0, (1, 1.5)))
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    axes.set_xlabel("class: tile sizes, loop order, parallel dimensions, shape of the array (1: free)")
    axes.set_ylabel(what)
