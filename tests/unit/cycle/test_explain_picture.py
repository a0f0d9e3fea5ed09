"""Pictures of `npuc explain`: lanes, states and numbers are those of the explanation; files are the same each time."""

from pathlib import Path
from typing import Any

import pytest

from npuc.backends.cycle.costed import costed_operations
from npuc.backends.cycle.explain import Explanation, draw, explain
from npuc.backends.cycle.explain.filling import Waves
from npuc.backends.cycle.explain.fillings import fillings
from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.cli import run_command
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import compile_program
from npuc.dialects.npu import ContractOp
from npuc.frontends.source import text_source
from tests.support.pictures import kept_figures, legend_of, overlapping, texts_of, ticks_of

pytest.importorskip("matplotlib")

NET = """\
network net(batch=8) {
  input  x: f32[batch, 24]
  labels y: i32[batch]
  h = relu(linear(x, 16, bias=false))
  logits = linear(h, 10, bias=false)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
MACHINE = {"array.rows": 4, "array.cols": 4, "memory.spm_kib": 1, "dram.gb_per_s": 8, "vector.lanes": 4}
TURNS = "autodiff,lower-to-npu,interleave{mode=zip},schedule"


def explained(layer: str, pipeline: str | None = None, **overrides: object) -> list[Explanation]:
    """The operations of a layer, explained."""
    options: CompileKeywords = {"overrides": {**MACHINE, **overrides}}
    if pipeline is not None:
        options["pipeline"] = pipeline
    result = compile_program(text_source(NET, "dsl", "net.dsl"), ["cycle"], options)
    module = result.modules[0]
    ops, machine = costed_operations(module), machine_of(module)
    return [explain(ops[row.index], row, machine) for row in result.reports[0].ops if row.name == layer]


def drawn(explanations: list[Explanation]) -> Any:
    with kept_figures() as figures:
        draw(explanations, "png", "title", "about")
    return figures[0]


def lanes_of(figure: Any) -> list[list[str]]:
    return [ticks_of(axes.yaxis) for axes in figure.axes if axes.get_xlabel() == "cycles"]


def test_axes_of_an_operation_with_a_schedule() -> None:
    (forward, *_) = explained("logits")
    figure = drawn([forward])
    array, channel, tiles, order = figure.axes
    assert forward.timeline is not None
    assert forward.row is not None
    assert array.get_xlim() == channel.get_xlim() == (0, forward.row.cycles)
    assert legend_of(array)[:2] == ["in use", "streams, elements idle (mean)"]
    assert ticks_of(tiles.yaxis) == ["array", "DRAM: X", "DRAM: W"]
    assert [one.get_text() for one in order.texts][:1] == [
        "order of tiles: dark ones are brought first; a number says how often, if not once"
    ]
    assert overlapping(figure) == []


def test_the_area_of_a_state_is_its_share_of_the_time() -> None:
    """Also of streaming, with elements in use and idle: use of the array in space and time."""
    for explanation in explained("logits"):
        line, row = explanation.timeline, explanation.row
        if line is None or row is None:
            continue
        array, channel, *_ = drawn([explanation]).axes
        areas: dict[str, float] = {}
        for patch in array.patches:
            values, edges, base = patch.get_data()
            areas[patch.get_label()] = float(sum((values - base) * (edges[1:] - edges[:-1])) / edges[-1] / 100)
        assert areas["in use"] == pytest.approx(row.utilization)
        streams = areas["in use"] + areas.get("streams, elements idle (mean)", 0.0)
        assert streams == pytest.approx(line.total("steady") / line.ticks)
        assert areas["stall: waits for DRAM"] == pytest.approx((row.stall_cycles or 0) / (row.cycles or 1))
        assert sum(areas.values()) == pytest.approx(1.0)
        values, edges, _ = channel.patches[0].get_data()
        busy = float(sum(values * (edges[1:] - edges[:-1]))) / 100
        moved = (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
        per_cycle = 8000 / 1050  # GB/s, MHz
        assert busy == pytest.approx(moved / per_cycle)


def test_contractions_in_turn_have_a_lane_each() -> None:
    (turn,) = [one for one in explained("logits", TURNS) if one.nests]
    lanes = lanes_of(drawn([turn]))
    assert lanes[-1] == ["array: dX", "array: dW", "DRAM: dY", "DRAM: W", "DRAM: X", "DRAM: dW", "DRAM: dX"]


def test_what_streams_has_bars() -> None:
    (relu, *_) = explained("h")
    figure = drawn([relu])
    assert ticks_of(figure.axes[0].yaxis) == ["vector unit", "DRAM loads", "DRAM stores"]
    assert relu.row is not None
    widths = [patch.get_width() for patch in figure.axes[0].patches]
    assert widths == [width for _, busy in relu.shares for width in (relu.row.cycles, busy)]


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.dsl").write_text(NET)
    return tmp_path


def run(*arguments: str) -> int:
    machine = [text for key, value in MACHINE.items() for text in ("--set", f"{key}={value}")]
    return run_command(["explain", "net.dsl", "logits", *machine, *arguments])


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_command_writes_the_same_bytes(net: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        assert run("-q", "--plot", f"{name}.{kind}") == 0
    assert (net / f"a.{kind}").read_bytes() == (net / f"b.{kind}").read_bytes()
    assert "programs of dX and dW" in capsys.readouterr().out


def test_an_svg_holds_outlines_and_nothing_from_outside(net: Path) -> None:
    assert run("-q", "--plot", "a.svg") == 0
    text = (net / "a.svg").read_text()
    assert "<text" not in text
    assert "http" not in text.replace("http://www.w3.org/", "").replace("http://purl.org/", "").replace(
        "http://creativecommons.org/", ""
    ).replace("https://matplotlib.org/", "")
    found = texts_of(text)
    assert any(line.startswith("Where ") and " cycles of logits go" in line for line in found)
    assert "net.dsl on igo-large, backend cycle" in found
    assert "dX and dW as each program" in found


def test_the_former_name(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--svg", "a.svg") == 0
    captured = capsys.readouterr()
    assert "--svg FILE is --plot FILE.svg now" in captured.err
    assert run("-q", "--svg", "-") == 0
    captured = capsys.readouterr()
    assert captured.out == (net / "a.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--plot", "no/where.svg"), "cannot write 'no/where.svg'"),
        (("--plot", "a.gif"), "--plot a.gif: cannot tell the kind of picture"),
        (("--plot", "a.svg", "--svg", "b.svg"), "--svg is the former name of --plot"),
    ],
)
def test_wrong_usage(net: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in net.iterdir()) == ["net.dsl"]


PRODUCT = """func.func @net(%x: tensor<8x40xf16>, %w: tensor<40x4xf16>) -> tensor<8x4xf16> {
  %y = npu.contract (m = 8, n = 4, k = 40) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [cores k : 21] {layer = "fc"} : (tensor<8x40xf16>, tensor<40x4xf16>) -> tensor<8x4xf16>
  func.return %y : tensor<8x4xf16>
}"""


def test_the_array_shown_is_that_of_the_slowest_core() -> None:
    """The second core has fewer steps, and reads the sums of the first one."""
    options: CompileKeywords = {
        "hardware": MACHINE | {"clock_mhz": 1000, "array.cores": 2, "dram.gb_per_s": 1, "memory.spm_kib": 2}
    }
    result = compile_program(text_source(PRODUCT, "mlir", "net.mlir"), ["cycle"], options)
    (row,), module = result.reports[0].ops, result.modules[0]
    (op,) = (op for op in module.walk() if isinstance(op, ContractOp))
    (filling,) = fillings(op, row, machine_of(module), result.machines[0])
    assert isinstance(filling, Waves)
    assert filling.waves[0].steps == 19
