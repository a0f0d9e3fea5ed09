"""Rows tell the line of the user's own program that an exported call comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuc.compiler import compile_file, compile_source
from npuc.compiler.core.options import Options
from npuc.compiler.driver.read import read_program, texts_of
from npuc.dialects.provenance import source_of
from npuc.frontends.source import open_source
from npuc.frontends.torch.traces import line_of

CNN = Path(__file__).parents[2] / "oracle" / "data" / "torch" / "cnn.pt2"


def _frame(file: str, line: int) -> str:
    return f'  File "{file}", line {line}, in forward\n    y = f(x)\n'


def _line(*frames: tuple[str, int]) -> str | None:
    return line_of("".join(_frame(*frame) for frame in frames))


USER, LIBRARY = ("/home/me/net/model.py", 41), ("/x/lib/python3.11/site-packages/timm/layers/mlp.py", 12)
TORCH = ("/x/lib/python3.11/site-packages/torch/nn/modules/linear.py", 7)


@pytest.mark.parametrize(
    ("frames", "line"),
    [
        ([USER, TORCH], "model.py:41"),
        ([USER, ("/home/me/net/block.py", 3), TORCH], "block.py:3"),
        ([USER, LIBRARY, TORCH], "model.py:41"),
        ([LIBRARY, TORCH], "mlp.py:12"),
        ([TORCH], "linear.py:7"),
        ([("C:\\net\\model.py", 9), ("C:\\py\\Lib\\site-packages\\torch\\nn\\functional.py", 5)], "model.py:9"),
        ([], None),
    ],
)
def test_the_innermost_line_of_the_user_is_chosen(frames: list[tuple[str, int]], line: str | None) -> None:
    assert _line(*frames) == line


@pytest.mark.parametrize(("backend", "level"), [("roofline", 3), ("cycle", 0), ("cycle", 3)])
def test_rows_of_all_phases_tell_the_line(backend: str, level: int) -> None:
    report = compile_file(CNN, backend=backend, opt_level=level)
    rows = [row for row in report.ops if row.name in ("conv1", "fc") and row.phase != "update"]
    lines = {row.name: row.source for row in rows}
    assert lines == {"conv1": "exported.py:37", "fc": "exported.py:41"}
    assert len({row.phase for row in rows}) > 1
    assert '"source": "exported.py:37", "phase"' in report.to_json()
    assert "source" in report.to_csv().splitlines()[0].split(",")


def test_a_source_of_text_has_no_such_column() -> None:
    report = compile_source("network n() { input x: f32[2, 4]\n y = linear(x, 3)\n loss sum(y) }", backend="cycle")
    assert report.to_json().count('"source"') == 1, "that of the whole report"
    assert "source" not in report.to_csv().splitlines()[0].split(",")


def test_the_program_as_text_keeps_the_lines(tmp_path: Path) -> None:
    source = open_source(CNN)
    path = tmp_path / "net.mlir"
    path.write_text(str(read_program(source, Options(), texts_of(source))), encoding="utf-8")
    report = compile_file(path, backend="cycle", opt_level=0)
    assert {row.source for row in report.ops if row.name == "fc"} == {"exported.py:41"}
    assert all(row.loc is None or row.loc.startswith("net.mlir") for row in report.ops)


def test_a_line_is_a_text() -> None:
    text = """func.func @f(%x: tensor<2xf32> {train.input = "x"}) -> (tensor<2xf32> {train.output = "y"}) {
  %y = train.relu %x {source = 3 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}"""
    with pytest.raises(Exception, match="source is 3 : i64, expected a string"):
        compile_source(text, format="mlir", backend="cycle")


def test_all_operations_of_a_graph_have_their_line() -> None:
    source = open_source(CNN)
    module = read_program(source, Options(inference=True), texts_of(source))
    assert all(source_of(op) for op in module.walk() if op.name.startswith("train."))
