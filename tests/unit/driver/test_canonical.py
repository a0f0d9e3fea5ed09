"""Canonicalize in front of the passes of -O: where it leaves out work, and never where that costs more."""

from pathlib import Path

import pytest

from npuc.compiler import compile_source
from npuc.compiler.cli import run_command
from npuc.compiler.report import Report
from npuc.compiler.transforms.canonicalize.effect import Effect, effect_of
from npuc.frontends import read_source

NEEDLESS = """network needless(batch=8) {
  input x: f32[batch, 20]
  a = relu(linear(x, 30))
  h = relu(transpose(transpose(relu(a), [1, 0]), [1, 0]))
  y = linear(h, 10)
  output y
  loss sum(y ** 2)
}"""
PLAIN = NEEDLESS.replace("relu(transpose(transpose(relu(a), [1, 0]), [1, 0]))", "a * 2.0")
DEARER = """network dearer(batch=64) {
  input x: f32[batch, 64]
  h = relu(relu(linear(x, 1)))
  b = expand(h, [batch, 4096])
  p = abs(expand(h, [batch, 4096]))
  output b
  loss sum(tanh(b) ** 2) + sum(p)
}"""
CONSTANTS = """network constants(batch=8) {
  input x: f32[batch, 20]
  y = linear(x, 20) * exp(full([20], 1.0)) + exp(full([20], 1.0))
  output y
  loss sum(y ** 2)
}"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def figures(report: Report) -> tuple[float | None, ...]:
    totals = report.totals
    return totals.cycles, totals.dram_read_bytes, totals.dram_write_bytes, totals.energy_j


@pytest.mark.parametrize("level", [1, 2, 3])
def test_needless_work_is_left_out_at_each_level_but_0(level: int) -> None:
    report = compile_source(NEEDLESS, opt_level=level)
    assert report.pipeline.startswith("canonicalize,")
    assert "h" not in {row.name for row in report.ops}
    passes = report.pipeline.partition(",")[2]
    plain = compile_source(NEEDLESS, pipeline=passes)
    assert all(new < old for new, old in zip(figures(report), figures(plain), strict=True) if new and old)
    assert "canonicalize" not in compile_source(NEEDLESS, opt_level=0).pipeline


@pytest.mark.parametrize("text", [PLAIN, CONSTANTS])
def test_programs_without_needless_work_stay_as_they_are(text: str) -> None:
    assert "canonicalize" not in compile_source(text).pipeline


def test_what_constants_alone_make_takes_no_time() -> None:
    assert effect_of(read_source(CONSTANTS, format="dsl", filename="f")) == Effect(spared=0, merged=0)
    assert effect_of(read_source(NEEDLESS, format="dsl", filename="f")) == Effect(spared=4, merged=0)


def test_a_step_that_it_makes_dearer_keeps_its_work() -> None:
    taken = compile_source(DEARER)
    assert "canonicalize" not in taken.pipeline
    canonical = compile_source(DEARER, before=["autodiff=canonicalize"])
    assert (canonical.totals.cycles or 0) > (taken.totals.cycles or 0)
    forward = compile_source(DEARER, inference=True)
    assert forward.pipeline.startswith("canonicalize,")


def test_a_program_that_is_only_tried_is_not_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "net.dsl").write_text(DEARER)
    assert run_command(["compile", "net.dsl", "-q", "--statistics", "--json", "r.json"]) == 0
    shown = capsys.readouterr().err
    assert "lower-to-npu" in shown
    assert "repeated" not in shown


def test_check_runs_it_as_compile_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "net.dsl").write_text(NEEDLESS)
    assert run_command(["check", "net.dsl"]) == 0
    assert capsys.readouterr().out.startswith("canonicalize: bit-equal")
