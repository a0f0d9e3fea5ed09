"""
Legality of running contractions of a block together, at the position of the first, and the motion that it needs.

Contractions may run together when

- none of them reads what another computes, directly or through operations between them;
- what a later one reads is there at the place of the first, or can be computed there: views, constants, moves and
  vector work between the two are moved up;
- no operation between them writes in place what one of them reads: an optimizer's update of W, or of running
  statistics, whose old and new value are the same memory;
- they are of one phase (all forward, or all backward), and run equally often; recomputed contractions run only with
  others that are recomputed.

They take the place of the first because every use of a result comes later then, whatever is done with it.
"""

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, InterleaveOp, TensorWorkOp
from npuc.dialects.npu.resident import memory_of
from npuc.dialects.provenance import Role, is_recomputed, repeat_of, role_of, sparsity_of
from npuc.dialects.train.signature import Writes

_BACKWARD = frozenset((Role.DX, Role.DW, Role.DXDW))
_MOVABLE = (TensorWorkOp, Im2ColOp, Col2ImOp)


@frozen
class Verdict:
    """
    `problem` says why contractions may not run together, if so; `moved` must go to the place of the first.

    `depends`: that is so since another contraction stands between them, which may move when it runs together with one
    before them.
    """

    problem: str | None
    moved: tuple[Operation, ...] = ()
    depends: bool = False


def together_role(roles: Sequence[Role]) -> Role | None:
    """The role of contractions that run together; None for those of different phases, and for updates."""
    found = set(roles)
    if len(found) == 1 and found <= _BACKWARD | {Role.FORWARD}:
        return roles[0]
    return Role.DXDW if found <= _BACKWARD else None


def together(group: Sequence[ContractOp], op: ContractOp, writes: Writes) -> Verdict:
    """Whether `op` may run together with a group of contractions before it in the same block."""
    if together_role([role_of(one) for one in (*group, op)]) is None:
        return Verdict("they are not of one phase")
    if is_recomputed(op) != is_recomputed(group[0]):
        return Verdict("one is recomputed in the backward pass")
    if repeat_of(op) != repeat_of(group[0]) or sparsity_of(op) != sparsity_of(group[0]):
        return Verdict("they do not run equally often, or not with equal sparsity")
    between = list(_between(group[0], op))
    needed = _needed(op, set(between) | {group[0]})
    if not needed.isdisjoint(group):
        return Verdict("one reads what the other computes")
    read = {memory_of(value) for one in (*group, op, *needed) for value in one.operands}
    crossed = any(isinstance(other, ContractOp | InterleaveOp) for other in needed)
    if any(writes.get(other, frozenset()) & read for other in between):
        return Verdict("an operation between them writes in place what one of them reads", depends=crossed)
    if any(other in writes or not isinstance(other, _MOVABLE) for other in needed):
        return Verdict("an operand is not there at the place of the first", depends=crossed)
    return Verdict(None, tuple(other for other in between if other in needed))


def _between(first: Operation, last: Operation) -> Iterator[Operation]:
    """The operations of a block after `first` and before `last`."""
    op = first.next_op
    while op is not None and op is not last:
        yield op
        op = op.next_op


def _needed(op: Operation, among: set[Operation]) -> set[Operation]:
    """The operations among these that `op` depends on, through any number of others of them."""
    found: set[Operation] = set()
    todo = list(op.operands)
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and owner in among and owner not in found:
            found.add(owner)
            todo += owner.operands
    return found
