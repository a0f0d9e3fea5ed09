"""Contractions that share an operand: the program that is taken costs no more than any other, as the report says it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.analysis.nest.elements import contract_widths
from npuc.compiler.analysis.programs.reported_costs import pool_cost, round_robin_cost, scheduled_cost
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import Compilation, compile_program
from npuc.compiler.report import OpRow, Report
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.shared import RoundRobin
from npuc.frontends.source import open_source, text_source

OBJECTIVES = ("time", "traffic", "energy", "edp")


@st.composite
def networks(draw: st.DrawFn) -> str:
    """A few convolutions and linear layers in a chain."""
    size = draw(st.integers(3, 6))
    lines = [
        f"network net(batch={draw(st.integers(1, 12))}) {{",
        f"  input x: f32[batch, 4, {size}, {size}]",
        "  h = x",
    ]
    for _ in range(draw(st.integers(0, 2))):
        kernel, stride, groups = draw(st.sampled_from((1, 3))), draw(st.integers(1, 2)), draw(st.sampled_from((1, 2)))
        channels = 2 * draw(st.integers(1, 4))
        lines.append(f"  h = conv2d(h, {channels}, kernel={kernel}, stride={stride}, padding=same, groups={groups})")
    lines.append("  h = flatten(h)")
    lines += [f"  h = linear(h, {draw(st.integers(1, 30))})" for _ in range(draw(st.integers(1, 2)))]
    return "\n".join([*lines, "  loss sum(h ** 2)", "}"])


@st.composite
def machines(draw: st.DrawFn) -> dict[str, Any]:
    """A small array with little SPM, of one core or two."""
    policy = draw(st.sampled_from(("explicit", "explicit", "lru")))
    return {
        "name": "random",
        "clock_mhz": 1000,
        "array.rows": draw(st.sampled_from((2, 4, 8))),
        "array.cols": draw(st.sampled_from((2, 4, 8))),
        "array.dataflow": draw(st.sampled_from(("os", "ws", "is") if policy == "lru" else ("os", "ws", "in-place"))),
        "array.fill": draw(st.sampled_from(("overlap", "per-fold"))),
        "array.cores": 1 if policy == "lru" else draw(st.sampled_from((1, 1, 2))),
        "memory.spm_kib": draw(st.sampled_from((1, 2, 8, 64))),
        "memory.double_buffer": draw(st.booleans()),
        "memory.policy": policy,
        "dram.gb_per_s": draw(st.sampled_from((0.5, 2.0, 20.0))),
        "vector.lanes": 8,
        "energy.mac_pj": 0.2,
        "energy.spm_pj_per_byte": 1.0,
        "energy.dram_pj_per_byte": 20.0,
    }


def compiled(text: str, options: CompileKeywords) -> Compilation:
    return compile_program(text_source(text, "dsl", "net.dsl"), ["cycle"], options)


def score(rows: list[OpRow], objective: str) -> float:
    cycles = sum(row.cycles or 0 for row in rows)
    joules = sum(row.energy_j or 0.0 for row in rows)
    moved = sum((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) for row in rows)
    return {"time": cycles, "traffic": moved, "energy": joules, "edp": cycles * joules}[objective]


def backward(report: Report) -> dict[str, list[OpRow]]:
    """The rows of the products of each layer's backward pass."""
    found: dict[str, list[OpRow]] = {}
    for row in report.ops:
        if row.kind == "matrix" and row.phase in ("dx", "dw", "dxdw"):
            found.setdefault(row.name, []).append(row)
    return found


@settings(max_examples=8)
@given(
    text=networks(),
    machine=machines(),
    objective=st.sampled_from(OBJECTIVES),
    tolerance=st.sampled_from((0.0, 0.005, 0.2)),
)
def test_level_3_costs_no_more_than_any(text: str, machine: dict[str, Any], objective: str, tolerance: float) -> None:
    asked: CompileKeywords = {"hardware": machine, "objective": objective, "tolerance": tolerance}
    best = compiled(text, {**asked, "opt_level": 3}).reports[0]
    taken = backward(best)
    for level in (0, 1, 2):
        report = compiled(text, {**asked, "opt_level": level}).reports[0]
        other = backward(report)
        assert taken.keys() == other.keys()
        for layer, rows in taken.items():
            assert score(rows, objective) <= score(other[layer], objective) * (1 + 1e-12), (layer, level)
        if objective != "edp":
            assert score(best.ops, objective) <= score(report.ops, objective) * (1 + 1e-12), level


