"""A graph in the language DOT of Graphviz: a cluster for each lane, and for each box of several cells."""

from __future__ import annotations

from collections.abc import Iterator

from npuc.compiler.graph.colours import KINDS, RIM, heat
from npuc.compiler.graph.model import Box, Cell, Graph


def to_dot(graph: Graph) -> str:
    """The text; edges of the backward pass are written from top to bottom, so that blocks stand side by side."""
    return "\n".join(["digraph npuc {", *(f"  {line}" for line in _lines(graph)), "}", ""])


def _lines(graph: Graph) -> Iterator[str]:
    font = 'fontname="DejaVu Sans Mono,Menlo,Consolas,monospace"'
    yield f"graph [{font} fontsize=13 labelloc=t labeljust=l nodesep=0.3 ranksep=0.4 label={_left(graph.title)}];"
    yield f'node [{font} fontsize=10 shape=box style="rounded,filled" color="{RIM}" fillcolor="{heat(None, None)}"];'
    yield f'edge [{font} fontsize=9 color="#7b828b" arrowsize=0.7];'
    for lane in graph.lanes:
        yield f"subgraph cluster_{lane} {{"
        yield f'  label={_quoted(lane)}; color="{RIM}"; style=rounded;'
        for number, box in enumerate(graph.boxes):
            if box.lane == lane:
                yield from (f"  {line}" for line in _box(graph, number, box))
        yield "}"
    for edge in graph.edges:
        source, target = graph.boxes[edge.source[0]], graph.boxes[edge.target[0]]
        ends, more = (edge.source, edge.target), list[str]()
        if source.lane != target.lane:
            more += ["constraint=false", 'style="dashed"' if target.lane == "backward" else 'style="solid"']
        elif source.lane == "backward":
            ends, more = (edge.target, edge.source), ["dir=back"]
        if edge.label:
            more += [f"label={_left(edge.label)}", f'color="{KINDS["comm"]}"']
        more.append(f"tooltip={_quoted(chr(10).join(edge.tip))}")
        yield f"{_name(*ends[0])} -> {_name(*ends[1])} [{' '.join(more)}];"


def _name(box: int, cell: int) -> str:
    return f"n{box}_{cell}"


def _box(graph: Graph, number: int, box: Box) -> Iterator[str]:
    if len(box.cells) == 1:
        yield _cell(graph, _name(number, 0), box, box.cells[0], f"{box.title} {box.cells[0].label}".strip())
        return
    yield f"subgraph cluster_n{number} {{"
    yield f'  label={_quoted(box.title)}; color="{RIM}"; style="rounded,filled"; fillcolor="#e3e6ea";'
    for n, cell in enumerate(box.cells):
        yield "  " + _cell(graph, _name(number, n), box, cell, cell.label)
    yield "}"


def _cell(graph: Graph, name: str, box: Box, cell: Cell, title: str) -> str:
    label = _left([line for line in (title, *cell.lines) if line])
    told = "\n".join([f"{box.title} {cell.label}".strip(), *cell.tip])
    style = ' shape=box style="rounded,filled,dashed"' if box.port is not None else ""
    colour = f' fillcolor="{heat(cell.share, graph.peak)}" color="{KINDS[cell.kind]}"'
    return f"{name} [label={label} tooltip={_quoted(told)}{colour}{style}];"


def _quoted(text: str) -> str:
    shown = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{shown}"'


def _left(lines: tuple[str, ...] | list[str]) -> str:
    """Lines one below the other, from the left."""
    return '"' + "".join(_quoted(line)[1:-1] + "\\l" for line in lines) + '"'
