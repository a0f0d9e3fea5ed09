"""The pattern of this pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.provenance import Role, derive, mark_recomputed, role_of


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

    Copies of forward work carry the mark `recompute`; they read second values where there are some. One pattern is for
    one walk, first operation first. Checks that nothing runs a third time: what has run again already is left out, and
    an operation that the walk has met stays as it is.
    """

    name: ClassVar[str] = "run-again"

    before: Callable[[Operation], Sequence[Operation]]
    """Gives the operations that run again in front of one, in their order; none in front of most."""
    reads: Callable[[Operation], bool] = lambda op: role_of(op) is not Role.FORWARD
    """Says which operations read second values; by default all but those of the forward pass."""
    _second: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue], init=False, repr=False)
    _met: set[Operation] = field(default_factory=set[Operation], init=False, repr=False)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if op in self._met:
            return
        self._met.add(op)
        for source in self.before(op):
            if not any(result in self._second for result in source.results):
                self._copy(source, rewriter)
        if self._second and self.reads(op):
            for number, value in enumerate(op.operands):
                if value in self._second:
                    op.operands[number] = self._second[value]
                    rewriter.notify_op_modified(op)

    def _copy(self, source: Operation, rewriter: PatternRewriter) -> None:
        """Put a copy of an operation in front of the one that the walk is at."""
        operands = [self._second.get(value, value) for value in source.operands]
        new = derive(source, source.clone(dict(zip(source.operands, operands, strict=True))))
        if role_of(source) is Role.FORWARD:
            mark_recomputed(new)
        self._met.add(new)
        rewriter.insert(new)
        self._second.update(zip(source.results, new.results, strict=True))


PATTERNS: tuple[type[NamedPattern], ...] = (RunAgain,)
