"""The nests that one fused nest computes, each by itself: what it replaces, run one after another."""

from npuc.compiler.analysis.nest.elements import Bits
from npuc.dialects.npu.nest import Nest


def statement_nests(nest: Nest, widths: Bits) -> list[tuple[Nest, Bits]] | None:
    """
    A nest for each statement, with the bits of an element of its tensors.

    None where several statements add up to one sum: what is read back between them depends on their order.
    """
    outs = {out.name: out for out in nest.outs}
    if len({statement.out for statement in nest.statements}) < len(nest.statements):
        return None
    stored, sums, room = widths.by_name(nest), widths.sums_by_name(nest), widths.occupied(nest)
    found: list[tuple[Nest, Bits]] = []
    for statement in nest.statements:
        ins = tuple(nest.tensors[name] for name in dict.fromkeys((statement.lhs, statement.rhs)))
        start = nest.start_of(statement.out)
        alone = Nest(nest.dims, ins, (outs[statement.out],), (start,), (statement,))
        own_room = tuple(room[name] for name in alone.tensors) if widths.room else ()
        bits = Bits(tuple(stored[name] for name in alone.tensors), (sums[statement.out],), own_room)
        found.append((alone, bits))
    return found
