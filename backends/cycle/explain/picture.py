"""
Explanations as a picture: the programs of a backward pass, then each operation over time, with what DRAM moves.

Of an operation with a schedule the array's time by state stands over that of the DRAM channel; below, the first tile
operations with a lane for the array and one for each tensor that moves; then the order of its tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuc.backends.cycle.explain.explanation import Explanation
from npuc.backends.cycle.explain.order_picture import order_blocks
from npuc.compiler.analysis.timing.states import Piece, State, Timeline
from npuc.compiler.core.drawing.figure import SMALL, Axes
from npuc.compiler.core.drawing.palette import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PHASE_NAMES,
    QUIET,
    RIM,
    SKY,
    VERMILION,
    WAITING,
    YELLOW,
)
from npuc.compiler.core.drawing.stack import Block, Words, stack
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.text.quantities import bytes_cell

BUCKETS = 200
TILES, FOLDS = 12, 12
LANE, LANE_GAP = 0.22, 0.25
"""The height of a lane in inches, and the part of it that stays free."""
COLOURS: dict[State, str] = {"steady": BLUE, "fill": ORANGE, "drain": YELLOW, "edge": VERMILION, "stall": WAITING}
NAMES: dict[State, str] = {
    "fill": "fill",
    "drain": "drain",
    "edge": "waits for edge",
    "stall": "stall: waits for DRAM",
}
ORDER: tuple[State, ...] = ("steady", "fill", "drain", "edge", "stall")
USED, UNUSED = "in use", "streams, elements idle (mean)"
DRAM, DRAM_OTHER = GREEN, "#7fceb9"
"""The DRAM channel, for every second tile operation lighter."""


def draw(explanations: Sequence[Explanation], kind: str, title: str, about: str) -> bytes:
    """The picture of some operations as a file of a kind (`svg`, `png`, `pdf`)."""
    blocks: list[Block | Words] = []
    for explanation in explanations:
        if explanation.programs:
            blocks += _programs(explanation)
        elif explanation.row is not None and explanation.row.cycles:
            blocks += _operation(explanation, explanation.row)
    blocks = blocks or [Words("", "the model gives these operations no time")]
    return stack(kind, blocks, title=title, about=about)


def _programs(explanation: Explanation) -> Iterator[Block | Words]:
    """The programs of the backward pass, a bar each: cycles in which the array works, and others."""
    costs = explanation.programs

    def fill(axes: Axes) -> None:
        places = range(len(costs))
        work, wait = [one.compute for one in costs], [max(0, one.cycles - one.compute) for one in costs]
        axes.barh(places, work, 0.62, color=BLUE, label="array works")
        axes.barh(places, wait, 0.62, left=work, color=WAITING, label="array waits")
        for place, one in zip(places, costs, strict=True):
            style = {"fontweight": "bold"} if one.taken else {}
            text = f" {one.cycles:,} cycles, {bytes_cell(one.moved)}" + (" (taken)" if one.taken else "")
            axes.text(max(one.cycles, one.compute), place, text, va="center", fontsize=SMALL, **style)
        axes.set_yticks(places, [one.name for one in costs])
        axes.set_xlim(0, 1.6 * max((max(one.cycles, one.compute) for one in costs), default=1) or 1)
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("cycles of dX and dW")
        axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.0, 1.0))

    yield Words("dX and dW as each program", "", above=0.1)
    yield Block(0.27 * len(costs), fill, above=0.1, below=0.55, left=1.95)


def _operation(explanation: Explanation, row: OpRow) -> Iterator[Block | Words]:
    """One operation: what it is and takes, and its time."""
    line = explanation.timeline
    used = "" if row.utilization is None or row.kind != "matrix" else f", {row.utilization:.1%} of the array's peak"
    limit = "" if row.limit is None else f"; limited by {row.limit}"
    product = [text for heading, text in explanation.facts if heading in ("product", "work")][:1]
    core = [text for _, text in explanation.facts if "the slowest" in text]
    runs = f" a run, of {row.repeat:,}" if row.repeat > 1 else ""
    heading = f"{PHASE_NAMES[row.phase]}: {row.cycles:,} cycles{runs}{used}{limit}"
    yield Words(heading, "; ".join([*product, *core, explanation.title]), above=0.12)
    if line is None:
        yield from _shares(explanation, row)
        return
    yield from _whole(explanation, line)
    yield from _tiles(explanation, line)
    yield from _folds(line)
    if explanation.order is not None:
        yield from order_blocks(explanation.order)


def _shares(explanation: Explanation, row: OpRow) -> Iterator[Block | Words]:
    """Of an operation without a schedule: how long each part of the machine is busy."""
    shares, cycles = explanation.shares, int(row.cycles or 0)
    if not shares:
        return
    names = {"compute": "vector unit" if row.kind == "vector" else "computes", "loads": "DRAM loads"}

    def fill(axes: Axes) -> None:
        colours = {"compute": BLUE}
        for place, (name, busy) in enumerate(shares):
            axes.barh(place, cycles, 0.6, color=WAITING)
            axes.barh(place, busy, 0.6, color=colours.get(name, DRAM))
            axes.text(cycles * 1.01, place, f"{busy / cycles:.0%}", va="center", fontsize=SMALL)
        axes.set_yticks(range(len(shares)), [names.get(name, f"DRAM {name}") for name, _ in shares])
        _dress_lanes(axes, cycles)
        axes.set_xlim(0, cycles * 1.08)
        axes.invert_yaxis()

    yield Block(LANE * len(shares), fill, above=0.1, below=0.5, left=1.3)


def _whole(explanation: Explanation, line: Timeline) -> Iterator[Block | Words]:
    """The whole time: shares of the array's states, and of the DRAM channel's time below."""
    end, steady = line.cycles(line.ticks), line.total("steady")
    full = min(1.0, line.macs * line.per_cycle / (explanation.elements * steady)) if steady else 1.0
    edges = [end * number / BUCKETS for number in range(BUCKETS + 1)]

    def fill_array(axes: Axes) -> None:
        shares = line.buckets(BUCKETS)
        parts = [(USED, BLUE, [full * one["steady"] for one in shares])]
        parts.append((UNUSED, SKY, [(1 - full) * one["steady"] for one in shares]))
        parts += [(NAMES[state], COLOURS[state], [one[state] for one in shares]) for state in ORDER[1:]]
        places = _changes([values for _, _, values in parts])
        low = [0.0] * len(places)
        for name, colour, values in parts:
            if not any(values):
                continue
            values = [values[place] for place in places]
            high = [a + 100 * b for a, b in zip(low, values, strict=True)]
            axes.stairs(high, _ends(edges, places), baseline=low, fill=True, color=colour, linewidth=0, label=name)
            low = high
        axes.set_xlim(0, end)
        axes.set_ylim(0, 100)
        axes.set_yticks((0, 50, 100))
        axes.set_ylabel("array, % of time")
        axes.yaxis.set_label_coords(-0.075, 0.5)
        axes.tick_params(axis="x", labelbottom=False, length=0)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=6, columnspacing=1.2, handlelength=1.1)

    def fill_channel(axes: Axes) -> None:
        busy = [100 * share for share in line.channel_buckets(BUCKETS)]
        places = _changes([busy])
        axes.stairs([busy[place] for place in places], _ends(edges, places), fill=True, color=DRAM, linewidth=0)
        axes.set_xlim(0, end)
        axes.set_ylim(0, 100)
        axes.set_yticks((0, 100))
        axes.yaxis.get_ticklabels()[-1].set_va("top")
        axes.set_ylabel("DRAM")
        axes.yaxis.set_label_coords(-0.075, 0.5)
        axes.set_xlabel("cycles")

    yield Block(1.15, fill_array, above=0.3, below=0.07)
    yield Block(0.42, fill_channel, above=0.07, below=0.5)


def _changes(columns: Sequence[Sequence[float]]) -> list[int]:
    """The places at which any of some series differs from its value before."""
    rows = list(zip(*columns, strict=True))
    return [place for place, row in enumerate(rows) if not place or row != rows[place - 1]]


def _ends(edges: Sequence[float], places: Sequence[int]) -> list[float]:
    """The edges of the steps that begin at some places, and the last one."""
    return [*(edges[place] for place in places), edges[-1]]


def _tiles(explanation: Explanation, line: Timeline) -> Iterator[Block | Words]:
    """The first tile operations: a lane for the array, or for each of the nests in turn, and one for each tensor."""
    pieces = [piece for piece in line.pieces if piece.tile < TILES]
    if not pieces:
        return
    count, end = pieces[-1].tile + 1, max(piece.begin + piece.ticks for piece in pieces)
    moves = [one for one in line.transfers if one.tile < count]
    tensors = list(dict.fromkeys(one.tensor for one in moves))
    nests = explanation.nests or ("array",)
    lanes = [*(f"array: {one}" if explanation.nests else one for one in nests), *(f"DRAM: {one}" for one in tensors)]

    def fill(axes: Axes) -> None:
        for number in range(len(nests)):
            _draw_pieces(axes, [one for one in pieces if one.nest == number], number, line)
        for number, tensor in enumerate(tensors, len(nests)):
            for parity, colour in enumerate((DRAM, DRAM_OTHER)):
                own = [one for one in moves if one.tensor == tensor and one.tile % 2 == parity]
                bars = [(line.cycles(one.begin), line.cycles(one.ticks)) for one in own]
                axes.broken_barh(bars, (number - 0.375, 1 - LANE_GAP), facecolor=colour, linewidth=0)
        axes.set_yticks(range(len(lanes)), lanes)
        axes.set_ylim(len(lanes) - 0.4, -0.6)
        _dress_lanes(axes, line.cycles(end))
        what = f"the first {count} tile operations" if count > 1 else "the first tile operation"
        lighter = "every second one lighter" if explanation.nests else "every second fold and transfer lighter"
        axes.set_title(f"{what}, {lighter}", color=QUIET)

    yield Block(LANE * len(lanes), fill, above=0.27, below=0.5, left=1.3)


def _folds(line: Timeline) -> Iterator[Block | Words]:
    """The first folds in one lane, where they are narrow among the tile operations."""
    pieces = line.first_folds(FOLDS)
    if not pieces or 2 * len(pieces) > len([piece for piece in line.pieces if piece.tile < TILES]):
        return
    end = pieces[-1].begin + pieces[-1].ticks

    def fill(axes: Axes) -> None:
        _draw_pieces(axes, pieces, 0, line)
        axes.set_yticks((0,), ("array",))
        axes.set_ylim(0.6, -0.6)
        _dress_lanes(axes, line.cycles(end))
        axes.set_title(f"the first {FOLDS} folds", color=QUIET)

    yield Block(LANE, fill, above=0.27, below=0.5, left=1.3)


def _draw_pieces(axes: Axes, pieces: Sequence[Piece], lane: int, line: Timeline) -> None:
    """States of the array in a lane, with every second fold lighter."""
    kinds: dict[str, list[tuple[float, float]]] = {}
    for piece in pieces:
        colour = SKY if piece.state == "steady" and (piece.fold or 0) % 2 else COLOURS[piece.state]
        kinds.setdefault(colour, []).append((line.cycles(piece.begin), line.cycles(piece.ticks)))
    for colour, bars in kinds.items():
        axes.broken_barh(bars, (lane - 0.375, 1 - LANE_GAP), facecolor=colour, linewidth=0)


def _dress_lanes(axes: Axes, end: float) -> None:
    """Lanes over cycles."""
    axes.set_xlim(0, end)
    axes.set_xlabel("cycles")
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_color(RIM)
    axes.yaxis.set_tick_params(labelcolor=INK)
