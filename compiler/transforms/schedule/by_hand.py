"""Patterns that give contractions another schedule than they have."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field
from fnmatch import fnmatchcase

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.analysis.machine.facts import Machine, machine_of
from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.named_pattern import NamedPattern, apply_pattern
from npuc.compiler.transforms.schedule.pins import settle, together_of
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.provenance import layer_of


@frozen(eq=False)
class ByHand(NamedPattern):
    """
    A pattern that gives a contraction another schedule; those that run round-robin get theirs at once.

    The new schedules are checked, and their SPM budgets are written, as `settle` does it.
    """

    only: str | None = field(default=None, kw_only=True)
    """A glob of layer names; contractions of others stay as they are."""

    @abstractmethod
    def schedule_of(self, op: ContractOp) -> Schedule | None:
        """The schedule that a contraction gets; None where the pattern does not concern it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Set the schedules of a contraction that runs alone, or of those that run round-robin."""
        match op:
            case ContractOp() if together_of(op) is None:
                contracts: Sequence[ContractOp] = (op,)
            case InterleaveOp():
                contracts = op.contracts
            case _:
                return
        wanted = [one for one in contracts if self.only is None or fnmatchcase(layer_of(one), self.only)]
        found = {one: schedule for one in wanted if (schedule := self.schedule_of(one)) is not None}
        before = _state(op, contracts)
        for one, schedule in found.items():
            one.schedule = schedule
        settle(found, machine_around(op))
        if _state(op, contracts) != before:
            rewriter.notify_op_modified(op)


def _state(op: ContractOp | InterleaveOp, contracts: Sequence[ContractOp]) -> object:
    """What a pattern of schedules changes."""
    return [one.schedule_attr for one in contracts], op.spm if isinstance(op, InterleaveOp) else None


def machine_around(op: Operation) -> Machine | None:
    """The machine of the module that an operation is in; None where it does not say one, and outside of modules."""
    module = op.get_toplevel_object()
    return machine_of(module) if isinstance(module, ModuleOp) else None


def apply_by_hand(pattern: ByHand, contracts: Sequence[ContractOp]) -> None:
    """Apply a pattern to each of these contractions, to those that run round-robin together."""
    for place in dict.fromkeys(together_of(contract) or contract for contract in contracts):
        apply_pattern(pattern, place)
