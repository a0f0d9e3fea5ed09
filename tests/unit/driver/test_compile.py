"""The driver: sources, options, pipelines, selection, reports."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler import CapacityError, NpucError, SourceError, UsageError, compile_file, compile_source, run_source
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import compile_program
from npuc.frontends.source import text_source


def test_report_of_another_backend_is_completed(mlp: str, outside: Path) -> None:
    report = compile_source(mlp, backend="tick", filename="net.dsl", defines={"batch": 8})
    assert (report.network, report.source, report.pipeline) == ("mlp", "net.dsl", "autodiff")
    assert report.defines == {"batch": 8}
    assert report.hardware["name"] == "rtx2080ti"
    assert {row.phase for row in report.ops} == {"forward", "dx", "dw", "update"}
    assert report.totals["seconds"] == pytest.approx(1e-6 * len(report.ops))
    assert json.loads(report.to_json())["schema"] == "npuc.report/1"


def test_same_input_gives_the_same_bytes(mlp: str, outside: Path) -> None:
    first, second = (compile_source(mlp, backend="tick").to_json() for _ in range(2))
    assert first == second


def test_several_backends_score_one_program(mlp: str, outside: Path) -> None:
    reports = compile_source(mlp, backend=["tick", "npu-tick"])
    assert [report.backend for report in reports] == ["tick", "npu-tick"]
    assert [report.hardware["name"] for report in reports] == ["rtx2080ti", "igo-large"]
    assert all(row.op.startswith("npu.") for row in reports[1].ops)


def test_inference_is_the_forward_pass(mlp: str, outside: Path) -> None:
    report = compile_source(mlp, backend="tick", inference=True)
    assert {row.phase for row in report.ops} == {"forward"}
    assert report.pipeline == ""


def test_program_without_loss_is_a_forward_pass_with_a_warning(outside: Path) -> None:
    text = """
