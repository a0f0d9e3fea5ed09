"""Collectives in chunks in whole steps: what they compute, what they cost, and what is said of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_file, compile_source, run_source, sweep_source
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.options import CHUNK_POLICIES, CompileKeywords
from npuc.compiler.report import Report
from npuc.compiler.report.sections import ExchangeChunks, ExchangeStages
from npuc.compiler.report.text.sharding import chunks_text

TWO = """
network two(batch=8) {
  input x: f32[batch, 64]
  labels y: i32[batch]
  a = linear(x, 64)
  logits = linear(relu(a), 64, bias=false)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
SWITCH: dict[str, object] = {"kind": "switch", "size": 4, "gb_per_s": 1.0, "latency_ns": 10.0}
NETWORK: dict[str, object] = {
    "network.levels": [SWITCH, {**SWITCH, "kind": "ring", "size": 2, "gb_per_s": 2.0}],
    "network.latency": "overlap",
}
STEP: CompileKeywords = {"overrides": NETWORK, "devices": 8, "parallel": "dp", "opt_level": 0}


def compiled(text: str = TWO, **options: Any) -> Report:
    keywords: Any = {**STEP, **options}
    return one(compile_source(text, **keywords))


def one(report: Any) -> Report:
    assert isinstance(report, Report)
    return report


def messages(report: Report) -> list[Any]:
    return [row for row in report.ops if row.kind == "comm"]


def test_one_chunk_by_the_baseline_is_the_step_without_options() -> None:
    plain = compiled()
    assert compiled(collectives="baseline").ops == plain.ops
    assert compiled(chunks=1).ops == plain.ops
    assert all(ExchangeChunks.found_in(row) is None for row in plain.ops)


@pytest.mark.parametrize("policy", CHUNK_POLICIES)
@pytest.mark.parametrize("latency", ["serial", "overlap"])
def test_no_collective_is_slower_than_whole_and_bytes_stay(policy: str, latency: str) -> None:
    network = {**NETWORK, "network.latency": latency}
    plain, chunked = compiled(), compiled(overrides=network, collectives=policy, chunks=4)
    assert chunked.totals.seconds is not None
    assert plain.totals.seconds is not None
    assert chunked.totals.seconds < plain.totals.seconds
    for before, after in zip(messages(plain), messages(chunked), strict=True):
        facts, stages = ExchangeChunks.found_in(after), ExchangeStages.found_in(after)
        assert after.native["sent_bytes"] == pytest.approx(before.native["sent_bytes"], rel=1e-12)
        if facts is None:
            assert after.seconds == before.seconds
            continue
        assert stages is not None
        assert stages.stage_begins is not None
        assert facts.chunks == 4
        assert facts.bound_seconds <= after.seconds < before.seconds
        last = max(a + b for a, b in zip(stages.stage_begins, stages.stage_seconds, strict=True))
        assert last <= after.seconds * (1 + 1e-12)
    native = chunked.native
    assert native["comm_seconds"] == pytest.approx(sum(row.seconds for row in messages(chunked)))


def test_the_step_of_1024_devices_is_faster_by_themis() -> None:
    levels = [
        {"kind": "switch", "size": 8, "gb_per_s": 50.0, "latency_ns": 1700.0},
        {"kind": "switch", "size": 8, "gb_per_s": 100.0, "latency_ns": 700.0},
        {"kind": "switch", "size": 16, "gb_per_s": 200.0, "latency_ns": 700.0},
    ]
    options: Any = {
        "overrides": {"network.levels": levels, "network.latency": "overlap"},
        "defines": {"batch": 1024, "hidden": 8192},
        "devices": 1024,
        "parallel": "dp",
        "opt_level": 0,
    }
    plain = one(compile_file("samples:mlp", **options))
    scf = one(compile_file("samples:mlp", **(options | {"collectives": "themis-scf"})))
    before, after = (report.totals.seconds_by_phase["comm"] for report in (plain, scf))
    assert before is not None
    assert after is not None
    assert before > 1.3 * after
    text = chunks_text(scf)
    assert text is not None
    assert text.startswith("4 of 5 movements go in 10 to 64 chunks")
    assert chunks_text(plain) is None


def test_each_machine_of_a_sweep_has_chunks_of_its_own() -> None:
    """With latencies of 20 us it pays to move in four chunks only where these overlap."""
    levels = [{**SWITCH, "latency_ns": 20_000.0}, {**SWITCH, "latency_ns": 20_000.0}]
    options: Any = {"devices": 16, "defines": {"batch": 16}, "parallel": "dp", "opt_level": 0, "chunks": 4}
    machine: dict[str, object] = {"network.levels": levels}
    vary = {"network.latency": ["serial", "overlap"]}
    seconds = [
        one(compile_source(TWO, overrides=machine | {"network.latency": latency}, **options)).totals.seconds
        for latency in vary["network.latency"]
    ]
    points = list(sweep_source(TWO, vary=vary, overrides=machine, **options))
    assert [point.totals and point.totals.seconds for point in points] == seconds
    whole = one(compile_source(TWO, overrides=machine, **(options | {"chunks": 1}))).totals.seconds
    assert seconds[0] == whole
    assert seconds[1] is not None
    assert whole is not None
    assert seconds[1] < whole


@pytest.mark.parametrize("policy", CHUNK_POLICIES)
@pytest.mark.parametrize("level", ["train", "npu", "tiles"])
def test_a_step_in_chunks_computes_the_same(policy: str, level: str) -> None:
    options: Any = {"devices": 8, "parallel": "dp", "overrides": NETWORK, "level": level, "dtype": "float64"}
    inputs = {"x": np.random.default_rng(0).normal(size=(8, 64)), "y": np.arange(8)}
    in_chunks: Any = {"collectives": policy, "chunks": 3}
    plain = run_source(TWO, inputs=inputs, steps=2, **options)
    chunked = run_source(TWO, inputs=inputs, steps=2, **options, **in_chunks)
    assert plain.traffic is not None
    assert chunked.traffic is not None
    for name, value in plain.updated.items():
        np.testing.assert_allclose(chunked.updated[name], value, rtol=1e-12)
    assert plain.traffic.total == chunked.traffic.total
    assert {row.op for row in chunked.traffic.rows if row.elements} == {"dist.all_reduce"}


def test_a_program_in_chunks_costs_the_same_when_it_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.dsl").write_text(TWO)
    levels = "[{kind='switch',size=4,gb_per_s=1},{kind='ring',size=2,gb_per_s=2}]"
    machine = ["--set", f"network.levels={levels}", "--set", "network.latency=overlap", "-q"]
    chunks = ["--devices", "8", "--parallel", "dp", "-O0", "--collectives", "exact", "--chunks", "2"]
    assert run_command(["compile", "two.dsl", *machine, *chunks, "--json", "a.json", "-o", "two.mlir"]) == 0
    assert run_command(["compile", "two.mlir", *machine, "--json", "b.json"]) == 0
    first, second = ([row for row in json.loads(Path(f).read_text())["ops"]] for f in ("a.json", "b.json"))
    assert [row["native"] for row in first if row["kind"] == "comm"] == [
        row["native"] for row in second if row["kind"] == "comm"
    ]
    assert any(row["native"].get("chunks") == 2 for row in second)


def test_a_policy_needs_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NpucError, match=r"needs network\.levels, which igo-large does not say"):
        compiled(overrides={}, collectives="themis-fifo")
    monkeypatch.chdir(tmp_path)
    Path("two.dsl").write_text(TWO)
    passes = "parallelize{strategy=dp devices=8},autodiff,schedule-collectives{policy=themis-scf}"
    assert run_command(["opt", "two.dsl", "-p", passes]) == 1
    assert "the module does not say its network" in capsys.readouterr().err


