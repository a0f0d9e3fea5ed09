"""
Operations that are alike, of which a network has thousands: one class, equal types, equal properties.

What is found out about one of them, that its rules hold or what its work is, holds for all.
"""

from collections.abc import Hashable

from xdsl.ir import Operation, SSAValue


class ByTypes:
    """
    An operation whose rules, meaning and work depend on nothing but types, properties, role, and what is inside it.

    They may not look at where operands come from or at who uses the results.
    """

    def stands_alone(self) -> bool:
        """False where the rules of this one operation look at its neighbours after all."""
        return True


def likeness(op: Operation) -> Hashable:
    """
    Equal for operations that are alike, None for an operation that must be looked at by itself.

    Types and properties are told apart by identity, which costs little, so that equal ones which are not shared make
    operations unlike. It means nothing once one of the operations is gone: keep them.
    """
    if not isinstance(op, ByTypes) or not op.stands_alone():
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


def _inside(op: Operation) -> Hashable:
    """
    Equal for operations in whose blocks stand operations that are alike, with the same values given twice.

    An operation that is alike to none in them makes it so, too.
    """
    number: dict[SSAValue, int] = {}
    found: list[Hashable] = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                values = (*block.args, *inner.operands, *inner.results)
                numbers = tuple(number.setdefault(value, len(number)) for value in values)
                found.append((likeness(inner) or id(inner), numbers))
            found.append(tuple(id(arg.type) for arg in block.args))
    return tuple(found)