func.func @f(%x: tensor<2x3xf32> {train.input = "x"}) -> (tensor<2x3xf32> {train.output = "y"}) {
  %y = train.relu %x {layer = "y"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""
    report = compile_source(text, format="mlir", backend="tick")
    assert report.warnings == ["the program has no loss: forward pass only"]
    with pytest.raises(UsageError, match="no loss"):
        compile_source(text, format="mlir", backend="tick", inference=False)


def test_overrides_reach_the_backend(mlp: str, outside: Path) -> None:
    slow = compile_source(mlp, backend="tick", overrides={"dram.gb_per_s": 616.0 * 4})
    assert slow.ops[0].seconds == pytest.approx(4e-6)
    assert slow.hardware["dram"] == {"gb_per_s": 2464.0}


def test_places_of_an_absolute_source_are_relative(mlp: str, outside: Path, tmp_path: Path) -> None:
    file = tmp_path / "net.dsl"
    file.write_text(mlp)
    report = compile_file(file, backend="tick")
    assert report.source == "net.dsl"
    assert report.ops[0].loc is not None
    assert report.ops[0].loc.startswith("net.dsl:4:")
    assert str(tmp_path) not in report.to_json()


def test_outside_pass_runs_in_a_pipeline(mlp: str, outside: Path) -> None:
    report = compile_source(mlp, backend="tick", pipeline="outside-pass{word=x},autodiff")
    assert report.pipeline == 'outside-pass{word="x"},autodiff'


def test_failing_outside_pass_is_one_error(mlp: str, outside: Path) -> None:
    load = [str(outside / "outside_pass.py")]
    with pytest.raises(SourceError, match="'failing-pass' failed: ZeroDivisionError"):
        compile_source(mlp, backend="tick", pipeline="failing-pass", load=load)


def test_unsupported_operations_are_located(outside: Path) -> None:
    text = "network f() {\n  input x: f32[2, 3]\n  y = dropout(x, 0.5)\n  loss mse(y, x)\n}\n"
    with pytest.raises(SourceError) as caught:
        compile_source(text, backend="tick", filename="net.dsl", inference=False)
    assert "net.dsl:3:" in caught.value.render()
    assert "cannot score train.dropout: it is random" in caught.value.render()


@pytest.mark.parametrize(
    ("only", "names"),
    [
        (["logits"], {"logits", "logits.weight", "logits.bias"}),
        (["h*"], {"h", "h.linear", "h.linear.weight", "h.linear.bias"}),
        (["#0"], {"h.linear", "h.linear.weight", "h.linear.bias"}),
        (0, {"h.linear", "h.linear.weight", "h.linear.bias"}),
    ],
)
def test_only_keeps_layers_and_their_updates(mlp: str, outside: Path, only: list[str] | int, names: set[str]) -> None:
    report = compile_source(mlp, backend="tick", only=only)
    assert {row.name for row in report.ops} == names


def test_a_dropped_layer_cannot_fail(outside: Path) -> None:
    text = "network f() {\n  input x: f32[2, 3]\n  y = dropout(x, 0.5)\n  z = relu(y)\n  output z\n}\n"
    report = compile_source(text, backend="tick", only="z", inference=True)
    assert [row.name for row in report.ops] == ["z"]


@pytest.mark.parametrize("only", ["nothing", "#99", "99"])
def test_only_that_means_nothing_is_wrong_usage(mlp: str, outside: Path, only: str) -> None:
    with pytest.raises(UsageError, match="--only"):
        compile_source(mlp, backend="tick", only=only)


def test_print_after_shows_the_program_and_the_cost(mlp: str, outside: Path) -> None:
    said: list[str] = []
    compile_program(text_source(mlp, "dsl", "net.dsl"), ["tick"], {"print_after": "autodiff"}, said.append)
    shown = [text for text in said if text.startswith("//")]
    assert len(shown) == 1
    assert "train.sgd" in shown[0]
    assert "->" in shown[0].partition("\n")[0]


@pytest.mark.parametrize(
    ("keywords", "wanted"),
    [
        ({"print_after": "autodiff"}, "// after autodiff: "),
        ({"print_changed": "diff"}, "autodiff"),
        ({"time_passes": True}, "autodiff"),
    ],
)
def test_what_passes_show_goes_to_standard_error(
    mlp: str, outside: Path, capsys: pytest.CaptureFixture[str], keywords: CompileKeywords, wanted: str
) -> None:
    """In Python, where nobody else is told."""
    compile_source(mlp, backend="tick", **{**keywords, "pipeline": "autodiff"})
    found = capsys.readouterr()
    assert found.out == ""
    assert wanted in found.err
    assert found.err.count("// after") == ("time_passes" not in keywords), (
        "once, and of nothing that is costed beside it"
    )
    compile_source(mlp, backend="tick", pipeline="autodiff")
    assert capsys.readouterr().err == ""
    compile_program(text_source(mlp, "dsl", "net.dsl"), ["tick"], keywords, lambda _: None)
    assert capsys.readouterr().err == "", "whoever is told says where it goes"


def test_a_run_shows_its_passes_once(mlp: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_source(mlp, level="npu", print_after="lower-to-npu", dtype="float64")
    assert capsys.readouterr().err.count("// after lower-to-npu") == 1
    run_source(mlp, inference=True, level="npu", print_after="lower-to-npu", inputs={"y": np.zeros(4, np.int32)})
    assert capsys.readouterr().err.count("// after lower-to-npu") == 1


def test_print_after_needs_a_pass_of_the_pipeline(mlp: str, outside: Path) -> None:
    with pytest.raises(UsageError, match="has no such pass"):
        compile_source(mlp, backend="tick", print_after="autodif")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (CompileKeywords(opt_level=4), "unknown optimisation level 4"),
        (CompileKeywords(mapping="kcp_w"), "unknown mapping 'kcp_w'"),
        (CompileKeywords(devices=3), "--devices 3: expected a power of two"),
        (CompileKeywords(devices=1 << 20), "--devices 1,048,576: expected up to 4,096"),
        (CompileKeywords(parallel="dq", devices=2), "unknown strategy of parallelism 'dq'"),
        (CompileKeywords(parallel="dp"), "--parallel dp needs --devices N"),
        (CompileKeywords(convention="physical"), "--convention physical needs --devices N"),
        (CompileKeywords(plan_objective="memory"), "--plan-objective memory needs --devices N"),
        (CompileKeywords(zero=True), "--zero needs --devices N"),
        (CompileKeywords(exact_plan=True), "--exact-plan needs --devices N"),
        (CompileKeywords(devices=2, pipeline="parallelize"), "--devices and the pass parallelize of -p"),
        (CompileKeywords(convention="other"), "unknown convention"),
        (CompileKeywords(objective="joy"), "unknown objective"),
        (CompileKeywords(hardware="igo-larg"), "unknown hardware"),
        (CompileKeywords(overrides={"array.rwos": 3}), "unknown key"),
        (CompileKeywords(defines={"bach": 3}), "bach"),
        (CompileKeywords(pipeline="nothing"), "unknown pass"),
    ],
)
def test_wrong_choices_are_wrong_usage(mlp: str, outside: Path, options: CompileKeywords, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compile_source(mlp, backend="tick", **options)


def test_the_defaults_of_the_contract_are_accepted(mlp: str, outside: Path) -> None:
    report = compile_source(
        mlp,
        "dsl",
        "net.dsl",
        backend="tick",
        hardware=None,
        overrides={},
        defines=None,
        pipeline=None,
        inference=None,
        only=None,
        mapping=None,
        objective="time",
        devices=1,
        parallel=None,
        convention="table2",
    )
    assert report.to_json() == compile_source(mlp, filename="net.dsl", backend="tick").to_json()


def test_unknown_keyword_is_a_type_error(mlp: str) -> None:
    wrong: dict[str, Any] = {"hardwar": "igo-large"}
    with pytest.raises(TypeError, match="did you mean 'hardware'"):
        compile_source(mlp, **wrong)


@pytest.mark.parametrize("name", ["net.txt", "net", "missing.dsl", "samples:nothing", "\x00.dsl", "."])
def test_sources_that_cannot_be_read_are_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError):
        compile_file(name)


def test_text_that_is_not_utf8_is_located(tmp_path: Path) -> None:
    file = tmp_path / "net.dsl"
    file.write_bytes(b"network f() {\n  \xff\n}\n")
    with pytest.raises(SourceError) as caught:
        compile_file(file)
    assert caught.value.location is not None
    assert (caught.value.location.line, caught.value.location.col) == (2, 3)


def test_unknown_format_is_wrong_usage(mlp: str) -> None:
    with pytest.raises(UsageError, match="unknown source format"):
        compile_source(mlp, format="doc")


def test_schedule_beyond_the_machine_does_not_fit() -> None:
    text = """
func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = npu.contract (m = 64, n = 64, k = 64) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    spm 49152 bytes {layer = "fc"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}
"""
    with pytest.raises(CapacityError) as caught:
        compile_source(text, format="mlir", filename="f.mlir", overrides={"memory.spm_kib": 4})
    assert caught.value.exit_code == 3
    assert str(caught.value.location).startswith("f.mlir:3:")


def test_errors_are_npuc_errors() -> None:
    assert issubclass(UsageError, NpucError)
