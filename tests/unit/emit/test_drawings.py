"""Graphs by the command line: of scored programs and of IR, of some layers, and what is refused."""

from pathlib import Path

import pytest

from npuc.compiler.cli import run_command
from tests.support.pictures import texts_of

NETWORK = """network net(batch=8) {
  input  x: f32[batch, 24]
  labels y: i32[batch]
  h = relu(linear(x, 16, bias=false))
  logits = linear(h, 8, bias=false)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
MACHINE = 'set-target{rows=4 cols=4 spm-bytes=4096 clock-mhz=1000 gb-per-s=8 lanes=4 dataflow="os"}'


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.dsl").write_text(NETWORK)
    return tmp_path / "out"


def opt(*arguments: str) -> int:
    return run_command(["opt", "net.dsl", "-o", "out", *arguments])


def test_a_program_that_names_its_machine_has_costs(out: Path) -> None:
    pytest.importorskip("matplotlib")
    assert opt("-p", f"{MACHINE},autodiff,lower-to-npu,schedule", "--emit", "svg") == 0
    assert any("backend cycle" in text for text in texts_of(out.read_text()))
    assert any("share of the step" in text for text in texts_of(out.read_text()))
    assert opt("-p", f"{MACHINE},autodiff,lower-to-npu", "--emit", "svg") == 0
    assert not any("backend cycle" in text for text in texts_of(out.read_text()))


def test_one_layer(out: Path) -> None:
    assert opt("-p", "autodiff,lower-to-npu", "--only", "logits", "--emit", "dot") == 0
    text = out.read_text()
    assert text.count('[label="logits') == 5
    assert "h.linear" not in text
    assert opt("-p", "autodiff", "--only", "logits") == 0
    assert 'layer = "h.linear"' not in out.read_text()


def test_compile_prints_where_no_file_is_named(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["compile", "net.dsl", "-q", "-O0", "--emit", "dot", "--depth", "layers"]) == 0
    assert capsys.readouterr().out.startswith("digraph npuc {")
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--emit", "trace"), "--emit trace needs a program with its costs"),
        (
            ("--emit", "png"),
            "--emit png: expected mlir, astra-network, chakra, dot, linalg, scalesim, stablehlo, svg or trace",
        ),
        (("--depth", "2"), "--depth is about a graph"),
        (("--emit", "svg", "--depth", "two"), "--depth two: expected auto, ops, layers or a number from 1"),
        (("--emit", "svg", "--only", "logit"), "--only logit: it matches no layer"),
    ],
)
def test_errors(out: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], error: str) -> None:
    assert opt(*arguments) == 2
    assert error in capsys.readouterr().err
    assert out.parent.exists()
