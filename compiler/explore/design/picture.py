"""The machines of a search, by area and time, or the best value over the mappings that were evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias

import msgspec

from npuc.compiler.core.drawing.figure import WIDTH, Figure, picture
from npuc.compiler.core.drawing.palette import QUIET, SERIES
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
    flexible: str = "1110"


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
            lambda figure: _course(result, figure),
            title=f"The search for a machine for {result.network}",
            about=about,
        )
    return picture(
        kind,
        (WIDTH, 4.6),
        lambda figure: _front(result, figure),
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


def _course(result: _Search, figure: Figure) -> None:
    axes = figure.subplots()
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


def _front(result: _Search, figure: Figure) -> None:
    axes = figure.subplots()
    goals = result.goals
    across, up = ("area", goals[0]) if "area" in goals else (goals[1], goals[0])
    (x_word, x_of), (y_word, y_of) = VALUES[across], VALUES[up]
    designs = sorted(result.designs, key=x_of)
    axes.scatter([x_of(one) for one in designs], [y_of(one) for one in designs], color=SERIES[0], s=28, zorder=3)
    for one in _apart(designs):
        text = f"{one.clusters[0]} x {one.num_pes // one.clusters[0]}"
        axes.annotate(text, (x_of(one), y_of(one)), xytext=(5, 4), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x_word)
    axes.set_ylabel(y_word)


def _apart(designs: list[_Design]) -> list[_Design]:
    """Those that get a label: the first of each kind of clusters."""
    return list({one.clusters: one for one in reversed(designs)}.values())
