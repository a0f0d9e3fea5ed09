"""
The cost of recomputing forward operations in the backward pass, and the memory that it saves.

A plan is a set of forward operations. Each of their values that the backward pass needs is recomputed once, right
before the first stage of the backward pass that needs it, together with its own inputs among the plan's values; all
readers from there on read the second one. A stage is a run of operations of one layer, so that nothing comes between
its dX and dW, which may run together. All other values are saved by the forward pass. The order of operations is
otherwise unchanged, and operations recomputed at one place run in the order of the forward pass. Nothing is computed a
third time.

Sources: Griewank, Walther (2000), Algorithm 799: revolve; Chen, Xu, Zhang, Guestrin (2016), Training deep nets with
sublinear memory cost (arXiv 1604.06174); Jain et al. (2020), Checkmate (arXiv 1910.02653).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf

from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.compiler.analysis.memory.liveness import Slot, Tensors, live_bytes, shown_by
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind, result_elements
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import Writes, writes_of

Plan = AbstractSet[int]
"""The numbers of the forward operations that are computed again."""


@dataclass(frozen=True)
class Outcome:
    """What a plan costs: operations that run a second time, and the bytes in memory at the peak."""

    work: int
    peak_bytes: int


@dataclass(frozen=True)
class RecomputeProblem:
    """
    A training step as numbers: its slots, the bytes of its buffers, and which forward operations may run again.

    Operations before `boundary` are the forward pass; `stages` are the first operations of the stages of the backward
    pass. `works` are the elementary operations of each of these,
    `layers` says by a number which layer it belongs to, ascending, `candidates` are those that may be in a plan. A plan
    always holds `bound`: products that only an addition of their layer reads, so that they run again with it.
    """

    slots: tuple[Slot, ...]
    sizes: tuple[int, ...]
    returned: frozenset[int]
    resident: int
    boundary: int
    stages: tuple[int, ...]
    works: tuple[int, ...]
    layers: tuple[int, ...]
    candidates: frozenset[int]
    bound: frozenset[int] = frozenset()

    @cached_property
    def producer(self) -> dict[int, int]:
        """The forward operation that makes each buffer of the forward pass."""
        return {buffer: op for op, (_, makes) in enumerate(self.slots[: self.boundary]) for buffer in makes}

    @cached_property
    def needs(self) -> tuple[tuple[int, ...], ...]:
        """For each operation the candidates whose values it reads."""
        producer, candidates = self.producer, self.candidates
        found = ((producer.get(buffer, -1) for buffer in reads) for reads, _ in self.slots)
        return tuple(tuple(dict.fromkeys(op for op in ops if op in candidates)) for ops in found)

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each candidate the operations that read a value of it, ascending; () for others."""
        found: list[list[int]] = [[] for _ in range(self.boundary)]
        for reader, ops in enumerate(self.needs):
            for op in ops:
                found[op].append(reader)
        return tuple(map(tuple, found))

    def sequence(self, plan: Plan) -> list[int]:
        """The operations in the order in which they run: number n the first time, ~n the second time."""
        again: set[int] = set()
        order = list(range(self.boundary))
        for start, end in self.spans:
            todo = [f for op in range(start, end) for f in self.needs[op] if f in plan and f not in again]
            batch: list[int] = []
            while todo:
                found = todo.pop()
                if found not in again:
                    again.add(found)
                    batch.append(found)
                    todo += [f for f in self.needs[found] if f in plan and f not in again]
            order += [~f for f in sorted(batch)]
            order += range(start, end)
        return order

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The first operation of each stage and the one behind it."""
        return tuple(pairwise((*self.stages, len(self.slots))))

    def outcome(self, plan: Plan) -> Outcome:
        """What a plan costs."""
        work, live = self.course(plan)
        return Outcome(work, max(live, default=self.resident))

    def course(self, plan: Plan) -> tuple[int, list[int]]:
        """The work of a plan, and the bytes in memory during each operation of its sequence."""
        order = self.sequence(plan)
        live = live_bytes(self._slots_of(order, plan), (*self.sizes, *self.sizes), self.returned)
        return sum(self.works[~op] for op in order if op < 0), [self.resident + count for count in live]

    def idle(self, plan: Plan, at: int) -> list[int]:
        """The candidates that are not in a plan, of which values lie in memory during a slot that does not use them."""
        slots = self._slots_of(self.sequence(plan), plan)
        before = {b for _, makes in slots[:at] for b in makes}
        after = {b for reads, _ in slots[at + 1 :] for b in reads}
        kept = before.intersection(after).difference(slots[at][0])
        found = {self.producer[b] for b in kept if b in self.producer}
        return sorted(op for op in found if op in self.candidates and op not in plan)

    def _slots_of(self, order: Sequence[int], plan: Plan) -> list[Slot]:
        """The slots of a sequence; the second values of a plan are buffers of their own."""
        count = len(self.sizes)
        second = {b: b + count for op in plan for b in self.slots[op][1]}
        slots: list[Slot] = []
        for op in order:
            reads, makes = self.slots[op if op >= 0 else ~op]
            if op < 0:
                slots.append((tuple([second.get(b, b) for b in reads]), tuple([b + count for b in makes])))
            elif op >= self.boundary and self.needs[op]:
                slots.append((tuple([second.get(b, b) for b in reads]), makes))
            else:
                slots.append((reads, makes))
        return slots


def problem_of(tensors: Tensors, wanted: Callable[[str], bool]) -> RecomputeProblem:
    """
    The problem of a training step. Of the layers that are `wanted` all forward operations may run again.

    But for those that write in place, whose values are returned, or that read memory that is written in place before
    they would run again.
    """
    forward = tensors.ops[: tensors.boundary]
    slots = tensors.slots
    problem = RecomputeProblem(
        slots,
        tensors.sizes,
        tensors.returned,
        tensors.resident,
        tensors.boundary,
        tuple(stages_of(tensors.ops, tensors.boundary)),
        tuple(work_of(op) for op in forward),
        tuple(_layer_numbers(forward)),
        frozenset(op for op in range(len(forward)) if not tensors.returned.intersection(slots[op][1])),
    )
    candidates = problem.candidates & _allowed(tensors, problem, wanted)
    bound = frozenset(op for op in candidates if _is_bound(tensors.ops, op, problem.readers[op]))
    return replace(problem, candidates=candidates, bound=bound)


def _is_bound(ops: Sequence[Operation], number: int, readers: Sequence[int]) -> bool:
    """
    Whether an operation is a product that only an addition of its layer reads, a bias.

    The sum starts with the bias once it is lowered, so that the product without it is no value any more.
    """
    op = ops[number]
    if len(readers) != 1 or not isinstance(op, TrainOp) or get_layer(op).kind is not Kind.MATRIX:
        return False
    reader = ops[readers[0]]
    return isinstance(reader, AddOp) and role_of(reader) is Role.FORWARD and layer_of(reader) == layer_of(op)


def work_of(op: Operation) -> int:
    """
    The elementary operations of an operation of the `train` level: two for each multiply-accumulate.

    A move of data counts one for each element that it writes, so that it is not free.
    """
    if not isinstance(op, TrainOp):
        return 0
    layer = get_layer(op)
    work = layer.work(op)
    moved = sum(result_elements(op, i) for i in range(len(op.results))) if layer.kind is Kind.DATA else 0
    return 2 * work.macs + work.vector_ops + moved


def stages_of(ops: Sequence[Operation], boundary: int) -> Iterator[int]:
    """The operations of the backward pass before which the layer changes."""
    for number in range(boundary, len(ops)):
        if number == boundary or layer_of(ops[number]) != layer_of(ops[number - 1]):
            yield number


def _layer_numbers(ops: Iterable[Operation]) -> Iterable[int]:
    """A number for each operation that grows by 1 where the layer changes; updates in between belong to the last."""
    number, name = -1, None
    for op in ops:
        if role_of(op) is Role.FORWARD and (name is None or layer_of(op) != name):
            number, name = number + 1, layer_of(op)
        yield max(number, 0)


def _allowed(tensors: Tensors, problem: RecomputeProblem, wanted: Callable[[str], bool]) -> set[int]:
    """The forward operations that may run again as far as layers, roles and memory written in place say."""
    ops, boundary = tensors.ops, tensors.boundary
    block = ops[0].parent if ops else None
    writes: Writes = {} if block is None else writes_of(block)
    number = {op: i for i, op in enumerate(ops)}
    written: dict[SSAValue, int] = {}
    for op, args in writes.items():
        for arg in args:
            written[arg] = min(number.get(op, 0), written.get(arg, len(ops)))
    latest = [0.0] * boundary
    allowed: set[int] = set()
    for f in range(boundary - 1, -1, -1):
        op, readers = ops[f], problem.readers[f]
        direct = next((r for r in readers if r >= boundary), None)
        latest[f] = float(direct) if direct is not None else max((latest[r] for r in readers), default=0.0)
        first_write = min((written.get(arg, inf) for arg in _arguments(op)), default=inf)
        local = isinstance(op, TrainOp) and get_layer(op).kind is not Kind.COMM
        own = local and role_of(op) is Role.FORWARD and op not in writes
        if own and wanted(layer_of(op)) and first_write >= latest[f]:
            allowed.add(f)
    return allowed


def _arguments(op: Operation) -> Iterable[BlockArgument]:
    """The arguments of the function that an operation reads, itself or through views."""
    for value in op.operands:
        shown = shown_by(value)
        if isinstance(shown, BlockArgument):
            yield shown


def in_segments(problem: RecomputeProblem, cuts: Sequence[int]) -> frozenset[int]:
    """
    The plan that keeps what crosses one of the cuts of the forward pass, and what comes after the last of them.

    A cut is the number of the operation behind it. What comes after the last is needed at once, so that nothing would
    be saved.
    """
    if not cuts:
        return problem.bound
    behind = _next_cut(problem.boundary, cuts)
    plan = set(problem.bound)
    for op in problem.candidates:
        last = max((r for r in problem.readers[op] if r < problem.boundary), default=op)
        if op < cuts[-1] and last < behind[op]:
            plan.add(op)
    return frozenset(plan)


def _next_cut(boundary: int, cuts: Sequence[int]) -> list[int]:
    """The next cut behind each operation of the forward pass."""
    behind = [boundary] * boundary
    start = 0
    for cut in cuts:
        behind[start:cut] = [cut] * (cut - start)
        start = cut
    return behind


def every(problem: RecomputeProblem, k: int) -> frozenset[int]:
    """The plan that keeps what crosses the end of each k-th layer."""
    starts = layer_starts(problem)
    return in_segments(problem, starts[k::k])


def layer_starts(problem: RecomputeProblem) -> list[int]:
    """The first operation of each layer, in order."""
    layers = problem.layers
    return [op for op in range(problem.boundary) if op == 0 or layers[op] != layers[op - 1]]


def common_k(problem: RecomputeProblem) -> int:
    """The number of layers of a segment of which there are as many as layers in one: the root, rounded."""
    return max(1, round(len(layer_starts(problem)) ** 0.5))
