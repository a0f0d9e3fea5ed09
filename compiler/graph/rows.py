"""
The row of each box.

Values flow downwards in the lane `forward` and upwards in `backward`, so that the boxes of one block stand side by
side. Blocks are layered by longest paths (Sugiyama et al., 1981); an edge against the order of the program, as folding
may make, does not count. Within a block each lane is layered for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from npuc.compiler.graph.model import Box, Graph

Group = tuple[str, ...]


def rows_of(graph: Graph) -> list[int]:
    """The row of each box from 0; between the boxes of an edge with a label in a lane a row is left."""
    boxes, edges = graph.boxes, _downwards(graph)
    inner = _inner(boxes, edges)
    height: dict[Group, int] = defaultdict(lambda: 1)
    for box, row in zip(boxes, inner, strict=True):
        height[box.group] = max(height[box.group], row + 1)
    order = _order(boxes, edges)
    gaps: dict[tuple[Group, Group], int] = {}
    for upper, lower, gap in edges:
        one, other = boxes[upper].group, boxes[lower].group
        if one != other and order[one] < order[other]:
            gaps[one, other] = max(gaps.get((one, other), 0), height[one] + gap - 1)
    start = _longest(sorted(order, key=lambda group: order[group]), gaps)
    _pull_down(boxes, gaps, start)
    _beside(graph, start, gaps)
    _stack(graph, start, height)
    rows = [start[box.group] + row for box, row in zip(boxes, inner, strict=True)]
    used = {row: n for n, row in enumerate(sorted({*rows, *_label_rows(rows, edges)}))}
    return [used[row] for row in rows]


def _downwards(graph: Graph) -> list[tuple[int, int, int]]:
    """The edges within lanes from the upper box to the lower one, each with the rows that it spans at least."""
    found: dict[tuple[int, int], int] = {}
    for edge in graph.edges:
        ends = edge.source[0], edge.target[0]
        if graph.boxes[ends[0]].lane != graph.boxes[ends[1]].lane:
            continue
        if graph.boxes[ends[0]].lane == "backward":
            ends = ends[1], ends[0]
        found[ends] = max(found.get(ends, 1), 2 if edge.label else 1)
    return [(upper, lower, gap) for (upper, lower), gap in found.items()]


def _label_rows(rows: Sequence[int], edges: Sequence[tuple[int, int, int]]) -> set[int]:
    return {rows[lower] - 1 for upper, lower, gap in edges if gap > 1 and rows[lower] > rows[upper]}


def _inner(boxes: Sequence[Box], edges: Sequence[tuple[int, int, int]]) -> list[int]:
    """The row of each box within its block and lane; updates stand one below the other."""
    below: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for upper, lower, gap in edges:
        if boxes[upper].group == boxes[lower].group:
            below[upper].append((lower, gap))
    rows = [0] * len(boxes)
    updates: dict[Group, int] = defaultdict(int)
    for n, box in enumerate(boxes):
        if box.lane == "update":
            rows[n] = updates[box.group]
            updates[box.group] += 1
    for _ in boxes:
        changed = False
        for upper, lowers in below.items():
            for lower, gap in lowers:
                if rows[lower] < rows[upper] + gap <= len(boxes):
                    rows[lower] = rows[upper] + gap
                    changed = True
        if not changed:
            break
    return rows


def _order(boxes: Sequence[Box], edges: Sequence[tuple[int, int, int]]) -> dict[Group, float]:
    """The order of the blocks: that of their forward work, of others backwards that of their work in other lanes."""
    first: dict[Group, float] = {}
    last = max((step.number for box in boxes for cell in box.cells for step in cell.steps), default=0)
    for lane in ("forward", "backward", "update"):
        for box in boxes:
            numbers = [step.number for cell in box.cells for step in cell.steps]
            if box.lane == lane and numbers and box.group not in first:
                first[box.group] = numbers[0] if lane == "forward" else 2 * last + 1 - numbers[0]
    for n, box in enumerate(boxes):
        if box.port is not None:
            near = [first.get(boxes[a if b == n else b].group, 0) for a, b, _ in edges if n in (a, b)]
            below = box.port.result != (box.lane == "backward")
            first[box.group] = max(near, default=last) + 0.5 if below else min(near, default=0) - 0.5
    return first


def _longest(groups: Sequence[Group], gaps: Mapping[tuple[Group, Group], int]) -> dict[Group, int]:
    above: dict[Group, list[tuple[Group, int]]] = defaultdict(list)
    for (upper, lower), gap in gaps.items():
        above[lower].append((upper, gap))
    start: dict[Group, int] = {}
    for group in groups:
        start[group] = max((start[upper] + gap for upper, gap in above[group]), default=0)
    return start


def _pull_down(boxes: Sequence[Box], gaps: Mapping[tuple[Group, Group], int], start: dict[Group, int]) -> None:
    """Put what reads nothing right above its first reader."""
    below: dict[Group, list[int]] = defaultdict(list)
    fed = {lower for _, lower in gaps}
    for (upper, lower), gap in gaps.items():
        below[upper].append(start[lower] - gap)
    for box in boxes:
        if box.group not in fed and below[box.group]:
            start[box.group] = max(start[box.group], min(below[box.group]))


def _beside(graph: Graph, start: dict[Group, int], gaps: Mapping[tuple[Group, Group], int]) -> None:
    """Put what only other lanes know beside what it reads."""
    placed = {group for pair in gaps for group in pair}
    for edge in graph.edges:
        source, target = (graph.boxes[end[0]] for end in (edge.source, edge.target))
        for own, other in ((target, source), (source, target)):
            if own.group not in placed and other.group in placed:
                start[own.group] = start[other.group]
                placed.add(own.group)


def _stack(graph: Graph, start: dict[Group, int], height: Mapping[Group, int]) -> None:
    """Put parts of the program that have nothing to do with each other one below the other."""
    part: dict[Group, Group] = {}

    def root(group: Group) -> Group:
        while part.setdefault(group, group) != group:
            part[group] = group = part[part[group]]
        return group

    for edge in graph.edges:
        one, other = (root(graph.boxes[end[0]].group) for end in (edge.source, edge.target))
        part[other] = one
    members: dict[Group, list[Group]] = defaultdict(list)
    for group in dict.fromkeys(box.group for box in graph.boxes):
        members[root(group)].append(group)
    top = 0
    for groups in members.values():
        least = min(start[group] for group in groups)
        for group in groups:
            start[group] += top - least
        top = max(start[group] + height[group] for group in groups)
