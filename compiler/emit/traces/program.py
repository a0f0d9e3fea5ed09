"""
The tasks of a scored step, in program order: the work of operations and the exchanges between devices, each with its
row of the report and the tasks whose values it reads.

Views, constants and what moves nothing between devices are no tasks: who reads their results waits for the tasks
before them. A bucket of sums is one task, which waits for all its gradients.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from npuc.backends.exchanges import FREE
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import OpRow, Report
from npuc.compiler.report.sections import BeginFacts, OverlapFacts
from npuc.dialects.distributed import DistOp, buckets_of
from npuc.dialects.distributed.mesh import Mesh, mesh_of
from npuc.dialects.npu import ConstantOp, ViewOp
from npuc.dialects.provenance import layer_of, role_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

COMM = "comm"
_NO_TASKS = (*FREE, ViewOp, ConstantOp, ReturnOp)


@dataclass(frozen=True)
class TracedTask:
    """
    Work or an exchange: its row of the report, the numbers of the tasks whose values it reads, ascending, and the
    operation where it is an exchange.
    """

    row: OpRow
    reads: tuple[int, ...]
    exchange: DistOp | None = None

    @property
    def seconds(self) -> float | None:
        """The time of all its runs, by itself; None for an exchange on a machine without a network."""
        beside = OverlapFacts.found_in(self.row)
        if beside is not None:
            return beside.alone_seconds
        return None if self.row.seconds is None else self.row.repeat * self.row.seconds


@dataclass(frozen=True)
class TracedStep:
    """The tasks of a step, and the mesh of devices that run it; None for one device."""

    tasks: tuple[TracedTask, ...]
    mesh: Mesh | None


def traced_step(module: ModuleOp, report: Report) -> TracedStep:
    """
    The tasks of a program that was scored.

    Raises `UsageError` where the report has no row, or no time, for each operation.
    """
    mesh = mesh_of_program(module)
    funcs = [op for op in module.ops if isinstance(op, FuncOp)]
    rows = _Rows(report, funcs)
    tasks: list[TracedTask] = []
    for func in funcs:
        _add_tasks(func, rows, tasks)
    return TracedStep(tuple(tasks), mesh)


def mesh_of_program(module: ModuleOp) -> Mesh | None:
    """The mesh of all functions; None for one device. Raises `UsageError` for functions on different ones."""
    meshes = {mesh_of(op) for op in module.ops if isinstance(op, FuncOp)}
    if len(meshes) > 1:
        raise UsageError("the program has functions on different meshes of devices, expected one mesh for all")
    return next(iter(meshes), None)


def _add_tasks(func: FuncOp, rows: _Rows, tasks: list[TracedTask]) -> None:
    """The tasks of a function, behind those that are there."""
    sources: dict[SSAValue, frozenset[int]] = {}
    closing: dict[Operation, Sequence[Operation]] = {members[-1]: members for members in buckets_of(func).values()}
    for op in func.body.block.ops:
        together = closing.get(op, (op,))
        reads = frozenset[int]().union(*(sources.get(value, ()) for one in together for value in _read_by(one)))
        row = rows.take(op)
        if row is not None:
            tasks.append(TracedTask(row, tuple(sorted(reads)), op if isinstance(op, DistOp) else None))
            reads = frozenset([len(tasks) - 1])
        for one in together:
            sources.update(dict.fromkeys(one.results, reads))


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
        buckets = (members for func in funcs for members in buckets_of(func).values())
        self._gathered = {op for members in buckets for op in members[:-1]}
        """Members of buckets, of which the last one has the row."""
        ops = [op for func in funcs for op in func.body.block.ops if self._is_task(op)]
        work = Counter(_key(op) for op in ops if not isinstance(op, DistOp))
        exchanges = sum(isinstance(op, DistOp) for op in ops)
        if exchanges != len(self._exchanges) or work != {key: len(found) for key, found in self._work.items()}:
            raise _not_by_operation(report)

    def take(self, op: Operation) -> OpRow | None:
        """The row of an operation; None for one that is no task."""
        if not self._is_task(op):
            return None
        return (self._exchanges if isinstance(op, DistOp) else self._work[_key(op)]).popleft()

    def _is_task(self, op: Operation) -> bool:
        return not isinstance(op, _NO_TASKS) and op not in self._gathered


def _key(op: Operation) -> tuple[str, str, str]:
    return layer_of(op), role_of(op).value, op.name


def _not_by_operation(report: Report) -> UsageError:
    return UsageError(
        f"the report of the backend '{report.backend}' has not one row for each operation of the program",
        hint="a trace has the dependencies of single operations: -b cycle, without --only",
    )


def micros_of(step: TracedStep) -> Mapping[int, tuple[int, int]]:
    """
    When each task begins, and how long it takes, in whole microseconds: one after another, as the report adds them up,
    or where sums of gradients run beside work, when they are under way.

    Ends of work are rounded on a clock of their own, and ends of exchanges on another, so that the sums of either are
    within a microsecond of the report's.
    """
    found: dict[int, tuple[int, int]] = {}
    clocks = {True: 0.0, False: 0.0}
    start = 0
    for number, task in enumerate(step.tasks):
        beside, begun = OverlapFacts.found_in(task.row), BeginFacts.found_in(task.row)
        if begun is not None:
            end = begun.begin_seconds + (task.seconds or 0.0) if beside is None else beside.end_seconds
            begin = round(begun.begin_seconds * 1e6)
            found[number] = (begin, round(end * 1e6) - begin)
            continue
        kind = task.exchange is None
        before = clocks[kind]
        clocks[kind] += (task.seconds or 0.0) * 1e6
        duration = round(clocks[kind]) - round(before)
        found[number] = (start, duration)
        start += duration
    return found
