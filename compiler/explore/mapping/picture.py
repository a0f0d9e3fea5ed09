"""The best cost over the number of mappings tried, a line per contraction, relative to the default mapping."""

from __future__ import annotations

from math import isclose
from typing import Annotated, TypeAlias

import msgspec

from npuc.compiler.core.drawing.axes import legend_beside
from npuc.compiler.core.drawing.figure import WIDTH, Figure, picture
from npuc.compiler.core.drawing.palette import PHASE_NAMES, QUIET, SERIES, series_colour, series_dashes
from npuc.compiler.explore.mapping.best import Objective
from npuc.compiler.explore.mapping.result import SearchResult, to_json

Amount: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e150)]
Curve: TypeAlias = tuple[list[int], list[float]]
"""Numbers of mappings tried, and the best cost after them."""
THIN, MORE = 1.2, 2.0
"""The width of a line, and the increment for each that is drawn over it, up to three."""


class _Cost(msgspec.Struct):
    cycles: Amount
    energy_mac_units: Amount

    def of(self, objective: str) -> float:
        """The value of an objective."""
        return {"time": self.cycles, "energy": self.energy_mac_units}.get(
            objective, self.cycles * self.energy_mac_units
        )


class _Row(msgspec.Struct):
    layer: str
    phase: str
    contraction: Annotated[int, msgspec.Meta(ge=0)]


class _Searched(msgspec.Struct):
    default: _Cost | None
    evaluations: Annotated[int, msgspec.Meta(ge=1)]
    curve: Annotated[tuple[tuple[int, Amount], ...], msgspec.Meta(min_length=1)]


class _Search(msgspec.Struct):
    """What a picture shows of the file of a search."""

    network: str
    hardware: str
    objective: Objective
    mapper: str
    rows: tuple[_Row, ...]
    contractions: tuple[_Searched, ...]


def draw(result: SearchResult, kind: str) -> bytes:
    """The picture of a search as a file of a kind (`svg`, `png`, `pdf`)."""
    return draw_file(to_json(result, "").encode(), kind)


def draw_file(data: bytes, kind: str) -> bytes:
    """The same of a search that was written as JSON. Raises `msgspec.MsgspecError` for what is none."""
    result = msgspec.json.decode(data, type=_Search)

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        names = {
            row.contraction: f"{row.layer} {PHASE_NAMES.get(row.phase, row.phase)}" for row in reversed(result.rows)
        }
        curves = [_steps(result, found) for found in result.contractions]
        for number, (counts, costs) in enumerate(curves):
            covers = sum(_is_over((counts, costs), other) for other in curves[number + 1 :])
            style: dict[str, object] = {"color": series_colour(number), "linestyle": series_dashes(number)}
            width = THIN + MORE * min(3, covers)
            axes.step(counts, costs, where="post", linewidth=width, label=names.get(number), **style)
        axes.axhline(1.0, color=QUIET, linewidth=1.0, linestyle=(0, (1, 1.5)))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("mappings tried")
        axes.set_ylabel(f"best {result.objective} so far, over the default mapping's")
        if len(result.contractions) <= len(SERIES):
            legend_beside(axes)

    gains = [_steps(result, found)[1][-1] for found in result.contractions]
    best = f": the best contraction takes {min(gains):.2g} of its default mapping's" if gains else ""
    title = f"What a search of mappings gains for {result.network}{best}"
    about = f"{result.hardware}, {result.mapper} search, objective {result.objective}"
    return picture(kind, (WIDTH, 4.6), fill, title=title, about=about)


def _is_over(one: Curve, other: Curve) -> bool:
    """Whether two curves are one to the eye."""
    return one[0] == other[0] and all(isclose(a, b, rel_tol=0.03) for a, b in zip(one[1], other[1], strict=True))


def _steps(result: _Search, found: _Searched) -> Curve:
    """The points where a curve falls, and its end, relative to the first cost where there is no default cost."""
    default = found.default
    unit = found.curve[0][1] if default is None else default.of(result.objective)
    counts = [count for count, _ in found.curve] + [found.evaluations]
    costs = [cost / unit for _, cost in found.curve]
    return counts, [*costs, costs[-1]]
