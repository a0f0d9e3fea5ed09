"""The values of expressions of the language, and how messages name them."""

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from npuc.dialects.tensors import element_text, tensor_type

Value: TypeAlias = "int | float | bool | str | SSAValue | list[Value] | tuple[Value, ...] | None"
"""A number, string, boolean, none, tensor, list, or (a tuple) the several results of one call."""

MAX_INTEGER = 2**63
MAX_ITEMS = 10_000
MAX_DEPTH = 32


class Poison:
    """Stands for the value of a wrong statement; its use is not reported again."""


POISON = Poison()


class Poisoned(Exception):
    """A poisoned value was used."""


class Fault(Exception):
    """A mistake whose place the caller knows."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint


def type_text(type: TensorType[Attribute]) -> str:
    """A tensor type as the language writes it: `f32[64, 784]`."""
    return f"{element_text(type.element_type)}[{', '.join(map(str, type.get_shape()))}]"


def literal_text(value: Value) -> str:
    """A value as the language writes it."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case list() | tuple():
            shown = [literal_text(item) for item in value[:8]]
            return f"[{', '.join(shown)}{', …' if len(value) > 8 else ''}]"
        case SSAValue():
            return type_text(tensor_type(value))
        case _:
            return repr(value)


def describe(value: Value) -> str:
    """The kind and value of something, for messages: `integer 3`, `tensor f32[64, 784]`."""
    match value:
        case None:
            return "none"
        case tuple():
            return f"{len(value)} values"
        case _:
            return f"{kind_of(value)} {literal_text(value)}"


def kind_of(value: Value) -> str:
    """The kind of a value in one word."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "float"
        case str():
            return "string"
        case SSAValue():
            return "tensor"
        case list():
            return "list"
        case tuple():
            return "several values"
        case None:
            return "none"


def is_number(value: object) -> TypeGuard[int | float]:
    """True for integers and floats; booleans are no numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int]:
    """True for integers; booleans are none."""
    return isinstance(value, int) and not isinstance(value, bool)


class Items(list[Value]):
    """
    A list that knows how many values it holds, nested ones included, and how deep it is.

    It never changes once it is complete.
    """

    total = 0
    depth = 1


def item_count(items: Sequence[Value]) -> int:
    """The number of values in a list, nested ones included."""
    if isinstance(items, Items):
        return items.total
    return sum(1 + (item_count(item) if isinstance(item, list) else 0) for item in items)


def checked_list(items: Sequence[Value]) -> Items:
    """A new list, within the limit on its size."""
    for item in items:
        if isinstance(item, tuple):
            raise Fault(f"found {describe(item)} as one item of a list, expected one value")
    return _sized(Items(items), item_count(items), 1 + max((_depth(item) for item in items), default=0))


def joined(a: Sequence[Value], b: Sequence[Value]) -> Items:
    """The concatenation of two lists; their values are not checked again, so that a long list grows fast."""
    total = item_count(a) + item_count(b)
    both = Items(a)
    both.extend(b)
    return _sized(both, total, max(_depth(a), _depth(b)))


def _depth(value: "Value | Sequence[Value]") -> int:
    if isinstance(value, Items):
        return value.depth
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _sized(items: Items, total: int, depth: int) -> Items:
    if total > MAX_ITEMS:
        raise Fault(f"found a list of {total:,} values, the limit is {MAX_ITEMS:,}")
    if depth > MAX_DEPTH:
        raise Fault(f"found lists in lists more than {MAX_DEPTH} deep")
    items.total, items.depth = total, depth
    return items