def test_how_many_schedules_are_proved_is_said() -> None:
    small = compiled(collectives="exact", chunks=2)
    (said,) = [warning for warning in small.warnings if "proved" in warning]
    count = sum(ExchangeChunks.found_in(row) is not None for row in small.ops)
    assert said.endswith(f": {count} of {count} schedules are proved to be the best there is")


def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """A forward program with the options of its backward pass, where some text is another."""
    monkeypatch.chdir(tmp_path)
    Path("two.dsl").write_text(TWO)
    passes = "parallelize{strategy=dp devices=8},schedule-collectives{chunks=2}"
    assert run_command(["opt", "two.dsl", "-p", passes, "-o", "two.mlir"]) == 0
    text = Path("two.mlir").read_text()
    assert old in text
    Path("two.mlir").write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('policy = "baseline"', 'policy = "ring"'),
        ("chunks = 2 : i64", "chunks = 0 : i64"),
        ("chunks = 2 : i64", 'chunks = "two"'),
        ('policy = "baseline", ', ""),
    ],
)
def test_options_of_a_derived_step_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    written(tmp_path, monkeypatch, old, new)
    assert run_command(["compile", "two.mlir", "-b", "roofline", "--hw", "hypar16"]) == 2
    assert "expected a dictionary of policy and chunks" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["3 : i64", "{levels = []}", '{latency = "serial", levels = [{kind = "star"}]}'])
def test_a_network_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    monkeypatch.chdir(tmp_path)
    step = "func.func @step() attributes {dist.mesh = #dist.mesh<[2]>} { func.return }"
    Path("none.mlir").write_text(f"builtin.module attributes {{dist.network = {wrong}}} {{ {step} }}")
    assert run_command(["opt", "none.mlir", "-p", "schedule-collectives{policy=themis-scf}"]) == 2
    assert "expected a dictionary of latency and levels" in capsys.readouterr().err
