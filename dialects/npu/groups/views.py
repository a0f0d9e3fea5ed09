"""Views: values that are the memory of others under another shape, or rows of it."""

from xdsl.ir import Operation, SSAValue

from npuc.dialects.npu.widths import Widths, bytes_of


class SameMemory:
    """A view: an operation whose result is its operand's memory under another shape."""


def memory_of(value: SSAValue) -> SSAValue:
    """The value that a value is a view of, through any number of views; itself where it is none."""
    while isinstance(value.owner, SameMemory) and isinstance(value.owner, Operation):
        value = value.owner.operands[0]
    return value


def old_rows(value: SSAValue) -> tuple[SSAValue, ...]:
    """The further memory of a view that is of several values: rows that are there from an earlier band."""
    found: tuple[SSAValue, ...] = ()
    while isinstance(value.owner, SameMemory) and isinstance(value.owner, Operation):
        found += tuple(value.owner.operands[1:])
        value = value.owner.operands[0]
    return found


def unread_bytes(value: SSAValue, widths: Widths) -> int:
    """The bytes of what a value is a view of, beyond its own: rows that it does not have."""
    whole = (memory_of(value), *old_rows(value))
    return sum(bytes_of(one, widths) for one in whole) - bytes_of(value, widths) if whole != (value,) else 0
