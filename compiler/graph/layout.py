"""
Places of boxes and paths of edges: the order within rows by barycentres, places by least squares.

Each lane is drawn by itself, as Sugiyama's method has it: an edge over several rows passes through a place in each of
them, sweeps order each row by the mean place of its neighbours, and the places that come next to these means while
nothing overlaps are an isotonic regression (pool adjacent violators).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from npuc.compiler.graph.flow import Lane
from npuc.compiler.graph.model import Edge, Graph

BETWEEN, THROUGH = 22.0, 10.0
"""The room between boxes of a row, and around an edge that passes."""
GAP, GUTTER, LOOP = 30.0, 76.0, 26.0
"""The room between rows and between lanes, and beside a lane for edges against its direction."""
SWEEPS = 16
STRAY = 0.1
"""The weight of a long edge for the place of a box."""

Point = tuple[float, float]
Size = tuple[float, float]


@dataclass
class Node:
    """Something that takes room in a row: a box, the label of an edge, or an edge that passes."""

    row: int
    width: float
    box: int | None = None
    x: float = 0.0
    """Its middle."""


@dataclass
class Route:
    """How an edge runs: through points, its label at a place; `against` where it goes against its lane."""

    edge: Edge
    points: list[Point] = field(default_factory=list[Point])
    label: Point | None = None
    kind: str = "lane"
    """`lane`, `across` lanes, or `loop`."""


@dataclass
class Drawing:
    """The upper left corner of each box, and all edges; the size of the whole, and the left end of each lane."""

    corners: list[Point]
    routes: list[Route]
    width: float
    height: float
    lanes: dict[Lane, float]


def place(graph: Graph, rows: Sequence[int], sizes: Sequence[Size], labels: Sequence[Size]) -> Drawing:
    """Place boxes and labels of such sizes in their rows."""
    tops, heights = _tops(graph, rows, sizes, labels)
    corners: list[Point] = [(0.0, 0.0)] * len(graph.boxes)
    routes: list[Route] = []
    left = 0.0
    lanes: dict[Lane, float] = {}
    for lane in graph.lanes:
        own = [n for n, box in enumerate(graph.boxes) if box.lane == lane]
        edges = [n for n, edge in enumerate(graph.edges) if _lanes(graph, edge) == (lane, lane)]
        across = [n for n, e in enumerate(graph.edges) if len({*_lanes(graph, e)}) > 1 and _lanes(graph, e)[1] == lane]
        if lanes:
            left += GUTTER + max((labels[n][0] for n in across), default=0.0)
        nodes, chains, loops = _lane_nodes(graph, own, edges, rows, sizes, labels)
        left += LOOP * min(len(loops), 2)
        right = _arrange(nodes, chains)
        lanes[lane] = left
        for node in nodes:
            if node.box is not None:
                high = sizes[node.box][1]
                y = tops[node.row] + (heights[node.row] - high) / 2
                corners[node.box] = round(left + node.x - node.width / 2, 3), y
        for number, chain in chains.items():
            points = [(left + nodes[n].x, tops[nodes[n].row] + heights[nodes[n].row] / 2) for n in chain[1:-1]]
            labelled = labels[number][0] > 0
            spot = points[-1 if lane != "backward" else 0] if labelled and points else None
            routes.append(Route(graph.edges[number], points, spot))
        routes += [Route(graph.edges[number], kind="loop") for number in loops]
        left += right
    for number, edge in enumerate(graph.edges):
        if len({*_lanes(graph, edge)}) > 1:
            routes.append(Route(edge, kind="across"))
    bottom = max((top + height for top, height in zip(tops, heights, strict=True)), default=0.0)
    _finish(graph, routes, corners, sizes, labels, lanes)
    return Drawing(corners, routes, left, bottom, lanes)


def _lanes(graph: Graph, edge: Edge) -> tuple[Lane, Lane]:
    return graph.boxes[edge.source[0]].lane, graph.boxes[edge.target[0]].lane


def _tops(
    graph: Graph, rows: Sequence[int], sizes: Sequence[Size], labels: Sequence[Size]
) -> tuple[list[float], list[float]]:
    """The top and the height of each row: of its tallest box, or of a label in it."""
    heights = [0.0] * (max(rows, default=-1) + 1)
    for row, (_, height) in zip(rows, sizes, strict=True):
        heights[row] = max(heights[row], height)
    for edge, (_, height) in zip(graph.edges, labels, strict=True):
        one, other = (rows[end[0]] for end in (edge.source, edge.target))
        if height and abs(one - other) > 1:
            row = max(one, other) - 1
            heights[row] = max(heights[row], height)
    tops, y = list[float](), 0.0
    for height in heights:
        tops.append(y)
        y += height + GAP
    return tops, heights


def _lane_nodes(
    graph: Graph,
    boxes: Sequence[int],
    edges: Sequence[int],
    rows: Sequence[int],
    sizes: Sequence[Size],
    labels: Sequence[Size],
) -> tuple[list[Node], dict[int, list[int]], list[int]]:
    """The nodes of a lane, each edge as the nodes that it passes from top to bottom, and edges against the lane."""
    nodes = [Node(rows[box], sizes[box][0], box) for box in boxes]
    at = {box: n for n, box in enumerate(boxes)}
    chains: dict[int, list[int]] = {}
    loops: list[int] = []
    joined: dict[tuple[int, int], list[int]] = {}
    for number in edges:
        upper, lower = graph.edges[number].source[0], graph.edges[number].target[0]
        if graph.boxes[upper].lane == "backward":
            upper, lower = lower, upper
        if rows[upper] >= rows[lower]:
            loops.append(number)
            continue
        wide = labels[number][0]
        if not wide and (upper, lower) in joined:
            chains[number] = joined[upper, lower]
            continue
        chain = [at[upper]]
        for row in range(rows[upper] + 1, rows[lower]):
            chain.append(len(nodes))
            nodes.append(Node(row, wide if row == rows[lower] - 1 and wide else THROUGH))
        chains[number] = [*chain, at[lower]]
        joined.setdefault((upper, lower), chains[number])
    return nodes, chains, loops


def _arrange(nodes: list[Node], chains: Mapping[int, Sequence[int]]) -> float:
    """Order and place the nodes of a lane from 0 to the right; returns how wide it is."""
    up: dict[int, list[int]] = defaultdict(list)
    down: dict[int, list[int]] = defaultdict(list)
    for pair in dict.fromkeys(pair for chain in chains.values() for pair in pairwise(chain)):
        down[pair[0]].append(pair[1])
        up[pair[1]].append(pair[0])
    by_row: dict[int, list[int]] = defaultdict(list)
    for n, node in enumerate(nodes):
        by_row[node.row].append(n)
    order = sorted(by_row)
    for row in order:
        _settle(nodes, by_row[row], {n: 0.0 for n in by_row[row]})
    for sweep in range(SWEEPS):
        near = (up, down)[sweep % 2]
        for row in order if near is up else reversed(order):
            wanted = {n: _mean(nodes, n, near[n]) for n in by_row[row]}
            if sweep < SWEEPS - 4:
                by_row[row].sort(key=lambda n: wanted[n])
            _settle(nodes, by_row[row], wanted)
    for row in order:
        _settle(nodes, by_row[row], {n: _mean(nodes, n, (*up[n], *down[n])) for n in by_row[row]})
    least = min((node.x - node.width / 2 for node in nodes), default=0.0)
    for node in nodes:
        node.x -= least
    return max((node.x + node.width / 2 for node in nodes), default=0.0)


def _mean(nodes: Sequence[Node], n: int, near: Sequence[int]) -> float:
    """The mean place of neighbours; boxes draw boxes and bends draw bends, so that both make straight lines."""
    weights = [1.0 if (nodes[n].box is None) == (nodes[m].box is None) else STRAY for m in near]
    whole = sum(weights)
    return sum(w * nodes[m].x for w, m in zip(weights, near, strict=True)) / whole if whole else nodes[n].x


def _settle(nodes: list[Node], row: Sequence[int], wanted: Mapping[int, float]) -> None:
    """The places in this order that are nearest to those wanted and do not overlap."""
    offsets, reach = list[float](), 0.0
    for before, n in zip([None, *row], row, strict=False):
        if before is not None:
            reach += (nodes[before].width + nodes[n].width) / 2 + BETWEEN
        offsets.append(reach)
    pools: list[tuple[float, int]] = []
    for offset, n in zip(offsets, row, strict=True):
        mean, count = wanted[n] - offset, 1
        while pools and pools[-1][0] > mean:
            other, many = pools.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        pools.append((mean, count))
    places = [mean for mean, count in pools for _ in range(count)]
    for offset, n, base in zip(offsets, row, places, strict=True):
        nodes[n].x = round(base + offset, 3)


def _finish(
    graph: Graph,
    routes: list[Route],
    corners: Sequence[Point],
    sizes: Sequence[Size],
    labels: Sequence[Size],
    lanes: Mapping[Lane, float],
) -> None:
    """Add where edges leave and arrive, side by side where several do."""
    number = {id(edge): n for n, edge in enumerate(graph.edges)}
    sides: dict[tuple[int, str], list[tuple[float, int, int]]] = defaultdict(list)
    for n, route in enumerate(routes):
        source, target = route.edge.source[0], route.edge.target[0]
        ends: list[tuple[int, str, float]] = []
        if route.kind == "lane":
            upward = graph.boxes[source].lane == "backward"
            inner = list(reversed(route.points)) if upward else route.points
            route.points = inner
            out, into = ("top", "bottom") if upward else ("bottom", "top")
            ends = [
                (source, out, _middle(corners, sizes, target)[0]),
                (target, into, _middle(corners, sizes, source)[0]),
            ]
            if inner:
                ends = [(source, out, inner[0][0]), (target, into, inner[-1][0])]
        else:
            out, into = ("left", "left") if route.kind == "loop" else ("right", "left")
            ends = [
                (source, out, _middle(corners, sizes, target)[1]),
                (target, into, _middle(corners, sizes, source)[1]),
            ]
        for end, (box, side, key) in enumerate(ends):
            sides[box, side].append((key, n, end))
    places: dict[tuple[int, int], Point] = {}
    for (box, side), found in sides.items():
        for rank, (_, n, end) in enumerate(sorted(found)):
            places[n, end] = _port(corners[box], sizes[box], side, rank, len(found))
    for n, route in enumerate(routes):
        route.points = [places[n, 0], *route.points, places[n, 1]]
        wide, _ = labels[number[id(route.edge)]]
        if route.kind == "across" and wide:
            target = graph.boxes[route.edge.target[0]].lane
            route.label = lanes[target] - wide / 2 - 14, route.points[-1][1]


def _middle(corners: Sequence[Point], sizes: Sequence[Size], box: int) -> Point:
    return corners[box][0] + sizes[box][0] / 2, corners[box][1] + sizes[box][1] / 2


def _port(corner: Point, size: Size, side: str, rank: int, count: int) -> Point:
    """The place of one of several edges on a side of a box."""
    along = size[0] if side in ("top", "bottom") else size[1]
    step = min(14.0, 0.7 * along / count)
    at = along / 2 + (rank - (count - 1) / 2) * step
    if side in ("top", "bottom"):
        return corner[0] + at, corner[1] + (size[1] if side == "bottom" else 0.0)
    return corner[0] + (size[0] if side == "right" else 0.0), corner[1] + at
