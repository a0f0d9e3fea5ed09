"""The machines of a search, by area and time, or the best value over the mappings that were evaluated."""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from typing import Annotated, Literal, TypeAlias

import msgspec

from npuc.compiler.core.drawing.figure import WIDTH, Axes, Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, ORANGE, QUIET, RIM, SERIES, SKY, series_colour
from npuc.compiler.explore.design.classes import rank
from npuc.compiler.explore.design.result import DesignResult, to_json
from npuc.compiler.explore.flexibility.picture import draw_gains

Amount: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e150)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]


class _Design(msgspec.Struct, rename={"flexible": "class"}):
    clusters: Annotated[tuple[Count, ...], msgspec.Meta(min_length=1)]
    num_pes: Count
    area_mm2: Amount
    cycles: Amount
    energy_mac_units: Amount
    l1_bytes: Annotated[int, msgspec.Meta(ge=0)] = 0
    spm_kib: Annotated[float, msgspec.Meta(ge=0, le=1e150)] = 0.0
    flexible: str = "1110"
    area_by_part_mm2: dict[str, Amount] = {}


class _Search(msgspec.Struct):
    """What a picture shows of the file of a search."""

    network: str
    hardware: str
    goals: Annotated[tuple[Literal["time", "energy", "edp", "area"], ...], msgspec.Meta(min_length=1)]
    area_model: str
    area_mm2: Amount
    evaluations: Count
    bound_cycles: Amount
    designs: tuple[_Design, ...]
    curve: tuple[tuple[int, Amount], ...]
    classes: tuple[str, ...] = ("1110",)


PART_COLOURS = {"elements": BLUE, "elements' buffers": SKY, "shared buffer": ORANGE}
VALUES: dict[str, tuple[str, Callable[[_Design], float]]] = {
    "time": ("cycles of a step", lambda one: one.cycles),
    "energy": ("energy of a step, MACs' worth", lambda one: one.energy_mac_units),
    "edp": ("energy x delay, MACs x cycles", lambda one: one.energy_mac_units * one.cycles),
    "area": ("area, mm2", lambda one: one.area_mm2),
}


def draw(result: DesignResult, kind: str) -> bytes:
    """
    The picture as a file of a kind (`svg`, `png`, `pdf`): a front of two goals, what classes gain, or the course of the
    search.
    """
    return draw_file(to_json(result, "").encode(), kind)


def draw_file(data: bytes, kind: str) -> bytes:
    """The same of a search that was written as JSON. Raises `msgspec.MsgspecError` for what is none."""
    result = msgspec.json.decode(data, type=_Search)
    goals = result.goals
    if not (result.curve if len(goals) == 1 and len(result.classes) == 1 else result.designs):
        raise msgspec.ValidationError("it has found nothing")
    about = f"{result.hardware}, area model {result.area_model}, {result.area_mm2:g} mm2"
    if len(result.classes) > 1:
        return picture(
            kind,
            (WIDTH, 4.2),
            lambda figure: _gains(result, figure),
            title=f"The best machine for {result.network} in each class of flexibility",
            about=about,
        )
    if len(goals) == 1:
        return picture(
            kind,
            (WIDTH, 4.0),
            lambda figure: _course_and_machine(result, figure),
            title=f"The search for a machine for {result.network}",
            about=about,
        )
    both = "area" in goals and all(one.area_by_part_mm2 for one in result.designs)
    return picture(
        kind,
        (WIDTH, 7.4 if both else 4.6),
        lambda figure: _front_and_areas(result, figure) if both else _front(result, figure.subplots()),
        title=f"Machines for {result.network} that no other one beats",
        about=about,
    )


def _gains(result: _Search, figure: Figure) -> None:
    """What the machine of each class gains over that of the least flexible one."""
    goal, designs = result.goals[0], sorted(result.designs, key=lambda one: rank(one.flexible))
    values = [VALUES[goal][1](one) for one in designs]
    names = [one.flexible + ("\nbest" if one is result.designs[0] else "") for one in designs]
    gains, marked = [values[0] / value for value in values], [one is result.designs[0] for one in designs]
    draw_gains(figure, names, gains, marked, f"gain in {goal} over {designs[0].flexible}")


def _course_and_machine(result: _Search, figure: Figure) -> None:
    if not result.designs or not result.designs[0].area_by_part_mm2:
        _course(result, figure.subplots())
        return
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1.0])
    _course(result, left)
    _machine(result.designs[0], right)


