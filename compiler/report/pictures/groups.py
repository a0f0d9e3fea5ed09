"""Groups of layers as a picture: what array, vector unit and DRAM channel do in a micro-batch after another."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.core.drawing.figure import SMALL, WIDTH, Axes, Figure, picture, text_size
from npuc.compiler.core.drawing.palette import (
    INK,
    ORANGE,
    PHASE_NAMES,
    PINK,
    QUIET,
    RIM,
    SKY,
    WAITING,
    YELLOW,
    series_colour,
)
from npuc.compiler.core.drawing.ticks import number_text
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report.groups import LayerGroup, layer_groups
from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.text.quantities import bytes_cell, three_digits, time_text, time_unit
from npuc.compiler.report.timeline.grouped import GroupSlice, batch_cycles, batch_slices, load_slices, store_slices
from npuc.compiler.report.timeline.parts import ARRAY, READS, TRACKS, VECTOR, WRITES, has_double_buffer

SHOWN = 4
"""The most groups of a picture, those that save most."""
WHOLE, FIRST = 4, 2
"""Groups of up to so many micro-batches are drawn whole, of others so many and the last one."""
LANES = (READS, ARRAY, VECTOR, WRITES)
LANE, ROOM, HEAD = 0.26, 0.85, 0.75
"""The heights of a track, of a panel's axis and title, and of the legend, in inches."""
GAP = 0.06
"""The part of the width that stands for micro-batches that are not drawn."""
LEGEND = 7
"""The most layers that a legend names."""
RIM_WIDTH, NARROW, MARGIN = 0.3, 0.03, 0.06
"""The width of the rim of a bar in points; in inches that of bars without one, and what a name leaves free."""
LIGHT = (ORANGE, SKY, PINK, YELLOW)
"""Colours on which letters are dark."""


def draw_groups(report: Report, kind: str) -> bytes:
    """
    The picture of the groups of a report as a file of a kind (`svg`, `png`, `pdf`), a panel for each.

    Raises `UsageError` for a report without groups.
    """
    every = layer_groups(report)
    if not every:
        raise UsageError("--view groups: no group of layers runs by micro-batches", hint="--fuse-layers dp makes some")
    most = sorted(every, key=lambda group: -(group.saved_cycles or 0))[:SHOWN]
    shown = [group for group in every if group in most]

    def fill(figure: Figure) -> None:
        panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
        for axes, group in zip(panels, shown, strict=True):
            _panel(axes, group, double_buffer=has_double_buffer(report))

    saved = sum(group.saved_seconds or 0.0 for group in every)
    count = "1 group of layers saves" if len(every) == 1 else f"{len(every):,} groups of layers save"
    title = f"{count} {time_text(saved)} of {time_text(saved + (report.totals.seconds or 0.0))} in {report.network}"
    about = f"{report.source} on {report.hardware.get('name', '')}, backend {report.backend}"
    about += "; each colour is a layer" + (f"; the {SHOWN} groups that save most" if len(shown) < len(every) else "")
    return picture(kind, (WIDTH, HEAD + len(shown) * (ROOM + LANE * len(LANES))), fill, title=title, about=about)


