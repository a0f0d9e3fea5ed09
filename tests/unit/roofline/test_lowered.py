"""The roofline of lowered programs: as that of the forward graph where nothing was rewritten, and by brute force."""

from collections.abc import Iterator
from itertools import combinations
from math import prod
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from npuc.backends.registry import get_backend
from npuc.compiler import compile_file, compile_source
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.report import Report
from npuc.dialects.npu import ConstantOp, ViewOp
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.signature import results_of
from npuc.frontends.source import text_source

PLAIN = "autodiff,lower-to-npu"
FUSED = f"{PLAIN},interleave{{mode=fused}}"
TARGET = "set-target{rows=16 cols=16 spm-bytes=65536 clock-mhz=1000 gb-per-s=100 lanes=64}"
LARGE = {"memory.cache_mib": 4000}
WIDE = """network wide(batch=64) {
  input x: f32[batch, 96]
  h = relu(linear(x, 128, bias=false))
  h = linear(h, 160, bias=false)
  loss mean(h ** 2)
  optimizer sgd(lr=0.1)
}"""
TINY = """network tiny() {
  input x: f32[6, 10]
  h = linear(x, 12, bias=false)
  h = linear(h, 5, bias=false)
  loss mean(h ** 2)
  optimizer sgd(lr=0.1)
}"""


def scored(source: str, pipeline: str | None, keys: dict[str, Any]) -> Report:
    return compile_source(source, backend="roofline", hardware="rtx2080ti", pipeline=pipeline, overrides=keys)


def moved(report: Report) -> int:
    return (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)


@pytest.mark.parametrize(
    ("name", "defines", "labels"),
    [
        ("mlp", {}, 64),
        ("lenet", {"batch": 2}, 2),
        ("lenet_c", {"batch": 2}, 2),
        ("resnet18", {"batch": 1, "image": 32}, 1),
        ("squeezenet", {"batch": 1, "image": 64}, 1),
        ("lstm_lm", {"batch": 2}, 2 * 35),
        ("ncf", {"batch": 4}, 0),
    ],
)
def test_both_programs_agree_where_nothing_was_rewritten(name: str, defines: dict[str, int], labels: int) -> None:
    """But for the labels, which a cross entropy reads in the lowered program alone, and the sums of biases."""
    options: dict[str, Any] = {"hardware": "rtx2080ti", "overrides": LARGE, "defines": defines}
    graph = compile_file(f"samples:{name}", backend="roofline", **options)
    lowered = compile_file(f"samples:{name}", backend="roofline", pipeline=PLAIN, **options)
    assert (graph.native["program"], lowered.native["program"]) == ("forward", "lowered")
    assert lowered.totals.macs == graph.totals.macs
    assert moved(graph) == graph.totals.lower_bound_bytes
    assert moved(lowered) == lowered.totals.lower_bound_bytes == moved(graph) + 4 * labels
    assert lowered.totals.vector_ops == pytest.approx(graph.totals.vector_ops, rel=0.04)
    assert lowered.totals.seconds == pytest.approx(graph.totals.seconds, rel=0.004)


def test_rows_are_operations_and_add_up() -> None:
    report = scored(WIDE, PLAIN, {"memory.cache_mib": 0.1})
    assert [row.phase for row in report.ops if row.op == "npu.contract"] == ["forward", "forward", "dx", "dw", "dw"]
    assert sum(row.seconds or 0.0 for row in report.ops) == pytest.approx(report.totals.seconds)
    assert sum(row.macs or 0 for row in report.ops) == report.totals.macs == 64 * 128 * (2 * 96 + 3 * 160)


@pytest.mark.parametrize("mode", ["fused", "zip"])
def test_contractions_that_run_together_read_what_they_share_once(mode: str) -> None:
    """dY of the second layer is larger than the cache: one after the other, dX and dW read it twice."""
    keys = {"memory.cache_mib": 0.03, "roofline.plan": "single"}
    apart, together = scored(WIDE, PLAIN, keys), scored(WIDE, f"{PLAIN},interleave{{mode={mode}}}", keys)
    assert together.totals.macs == apart.totals.macs
    assert moved(apart) - moved(together) == 64 * 160 * 4
    assert [row.phase for row in together.ops if row.kind == "matrix"] == ["forward", "forward", "dxdw", "dw"]


@pytest.mark.parametrize("capacity", [0.02, 0.05, 0.1, 0.2])
def test_the_best_plan_of_an_interleaved_program_moves_no_more(capacity: float) -> None:
    keys = {"memory.cache_mib": capacity, "roofline.policy": "optimal"}
    assert moved(scored(WIDE, FUSED, keys)) <= moved(scored(WIDE, PLAIN, keys))


def test_fused_work_leaves_no_value_between() -> None:
    text = f"{PLAIN},{TARGET},schedule"
    keys = {"memory.cache_mib": 0.02, "roofline.plan": "single"}
    apart, fused = scored(WIDE, text, keys), scored(WIDE, f"{text},fuse-vector", keys)
    assert len(fused.ops) < len(apart.ops)
    assert fused.totals.vector_ops == apart.totals.vector_ops
    assert moved(fused) < moved(apart)


