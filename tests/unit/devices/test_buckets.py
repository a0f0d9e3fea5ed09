"""Gradients in buckets in whole steps: what they compute, what they cost, and what is said of it."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_source, run_source
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import NpucError
from npuc.compiler.report import OpRow, Report
from npuc.compiler.report.sections import (
    BeginFacts,
    BucketFacts,
    ExchangeChunks,
    ExchangeFacts,
    OverlapFacts,
    OverlapTime,
)
from tests.chakra_traces import read_trace
from tests.unit.devices.test_collectives import NETWORK, SWITCH, TWO, compiled, messages

INPUTS = {"x": np.random.default_rng(0).integers(-3, 4, size=(8, 64)).astype(float), "y": np.arange(8)}
MIB = 1 << 20


def begin(row: OpRow) -> float:
    facts = BeginFacts.found_in(row)
    assert facts is not None
    return facts.begin_seconds


def gradients(report: Report) -> list[Any]:
    return [row for row in messages(report) if BucketFacts.found_in(row) is not None]


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
@pytest.mark.parametrize("level", ["train", "npu", "tiles"])
@pytest.mark.parametrize("mib", [0, 0.01, 25])
def test_a_step_in_buckets_computes_the_same(zero: int, level: str, mib: float) -> None:
    options: Any = {"devices": 8, "parallel": "dp", "overrides": NETWORK, "level": level, "dtype": "float64"}
    options |= {"zero": zero, "inputs": INPUTS, "steps": 2}
    plain, gathered = run_source(TWO, **options), run_source(TWO, **options, bucket_mib=mib)
    assert plain.traffic is not None
    assert gathered.traffic is not None
    for name, value in plain.updated.items():
        assert np.array_equal(gathered.updated[name], value), name
    assert [plain.traffic.of_level(n) for n in (0, 1)] == [gathered.traffic.of_level(n) for n in (0, 1)]


@pytest.mark.parametrize("policy", ["baseline", "themis-scf", "exact"])
def test_a_bucket_moves_in_chunks(policy: str) -> None:
    options: Any = {"devices": 8, "parallel": "dp", "overrides": NETWORK, "inputs": INPUTS, "dtype": "float64"}
    plain = run_source(TWO, **options)
    chunked = run_source(TWO, **options, bucket_mib=25, collectives=policy, chunks=3)
    for name, value in plain.updated.items():
        np.testing.assert_allclose(chunked.updated[name], value, rtol=1e-12)
    report = compiled(bucket_mib=25, collectives=policy, chunks=3)
    (row,) = gradients(report)
    facts = ExchangeChunks.found_in(row)
    assert facts is not None
    assert facts.chunks == 3


@pytest.mark.parametrize(
    ("backend", "zero"), [("cycle", 0), ("cycle", 2), ("cycle", 3), ("roofline", 0), ("roofline", 3)]
)
def test_a_bucket_is_one_collective_of_all_its_bytes(backend: str, zero: int) -> None:
    options: Any = {"backend": backend, "zero": zero}
    options["overrides"] = {**NETWORK, "compute.tflops": 1.0, "dram.gb_per_s": 100.0, "memory.cache_mib": 4}
    plain, gathered = compiled(**options), compiled(**options, bucket_mib=25)
    of_weights = [row for row in messages(plain) if row.native["of"] == "dw"]
    rows = gradients(gathered)
    assert len(rows) < len(of_weights)
    assert [row.name for row in rows] == [f"bucket {n}" for n in range(1, len(rows) + 1)]
    assert sum(row.native["bucket_sums"] for row in rows) == len(of_weights)
    for key in ("operand_bytes", "sent_bytes"):
        assert sum(row.native[key] for row in rows) == pytest.approx(sum(row.native[key] for row in of_weights))
    for key in ("gradient_operand_bytes", "gradient_read_bytes", "other_operand_bytes", "other_read_bytes"):
        assert gathered.native[key] == plain.native[key], key


def test_a_bucket_is_full_when_it_has_reached_its_size() -> None:
    """Of 64 x 64, 64 and 64 x 64 floats of two bytes, as the backward pass makes them: logits, the bias of a, a."""
    sizes: dict[float, list[int]] = {}
    for mib in (0, 8192 / MIB, 8200 / MIB, 1):
        sizes[mib] = [row.native["bucket_sums"] for row in gradients(compiled(bucket_mib=mib))]
    assert list(sizes.values()) == [[1, 1, 1], [1, 2], [2, 1], [3]]


@pytest.mark.parametrize("zero", [0, 2, 3])
@pytest.mark.parametrize("chunks", [{}, {"collectives": "themis-scf", "chunks": 4}])
@pytest.mark.parametrize("mib", [0, 8192 / MIB, 25])
def test_what_is_exposed_and_work_are_the_step(zero: int, chunks: dict[str, Any], mib: float) -> None:
    plain, report = compiled(zero=zero), compiled(zero=zero, bucket_mib=mib, **chunks)
    work = [row.repeat * row.seconds for row in report.ops if row.kind != "comm" and row.seconds is not None]
    rows = messages(report)
    time = OverlapTime.found_in(report)
    assert time is not None
    assert report.totals.seconds is not None
    assert report.totals.seconds == pytest.approx(sum(work) + time.exposed_seconds, rel=1e-12)
    assert sum(row.seconds for row in rows) == pytest.approx(time.exposed_seconds, rel=1e-12)
    assert time.exposed_seconds >= time.exposed_bound_seconds * (1 - 1e-12) > 0
    assert time.unbucketed_seconds == pytest.approx(plain.totals.seconds, rel=1e-12)
    assert report.native["overlapped_seconds"] == report.totals.seconds
    for row in rows:
        facts = OverlapFacts.found_in(row)
        assert facts is not None
        assert (
            0 <= facts.ready_seconds <= facts.begin_seconds <= facts.end_seconds <= report.totals.seconds * (1 + 1e-12)
        )
        assert facts.end_seconds - facts.begin_seconds >= facts.alone_seconds * (1 - 1e-9) or chunks
    ends = [begin(row) + row.repeat * (row.seconds or 0.0) for row in report.ops if row.kind != "comm"]
    assert max(ends) <= report.totals.seconds * (1 + 1e-12)


def test_updates_wait_for_their_own_gradients_alone() -> None:
    """The update of logits, whose gradient is there first, begins before the last bucket has ended."""
    slow = {**NETWORK, "network.levels": [{**SWITCH, "size": 8, "gb_per_s": 1.0}]}
    report = compiled(bucket_mib=0, overrides=slow)
    first, *_, last = gradients(report)
    begins = {row.name: begin(row) for row in report.ops if row.phase == "update"}
    assert begins["logits.weight"] == pytest.approx(first.native["end_seconds"])
    assert begins["logits.weight"] < last.native["end_seconds"]
    assert max(begins.values()) >= last.native["end_seconds"] * (1 - 1e-12)


def test_all_updates_wait_for_a_bucket_of_all_gradients() -> None:
    report = compiled(bucket_mib=25)
    (bucket,) = gradients(report)
    begins = [begin(row) for row in report.ops if row.phase == "update"]
    assert min(begins) >= bucket.native["end_seconds"] * (1 - 1e-12)


@pytest.mark.parametrize("chunks", [{}, {"collectives": "themis-scf", "chunks": 4}])
def test_the_timeline_has_buckets_beside_work(chunks: dict[str, Any]) -> None:
    report = compiled(bucket_mib=0, **chunks)
    events = [event for event in json.loads(report.to_trace())["traceEvents"] if event["ph"] == "X"]
    tracks: dict[int, list[tuple[float, float, str]]] = {}
    for event in events:
        tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"], event["name"]))
    for slices in tracks.values():
        assert slices == sorted(slices, key=lambda one: one[0])
        assert all(before[1] <= after[0] + 1e-6 for before, after in pairwise(slices))
    end = (report.totals.seconds or 0.0) * 1e6
    assert max(last for slices in tracks.values() for _, last, _ in slices) == pytest.approx(end, abs=2e-3)
    network = {name for track, slices in tracks.items() if track > 4 for _, _, name in slices}
    assert {"bucket 1 all_reduce", "bucket 2 all_reduce", "bucket 3 all_reduce"} <= network
    waits = {name for _, _, name in tracks[1] if name.startswith("waits")}
    assert "waits for all_reduce of bucket 3" in waits
    work = [(a, b) for a, b, name in tracks[1] if not name.startswith("waits")]
    moved = [(a, b) for track, slices in tracks.items() if track > 4 for a, b, n in slices if n.startswith("bucket")]
    assert any(a < d and c < b for a, b in work for c, d in moved), "some sums run beside work"


def test_traces_have_one_node_for_a_bucket(tmp_path: Path) -> None:
    source = tmp_path / "two.dsl"
    source.write_text(TWO, encoding="utf-8")
    command = ["compile", str(source), "--devices", "8", "--parallel", "dp", "--bucket-mib", "1", "-O0", "--quiet"]
    assert run_command([*command, "--hw", "hypar16", "--emit", "chakra", "-o", str(tmp_path / "traces")]) == 0
    (file,) = (tmp_path / "traces").glob("*.0.et")
    nodes = read_trace(file.read_bytes()).nodes
    (bucket,) = (node for node in nodes if node.name == "bucket 1 all_reduce")
    assert {nodes[number].name for number in bucket.data_deps} == {"logits dw", "a dw"}
    updates = [node for node in nodes if node.name.endswith(" update")]
    assert len(updates) == 3
    assert all(bucket.id in node.data_deps for node in updates)


def test_a_bucket_is_explained_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "two.dsl"
    source.write_text(TWO, encoding="utf-8")
    command = ["explain", str(source), "--devices", "8", "--parallel", "dp", "--bucket-mib", "1", "-O0", "--quiet"]
    assert run_command([*command, "--hw", "hypar16", "-b", "cycle", "--collective", "bucket 1"]) == 0
    assert "bucket 1" in capsys.readouterr().out


def test_an_early_reader_in_a_program_is_an_error() -> None:
    text = """
