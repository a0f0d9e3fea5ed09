"""What a graph says and how it is written: costs, plans, folded names, text that fits its box, DOT that is one."""

import math
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from lark import Lark
from typing_extensions import Unpack
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from npuc.compiler import UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import Compilation, compile_program
from npuc.compiler.graph import Depth, build, depth_of, draw_graph, to_dot
from npuc.compiler.graph.colours import heat
from npuc.compiler.graph.flow import read
from npuc.compiler.graph.names import Run, names_of, with_runs
from npuc.compiler.graph.words import bytes_text, clipped, macs_text, percent
from npuc.frontends import read_source
from npuc.frontends.source import text_source
from tests.support.pictures import kept_figures, overlapping, texts_of

NETWORK = """network net(batch=8) {
  input  x: f32[batch, 24]
  labels y: i32[batch]
  h = relu(linear(x, 16, bias=false))
  logits = linear(h, 8, bias=false)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
TOWER = """block unit(x, width) {
  a = relu(linear(x, width))
  b = linear(a, 16)
  return a + b if width == 16 else b
}
block units(x) {
  for i in 0..3 { x = unit(x, 16) }
  return x
}
network tower(batch=8) {
  input  x: f32[batch, 16]
  labels y: i32[batch]
  part = units(x)
  loss cross_entropy(linear(part, 8), y)
  optimizer sgd(lr=0.1)
}
"""
DOT: Any = Lark(
    r"""
    start: "digraph" ID "{" statement* "}"
    statement: (ID attributes | ID "->" ID attributes | ID "=" value | "subgraph" ID "{" statement* "}") ";"?
    attributes: "[" (ID "=" value)* "]"
    value: STRING | ID | NUMBER
    ID: /[a-z]\w*/
    NUMBER: /[\d.]+/
    STRING: /"(\\.|[^"\\])*"/
    %ignore /\s+/
    """,
    parser="lalr",
)


def compiled(text: str, **options: Unpack[CompileKeywords]) -> Compilation:
    given: CompileKeywords = {"opt_level": 1, **options}
    return compile_program(text_source(text, "dsl", "net.dsl"), ["cycle"], given)


@pytest.fixture(scope="module")
def step() -> Compilation:
    return compiled(NETWORK)


@pytest.mark.parametrize("depth", ["ops", "layers", 1])
def test_boxes_have_the_cost_of_the_report(step: Compilation, depth: Depth) -> None:
    report = step.reports[0]
    graph = build(step.modules[0], report, depth)
    cells = [cell for box in graph.boxes for cell in box.cells]
    assert math.fsum(cell.cost.seconds or 0 for cell in cells) == pytest.approx(report.totals.seconds)
    moved = (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)
    assert sum(cell.cost.bytes or 0 for cell in cells) == moved
    assert graph.peak == max(cell.share for cell in cells if cell.share is not None)


def test_each_of_several_operations_of_a_layer_has_its_own_cost() -> None:
    """The gradient of a value that two read is a sum: another vector operation of the layer, in the same phase."""
    text = """network net(batch=8) {
      input  x: f32[batch, 4, 8]
      labels y: i32[batch]
      h = linear(x, 8)
      z = h + linear(layer_norm(h), 8)
      loss cross_entropy(mean(z, axis=1), y)
      optimizer sgd(lr=0.1)
    }"""
    found = compiled(text, overrides={"vector.lanes": 4})
    graph = build(found.modules[0], found.reports[0], "ops")
    rows = found.reports[0].ops
    several = [[r.seconds for r in rows if (r.name, r.phase, r.op) == (o.name, o.phase, o.op)] for o in rows]
    assert any(len(set(seconds)) > 1 for seconds in several)
    shown = [cell.cost.seconds for box in graph.boxes for cell in box.cells if cell.cost.seconds is not None]
    assert sorted(shown) == sorted(row.seconds for row in rows if row.seconds is not None)


def test_costs_by_layer_and_phase() -> None:
    """A row of the roofline is a layer's forward or backward pass."""
    found = compile_program(text_source(NETWORK, "dsl", "net.dsl"), ["roofline"], {})
    graph = build(found.modules[0], found.reports[0], "layers")
    cells = [cell for box in graph.boxes for cell in box.cells]
    assert math.fsum(cell.cost.seconds or 0 for cell in cells) == pytest.approx(found.reports[0].totals.seconds)


def test_interleaved_contractions_share_a_box(step: Compilation) -> None:
    graph = build(step.modules[0], step.reports[0], "ops")
    (box,) = [box for box in graph.boxes if "interleaved" in box.title]
    assert [cell.label for cell in box.cells] == ["dX", "dW"]
    assert any(line.startswith("loops ") for line in box.cells[0].lines)


def test_a_plan_is_drawn_with_what_moves() -> None:
    found = compiled(NETWORK, devices=4, parallel="joint", convention="physical", hardware="hypar16")
    graph = build(found.modules[0], found.reports[0], "layers")
    types = {box.title: box.cells[0].lines[0] for box in graph.boxes if box.lane == "forward" and not box.port}
    levels = found.reports[0].parallel.levels if found.reports[0].parallel is not None else []
    for layer in ("h.linear", "logits"):
        assert [one.split()[0] for one in types[layer].split(" | ")] == [level.choices[layer] for level in levels]
    labels = [line for edge in graph.edges for line in edge.label]
    labels += [line for box in graph.boxes for cell in box.cells for line in cell.lines]
    assert any("all-reduce" in line for line in labels)
    assert any("H1" in line for line in labels)
    assert "4 devices" in graph.title[2]


