"""
The tasks of a scored step, in program order: the work of operations and the exchanges between devices, each with its
row of the report and the tasks whose values it reads.

Views, constants and what moves nothing between devices are no tasks: who reads their results waits for the tasks
before them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from npuc.backends.communication import FREE
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import OpRow, Report
from npuc.dialects.distributed import DistOp
from npuc.dialects.distributed.mesh import Mesh, mesh_of
from npuc.dialects.npu import ConstantOp, ViewOp
from npuc.dialects.provenance import layer_of, role_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

COMM = "comm"


@dataclass(frozen=True)
class Task:
    """
    Work or an exchange: its row of the report, the numbers of the tasks whose values it reads, ascending, and the
    operation where it is an exchange.
    """

    row: OpRow
    reads: tuple[int, ...]
    exchange: DistOp | None = None

    @property
    def seconds(self) -> float | None:
        """The time of all its runs; None for an exchange on a machine without a network."""
        return None if self.row.seconds is None else self.row.repeat * self.row.seconds


@dataclass(frozen=True)
class Step:
    """The tasks of a step, and the mesh of devices that run it; None for one device."""

    tasks: tuple[Task, ...]
    mesh: Mesh | None


def step_of(module: ModuleOp, report: Report) -> Step:
    """
    The tasks of a program that was scored.

    Raises `UsageError` where the report has no row, or no time, for each operation.
    """
    mesh = mesh_of_program(module)
    funcs = [op for op in module.ops if isinstance(op, FuncOp)]
    rows = _Rows(report, funcs)
    tasks: list[Task] = []
    for func in funcs:
        _add_tasks(func, rows, tasks)
    if rows.left:
        raise _not_by_operation(report)
    return Step(tuple(tasks), mesh)


def mesh_of_program(module: ModuleOp) -> Mesh | None:
    """The mesh of all functions; None for one device. Raises `UsageError` for functions on different ones."""
    meshes = {mesh_of(op) for op in module.ops if isinstance(op, FuncOp)}
    if len(meshes) > 1:
        raise UsageError("the program has functions on different meshes of devices, expected one mesh for all")
    return next(iter(meshes), None)


def _add_tasks(func: FuncOp, rows: _Rows, tasks: list[Task]) -> None:
    """The tasks of a function, behind those that are there."""
    sources: dict[SSAValue, frozenset[int]] = {}
    for op in func.body.block.ops:
        reads = frozenset[int]().union(*(sources.get(value, ()) for value in _read_by(op)))
        row = rows.take(op)
        if row is not None:
            tasks.append(Task(row, tuple(sorted(reads)), op if isinstance(op, DistOp) else None))
            reads = frozenset([len(tasks) - 1])
        for result in op.results:
            sources[result] = reads


def _read_by(op: Operation) -> Iterator[SSAValue]:
    """The values that an operation reads, those that its regions read from outside among them."""
    for inner in op.walk():
        yield from inner.operands


class _Rows:
    """The rows of a report, each for one operation: the next of its layer, phase and name."""

    def __init__(self, report: Report, funcs: list[FuncOp]) -> None:
        self._work: dict[tuple[str, str, str], deque[OpRow]] = {}
        self._exchanges = deque(row for row in report.ops if row.phase == COMM)
        for row in report.ops:
            if row.phase != COMM:
                if row.seconds is None:
                    raise UsageError(
                        f"the backend '{report.backend}' has no time for {row.name or row.op} ({row.phase})",
                        hint="-b cycle has one for every operation",
                    )
                self._work.setdefault((row.name, row.phase, row.op), deque()).append(row)
        counts: dict[tuple[str, str, str], int] = {}
        for func in funcs:
            for op in func.body.block.ops:
                if _key(op) in self._work:
                    counts[_key(op)] = counts.get(_key(op), 0) + 1
        if counts != {key: len(found) for key, found in self._work.items()}:
            raise _not_by_operation(report)

    @property
    def left(self) -> bool:
        """Whether there are rows that no operation took."""
        return bool(self._exchanges) or any(self._work.values())

    def take(self, op: Operation) -> OpRow | None:
        """The row of an operation; None for one that has none."""
        if isinstance(op, DistOp):
            return self._exchanges.popleft() if self._exchanges and not isinstance(op, FREE) else None
        found = self._work.get(_key(op))
        return found.popleft() if found and not isinstance(op, ViewOp | ConstantOp) else None


def _key(op: Operation) -> tuple[str, str, str]:
    return layer_of(op), role_of(op).value, op.name


def _not_by_operation(report: Report) -> UsageError:
    return UsageError(
        f"the report of the backend '{report.backend}' has not one row for each operation of the program",
        hint="a trace has the dependencies of single operations: -b cycle, without --only",
    )


def micros_of(step: Step) -> Mapping[int, tuple[int, int]]:
    """
    When each task begins, and how long it takes, in whole microseconds: one after another, as the report adds them up.

    Ends of work are rounded on a clock of their own, and ends of exchanges on another, so that the sums of either are
    within a microsecond of the report's.
    """
    found: dict[int, tuple[int, int]] = {}
    clocks = {True: 0.0, False: 0.0}
    start = 0
    for number, task in enumerate(step.tasks):
        kind = task.exchange is None
        before = clocks[kind]
        clocks[kind] += (task.seconds or 0.0) * 1e6
        duration = round(clocks[kind]) - round(before)
        found[number] = (start, duration)
        start += duration
    return found
