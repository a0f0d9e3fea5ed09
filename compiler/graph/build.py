"""The graph of a program: which operations share a box, which values its edges carry, and what all of them say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from npuc.compiler.graph.costs import Costs, costs_of, total_of
from npuc.compiler.graph.flow import LANES, Flow, Flows, Lane, Port, Step, read, step_of
from npuc.compiler.graph.model import Box, Cell, Cost, Edge, Graph, Outline, WorkKind
from npuc.compiler.graph.names import AUTO, MOST_BOXES, MOST_OPS, Depth, Path, names_of, with_runs
from npuc.compiler.graph.sharing import sharing_line
from npuc.compiler.graph.titles import heading, plan_types
from npuc.compiler.graph.words import (
    clipped,
    kinds_text,
    macs_of,
    macs_text,
    move_lines,
    op_tip,
    time_words,
    tips,
    type_text,
    work_kind,
    work_lines,
    work_name,
)
from npuc.compiler.report import Report
from npuc.dialects.distributed import DistOp
from npuc.dialects.npu import InterleaveOp

FIRST: tuple[WorkKind, ...] = ("matrix", "vector", "comm", "data", "value")
"""The kinds of work of which a cell is marked by the first that it has."""
FEW = 12
"""A program of so few operations shows its parameters as boxes, too."""


@dataclass(frozen=True)
class _Key:
    """What the steps of one box share; `number` is that of an operation that has a box of its own."""

    group: Path
    lane: Lane
    number: int | None = None


def build(module: ModuleOp, report: Report | None = None, depth: Depth = AUTO) -> Graph:
    """The graph of a program at a depth of folding, with the costs of `report`, where there is one."""
    depth = _chosen(read(module, collectives=False), depth)
    return _Builder(read(module, collectives=depth == "ops"), module, report, depth).graph()


def _chosen(flows: Flows, depth: Depth) -> Depth:
    """Of `auto`: operations of a short program that is lowered, else the deepest names that make few boxes."""
    if depth != "auto":
        return depth
    steps = flows.steps
    lowered = any(not step.op.name.startswith(("train.", "dist.")) for step in steps)
    if len(steps) <= FEW or (lowered and len(steps) <= MOST_OPS):
        return "ops"
    if _most(names_of(steps).paths, steps) <= MOST_BOXES:
        return "layers"
    names = with_runs(names_of(steps), steps)
    return next((n for n in range(names.deepest, 1, -1) if _most(names.at(n), steps) <= MOST_BOXES), 1)


def _most(paths: Sequence[Path], steps: Sequence[Step]) -> int:
    """The boxes of the lane that has most."""
    boxes = {(path, step.lane) for path, step in zip(paths, steps, strict=True)}
    return max((sum(lane == one for _, one in boxes) for lane in LANES), default=0)


class _Builder:
    """Makes the boxes and edges of a program."""

    def __init__(self, flows: Flows, module: ModuleOp, report: Report | None, depth: Depth):
        self.flows, self.module, self.report = flows, module, report
        self.depth: Depth = depth
        steps = flows.steps
        nested = [inner for step in steps for inner in step.op.walk()]
        on_way = [move for flow in flows.flows for move in flow.moves]
        self.costs: Costs = {} if report is None else costs_of(list(dict.fromkeys([*nested, *on_way])), report)
        self.total = None if report is None else report.totals.seconds
        self.types = plan_types(module, report)
        names = names_of(steps)
        if isinstance(depth, int):
            names = with_runs(names, steps)
        self.names = names
        self.paths = names.at(depth) if isinstance(depth, int) else names.paths
        self.show_held = depth == "ops" and len(steps) <= FEW

    def graph(self) -> Graph:
        """The whole."""
        members: dict[_Key, list[Step]] = defaultdict(list)
        for step, path in zip(self.flows.steps, self.paths, strict=True):
            members[_Key(path, step.lane, step.number if self.depth == "ops" else None)].append(step)
        boxes = [self._box(key, steps) for key, steps in members.items()]
        places = {
            step: (n, c) for n, box in enumerate(boxes) for c, cell in enumerate(box.cells) for step in cell.steps
        }
        edges, boxes = self._edges(boxes, places)
        shares = [cell.share for box in boxes for cell in box.cells if cell.share is not None]
        title = heading(self.module, self.report, self.flows, self.depth)
        return Graph(title, boxes, edges, self._outlines(boxes), max(shares, default=None))

    def _box(self, key: _Key, steps: list[Step]) -> Box:
        if self.depth == "ops":
            return self._operation(key, steps[0])
        parts: dict[str, list[Step]] = defaultdict(list)
        for step in steps:
            parts[step.part].append(step)
        run = self.names.runs.get(key.group)
        title = ".".join(key.group) + (f" × {run.count}" if run is not None else "")
        types = self.types.get(key.group[0] if len(key.group) == 1 else ".".join(key.group)) or self._types(steps)
        cells: list[Cell] = []
        for part, own in parts.items():
            cell = self._cell(part, own)
            if types and key.lane == "forward":
                cell = replace(cell, lines=(clipped(types), *cell.lines), tip=(f"plan: {types}", *cell.tip))
            cells.append(cell)
        return Box(key.group, key.lane, title, tuple(cells))

    def _types(self, steps: Sequence[Step]) -> str | None:
        """The partition types of layers that are drawn together, those that most of them have first."""
        found = dict.fromkeys(self.types[step.layer] for step in steps if step.layer in self.types)
        return "; ".join(found) or None

    def _cell(self, label: str, steps: Sequence[Step]) -> Cell:
        ops = [step.op for step in steps]
        cost = total_of((inner for op in ops for inner in op.walk()), self.costs)
        share = cost.seconds / self.total if cost.seconds is not None and self.total else None
        macs = sum(map(macs_of, ops))
        shared = sharing_line(ops)
        lines = [clipped(kinds_text(ops)), *([] if shared is None else [clipped(shared)]), *time_words(cost, share)]
        if cost == Cost() and macs:
            lines.append(macs_text(macs))
        kinds: set[WorkKind] = {work_kind(op) for op in ops}
        kind = min(kinds, key=FIRST.index)
        about = [f"{macs_text(macs)}"] if macs else []
        listed = tips([op_tip(op, self.costs.get(op)) for op in ops])
        return Cell(label, tuple(lines), (*about, *listed), kind, tuple(steps), cost, share)

    def _operation(self, key: _Key, step: Step) -> Box:
        title = step.layer or work_name(step.op)
        if isinstance(step.op, InterleaveOp):
            cell = self._cell("", [step])
            inner = [self._single(step_of(op, step.number)) for op in step.op.contracts]
            words = ", ".join(time_words(cell.cost, cell.share))
            cells = [replace(one, share=cell.share) for one in inner]
            cells[0] = replace(cells[0], steps=(step,), cost=cell.cost)
            cells[1:] = [replace(one, steps=()) for one in cells[1:]]
            shared = sharing_line([step.op])
            cells = [one if shared is None else replace(one, lines=(*one.lines, shared)) for one in cells]
            name = f"{title}: interleaved, number {step.number + 1}"
            return Box(key.group, step.lane, name + (f", {words}" if words else ""), tuple(cells))
        return Box(key.group, step.lane, title, (self._single(step, numbered=True),))

    def _single(self, step: Step, *, numbered: bool = False) -> Cell:
        cell = self._cell(step.part, [step])
        name = f"{work_name(step.op)}, number {step.number + 1}" if numbered else work_name(step.op)
        about = [clipped(line) for line in work_lines(step.op)]
        moved = move_lines([step.op]) if isinstance(step.op, DistOp) else ()
        return replace(cell, lines=(name, *about, *cell.lines[1:], *moved))

    def _edges(self, boxes: list[Box], places: Mapping[Step, tuple[int, int]]) -> tuple[list[Edge], list[Box]]:
        """The edges, and the boxes with those of ports and with what lies in them."""
        inside: dict[int, list[DistOp]] = defaultdict(list)
        held: dict[int, list[SSAValue]] = defaultdict(list)
        carried: dict[tuple[tuple[int, int], tuple[int, int]], list[Flow]] = defaultdict(list)
        ports: dict[Port, tuple[int, int]] = {}
        extra: list[Box] = []
        lanes = self._port_lanes()

        def place(end: Step | Port) -> tuple[int, int]:
            if isinstance(end, Step):
                return places[end]
            if end not in ports:
                ports[end] = len(boxes) + len(extra), 0
                extra.append(_port(end, lanes[end]))
            return ports[end]

        for flow in self.flows.flows:
            if isinstance(flow.source, Port) and isinstance(flow.target, Port):
                continue
            if isinstance(flow.source, Port) and flow.source.held and not self.show_held:
                box = place(flow.target)[0]
                held[box].append(flow.value)
                inside[box] += flow.moves
                continue
            source, target = place(flow.source), place(flow.target)
            if source[0] == target[0]:
                inside[source[0]] += flow.moves
            else:
                carried[source, target].append(flow)
        told = {move for moves in inside.values() for move in moves}
        lane = [box.lane for box in (*boxes, *extra)]
        # Of edges that share a collective one within a lane tells of it.
        order = sorted(carried, key=lambda ends: lane[ends[0][0]] != lane[ends[1][0]])
        edges = [self._edge(*ends, carried[ends], told) for ends in order]
        done = [self._filled(box, inside[n], held[n]) for n, box in enumerate(boxes)]
        return edges, [*done, *extra]

    def _edge(self, source: tuple[int, int], target: tuple[int, int], flows: Sequence[Flow], told: set[DistOp]) -> Edge:
        """An edge; its label is of collectives that no other is of, which are `told` then."""
        values = tuple(dict.fromkeys(flow.value for flow in flows))
        moves = tuple(dict.fromkeys(move for flow in flows for move in flow.moves))
        new = [move for move in moves if move not in told]
        told.update(new)
        label = move_lines(new, total_of(new, self.costs).seconds)
        lines = [f"{value.name_hint or 'value'}: {type_text(value)}" for value in values]
        return Edge(
            source, target, values, moves, label, (*tips(lines), *(op_tip(m, self.costs.get(m)) for m in moves))
        )

    def _port_lanes(self) -> dict[Port, Lane]:
        """The lane of each argument and result: the first in which a step reads or makes it."""
        found: dict[Port, set[Lane]] = defaultdict(set)
        for flow in self.flows.flows:
            for end, other in ((flow.source, flow.target), (flow.target, flow.source)):
                if isinstance(end, Port) and isinstance(other, Step):
                    found[end].add(other.lane)
        return {port: next(lane for lane in LANES if lane in lanes) for port, lanes in found.items()}

    def _filled(self, box: Box, moves: list[DistOp], held: list[SSAValue]) -> Box:
        """A box with the collectives and the parameters in it."""
        moves, held = list(dict.fromkeys(moves)), list(dict.fromkeys(held))
        lines = move_lines(moves, total_of(moves, self.costs).seconds)
        if not moves and not held:
            return box
        last = box.cells[-1]
        stored = tuple(f"reads {value.name_hint or 'a parameter'}: {type_text(value)}" for value in held)
        last = replace(last, lines=(*last.lines, *lines), tip=(*last.tip, *tips(stored)))
        return replace(box, cells=(*box.cells[:-1], last), moves=tuple(moves), held=tuple(held))

    def _outlines(self, boxes: Sequence[Box]) -> list[Outline]:
        """A frame in each lane around the boxes of a run that is drawn in parts, but for runs within runs."""
        found: list[Outline] = []
        for path, run in self.names.runs.items():
            if not isinstance(self.depth, int) or len(path) >= self.depth:
                continue
            for lane in LANES:
                own = [n for n, b in enumerate(boxes) if b.group[: len(path)] == path and b.lane == lane and not b.port]
                if len(own) > 1:
                    found.append(Outline(f"{'.'.join(path)} × {run.count}", frozenset(own)))
        return found


def _port(port: Port, lane: Lane) -> Box:
    lines = (type_text(port.value),)
    cell = Cell("", lines, (("result: " if port.result else "argument: ") + port.name,), "value")
    return Box((f"{'result' if port.result else 'argument'} {port.name}",), lane, port.name, (cell,), port=port)