def _panel(axes: Axes, group: LayerGroup, *, double_buffer: bool) -> None:
    """A group over time: loads, micro-batches, perhaps a gap and the last one, stores."""
    loads, stores = load_slices(group), store_slices(group)
    batch, once = batch_slices(group, double_buffer=double_buffer), batch_cycles(group)
    first = max((one.end for one in loads), default=0.0)
    last = max((one.end for one in stores), default=0.0)
    is_whole = group.runs <= WHOLE
    drawn = group.runs if is_whole else FIRST
    gap = 0.0 if is_whole else GAP * (first + (drawn + 1) * once + last)
    begins = [first + number * once for number in range(drawn)]
    begins += [] if is_whole else [begins[-1] + once + gap]
    end = begins[-1] + once + last
    scale = _Scale(group, end)
    _bars(axes, group, loads, 0.0, scale)
    for begin in begins:
        _bars(axes, group, batch, begin, scale)
    _bars(axes, group, stores, begins[-1] + once, scale)
    _batches(axes, group, begins, once, scale)
    _legend(axes, group)
    if not is_whole:
        _left_out(axes, group.runs - drawn - 1, first + drawn * once, gap, scale)
    ticks = [at for at in axes.get_xticks() if 0 <= at <= scale.at(first + drawn * once)]
    axes.set_xlim(0, scale.at(end))
    if not is_whole:
        axes.set_xticks([*ticks, scale.at(end)], [*map(number_text, ticks), three_digits(scale.at(group.cycles))])
    axes.set_yticks(range(len(LANES)), [TRACKS[track - 1] for track in LANES])
    axes.set_ylim(len(LANES) - 0.5, -1.0)
    axes.set_xlabel(f"time, {scale.unit}")
    axes.grid(False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_color(RIM)
    axes.set_title(_title(group), color=QUIET, fontsize=SMALL)


class _Scale:
    """From cycles of a group to the unit of its axis, and to inches of the panel."""

    def __init__(self, group: LayerGroup, end: float):
        seconds = group.seconds / group.cycles if group.cycles else 0.0
        self.size, self.unit = time_unit(seconds * end)
        self.factor = seconds / self.size
        layers = list(dict.fromkeys(row.name for row in group.rows))[:LEGEND]
        beside = 1.4 + max(text_size(name, SMALL)[0] for name in layers)
        self.inches = (WIDTH - beside) / end if end else 0.0

    def at(self, cycles: float) -> float:
        """The place on the axis."""
        return cycles * self.factor


def _bars(axes: Axes, group: LayerGroup, slices: Sequence[GroupSlice], begin: float, scale: _Scale) -> None:
    """Bars on their tracks, those of array and vector unit with the names of their layers where these fit."""
    layers = list(dict.fromkeys(row.name for row in group.rows))
    for one in slices:
        row, lane = group.rows[one.place], LANES.index(one.track)
        at, length = scale.at(begin + one.begin), scale.at(one.end - one.begin)
        colour, room = series_colour(layers.index(row.name)), scale.inches * (one.end - one.begin)
        rim = RIM_WIDTH if room > NARROW else 0.0
        axes.broken_barh([(at, length)], (lane - 0.4, 0.8), facecolor=colour, edgecolor="white", linewidth=rim)
        name = _name(row, room) if one.track in (ARRAY, VECTOR) else ""
        ink = INK if colour in LIGHT else "white"
        axes.text(at + length / 2, lane, name, ha="center", va="center", fontsize=SMALL, color=ink)


def _name(row: OpRow, room: float) -> str:
    """What is written into a bar so many inches wide: layer and phase, or what of them fits; the colour says layers."""
    phase = "" if row.phase == "forward" else PHASE_NAMES[row.phase]
    names = (f"{row.name} {phase}".strip(), phase or row.name, row.name)
    return next((name for name in names if text_size(name, SMALL)[0] + MARGIN < room), "")


def _legend(axes: Axes, group: LayerGroup) -> None:
    """The layers with their colours, beside the panel."""
    layers = list(dict.fromkeys(row.name for row in group.rows))
    for number, name in enumerate(layers[:LEGEND]):
        axes.broken_barh([(0, 0)], (0, 0), facecolor=series_colour(number), linewidth=0, label=name)
    more = len(layers) - LEGEND
    if more > 0:
        axes.broken_barh([(0, 0)], (0, 0), facecolor="none", linewidth=0, label=f"and {more:,} more")
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.005, 1.03), fontsize=SMALL, handlelength=0.9, handleheight=0.7, borderpad=0
    )


def _batches(axes: Axes, group: LayerGroup, begins: Sequence[float], once: float, scale: _Scale) -> None:
    """The micro-batches as numbers above the tracks, with a line where each begins."""
    for number, begin in enumerate(begins):
        shown = group.runs if number == len(begins) - 1 else number + 1
        axes.axvline(scale.at(begin), color=RIM, linewidth=0.6, zorder=0)
        axes.text(
            scale.at(begin + once / 2), -0.72, f"{shown:,}", ha="center", va="center", fontsize=SMALL, color=QUIET
        )


def _left_out(axes: Axes, count: int, begin: float, gap: float, scale: _Scale) -> None:
    """Micro-batches that are not drawn, as a grey gap."""
    axes.axvspan(scale.at(begin), scale.at(begin + gap), color=WAITING, linewidth=0)
    axes.text(
        scale.at(begin + gap / 2),
        (len(LANES) - 1) / 2,
        f"{count:,} more",
        rotation=90,
        ha="center",
        va="center",
        fontsize=SMALL,
        color=INK,
    )


def _title(group: LayerGroup) -> str:
    runs = "1 micro-batch" if group.micro_batches == 1 else f"{group.micro_batches:,} micro-batches"
    samples = "1 sample" if group.micro_batch == 1 else f"{group.micro_batch:,} samples"
    text = f"group {group.number}, {group.title}: {runs} of {samples}"
    if group.bands > 1:
        text += f" in {group.bands:,} bands (mean shown)"
    if group.saved_seconds is None:
        return text
    return f"{text}; saves {time_text(group.saved_seconds)} and {bytes_cell(group.saved_bytes)}"
