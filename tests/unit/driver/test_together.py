"""Several backends on one source: one lowered program, said in the reports, and one table."""

import io
from typing import Any

import pytest
from rich.console import Console

from npuc.compiler import compile_source
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.report import Report
from npuc.compiler.report.text.comparison import print_comparison
from npuc.frontends.source import text_source

NET = """network net(batch=8) {
  input x: f32[batch, 48]
  labels y: i32[batch]
  h = relu(linear(x, 64))
  loss cross_entropy(linear(h, 16), y)
  optimizer sgd(lr=0.1)
}"""
ALL = ["cycle", "maestro", "roofline"]
WIRES = [{"kind": "ring", "size": 2, "gb_per_s": 1}]
PASSES = "autodiff,lower-to-npu,interleave{mode=fused},schedule"


def scored(backends: list[str], **options: Any) -> dict[str, Report]:
    return {report.backend: report for report in compile_source(NET, backend=backends, **options)}


def shown(reports: dict[str, Report], width: int = 200) -> str:
    text = io.StringIO()
    print_comparison([*reports.values()], Console(file=text, width=width, color_system=None))
    return text.getvalue()


@pytest.mark.parametrize("options", [{}, {"pipeline": PASSES}, {"opt_level": 1}, {"opt_level": 0}])
@pytest.mark.parametrize("backends", [ALL, [*reversed(ALL)], ["roofline", "cycle"], ["maestro", "cycle"]])
def test_all_score_the_program_of_the_backend_that_wants_schedules(
    backends: list[str], options: dict[str, Any]
) -> None:
    alone = compile_source(NET, backend="cycle", **options)
    reports = scored(backends, **options)
    assert [*reports] == backends
    assert reports["cycle"] == alone
    for name, report in reports.items():
        assert report.totals.macs == alone.totals.macs
        assert report.precision == alone.precision
        own = ",map{" if name == "maestro" else ""
        assert report.pipeline.partition(",map{")[0] == alone.pipeline
        assert own in report.pipeline
    if "roofline" in reports:
        assert reports["roofline"].native["program"] == "lowered"
        fused = [row.phase for row in reports["roofline"].ops if row.kind == "matrix"]
        assert ("dxdw" in fused) == ("dxdw" in [row.phase for row in alone.ops])


def test_a_backend_alone_takes_what_it_took() -> None:
    report = compile_source(NET, backend="roofline")
    assert report.native["program"] == "forward"
    assert report.pipeline == ""
    assert compile_source(NET, backend="roofline", pipeline="autodiff").native["program"] == "forward"
    assert compile_source(NET, backend="roofline", pipeline="autodiff , lower-to-npu").native["program"] == "lowered"


def test_maestro_prices_what_runs_together_one_after_another() -> None:
    """Round-robin contractions cost it what they cost apart; a fused one has a row for each statement."""
    plain, zipped, fused = (
        scored(["cycle", "maestro"], pipeline=text)["maestro"]
        for text in ("autodiff,lower-to-npu,schedule", PASSES.replace("fused", "zip"), PASSES)
    )
    assert zipped.totals.cycles == plain.totals.cycles
    assert [row.macs for row in fused.ops if row.kind == "matrix"] == [
        row.macs for row in plain.ops if row.kind == "matrix"
    ]
    for report in (zipped, fused):
        assert any("run together" in text for text in report.warnings)


def test_what_a_backend_cannot_score_it_gets_unjoined() -> None:
    """Directives have no terms for a fused nest: with -O maestro has its own program, with -p there is an error."""
    parity = {"maestro.mode": "parity"}
    report = scored(["cycle", "maestro"], overrides=parity, opt_level=2)["maestro"]
    alone = compile_source(NET, backend="maestro", overrides=parity)
    assert report.totals == alone.totals
    assert any(text.startswith("scored without the passes of -O that the others have") for text in report.warnings)
    with pytest.raises(UsageError, match="no layer in the terms of directives"):
        scored(["cycle", "maestro"], pipeline=PASSES, overrides=parity)