def _machine(one: _Design, axes: Axes) -> None:
    """The chip to scale: what is shared on the left, on the right the array in its clusters."""
    parts = dict(one.area_by_part_mm2)
    whole = sum(parts.values())
    array = parts.pop("elements", 0.0) + parts.pop("elements' buffers", 0.0)
    side, start = sqrt(whole), 0.0
    for number, (name, size) in enumerate(sorted(parts.items(), key=lambda part: part[1])):
        wide = size / side
        colour = PART_COLOURS.get(name, series_colour(number + 4))
        axes.bar([start + wide / 2], [side], width=wide, color=colour)
        kib = f", {one.spm_kib:.3g} KiB" if name == "shared buffer" else ""
        if wide > 0.05 * side:
            text = f"{name}{kib}, {size:.2g} mm2"
            axes.text(
                start + wide / 2, side / 2, text, rotation=90, ha="center", va="center", color="white", fontsize=8
            )
        start += wide
    wide = array / side
    axes.bar([start + wide / 2], [side], width=wide, color=PART_COLOURS["elements"])
    rows, columns = one.clusters[0], one.num_pes // one.clusters[0]
    if one.flexible[-1] == "0":
        for row in range(1, rows):
            axes.plot([start, start + wide], [side * row / rows] * 2, color="white", linewidth=min(1.2, 40 / rows))
        for column in range(1, columns):
            at = start + wide * column / columns
            axes.plot([at, at], [0, side], color="white", linewidth=min(0.4, 16 / columns))
    shape = "in any clusters" if one.flexible[-1] == "1" else f"{rows:,} clusters of {columns:,}"
    text = f"{one.num_pes:,} elements\n{shape}\n{one.l1_bytes:,} B each\n{array:.3g} mm2"
    frame = {"facecolor": "white", "edgecolor": RIM, "boxstyle": "round,pad=0.4"}
    axes.text(start + wide / 2, side / 2, text, ha="center", va="center", fontsize=8.5, bbox=frame)
    axes.set_xlim(0, side)
    axes.set_ylim(0, side)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(f"the best machine, {whole:.3g} mm2, to scale")


def _front_and_areas(result: _Search, figure: Figure) -> None:
    upper, lower = figure.subplots(2, 1, height_ratios=[1.25, 1.0])
    _front(result, upper)
    designs = sorted(result.designs, key=lambda one: one.area_mm2)
    parts = list(dict.fromkeys(part for one in designs for part in one.area_by_part_mm2))
    bottom = [0.0] * len(designs)
    for number, part in enumerate(parts):
        sizes = [one.area_by_part_mm2.get(part, 0.0) for one in designs]
        colour = PART_COLOURS.get(part, series_colour(number + 4))
        lower.bar(range(len(designs)), sizes, bottom=bottom, color=colour, width=0.74, label=part)
        bottom = [a + b for a, b in zip(bottom, sizes, strict=True)]
    names = [f"{one.clusters[0]} x {one.num_pes // one.clusters[0]}" for one in designs]
    lower.set_xticks(range(len(designs)), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    lower.tick_params(axis="x", length=0)
    lower.grid(False, axis="x")
    lower.set_ylabel("area by part, mm2")
    lower.legend(loc="upper left", frameon=False, fontsize=8)


def _course(result: _Search, axes: Axes) -> None:
    counts = [count for count, _ in result.curve] + [result.evaluations]
    values = [value for _, value in result.curve]
    axes.step(counts, [*values, values[-1]], where="post", color=SERIES[0], linewidth=1.6)
    if result.goals == ("time",):
        axes.axhline(result.bound_cycles, color=QUIET, linewidth=1.0, linestyle=(0, (1, 1.5)))
        axes.annotate("bound", (counts[0], result.bound_cycles), xytext=(0, 4), textcoords="offset points", color=QUIET)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("mappings evaluated")
    axes.set_ylabel(f"best {VALUES[result.goals[0]][0]}")


def _front(result: _Search, axes: Axes) -> None:
    goals = result.goals
    across, up = ("area", goals[0]) if "area" in goals else (goals[1], goals[0])
    (x_word, x_of), (y_word, y_of) = VALUES[across], VALUES[up]
    designs = sorted(result.designs, key=x_of)
    axes.scatter([x_of(one) for one in designs], [y_of(one) for one in designs], color=SERIES[0], s=28, zorder=3)
    for one in _apart(designs, y_of, x_of):
        text = f"{one.clusters[0]} x {one.num_pes // one.clusters[0]}"
        axes.annotate(text, (x_of(one), y_of(one)), xytext=(5, 4), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x_word)
    axes.set_ylabel(y_word)


def _apart(designs: list[_Design], up: Callable[[_Design], float], across: Callable[[_Design], float]) -> list[_Design]:
    """Those that get a label: the first of each kind of clusters, where it is not close to one that has a label."""

    def close(of: Callable[[_Design], float], room: float, one: _Design, other: _Design) -> bool:
        values = [of(design) for design in designs]
        return abs(log(of(one) / of(other))) <= room * log(max(values) / min(values))

    kept: list[_Design] = []
    for one in {one.clusters: one for one in reversed(designs)}.values():
        if not any(close(across, 0.1, one, other) and close(up, 0.05, one, other) for other in kept):
            kept.append(one)
    return kept
