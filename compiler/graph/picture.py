"""A graph as a picture: rows of boxes in lanes, with a legend; what a box stands for is its tooltip in SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise

from npuc.compiler.core.drawing.figure import DOTS, TITLE, Axes, Figure, head_height, picture, text_size
from npuc.compiler.core.drawing.palette import INK, QUIET, RIM
from npuc.compiler.core.errors import UsageError
from npuc.compiler.graph.colours import KINDS, NAMES, heat
from npuc.compiler.graph.layout import Drawing, Point, Route, Size, place
from npuc.compiler.graph.model import Box, Cell, Graph
from npuc.compiler.graph.rows import rows_of
from npuc.compiler.graph.words import percent

UNIT = 96.0
"""Units of a drawing per inch."""
MARGIN, PAD, STRIP, ROUND = 12.0, 9.0, 5.0, 5.0
NAME_SIZE, WORD_SIZE = 9.0, 8.25
"""Points of a box's name, and of what else it says."""
FAR = 400.0
"""Edges between lanes that are higher than that are faint."""
STEP = 15.0
"""The height of a line in a box."""
HEAD = 21.0
"""The height of the title of a box with several cells."""
LINE = 17.0
GROUP, LABEL = "#e3e6ea", "#fbf1e9"
SCALE, SCALE_NAME = 90.0, "share of the step's time: 0"
MOST = 65_000
"""The most pixels of a side of a PNG."""


def draw_graph(graph: Graph, kind: str) -> bytes:
    """The picture of a graph as a file of a kind; the same graph always gives the same bytes."""
    graph = graph.of_boxes()
    sizes = [_box_size(box) for box in graph.boxes]
    drawing = place(graph, rows_of(graph), sizes, [_lines_size(edge.label) for edge in graph.edges])
    title, about = graph.title[0], "\n".join(graph.title[1:])
    longest = max(text_size(title, TITLE, bold=True)[0] * UNIT, drawing.width, _legend_width(graph))
    width = longest + 2 * MARGIN
    head = head_height(width / UNIT, title, about) * UNIT + LINE + 6
    top = head + (LINE if len(graph.lanes) > 1 else 0) + (16 if graph.outlines else 0) + 10
    height = top + drawing.height + MARGIN
    if kind == "png" and max(width, height) / UNIT * DOTS > MOST:
        raise UsageError(
            "the graph is too large for a PNG", hint="draw .svg, or less of it (--depth auto, --only LAYER)"
        )
    painter = _Painter(graph, drawing, sizes, width, height, top)

    def fill(figure: Figure) -> None:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        painter.paint(axes, head)

    size = width / UNIT, height / UNIT
    return picture(kind, size, fill, title=title, about=about, layout=None, tips=painter.tips)


def _wide(text: str, points: float = WORD_SIZE, *, bold: bool = False) -> float:
    return text_size(text, points, bold=bold)[0] * UNIT


def _shown(graph: Graph) -> list[tuple[str, str]]:
    """The colours of the legend, and what they mean."""
    kinds = {cell.kind for box in graph.boxes for cell in box.cells}
    kinds |= {"comm"} if any(edge.label for edge in graph.edges) else set()
    return [(KINDS[kind], NAMES[kind]) for kind in KINDS if kind in kinds]


def _legend_width(graph: Graph) -> float:
    width = sum(STRIP + 24 + _wide(name) for _, name in _shown(graph))
    return width + (_wide(SCALE_NAME) + SCALE + 60 if graph.peak else 0.0)


def _lines_size(lines: Sequence[str]) -> Size:
    return (max(_wide(line) for line in lines) + 8, STEP * len(lines)) if lines else (0.0, 0.0)


def _cell_lines(box: Box, cell: Cell) -> list[tuple[str, bool]]:
    """The lines of a cell, bold or not: its own name first, or that of the box where it is the only one."""
    first = box.title if len(box.cells) == 1 else cell.label
    extra = cell.label if len(box.cells) == 1 and cell.label else ""
    lines = [(f"{first} {extra}".strip(), True)] if first or extra else []
    return [*lines, *((line, False) for line in cell.lines if line)]


def _cell_size(box: Box, cell: Cell) -> Size:
    lines = _cell_lines(box, cell)
    width = max((_wide(line, NAME_SIZE if bold else WORD_SIZE, bold=bold) for line, bold in lines), default=0.0)
    return width + 2 * PAD + STRIP, STEP * len(lines) + 9