@settings(max_examples=8)
@given(text=networks(), machine=machines(), mode=st.sampled_from(("zip", "fused")))
def test_prices_are_those_of_the_report(text: str, machine: dict[str, Any], mode: str) -> None:
    pipeline = f"autodiff,lower-to-npu,interleave{{mode={mode}}},schedule"
    result = compiled(text, {"hardware": machine, "pipeline": pipeline})
    module, target = result.modules[0], machine_of(result.modules[0])
    assert target is not None
    ops = [op for op in module.walk() if isinstance(op, ContractOp | InterleaveOp)]
    inside = {contract for op in ops if isinstance(op, InterleaveOp) for contract in op.contracts}
    rows = [row for row in result.reports[0].ops if row.kind == "matrix"]
    for op, row in zip([op for op in ops if op not in inside], rows, strict=True):
        contracts = op.contracts if isinstance(op, InterleaveOp) else (op,)
        widths = tuple(contract_widths(one, target) for one in contracts)
        if isinstance(op, InterleaveOp):
            together = op.round_robin
            lru = pool_cost(together, target, widths, "round-robin") if target.policy == "lru" else None
            cost = lru or round_robin_cost(together, target, widths)
        elif target.policy == "lru":
            together = RoundRobin((op.nest,), (op.schedule,), (tuple(range(len(op.nest.ins))),))
            cost = pool_cost(together, target, widths, "sequential")
        else:
            cost = scheduled_cost(op.nest, op.schedule, target, widths[0], tile_loaded=bool(row.native.get("held")))
        assert row.energy_j is not None
        assert cost.joules is not None
        assert cost.cycles == row.cycles
        assert cost.moved == 8 * ((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0))
        assert abs(cost.joules - row.energy_j) <= 1e-12 * row.energy_j


SAMPLES: dict[str, dict[str, Any]] = {
    "mlp": {"batch": 16},
    "lenet": {"batch": 4},
    "ncf": {"batch": 64},
    "lstm_lm": {"batch": 4, "length": 2, "hidden": 64, "vocabulary": 100},
    "transformer": {"batch": 2, "length": 16, "layers": 1, "width": 64, "heads": 4, "hidden": 128},
}
CHIPS: dict[str, dict[str, Any]] = {
    "igo-large": {},
    "igo-small": {"memory.spm_kib": 64},
    "tpu-v1": {"energy.mac_pj": 0.2, "energy.spm_pj_per_byte": 1.0, "energy.dram_pj_per_byte": 20.0},
}
CASES = [
    (name, list(CHIPS)[(number + more) % len(CHIPS)], OBJECTIVES[(number + more) % len(OBJECTIVES)])
    for number, name in enumerate(SAMPLES)
    for more in range(2)
]
"""Each sample with two objectives and machines, in turn."""


@pytest.mark.parametrize(("name", "hardware", "objective"), CASES)
def test_level_3_costs_no_more_than_any_on_samples(name: str, hardware: str, objective: str) -> None:
    defines, overrides = SAMPLES[name], CHIPS[hardware]
    asked: CompileKeywords = {
        "hardware": hardware,
        "overrides": overrides,
        "objective": objective,
        "defines": defines,
    }
    source = open_source(f"samples:{name}")
    best, *others = [
        backward(compile_program(source, ["cycle"], {**asked, "opt_level": level}).reports[0]) for level in (3, 0, 1, 2)
    ]
    for level, other in enumerate(others):
        assert best.keys() == other.keys()
        for layer, rows in best.items():
            assert score(rows, objective) <= score(other[layer], objective) * (1 + 1e-12), (layer, level)