func.func @f(%x: tensor<4xf32> {train.input = "x"}, %y: tensor<4xf32> {train.input = "y"})
    -> (tensor<4xf32> {train.output = "a"}, tensor<4xf32> {train.output = "b"})
    attributes {dist.mesh = #dist.mesh<[2]>} {
  %0 = dist.all_reduce %x over [0] {dist.bucket = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = train.relu %0 {layer = "early"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.all_reduce %y over [0] {dist.bucket = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
"""
    with pytest.raises(NpucError, match=r"bucket 1: train\.relu of early reads a sum before the last member has run"):
        run_source(text, "mlir", level="train")


RATES: dict[str, object] = {"compute.tflops": 1.0, "dram.gb_per_s": 100.0, "memory.cache_mib": 4}


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        ("cycle", {}),
        ("cycle", {"zero": 2}),
        ("cycle", {"zero": 3}),
        ("cycle", {"collectives": "themis-scf", "chunks": 4}),
        ("roofline", {"zero": 3}),
        ("roofline", {"collectives": "themis-scf", "chunks": 4}),
    ],
)
@pytest.mark.parametrize(("rate", "latency"), [(1.0, 10.0), (0.1, 10000.0), (50.0, 300.0)])
def test_no_size_is_faster_than_the_best_buckets(
    backend: str, options: dict[str, Any], rate: float, latency: float
) -> None:
    level = {**SWITCH, "gb_per_s": rate, "latency_ns": latency}
    overrides = {"network.levels": [level, {**level, "kind": "ring", "size": 2}]}
    overrides |= RATES if backend == "roofline" else {}
    options = {**options, "backend": backend, "overrides": overrides}
    best = compiled(**options, bucket_mib="best").totals.seconds
    assert best is not None
    sizes = [None, 0, 8192 / MIB, 8200 / MIB, 25, 100]
    others = [compiled(**options, bucket_mib=mib).totals.seconds for mib in sizes]
    assert all(other is not None and best <= other * (1 + 1e-12) for other in others)


def test_the_best_buckets_are_none_of_the_sizes() -> None:
    """Of four alike gradients, those alone are slow to sum, and all together have no work left to run beside."""
    layers = "".join(f"  h{n} = linear({'x' if n == 0 else f'h{n - 1}'}, 64, bias=false)\n" for n in range(4))
    text = f"""
network deep(batch=8) {{
  input x: f32[batch, 64]
  labels y: i32[batch]
{layers}  loss cross_entropy(h3, y)
  optimizer sgd(lr=0.1)
}}
"""
    level = {"kind": "ring", "size": 8, "gb_per_s": 50.0, "latency_ns": 100.0}
    options: Any = {"overrides": {"network.levels": [level]}}
    best = compiled(text, **options, bucket_mib="best")
    sizes = [compiled(text, **options, bucket_mib=mib).totals.seconds or 0.0 for mib in (None, 0, 1)]
    assert [row.native["bucket_sums"] for row in gradients(best)] not in ([1] * 4, [4])
    assert best.totals.seconds is not None
    assert best.totals.seconds < min(sizes)
    assert 'bucket-gradients{mib="best"}' in best.pipeline


@pytest.mark.parametrize("after", ["", ",schedule-collectives{policy=themis-scf chunks=2}"])
def test_the_best_buckets_of_a_pipeline(after: str) -> None:
    """The pass may stand before the one that lowers the step."""
    steps = f"parallelize{{strategy=dp devices=8}},autodiff,bucket-gradients{{mib=MIB}}{after},lower-to-npu"
    options: Any = {"devices": 1, "parallel": None, "opt_level": None}
    best = compiled(**options, pipeline=steps.replace("MIB", "best")).totals.seconds
    assert best is not None
    for mib in ("0", "25"):
        assert best <= (compiled(**options, pipeline=steps.replace("MIB", mib)).totals.seconds or 0) * (1 + 1e-12)


def test_the_best_buckets_need_times() -> None:
    steps = "parallelize{devices=8},autodiff,bucket-gradients{mib=best}"
    with pytest.raises(NpucError, match="the best buckets need the times of work, which a backend says"):
        run_source(TWO, pipeline=steps, inputs=INPUTS, overrides=NETWORK)
    with pytest.raises(NpucError, match="--bucket-mib bst: expected a number of MiB, or best"):
        compiled(bucket_mib="bst")
    with pytest.raises(NpucError, match="--bucket-mib best needs a backend"):
        run_source(TWO, inputs=INPUTS, devices=8, bucket_mib="best")


def test_buckets_need_several_devices_and_gradients() -> None:
    report = compile_source(TWO, pipeline="autodiff,lower-to-npu,bucket-gradients")
    assert isinstance(report, Report)
    assert any("the program is of one device" in warning for warning in report.warnings)
    report = compiled(bucket_mib=1, inference=True)
    assert any("no gradients of weights are summed" in warning for warning in report.warnings)
    facts = [ExchangeFacts.found_in(row) for row in messages(report)]
    assert all(one is not None and one.of == "forward" for one in facts)