@pytest.mark.parametrize(("backend", "reason"), [("roofline", "forward graph"), ("maestro", "by itself")])
def test_what_o_leaves_out_is_said(backend: str, reason: str) -> None:
    asked = compile_source(NET, backend=backend, opt_level=3)
    assert any(text.startswith("-O3: its passes are left out") and reason in text for text in asked.warnings)
    for level in (None, 0):
        assert not any("-O" in text for text in compile_source(NET, backend=backend, opt_level=level).warnings)


def test_each_report_has_the_warnings_of_the_program_and_its_own() -> None:
    passes = "autodiff,lower-to-npu,schedule"
    remark = "pass 'schedule' has nothing to do: all contractions have schedules"
    own = "MAESTRO models contractions alone"
    for backends in (ALL, [*reversed(ALL)]):
        reports = scored(backends, pipeline=f"{passes},schedule", overrides={"network.levels": WIRES})
        (unread,) = (text for text in reports["cycle"].warnings if text != remark)
        assert unread.startswith("network.levels has no effect: none of the backends ")
        assert unread.endswith(f"'{backends[1]}' and '{backends[2]}' reads it here")
        for name, report in reports.items():
            assert report.warnings[0] == remark
            assert report.warnings[-1] == unread
            assert any(text.startswith(own) for text in report.warnings[1:-1]) == (name == "maestro")
            assert name == "maestro" or len(report.warnings) == 2
        assert "warning" not in shown(reports)


def test_a_warning_of_several_reports_is_said_once() -> None:
    said = list[str]()
    keywords: CompileKeywords = {"pipeline": "autodiff,lower-to-npu,schedule,schedule"}
    compile_program(text_source(NET, "dsl", "net.dsl"), ALL, keywords, said.append)
    assert sum("has nothing to do" in line for line in said) == 1
    assert sum(line.startswith("warning: maestro: MAESTRO models") for line in said) == 1


def test_what_is_told_of_mappings_is_of_a_backend() -> None:
    reports = scored(ALL, mapping="kcp_ws")
    for name, report in reports.items():
        told = [text for text in report.warnings if "uses no mappings" in text]
        assert told == ([] if name == "maestro" else [f"the backend '{name}' uses no mappings: kcp_ws has no effect"])


def test_a_program_of_the_level_npu_is_scored_as_it_is() -> None:
    text = """builtin.module { func.func @f(%x : tensor<8x6xf32>, %w : tensor<6x4xf32>) -> tensor<8x4xf32> {
      %y = npu.contract (m = 8, n = 4, k = 6) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
           : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
      func.return %y : tensor<8x4xf32> } }"""
    report = compile_source(text, "mlir", backend="roofline")
    assert report.native["program"] == "lowered"
    assert (report.totals.dram_read_bytes, report.totals.dram_write_bytes) == (4 * (48 + 24), 4 * 32)


def test_what_a_machine_lacks_is_said_before_anything_is_compiled() -> None:
    with pytest.raises(UsageError, match=r"has no compute\.tflops .* nor dram\.gb_per_s .* 'roofline' needs"):
        scored(["roofline", "maestro"], hardware="maestro-example")
    with pytest.raises(UsageError, match="which the backend 'cycle' needs"):
        scored(["roofline", "cycle"], hardware="rtx2080ti")


def test_one_table_in_one_unit() -> None:
    reports = scored(ALL)
    text = shown(reports)
    lines = text.splitlines()
    (total,) = (line.split() for line in lines if line.startswith(" total"))
    assert len({*total[2:8:2]}) == 1
    unit = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[total[2]]
    for cell, report in zip(total[1:7:2], reports.values(), strict=True):
        assert float(cell.replace(",", "")) * unit == pytest.approx(report.totals.seconds, rel=5.001e-3)
    assert len(total) == 1 + 2 * 5  # two backends model traffic
    (maestro,) = (line for line in lines if line.startswith("maestro"))
    assert maestro.endswith("it says no DRAM traffic and no energy")
    assert "of the lowered program" in text
    assert all(len(line) <= 44 or not line.startswith(" ") for line in shown(reports, 44).splitlines()[:10])
