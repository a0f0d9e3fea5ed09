"""What crosses the array's edge in reports: the key, the columns, the limit, and what a search chooses."""

from dataclasses import replace
from itertools import pairwise

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from npuc.backends.cycle.limits import why_limited
from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.report import OpRow, Report, to_trace
from npuc.compiler.report.text.summary.verdict import verdict
from npuc.compiler.transforms.set_target import SetTargetPass
from npuc.dialects.npu.nest import Loop, Schedule
from npuc.hardware import load_hardware
from tests.schedules import gemm

VECTOR = "layer,M,N,K\nfc,1,1024,1024\n"
EDGE = "array.edge_elements"


def scored(**changed: object) -> Report:
    """A product of a vector with a matrix, forward alone, on the large machine with a scratchpad for all of it."""
    overrides = {"memory.spm_kib": 1 << 20, **{key.replace("__", "."): value for key, value in changed.items()}}
    return compile_source(
        VECTOR, format="csv", hardware="igo-large", overrides=overrides, inference=True, tolerance=0.0
    )


def row(**changed: object) -> OpRow:
    return scored(**changed).ops[0]


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


def test_a_vector_keeps_one_row_of_the_array_at_work() -> None:
    work = compute(gemm(1, 8192, 8192), Schedule(), Array(128, 128, "ws"))
    assert work.edge == (work.groups - 1) * 127
    assert 8192 * 8192 / (128 * 128 * work.cycles) <= 1 / 128
    found = row(array__dataflow="ws")
    assert (found.utilization or 0) <= 1 / 128
    assert found.limit == "edge"
    assert found.native["groups"] == found.native["folds"]
    assert number(found.compute_cycles) == number(found.native["folds"]) + number(
        found.native["fill_drain_cycles"]
    ) + number(found.native["edge_cycles"])


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_more_elements_are_never_slower(dataflow: Dataflow) -> None:
    nest, schedule = gemm(3, 1024, 1024), Schedule((Loop("n", 96), Loop("k", 200)))
    arrays = [Array(128, 128, dataflow, edge_elements=e) for e in (1, 2, 5, 128, 1000, None)]
    times = [compute(nest, schedule, array).cycles for array in arrays]
    assert times == sorted(times, reverse=True)
    assert times[0] <= compute(nest, schedule, replace(arrays[0], fill="per-fold")).cycles
    found = [number(row(array__dataflow=dataflow, array__edge_elements=e).cycles) for e in (1, 5, "unlimited")]
    assert all(more <= less for less, more in pairwise(found))


def test_without_a_limit_folds_follow_each_other() -> None:
    """The cycles of before: folds x T, and P - T once."""
    for dataflow in ("os", "ws", "is"):
        array = Array(128, 128, "os" if dataflow == "os" else "ws" if dataflow == "ws" else "is", edge_elements=None)
        nest, schedule = gemm(1, 300, 700), Schedule((Loop("k", 50), Loop("n", 70)))
        work = compute(nest, schedule, array)
        streamed = sum(array.cycles(1, n, k) for n in (70, 70, 70, 70, 20) for k in [50] * 14)
        assert (work.edge, work.cycles) == (0, streamed + array.latency)
        assert work.cycles <= compute(nest, schedule, replace(array, edge_elements=1)).cycles


def test_long_folds_wait_for_nothing() -> None:
    for dataflow in ("os", "ws", "is"):
        array = Array(8, 8, "os" if dataflow == "os" else "ws" if dataflow == "ws" else "is")
        work = compute(gemm(64, 64, 64), Schedule((Loop("m", 8), Loop("n", 8), Loop("k", 8))), array)
        assert work.edge == 0
        assert work.cycles == 8 * 8 * 8 * 8 + array.latency


