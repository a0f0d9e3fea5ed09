"""Which tensors products share that run together, and how they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue

from npuc.dialects.npu import ContractOp, InterleaveOp

IN_TURN, ONE_NEST = "tiles in turn", "in one nest"


def sharing_line(ops: Sequence[Operation]) -> str | None:
    """
    What products share that run together, as `share dY, in one nest`; of several how many run how.

    None where every product runs by itself, or nothing is shared.
    """
    found = Counter(one for op in ops for one in _shared(op))
    if not found:
        return None
    names = dict.fromkeys(name for tensors, _ in found for name in tensors)
    ways = Counter[str]()
    for (_, way), count in found.items():
        ways[way] += count
    told = [way if len(ways) == 1 else f"{count} {way}" for way, count in ways.items()]
    return f"share {', '.join(names)}, {', '.join(told)}"


def _shared(op: Operation) -> Iterator[tuple[tuple[str, ...], str]]:
    """The operands that several products of an operation read, by their names in the first of them."""
    if isinstance(op, InterleaveOp):
        names: dict[SSAValue, str] = {}
        twice: dict[SSAValue, None] = {}
        for contract in op.contracts:
            own = dict(zip(contract.operands, (tensor.name for tensor in contract.nest.ins), strict=False))
            twice |= dict.fromkeys(value for value in own if value in names)
            names = own | names
        if twice:
            yield tuple(names[value] for value in twice), IN_TURN
    elif isinstance(op, ContractOp) and len(op.nest.statements) > 1:
        reads = Counter(name for one in op.nest.statements for name in {one.lhs, one.rhs})
        several = tuple(name for name, count in reads.items() if count > 1)
        if several:
            yield several, ONE_NEST
