"""
Sets of contractions that share an operand, in the order in which a pass may merge them.

`gradients` are dX and dW of a product, which share dY: of a linear layer or convolution, and of the products of
attention (dO gives dP and dV, dS gives dQ and dK). `siblings` are all others that share any operand: the projections
of attention share X, the gates of an lstm the state, the dW of layers with one input that input.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from fnmatch import fnmatchcase

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.interleave.together import Verdict, Writes, together
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.tensor_work import same_value
from npuc.dialects.provenance import layer_of
from npuc.dialects.train.signature import writes_of

MOST = 4
"""The most statements of a set of siblings: a search among schedules grows fast with the number of tensors."""
AHEAD = 8
"""How many of the next contractions that read an operand are looked at."""


@frozen
class Sharing:
    """
    Contractions in program order that share an operand: what each nest calls it, and the verdict of each but the first.
    """

    ops: tuple[ContractOp, ...]
    names: tuple[str, ...]
    verdicts: tuple[Verdict, ...] = ()

    def with_one(self, op: ContractOp, name: str) -> "Sharing":
        """With one more contraction, its verdict still open."""
        return Sharing((*self.ops, op), (*self.names, name), self.verdicts)

    def at_first(self, op: ContractOp) -> "Sharing | None":
        """The set by the first of its contractions; None by any other."""
        return self if op is self.ops[0] else None


Wanted = Callable[[Sharing], bool]
"""Whether a pass wants contractions to run together, given that they share an operand."""
Find = Callable[[ContractOp], Sharing | None]
"""The set of contractions that begins with one, if they are to run together."""


def are_gradients(found: Sharing) -> bool:
    """Whether these are dX and dW of one layer, by the dY that they share."""
    outs = [out.name for op in found.ops for out in op.nest.outs]
    return (
        set(found.names) == {"dY"}
        and len({layer_of(op) for op in found.ops}) == 1
        and len(set(outs)) == len(outs)
        and set(outs) <= {"dX", "dW"}
    )


def are_siblings(found: Sharing) -> bool:
    """Whether they share an operand without being the gradients of one product, and are few enough."""
    first, last = Sharing(found.ops[:1], found.names[:1]), (found.ops[-1], found.names[-1])
    statements = sum(len(op.nest.statements) for op in found.ops)
    return statements <= MOST and not are_gradients(first.with_one(*last))


KINDS: dict[str, tuple[Wanted, ...]] = {
    "gradients": (are_gradients,),
    "siblings": (are_siblings,),
    "all": (are_gradients, are_siblings),
}
"""The sets that the option `what` names, in the order in which they are looked for."""


def gradients(op: ContractOp) -> Sharing | None:
    """dX and dW of a product that may run together, by the one that comes first in the program; None by others."""
    return _set_from(op, are_gradients)


def siblings(op: ContractOp) -> Sharing | None:
    """Contractions that share an operand and may run together, by their first; None by others, and for gradients."""
    return _set_from(op, are_siblings)


def _set_from(op: ContractOp, wanted: Wanted) -> Sharing | None:
    """The set of contractions that begins with this one, if it is in no set already that runs round-robin."""
    block = op.parent
    if block is None or isinstance(block.parent_op(), InterleaveOp):
        return None
    later = [one for one in block.ops if isinstance(one, ContractOp)]
    return next(sharing(later[later.index(op) :], writes_of(block), wanted, (op,)), None)


def contracts_by_block(module: ModuleOp, only: str | None = None) -> list[list[ContractOp]]:
    """
    The contractions of a module that do not run in turn yet, in order, those of each block together; with `only` those
    of layers that match this glob.
    """
    found: dict[Block, list[ContractOp]] = {}
    for op in module.walk():
        if isinstance(op, ContractOp) and (only is None or fnmatchcase(layer_of(op), only)):
            block = op.parent
            assert block is not None
            if not isinstance(block.parent_op(), InterleaveOp):
                found.setdefault(block, []).append(op)
    return list(found.values())


def sharing(
    contracts: Sequence[ContractOp],
    writes: Writes,
    wanted: Wanted,
    firsts: Sequence[ContractOp] | None = None,
    apart: Callable[[Verdict], object] | None = None,
) -> Iterator[Sharing]:
    """
    The sets of two or more contractions that may run together, by the first operand for which there is one.

    `contracts` are of one block, in program order; with `firsts` only sets that begin with one of these. The caller may
    replace those of a set before it asks for the next. `apart` is told why contractions that are wanted may not run
    together.
    """
    readers: dict[Hashable, list[ContractOp]] = {}
    names: list[dict[Hashable, str]] = []
    for op in contracts:
        inputs = zip(op.nest.ins, op.operands, strict=False)
        names.append({same_value(value): tensor.name for tensor, value in reversed(list(inputs))})
        for value in names[-1]:
            readers.setdefault(value, []).append(op)
    name = {op: known for op, known in zip(contracts, names, strict=True)}
    place = {(value, op): n for value, ops in readers.items() for n, op in enumerate(ops)}
    taken: set[ContractOp] = set()
    for first in contracts if firsts is None else firsts:
        for value in reversed(name[first]):
            if first in taken:
                break
            found = Sharing((first,), (name[first][value],))
            start = place[value, first] + 1
            for op in readers[value][start : start + AHEAD]:
                more = found.with_one(op, name[op][value])
                if op not in taken and wanted(more):
                    verdict = together(found.ops, op, writes)
                    if verdict.problem is None:
                        found = Sharing(more.ops, more.names, (*found.verdicts, verdict))
                    elif apart is not None:
                        apart(verdict)
            if found.verdicts:
                taken.update(found.ops)
                yield found
