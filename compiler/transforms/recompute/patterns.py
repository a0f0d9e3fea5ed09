"""The pattern of this pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.provenance import Role, derive, mark_recomputed, role_of
from npuc.dialects.train.arithmetic import SubOp


@dataclass(frozen=True, eq=False)
class RunAgain(NamedPattern):
    """
    Forward operations run a second time in front of another, which reads the second values, as all later readers do.

        %h = train.relu %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %y = train.exp %h : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %dy = train.mul %y, %h {role = "dx"} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
        --> RunAgain(before=lambda op: [op.operands[1].owner] if role_of(op) is Role.DX else [])
        %h = train.relu %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %y = train.exp %h : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %h_1 = train.relu %x {recompute} : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %dy = train.mul %y, %h_1 {role = "dx"} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>

    Copies of forward work carry the mark `recompute`; they read second values where there are some. An addition that is
    undone is a subtraction in its place: the second value of one of its operands is its result less the other operand.
    One pattern is for one walk, first operation first. Checks that nothing runs a third time: what has run again
    already is left out, and an operation that the walk has met stays as it is.
    """

    name: ClassVar[str] = "run-again"

    before: Callable[[Operation], Sequence[Operation]]
    """Gives the operations that run again in front of one, in their order; none in front of most."""
    reads: Callable[[Operation], bool] = lambda op: role_of(op) is not Role.FORWARD
    """Says which operations read second values; by default all but those of the forward pass."""
    undone: Mapping[Operation, int] = field(default_factory=dict[Operation, int])
    """The additions that are undone in place of running again, and the number of the operand that follows from it."""
    same: Mapping[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Values that are copies of others: what reads second values reads those of the others."""
    _second: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue], init=False, repr=False)
    _met: set[Operation] = field(default_factory=set[Operation], init=False, repr=False)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if op in self._met:
            return
        self._met.add(op)
        for source in self.before(op):
            if not any(result in self._second for result in self._made(source)):
                self._put(source, rewriter)
        if self._second and self.reads(op):
            for number, value in enumerate(op.operands):
                if (second := self._second_of(value)) is not value:
                    op.operands[number] = second
                    rewriter.notify_op_modified(op)

    def _second_of(self, value: SSAValue) -> SSAValue:
        """What is read in place of a value."""
        value = self.same.get(value, value)
        return self._second.get(value, value)

    def _made(self, source: Operation) -> Sequence[SSAValue]:
        """The values that get a second one from an operation."""
        number = self.undone.get(source)
        return source.results if number is None else (self.same.get(source.operands[number], source.operands[number]),)

    def _put(self, source: Operation, rewriter: PatternRewriter) -> None:
        """Put a copy of an operation, or what undoes it, in front of the one that the walk is at."""
        number = self.undone.get(source)
        if number is None:
            operands = [self._second_of(value) for value in source.operands]
            new = derive(source, source.clone(dict(zip(source.operands, operands, strict=True))))
        else:
            rest = self._second_of(source.operands[1 - number])
            new = derive(source, SubOp(self._second_of(source.results[0]), rest))
            new.out.name_hint = source.operands[number].name_hint
        if role_of(source) is Role.FORWARD:
            mark_recomputed(new)
        self._met.add(new)
        rewriter.insert(new)
        self._second.update(zip(self._made(source), new.results, strict=True))


PATTERNS: tuple[type[NamedPattern], ...] = (RunAgain,)
