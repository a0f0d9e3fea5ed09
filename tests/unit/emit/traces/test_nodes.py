"""Nodes of a trace: the work of the report, one after another, with the dependencies of the program."""

import math
from itertools import pairwise
from typing import Any, cast

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from npuc.backends.exchanges import FREE
from npuc.compiler.driver.compile import Compilation
from npuc.dialects.distributed import DistOp
from npuc.dialects.npu import ContractOp, InterleaveOp, MoveOp, VectorOp
from tests.chakra_replay import replay
from tests.chakra_traces import COMPUTE
from tests.unit.emit.traces.programs import exchange_rows, traces_of


def test_work_is_that_of_the_report(result: Compilation) -> None:
    report = result.reports[0]
    rows = [row for row in report.ops if row.phase != "comm"]
    for trace in traces_of(result)[0]:
        work = [node for node in trace.nodes if node.type == COMPUTE]
        assert sorted(node.name for node in work) == sorted(f"{row.name or row.op} {row.phase}" for row in rows)
        seconds = math.fsum(cast(float, node.attributes["seconds"]) for node in work)
        assert seconds == pytest.approx(math.fsum(row.repeat * (row.seconds or 0) for row in rows), rel=1e-12)
        assert abs(sum(node.duration_micros for node in work) - seconds * 1e6) <= 1
        assert sum(cast(int, n.attributes["num_ops"]) for n in work) == sum(
            row.repeat * (2 * (row.macs or 0) + (row.vector_ops or 0)) for row in rows
        )
        moved = sum(cast(int, node.attributes["tensor_size"]) for node in work)
        assert moved == (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)
        assert all(node.attributes["is_cpu_op"] is False for node in trace.nodes)


def test_nodes_follow_each_other(result: Compilation) -> None:
    for trace in traces_of(result)[0]:
        ids = [node.id for node in trace.nodes]
        assert ids == sorted(set(ids))
        for node in trace.nodes:
            assert set(node.data_deps) <= set(ids)
            assert all(before < node.id for before in node.data_deps), "no cycles"
        for one, other in pairwise(trace.nodes):
            assert other.start_micros == one.start_micros + one.duration_micros


def test_dependencies_are_those_of_the_program(result: Compilation) -> None:
    tasks = [op for op in _operations(result) if _is_task(op)]
    number = {op: n for n, op in enumerate(tasks)}
    below = [_reached(op, number) for op in tasks]
    for trace in traces_of(result)[0][:2]:
        position = {node.id: n for n, node in enumerate(trace.nodes)}
        assert len(position) == len(tasks)
        found: list[set[int]] = [set() for _ in tasks]
        for n, node in reversed(list(enumerate(trace.nodes))):
            for before in node.data_deps:
                found[position[before]] |= {n} | found[n]
        assert found == below


def _operations(result: Compilation) -> list[Operation]:
    (func,) = (op for op in result.modules[0].ops if isinstance(op, FuncOp))
    return list(func.body.block.ops)


def _is_task(op: Operation) -> bool:
    return isinstance(op, ContractOp | InterleaveOp | VectorOp | MoveOp | DistOp) and not isinstance(op, FREE)


def _reached(op: Operation, number: dict[Operation, int]) -> set[int]:
    """The tasks that a task's results reach, by uses."""
    seen: set[Operation] = set()
    waiting = [op]
    while waiting:
        for result in waiting.pop().results:
            for use in result.uses:
                user = use.operation
                while user not in seen and user.parent_op() is not None and not isinstance(user.parent_op(), FuncOp):
                    user = cast(Operation, user.parent_op())
                if user not in seen:
                    seen.add(user)
                    waiting.append(user)
    return {number[user] for user in seen if user in number}


def test_a_simulator_runs_all_devices_to_their_end(result: Compilation) -> None:
    report = result.reports[0]
    traces, groups = traces_of(result)
    rows = result.machines[0].get("network.levels")
    sizes = [int(cast("dict[str, Any]", row)["size"]) for row in rows][::-1] if isinstance(rows, list) else []
    used = sizes[: 1 if len(traces) == 8 else len(sizes)]
    work = math.fsum(row.repeat * (row.seconds or 0) for row in report.ops if row.phase != "comm")
    moved = math.fsum(row.seconds or 0 for row in exchange_rows(result))
    seconds = replay(traces, groups, used)
    assert max(work, moved) * (1 - 1e-9) <= seconds <= (work + moved) * (1 + 1e-9)
    if moved and len(traces) == 32:
        assert seconds < (work + moved) * (1 - 1e-9), "gradients are summed beside other work"