def test_what_stays_is_accessed_once() -> None:
    """W stays while m steps innermost; it comes from the SPM once for all of it."""
    array, nest = Array(8, 8, "ws"), gemm(64, 8, 8)
    inner = compute(nest, Schedule((Loop("m", 8),)), array)
    assert (inner.folds, inner.groups, inner.accesses["W"]) == (8, 1, 64)
    per_fold = compute(nest, Schedule((Loop("m", 8),)), replace(array, fill="per-fold"))
    assert per_fold.accesses["W"] == 8 * 64


@pytest.mark.parametrize(("edge", "turn"), [(1, 16), (3, 6), ("unlimited", 0)])
def test_turns_of_an_in_place_array(edge: object, turn: int) -> None:
    found = row(array__dataflow="in-place", array__rows=16, array__edge_elements=edge)
    assert found.native["edge_cycles"] == found.native.get("reload_cycles", 0) == turn * number(found.native["groups"])


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"array.fill": "per-fold"}, "nothing crosses the edge beside a fold"),
        ({"array.dataflow": "ws", "array.overlap": "wlbp"}, "the stages of array.overlap"),
    ],
)
def test_a_key_without_effect_is_a_warning(changed: dict[str, object], why: str) -> None:
    assert not scored(**changed).warnings
    (warning,) = scored(**changed, **{EDGE: 2}).warnings
    assert EDGE in warning
    assert "has no effect" in warning
    assert why in warning


@pytest.mark.parametrize(("value", "found"), [(0, "got 0"), (1.5, "got the number 1.5"), ("none", "the string 'none'")])
def test_wrong_values(value: object, found: str) -> None:
    with pytest.raises(UsageError, match=r"array\.edge_elements: expected an integer from 1 to .* or 'unlimited'") as e:
        load_hardware("igo-large", {EDGE: value})
    assert found in e.value.message


def test_the_pass_writes_it() -> None:
    def target(edge_elements: int | str) -> SetTargetPass:
        return SetTargetPass(4, 4, 64, 1000, 8, 4, edge_elements=edge_elements)

    for value, wanted in ((2, 2), ("unlimited", None)):
        module = ModuleOp([])
        target(value).apply(Context(), module)
        machine = machine_of(module)
        assert machine is not None
        assert machine.array.edge_elements == wanted
    with pytest.raises(PassFailedException, match="edge_elements is 'none', expected an integer from 1 on"):
        target("none").apply(Context(), ModuleOp([]))


def test_the_verdict_and_the_trace_say_it() -> None:
    report = scored(array__dataflow="ws", dram__gb_per_s=10000.0)
    assert "the edge of the array limits" in verdict(report)
    assert '"limit": "edge"' in to_trace(report)


def test_advice_where_transfers_take_longer_than_the_array_with_its_waits() -> None:
    """A faster edge alone gains nothing there, although the array waits for it longer than for data."""
    slow = {"array__dataflow": "ws", "dram__gb_per_s": 150.0}
    report = scored(**slow)
    (one,) = report.ops
    assert one.limit == "edge"
    assert number(one.native["transfer_cycles"]) > number(one.compute_cycles)
    assert scored(**slow, **{EDGE: "unlimited"}).totals.cycles == report.totals.cycles
    assert "Try more DRAM bandwidth" in verdict(report)
    assert "Try another array" in verdict(scored(array__dataflow="ws", dram__gb_per_s=10000.0))


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_a_search_does_not_cut_what_streams_to_nothing(dataflow: Dataflow) -> None:
    """The streamed dimension is cut below the rows of the array only where that costs nothing."""
    source = "layer,M,N,K\nconv,25088,64,576\nfc,256,2048,512\n"
    report = compile_source(
        source, format="csv", hardware="igo-large", tolerance=0.0, overrides={"array.dataflow": dataflow}
    )
    for found in report.ops:
        assert 5 * number(found.native["edge_cycles"]) < number(found.cycles), found.schedule


def test_a_limit_without_words_sets_the_time() -> None:
    assert why_limited(OpRow(index=0, name="fc", op="x")) == "it sets the time"
