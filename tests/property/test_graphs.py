"""A graph has each operation once and each value that is read, at any depth; its boxes do not overlap."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from npuc.compiler.graph import Depth, Graph, build, draw_graph, to_dot
from npuc.compiler.graph.layout import place
from npuc.compiler.graph.rows import rows_of
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.distributed import DistOp
from npuc.frontends.mlir import make_context, read_mlir
from tests.ir_programs import PROGRAMS, text_of
from tests.networks import integer_networks

DEPTHS: list[Depth] = ["auto", "ops", "layers", 1, 2]


def body_of(module: ModuleOp) -> list[Operation]:
    return [op for func in module.ops if isinstance(func, FuncOp) for block in func.body.blocks for op in block.ops]


def check_structure(module: ModuleOp, graph: Graph) -> None:
    ops = body_of(module)
    homes = {step.op: n for n, box in enumerate(graph.boxes) for cell in box.cells for step in cell.steps}
    count = Counter(step.op for box in graph.boxes for cell in box.cells for step in cell.steps)
    on_way = {move for edge in graph.edges for move in edge.moves} | {m for box in graph.boxes for m in box.moves}
    for op in ops:
        if not isinstance(op, ReturnOp):
            assert count[op] == (op not in on_way), op.name
        assert isinstance(op, DistOp) or op not in on_way
    carried: set[tuple[SSAValue, int]] = {(v, edge.target[0]) for edge in graph.edges for v in edge.values}
    held = {(value, n) for n, box in enumerate(graph.boxes) for value in box.held}
    arguments = [a for func in module.ops if isinstance(func, FuncOp) for a in func.body.block.args]
    for value in [*arguments, *(result for op in ops for result in op.results)]:
        maker = value.owner if isinstance(value.owner, Operation) else None
        for use in value.uses:
            user = use.operation
            while user not in homes and user not in on_way and user.parent_op() in homes:
                user = user.parent_op() or user
            if user not in homes or maker in on_way:
                continue
            home = homes[user]
            inside = maker is not None and homes.get(maker) == home
            assert inside or (value, home) in carried or (value, home) in held, (value, user.name)


def check_places(graph: Graph) -> None:
    rows = rows_of(graph)
    joined = graph.of_boxes()
    sizes = [(40.0 + 7 * (n % 5), 20.0 + 3 * (n % 4)) for n in range(len(graph.boxes))]
    labels = [(30.0, 12.0) if edge.label else (0.0, 0.0) for edge in joined.edges]
    drawing = place(joined, rows, sizes, labels)
    frames = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(drawing.corners, sizes, strict=True)]
    for n, (left, top, right, bottom) in enumerate(frames):
        assert left >= 0
        assert top >= 0
        assert right <= drawing.width + 0.01
        assert bottom <= drawing.height
        for other in frames[n + 1 :]:
            assert left >= other[2] or other[0] >= right or top >= other[3] or other[1] >= bottom
    assert len(drawing.routes) == len(joined.edges)
    for route in drawing.routes:
        if route.kind == "lane":
            heights = [y for _, y in route.points]
            assert heights == sorted(heights, reverse=graph.boxes[route.edge.source[0]].lane == "backward")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("depth", DEPTHS, ids=str)
def test_programs_at_every_level(name: str, depth: Depth) -> None:
    module = read_mlir(text_of(name), "f.mlir")
    graph = build(module, None, depth)
    check_structure(module, graph)
    check_places(graph)
    if depth == "auto":
        assert to_dot(graph) == to_dot(build(module, None, depth))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_has_one_picture(name: str) -> None:
    pytest.importorskip("matplotlib")
    drawn = [draw_graph(build(read_mlir(text_of(name), "f.mlir")), "svg") for _ in range(2)]
    assert drawn[0] == drawn[1]


@given(integer_networks(), st.sampled_from(DEPTHS))
def test_random_networks(module: ModuleOp, depth: Depth) -> None:
    AutodiffPass().apply(make_context(), module)
    graph = build(module, None, depth)
    check_structure(module, graph)
    check_places(graph)
