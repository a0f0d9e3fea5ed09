"""A graph as SVG: rows of boxes in lanes, with a legend; what a box stands for is its tooltip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from npuc.compiler.core.drawing.svg import GREY, LINE, STYLE, coordinate, page, rect, text, text_width
from npuc.compiler.graph.colours import INK, KINDS, NAMES, QUIET, RIM, heat
from npuc.compiler.graph.layout import Drawing, Point, Route, Size, place
from npuc.compiler.graph.model import Box, Cell, Graph
from npuc.compiler.graph.rows import rows_of
from npuc.compiler.graph.words import percent

MARGIN, PAD, STRIP, ROUND = 24.0, 9.0, 5.0, 5
SMALL = 11
FAR = 400.0
"""Edges between lanes that are higher than that are faint."""
STEP = 15.0
"""The height of a line in a box."""
HEAD = 21.0
"""The height of the title of a box with several cells."""
TEXT_STYLE = (
    f"{STYLE}.b{{font-weight:bold;fill:{INK}}}.l{{font-size:{SMALL}px;fill:{QUIET}}}.s{{font-size:{SMALL}px}}"
    f".p{{fill:none;stroke:{GREY};stroke-width:1.3}}.k{{stroke-opacity:.45}}.f{{stroke-opacity:.2}}.c{{stroke:{KINDS['comm']};stroke-opacity:.9}}"
    f".o{{fill:none;stroke:{GREY};stroke-dasharray:5 4}}"
)


def to_svg(graph: Graph) -> str:
    """The picture of a graph; the same graph always gives the same text."""
    graph = graph.of_boxes()
    sizes = [_box_size(box) for box in graph.boxes]
    labels = [_lines_size(edge.label) for edge in graph.edges]
    drawing = place(graph, rows_of(graph), sizes, labels)
    head, top = _head(graph)
    lanes = len(graph.lanes) > 1
    top += (LINE if lanes else 0) + (16 if graph.outlines else 0) + 10
    parts = [f'<g transform="translate({coordinate(MARGIN)} {coordinate(top)})">']
    if lanes:
        raised = -18 if graph.outlines else -4
        parts += [text(x, raised - 8, lane, "s") for lane, x in drawing.lanes.items()]
    parts += [_path(route, drawing, graph) for route in sorted(drawing.routes, key=lambda r: r.kind == "lane")]
    parts += _outlines(graph, drawing, sizes)
    for box, corner, size in zip(graph.boxes, drawing.corners, sizes, strict=True):
        parts += _box(box, corner, size, graph.peak)
    for route in drawing.routes:
        if route.label is not None:
            parts += _label(route.edge.label, route.label)
    parts.append("</g>")
    wide = max(drawing.width, *(text_width(line, 14) for line in graph.title), _legend_width(graph))
    shown = [*_arrows(), *head, *parts]
    return page(graph.title[0], TEXT_STYLE, shown, wide + 2 * MARGIN, top + drawing.height + MARGIN)


def _arrows() -> Iterator[str]:
    yield "<defs>"
    for name, colour in (("a", GREY), ("r", KINDS["comm"])):
        yield (
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0.5L7.5 4L0 7.5Z" fill="{colour}"/></marker>'
        )
    yield "</defs>"


def _head(graph: Graph) -> tuple[list[str], float]:
    """The title and the legend, and where the drawing begins."""
    parts: list[str] = []
    y = MARGIN
    for n, line in enumerate(graph.title):
        parts.append(text(MARGIN, y + 4, line, "s" if n else "t"))
        y += LINE + (3 if not n else 0)
    y += 6
    parts += _legend(graph, y)
    return parts, y + LINE


def _shown(graph: Graph) -> list[tuple[str, str]]:
    kinds = {cell.kind for box in graph.boxes for cell in box.cells}
    kinds |= {"comm"} if any(edge.label for edge in graph.edges) else set()
    return [(KINDS[kind], NAMES[kind]) for kind in KINDS if kind in kinds]


SCALE, NAME = 90.0, "share of the step's time: 0"


def _legend(graph: Graph, y: float) -> Iterator[str]:
    x = MARGIN
    for colour, name in _shown(graph):
        yield rect(x, y - 9, STRIP, 12, colour)
        yield text(x + STRIP + 6, y, name, "s")
        x += STRIP + 6 + text_width(name, SMALL) + 18
    if graph.peak:
        yield text(x, y, NAME, "s")
        x += text_width(NAME, SMALL) + 6
        steps = 15
        for n in range(steps):
            yield rect(x + n * SCALE / steps, y - 9, SCALE / steps + 0.3, 12, heat(n / (steps - 1), 1.0))
        yield text(x + SCALE + 6, y, percent(graph.peak), "s")


def _legend_width(graph: Graph) -> float:
    width = sum(STRIP + 24 + text_width(name, SMALL) for _, name in _shown(graph))
    return width + (text_width(NAME, SMALL) + SCALE + 60 if graph.peak else 0.0)


def _lines_size(lines: Sequence[str]) -> Size:
    if not lines:
        return 0.0, 0.0
    return max(text_width(line, SMALL) for line in lines) + 8, STEP * len(lines)


def _cell_lines(box: Box, cell: Cell) -> list[tuple[str, str]]:
    """The lines of a cell with their classes: its own name first, or that of the box where it is the only one."""
    first = box.title if len(box.cells) == 1 else cell.label
    extra = cell.label if len(box.cells) == 1 and cell.label else ""
    lines = [(f"{first} {extra}".strip(), "b")] if first or extra else []
    return [*lines, *((line, "l") for line in cell.lines if line)]


def _cell_size(box: Box, cell: Cell) -> Size:
    lines = _cell_lines(box, cell)
    width = max((text_width(line, 12 if kind == "b" else SMALL) for line, kind in lines), default=0.0)
    return width + 2 * PAD + STRIP, STEP * len(lines) + 9


def _box_size(box: Box) -> Size:
    sizes = [_cell_size(box, cell) for cell in box.cells]
    if len(sizes) == 1:
        return sizes[0]
    width = sum(wide for wide, _ in sizes) + PAD * (len(sizes) + 1)
    title = text_width(box.title) + 2 * PAD
    return max(width, title), HEAD + max(high for _, high in sizes) + PAD


def _box(box: Box, corner: Point, size: Size, peak: float | None) -> Iterator[str]:
    if len(box.cells) == 1:
        yield from _cell(box, box.cells[0], corner, size, peak)
        return
    x, y = corner
    yield f"<g><title>{escape(box.title)}</title>"
    yield rect(x, y, *size, "#e3e6ea", f' rx="{ROUND}" stroke="{RIM}"')
    yield text(x + PAD, y + 15, box.title, "b") + "</g>"
    sizes = [_cell_size(box, cell) for cell in box.cells]
    spare = (size[0] - sum(wide for wide, _ in sizes) - PAD * (len(sizes) + 1)) / len(sizes)
    high = size[1] - HEAD - PAD
    at = x + PAD
    for cell, (wide, _) in zip(box.cells, sizes, strict=True):
        yield from _cell(box, cell, (at, y + HEAD), (wide + spare, high), peak)
        at += wide + spare + PAD


def _cell(box: Box, cell: Cell, corner: Point, size: Size, peak: float | None) -> Iterator[str]:
    x, y = corner
    told = "\n".join([f"{box.title} {cell.label}".strip(), *cell.tip])
    yield f"<g><title>{escape(told)}</title>"
    round_ = size[1] / 2 if box.port is not None else ROUND
    yield rect(x, y, *size, heat(cell.share, peak), f' rx="{coordinate(round_)}" stroke="{RIM}"')
    if box.port is None:
        yield rect(x + 2.5, y + 4, STRIP - 2, size[1] - 8, KINDS[cell.kind])
    lines = _cell_lines(box, cell)
    first = y + (size[1] - STEP * len(lines)) / 2 + 11
    for n, (line, kind) in enumerate(lines):
        yield text(x + STRIP + PAD, first + STEP * n, line, kind)
    yield "</g>"


def _path(route: Route, drawing: Drawing, graph: Graph) -> str:
    """An edge as a smooth curve, with its values as a tooltip."""
    points = route.points
    words = "\n".join(route.edge.tip)
    across = route.kind == "across"
    far = across and abs(points[0][1] - points[-1][1]) > FAR
    classes = ["p"] + (["f" if far else "k"] if across else []) + (["c"] if route.edge.label else [])
    mark = "r" if route.edge.label else "a"
    start = f"M{_pair(points[0])}"
    if route.kind == "loop":
        lane = graph.boxes[route.edge.source[0]].lane
        out = drawing.lanes[lane] - 18
        (x0, y0), (x1, y1) = points
        curve = f"C{_pair((out, y0))} {_pair((out, y0))} {_pair((out, (y0 + y1) / 2))}"
        curve += f"C{_pair((out, y1))} {_pair((out, y1))} {_pair((x1, y1))}"
    elif route.kind == "across":
        (x0, y0), (x1, y1) = points
        bend = max(30.0, min(90.0, (x1 - x0) / 2))
        curve = f"C{_pair((x0 + bend, y0))} {_pair((x1 - bend, y1))} {_pair((x1, y1))}"
    else:
        curve = "".join(_segment(a, b) for a, b in pairwise(points))
    drawn = f'<path class="{" ".join(classes)}" d="{start}{curve}" marker-end="url(#{mark})">'
    return f"{drawn}<title>{escape(words)}</title></path>"


def _segment(start: Point, end: Point) -> str:
    if abs(start[0] - end[0]) < 0.5:
        return f"L{_pair(end)}"
    middle = (start[1] + end[1]) / 2
    return f"C{_pair((start[0], middle))} {_pair((end[0], middle))} {_pair(end)}"


def _pair(point: Point) -> str:
    return f"{coordinate(point[0])} {coordinate(point[1])}"


def _label(lines: Sequence[str], at: Point) -> Iterator[str]:
    width, height = _lines_size(lines)
    x, y = at[0] - width / 2, at[1] - height / 2
    yield rect(x, y - 1, width, height + 2, "#fbeceb", f' rx="3" stroke="{KINDS["comm"]}" stroke-opacity=".6"')
    for n, line in enumerate(lines):
        yield text(x + 4, y + 11 + STEP * n, line, "l")


def _outlines(graph: Graph, drawing: Drawing, sizes: Sequence[Size]) -> Iterator[str]:
    """Frames around runs; none where it would hold a box that is not of the run."""
    for outline in graph.outlines:
        boxes = [(*drawing.corners[n], *sizes[n]) for n in sorted(outline.boxes)]
        left, top = min(x for x, _, _, _ in boxes) - 8, min(y for _, y, _, _ in boxes) - 8
        right, bottom = max(x + w for x, _, w, _ in boxes) + 8, max(y + h for _, y, _, h in boxes) + 8
        others = [n for n in range(len(graph.boxes)) if n not in outline.boxes]
        if any(_meets((left, top, right, bottom), drawing.corners[n], sizes[n]) for n in others):
            continue
        where = f'x="{coordinate(left)}" y="{coordinate(top)}"'
        size = f'width="{coordinate(right - left)}" height="{coordinate(bottom - top)}"'
        yield f'<rect class="o" {where} {size} rx="8"/>'
        yield text(left + 2, top - 4, outline.title, "s")


def _meets(frame: tuple[float, float, float, float], corner: Point, size: Size) -> bool:
    left, top, right, bottom = frame
    return corner[0] < right and corner[0] + size[0] > left and corner[1] < bottom and corner[1] + size[1] > top