def _box_size(box: Box) -> Size:
    sizes = [_cell_size(box, cell) for cell in box.cells]
    if len(sizes) == 1:
        return sizes[0]
    width = sum(wide for wide, _ in sizes) + PAD * (len(sizes) + 1)
    title = _wide(box.title, NAME_SIZE, bold=True) + 2 * PAD
    return max(width, title), HEAD + max(high for _, high in sizes) + PAD


@dataclass
class _Painter:
    """Paints a graph that is laid out, `top` below the edge of the page; notes tooltips by the names of their parts."""

    graph: Graph
    drawing: Drawing
    sizes: Sequence[Size]
    width: float
    height: float
    top: float
    tips: dict[str, str] = field(default_factory=dict[str, str])

    def paint(self, axes: Axes, legend: float) -> None:
        """The legend with its lower edge at `legend`, and the graph."""
        patches, paths = import_module("matplotlib.patches"), import_module("matplotlib.path")
        self.axes, self._path, self._patch = axes, paths.Path, patches
        self._legend(legend - LINE + 6)
        if len(self.graph.lanes) > 1:
            for lane, x in self.drawing.lanes.items():
                self._text(x, -26 if self.graph.outlines else -12, lane, QUIET)
        for route in sorted(self.drawing.routes, key=lambda r: r.kind == "lane"):
            self._edge(route)
        for left, top, right, bottom, title in self._outlines():
            self._rect((left, top), (right - left, bottom - top), "none", 8, line=QUIET, dash=(0, (4, 3)))
            self._text(left + 2, top - 4, title, QUIET)
        for box, corner, size in zip(self.graph.boxes, self.drawing.corners, self.sizes, strict=True):
            self._box(box, corner, size)
        for route in self.drawing.routes:
            if route.label is not None:
                self._label(route.edge.label, route.label)

    def _name(self, tip: str) -> str | None:
        """The name of a part with a tooltip."""
        if not tip:
            return None
        name = f"tip-{len(self.tips)}"
        self.tips[name] = tip
        return name

    def _text(self, x: float, y: float, words: str, colour: str = INK, tip: str = "", *, bold: bool = False) -> None:
        """Words on a line whose foot is at `y`, of the graph."""
        style = {"fontweight": "bold", "fontsize": NAME_SIZE} if bold else {"fontsize": WORD_SIZE}
        at = MARGIN + x, self.top + y
        self.axes.text(*at, words, color=colour, va="baseline", ha="left", gid=self._name(tip), **style)

    def _rect(
        self,
        corner: Point,
        size: Size,
        colour: str,
        round_: float = 0.0,
        tip: str = "",
        line: str = "none",
        dash: object = "-",
    ) -> None:
        """A box with a border, if it has the colour of a `line`."""
        x, y = MARGIN + corner[0], self.top + corner[1]
        style = {"facecolor": colour, "edgecolor": line, "linestyle": dash, "linewidth": 0.0 if line == "none" else 0.8}
        shape = f"round,pad=0,rounding_size={round_}" if round_ else "square,pad=0"
        self.axes.add_patch(self._patch.FancyBboxPatch((x, y), *size, boxstyle=shape, gid=self._name(tip), **style))

    def _legend(self, y: float) -> None:
        y -= self.top
        x = 0.0
        for colour, name in _shown(self.graph):
            self._rect((x, y - 10), (STRIP, 12), colour)
            self._text(x + STRIP + 6, y, name, QUIET)
            x += STRIP + 24 + _wide(name)
        if self.graph.peak:
            self._text(x, y, SCALE_NAME, QUIET)
            x += _wide(SCALE_NAME) + 6
            steps = 15
            for n in range(steps):
                self._rect((x + n * SCALE / steps, y - 10), (SCALE / steps + 0.3, 12), heat(n / (steps - 1), 1.0))
            self._text(x + SCALE + 6, y, percent(self.graph.peak), QUIET)

    def _box(self, box: Box, corner: Point, size: Size) -> None:
        if len(box.cells) == 1:
            self._cell(box, box.cells[0], corner, size)
            return
        x, y = corner
        self._rect(corner, size, GROUP, ROUND, box.title, RIM)
        self._text(x + PAD, y + 15, box.title, tip=box.title, bold=True)
        sizes = [_cell_size(box, cell) for cell in box.cells]
        spare = (size[0] - sum(wide for wide, _ in sizes) - PAD * (len(sizes) + 1)) / len(sizes)
        at = x + PAD
        for cell, (wide, _) in zip(box.cells, sizes, strict=True):
            self._cell(box, cell, (at, y + HEAD), (wide + spare, size[1] - HEAD - PAD))
            at += wide + spare + PAD

    def _cell(self, box: Box, cell: Cell, corner: Point, size: Size) -> None:
        x, y = corner
        tip = "\n".join([f"{box.title} {cell.label}".strip(), *cell.tip])
        self._rect(corner, size, heat(cell.share, self.graph.peak), size[1] / 2 if box.port else ROUND, tip, RIM)
        if box.port is None:
            self._rect((x + 2.5, y + 4), (STRIP - 2, size[1] - 8), KINDS[cell.kind])
        lines = _cell_lines(box, cell)
        first = y + (size[1] - STEP * len(lines)) / 2 + 11
        for n, (line, bold) in enumerate(lines):
            self._text(x + STRIP + PAD, first + STEP * n, line, tip=tip, bold=bold)

    def _edge(self, route: Route) -> None:
        """An edge as a smooth curve with an arrow at its end."""
        points, label = route.points, bool(route.edge.label)
        across = route.kind == "across"
        faint = 0.2 if across and abs(points[0][1] - points[-1][1]) > FAR else 0.45 if across else 1.0
        curves = list(self._curves(route))
        corners = [points[0], *(point for curve in curves for point in curve)]
        kinds = [self._path.MOVETO]
        for curve in curves:
            kinds += [self._path.CURVE4 if len(curve) == 3 else self._path.LINETO] * len(curve)
        moved = [(MARGIN + x, self.top + y) for x, y in corners]
        colour = KINDS["comm"] if label else RIM
        arrow = self._patch.ArrowStyle("-|>", head_length=2.6, head_width=1.5)
        style = {"arrowstyle": arrow, "facecolor": colour, "edgecolor": colour, "alpha": 0.9 if label else faint}
        tip = self._name("\n".join(route.edge.tip))
        path = self._path(moved, kinds)
        self.axes.add_patch(self._patch.FancyArrowPatch(path=path, gid=tip, linewidth=1.0, mutation_scale=1.6, **style))

    def _curves(self, route: Route) -> Iterator[tuple[Point, ...]]:
        """The parts of an edge behind its first point: lines, and curves by two controls and an end."""
        points = route.points
        if route.kind == "loop":
            out = self.drawing.lanes[self.graph.boxes[route.edge.source[0]].lane] - 18
            (_, y0), (x1, y1) = points
            yield (out, y0), (out, y0), (out, (y0 + y1) / 2)
            yield (out, y1), (out, y1), (x1, y1)
        elif route.kind == "across":
            (x0, y0), (x1, y1) = points
            bend = max(30.0, min(90.0, (x1 - x0) / 2))
            yield (x0 + bend, y0), (x1 - bend, y1), (x1, y1)
        else:
            for (x0, y0), (x1, y1) in pairwise(points):
                middle = (y0 + y1) / 2
                yield ((x1, y1),) if abs(x0 - x1) < 0.5 else ((x0, middle), (x1, middle), (x1, y1))

    def _label(self, lines: Sequence[str], at: Point) -> None:
        width, height = _lines_size(lines)
        x, y = at[0] - width / 2, at[1] - height / 2
        self._rect((x, y - 1), (width, height + 2), LABEL, 3, line=KINDS["comm"])
        for n, line in enumerate(lines):
            self._text(x + 4, y + 11 + STEP * n, line)

    def _outlines(self) -> Iterator[tuple[float, float, float, float, str]]:
        """Frames around runs; none where it would hold a box that is not of the run."""
        corners, sizes = self.drawing.corners, self.sizes
        for outline in self.graph.outlines:
            boxes = [(*corners[n], *sizes[n]) for n in sorted(outline.boxes)]
            left, top = min(x for x, _, _, _ in boxes) - 8, min(y for _, y, _, _ in boxes) - 8
            right, bottom = max(x + w for x, _, w, _ in boxes) + 8, max(y + h for _, y, _, h in boxes) + 8
            others = [n for n in range(len(self.graph.boxes)) if n not in outline.boxes]
            if not any(_meets((left, top, right, bottom), corners[n], sizes[n]) for n in others):
                yield left, top, right, bottom, outline.title


def _meets(frame: tuple[float, float, float, float], corner: Point, size: Size) -> bool:
    left, top, right, bottom = frame
    return corner[0] < right and corner[0] + size[0] > left and corner[1] < bottom and corner[1] + size[1] > top
