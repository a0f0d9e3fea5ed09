"""
Layers that run several times (`count` of a layer table), written out: each run accesses tensors of its own.

What such operations share with others, which run another number of times, nobody could tell apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from npuc.backends.roofline.iteration.steps import Iteration, IterationStep, IterationTensor
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.options import MAX_OPS
from npuc.dialects.provenance import repeat_of


def sharing_problem(op: Operation) -> str | None:
    """Why the runs of a repeated operation cannot be told apart: it shares values with one of other repetitions."""
    if isinstance(op, ModuleOp | FuncOp | ReturnOp) or (count := repeat_of(op)) == 1:
        return None
    makers = [value.owner for value in op.operands if isinstance(value.owner, Operation)]
    users = [use.operation for value in (*op.operands, *op.results) for use in value.uses]
    for other in (*makers, *users):
        # a constant has no memory
        if not isinstance(other, ReturnOp) and other.operands and repeat_of(other) != count:
            return (
                f"it runs {count:,} times and shares a value with {other.name}, which runs {repeat_of(other):,} times"
            )
    return None


def written_out(iteration: Iteration) -> Iteration:
    """
    An iteration with each run of a repeated layer as steps of its own, on tensors of its own.

    Steps in a row that share tensors run together, as those of a row of a table do. Raises `CapacityError` for more
    steps than a program may have operations.
    """
    if all(step.repeat == 1 for step in iteration.steps):
        return iteration
    count = sum(step.repeat for step in iteration.steps)
    if count > MAX_OPS:
        most = max(iteration.steps, key=lambda step: step.repeat)
        raise CapacityError(
            f"found {count:,} steps with layer '{most.name}' run {most.repeat:,} times, expected at most {MAX_OPS:,}",
            hint="give the layers lower counts, or keep some with --only",
        )
    copies, steps = _Copies([*iteration.tensors]), list[IterationStep]()
    for run in _runs(iteration.steps):
        for number in range(run[0].repeat):
            steps += [copies.of_step(step, number) for step in run]
    live_out = {copy for tensor in iteration.live_out for copy in (tensor, *copies.others.get(tensor, ()))}
    return replace(iteration, tensors=tuple(copies.tensors), steps=tuple(steps), live_out=frozenset(live_out))


def _runs(steps: Sequence[IterationStep]) -> Iterator[list[IterationStep]]:
    """Steps in a row that run together: equally often, each on a tensor of one before it."""
    run: list[IterationStep] = []
    touched: set[int] = set()
    for step in steps:
        own = {*step.reads, *step.writes}
        if run and not (step.repeat == run[0].repeat > 1 and own & touched):
            yield run
            run, touched = [], set()
        run.append(step)
        touched |= own
    if run:
        yield run


@dataclass
class _Copies:
    """The tensors with their copies: `others` has those of each, from the second run on."""

    tensors: list[IterationTensor]
    others: dict[int, list[int]] = field(default_factory=dict[int, list[int]])

    def of_step(self, step: IterationStep, run: int) -> IterationStep:
        """A step in its run of that number."""
        if run == 0:
            return replace(step, repeat=1)
        reads, writes = self._numbers(step.reads, run), self._numbers(step.writes, run)
        return replace(step, reads=reads, writes=writes, whole=frozenset(self._numbers(step.whole, run)), repeat=1)

    def _numbers(self, tensors: Iterable[int], run: int) -> tuple[int, ...]:
        return tuple(self._number(tensor, run) for tensor in tensors)

    def _number(self, tensor: int, run: int) -> int:
        known = self.others.setdefault(tensor, [])
        while len(known) < run:
            known.append(len(self.tensors))
            self.tensors.append(self.tensors[tensor])
        return known[run - 1]