def test_resident_values_stay_in_the_cache_and_need_room() -> None:
    source = WIDE.replace("128", "16").replace("160", "24")
    text = f"{PLAIN},{TARGET},schedule,keep-resident"
    report = scored(source, text, {"memory.cache_mib": 0.0625})
    module, _ = lowered_module(
        text_source(source, "dsl", "net.dsl"),
        get_backend("cycle"),
        {"hardware": "igo-small", "pipeline": text},
        None,
        [],
    )
    assert "resident(" in str(module)
    assert moved(report) == report.totals.lower_bound_bytes
    with pytest.raises(CapacityError, match="bytes of cache"):
        scored(source, text, {"memory.cache_mib": 0.004})


def test_what_runs_again_is_marked() -> None:
    report = scored(WIDE, "autodiff,recompute{policy=every-k k=2},lower-to-npu", {"memory.cache_mib": 0.1})
    again = [row for row in report.ops if row.native.get("recompute")]
    assert again
    assert all(row.phase == "forward" for row in again)


def test_keys_of_the_forward_graph_are_told_of() -> None:
    keys = {"memory.cache_mib": 1, "roofline.sgd": False, "roofline.order": "listed"}
    report = scored(WIDE, PLAIN, keys)
    assert "roofline.sgd, roofline.order have no effect on a lowered program" in report.warnings
    assert report.totals.seconds_by_phase["update"]
    assert not scored(WIDE, None, keys).warnings


def test_what_it_cannot_score() -> None:
    with pytest.raises(SourceError, match="it has a mapping, which this backend does not follow"):
        scored(WIDE, f"{PLAIN},map{{mapping=rs num-pes=16}}", {})
    with pytest.raises(SourceError, match="the module does not say its machine") as caught:
        scored(WIDE, f"{PLAIN},schedule", {})
    assert "--hw" in str(caught.value.hint)


def tiny_module(pipeline: str) -> FuncOp:
    options: CompileKeywords = {"hardware": "igo-small", "precision": "f32", "pipeline": pipeline}
    module, _ = lowered_module(text_source(TINY, "dsl", "tiny.dsl"), get_backend("cycle"), options, None, [])
    return next(op for op in module.ops if isinstance(op, FuncOp))


def bytes_of(value: SSAValue) -> int:
    """The bytes of a tensor of four-byte elements, of which these programs are made."""
    return 4 * prod(shape_of(value))


def walk(func: FuncOp) -> Iterator[tuple[set[SSAValue], set[SSAValue], set[SSAValue]]]:
    """What each operation reads and writes, and what has to be in memory at the end, by an own walk."""
    ending = func.body.block.last_op
    assert isinstance(ending, ReturnOp)
    place = {
        ending.operands[r.index]: func.body.block.args[r.updates] for r in results_of(func) if r.updates is not None
    }
    final: set[SSAValue] = {*place.values()}

    def memory(value: SSAValue) -> list[SSAValue]:
        value = place.get(value, value)
        if isinstance(value.owner, ViewOp):
            return memory(value.owner.operands[0])
        constant = isinstance(value.owner, Operation) and isinstance(value.owner, ConstantOp)
        return [] if constant or not shape_of(value) else [value]

    for op in func.body.block.ops:
        if not isinstance(op, ConstantOp | ViewOp | ReturnOp):
            reads, writes = ({m for v in side for m in memory(v)} for side in (op.operands, op.results))
            yield reads, writes, final


def least_traffic(func: FuncOp, capacity: int) -> int:
    """The least bytes of all choices of what is cached between the operations: every set, in every order."""
    steps = list(walk(func))
    states: dict[frozenset[tuple[SSAValue, bool]], int] = {frozenset(): 0}
    for number, (reads, writes, final) in enumerate(steps):
        after: dict[frozenset[tuple[SSAValue, bool]], int] = {}

        def next_is_read(value: SSAValue, number: int = number) -> bool:
            later = ((value in r, value in w) for r, w, _ in steps[number + 1 :])
            return next((read for read, written in later if read or written), False)

        def is_accessed(value: SSAValue, number: int = number) -> bool:
            return any(value in r or value in w for r, w, _ in steps[number + 1 :])

        for state, cost in states.items():
            cached = dict(state)
            loads = sum(bytes_of(value) for value in reads if value not in cached)
            now = {**cached, **{value: cached.get(value, False) for value in reads}, **dict.fromkeys(writes, True)}
            useful = [value for value in now if next_is_read(value)]
            ended = sum(bytes_of(v) for v, dirty in now.items() if dirty and v in final and not is_accessed(v))
            for size in range(len(useful) + 1):
                for kept in combinations(useful, size):
                    if sum(map(bytes_of, kept)) <= capacity:
                        stored = sum(bytes_of(v) for v in useful if now[v] and v not in kept)
                        key = frozenset((v, now[v]) for v in kept)
                        total = cost + loads + stored + ended
                        after[key] = min(total, after.get(key, total))
        states = after
    return min(states.values())


@pytest.mark.parametrize("pipeline", [PLAIN, FUSED])
@pytest.mark.parametrize("capacity", [300, 500, 700, 1000, 4000])
def test_the_optimal_plan_moves_the_least_of_all_choices(pipeline: str, capacity: int) -> None:
    keys: dict[str, Any] = {"memory.cache_mib": capacity / 2**20, "roofline.policy": "optimal"}
    least = least_traffic(tiny_module(f"{pipeline},schedule"), capacity)
    assert moved(scored(TINY, pipeline, keys)) == least
    assert moved(scored(TINY, pipeline, keys | {"roofline.policy": "belady"})) >= least
