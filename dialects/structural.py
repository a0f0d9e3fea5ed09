"""
Structural equivalence of operations: one class, equal types, equal properties.

A network has thousands of operations in few equivalence classes. What holds for one operation, that it verifies or
what it costs, holds for its class.
"""

from collections.abc import Hashable

from xdsl.ir import Operation, SSAValue


class StructurallyComparable:
    """
    An operation whose verifier, meaning and work depend only on its types, properties, role, and regions.

    They may not inspect the producers of operands or the users of results.
    """

    def is_context_free(self) -> bool:
        """False for an operation whose verifier does inspect its neighbours."""
        return True


def structural_key(op: Operation) -> Hashable:
    """
    A key that is equal for structurally equivalent operations; None for an operation that has no equivalents.

    Types and properties are compared by identity, which is cheap: equal ones that are not shared give different keys.
    A key is valid only while its operation is alive.
    """
    if not isinstance(op, StructurallyComparable) or not op.is_context_free():
        return None
    properties, results = op.properties, op.results
    own = (
        type(op),
        len(results),
        id(op.attributes.get("role")),
        *properties,
        *map(id, properties.values()),
        *[id(value.type) for value in results],
        *[id(value.type) for value in op.operands],
    )
    return (own, _inside(op)) if op.regions else own


def equality_key(op: Operation) -> Hashable:
    """
    A key that is equal for operations of equal cost and role: equivalent ones, of which the same operands are one
    value; None and valid as `structural_key`.
    """
    kind = structural_key(op)
    if kind is None or len(op.operands) == len(set(op.operands)):
        return kind
    first = {value: -number for number, value in reversed(list(enumerate(op.operands)))}
    return kind, *(first[value] for value in op.operands)


def _inside(op: Operation) -> Hashable:
    """
    A key of an operation's regions: those of the operations inside, and which operands are the same value.

    An operation inside that has no equivalents makes the key unique.
    """
    number: dict[SSAValue, int] = {}
    found: list[Hashable] = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                values = (*block.args, *inner.operands, *inner.results)
                numbers = tuple(number.setdefault(value, len(number)) for value in values)
                found.append((structural_key(inner) or id(inner), numbers))
            found.append(tuple(id(arg.type) for arg in block.args))
    return tuple(found)