def test_like_blocks_are_one() -> None:
    steps = read(read_source(TOWER, format="dsl"), collectives=False).steps
    names = with_runs(names_of(steps), steps)
    assert {path[:2] for path in names.paths if len(path) > 2} == {("part", "0-2")}
    assert names.runs == {("part", "0-2"): Run(3, "part.0", "part.2")}


def test_blocks_that_differ_are_not() -> None:
    text = TOWER.replace("unit(x, 16)", "unit(x, 16 * (i + 1))")
    steps = read(read_source(text, format="dsl"), collectives=False).steps
    assert with_runs(names_of(steps), steps).runs == {}


def test_a_run_has_a_frame() -> None:
    graph = build(read_source(TOWER, format="dsl"), depth=3)
    (outline,) = graph.outlines
    assert outline.title == "part.0-2 × 3"
    assert {graph.boxes[n].title for n in outline.boxes} >= {"part.0-2.a"}
    assert any(box.title == "part.0-2 × 3" for box in build(read_source(TOWER, format="dsl"), depth=2).boxes)


def test_the_title_of_a_frame_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    assert "part.0-2 × 3" in texts_of(draw_graph(build(read_source(TOWER, format="dsl"), depth=3), "svg"))


@pytest.mark.parametrize("depth", ["ops", "layers", 1])
def test_text_stays_in_its_box(step: Compilation, depth: Depth) -> None:
    patches: Any = pytest.importorskip("matplotlib.patches")
    backend: Any = pytest.importorskip("matplotlib.backends.backend_agg")
    with kept_figures() as figures:
        draw_graph(build(step.modules[0], step.reports[0], depth), "svg")
    (axes,) = figures[0].axes
    renderer = backend.FigureCanvasAgg(figures[0]).get_renderer()
    boxes = [patch.get_window_extent(renderer) for patch in axes.patches if isinstance(patch, patches.FancyBboxPatch)]
    frames = [box for box in boxes if box.width > 20]
    texts = [text.get_window_extent(renderer) for text in axes.texts]
    inside = 0
    for text in texts:
        assert 0 <= text.x0 <= text.x1 <= figures[0].bbox.width
        for box in frames:
            if box.x0 <= text.x0 <= box.x1 and box.y0 <= (text.y0 + text.y1) / 2 <= box.y1:
                assert text.x1 < box.x1
                assert box.y0 - 1 <= text.y0 <= text.y1 <= box.y1 + 1
                inside += 1
    assert inside >= 16
    assert overlapping(figures[0]) == []


def test_boxes_have_tooltips(step: Compilation) -> None:
    pytest.importorskip("matplotlib")
    graph = build(step.modules[0], step.reports[0], "ops")
    data = draw_graph(graph, "svg")
    titles = [element.text or "" for element in fromstring(data).iter("{http://www.w3.org/2000/svg}title")]
    for box in graph.boxes:
        for cell in box.cells:
            assert "\n".join([f"{box.title} {cell.label}".strip(), *cell.tip]) in titles
    for edge in graph.of_boxes().edges:
        assert "\n".join(edge.tip) in titles


def test_what_is_too_large_for_a_png(step: Compilation, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("npuc.compiler.graph.picture.MOST", 300)
    with pytest.raises(UsageError, match="too large for a PNG"):
        draw_graph(build(step.modules[0], step.reports[0]), "png")


@pytest.mark.parametrize("depth", ["ops", "layers", 1])
def test_dot_is_the_language(step: Compilation, depth: Depth) -> None:
    graph = build(step.modules[0], step.reports[0], depth)
    text = to_dot(graph)
    DOT.parse(text)
    assert text.count("->") == len(graph.edges)
    assert text.count("tooltip=") == len(graph.edges) + sum(len(box.cells) for box in graph.boxes)


def test_dot_escapes() -> None:
    module = read_source(NETWORK, format="dsl")
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    func.properties["sym_name"] = StringAttr('a "b" \\ c')
    text = to_dot(build(module))
    DOT.parse(text)
    assert r'label="a \"b\" \\ c: ' in text


def test_depths() -> None:
    assert [depth_of(text) for text in (None, "auto", "ops", "layers", "3")] == ["auto", "auto", "ops", "layers", 3]
    for text in ("0", "-1", "all", "1.5", ""):
        with pytest.raises(UsageError, match="expected auto, ops, layers or a number"):
            depth_of(text)


def test_words() -> None:
    assert [percent(share) for share in (0, 0.0001, 0.012, 0.1, 1)] == ["0%", "<0.1%", "1.2%", "10%", "100%"]
    assert [bytes_text(moved) for moved in (0, 100, 1 << 20, 999.7 * 2**20)] == ["0 B", "100 B", "1 MiB", "1,000 MiB"]
    assert [macs_text(macs) for macs in (5, 25690112)] == ["5 MACs", "25.7 M MACs"]
    assert clipped("abcdef", 4) == "abc…"


def test_the_scale_of_colours() -> None:
    assert heat(None, 1.0) == heat(0.0, 1.0) == heat(0.5, None)
    assert heat(0.5, 0.5) == "#ec7866"
