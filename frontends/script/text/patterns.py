"""What a block does, without its numbers: expressions with holes, and the entries of a body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from npuc.frontends.dsl.syntax import Literal
from npuc.frontends.script.text.sizes import Size
from npuc.frontends.script.text.tree import Group

Constant: TypeAlias = int | float | bool | str | Size | None


@dataclass(frozen=True)
class Hole:
    """A constant of a group: its value, the parameter that it is an argument of, and the layer that has it."""

    value: Constant
    role: str
    layer: str
    default: Literal | None = None

    @property
    def key(self) -> tuple[str, Constant]:
        """The value with its type, as 1 and true are equal."""
        return type(self.value).__name__, self.value


# ---- expressions with holes


@dataclass(frozen=True)
class Gap:
    """The place of a hole."""

    number: int


@dataclass(frozen=True)
class Operand:
    """A value from outside of the group."""

    number: int


@dataclass(frozen=True)
class Made:
    """A value that an item of the group makes."""

    number: int


@dataclass(frozen=True)
class Applied:
    """A call, with all its arguments by name."""

    function: str
    arguments: tuple[tuple[str, Pattern], ...]
    frozen: bool


@dataclass(frozen=True)
class Listed:
    """A list."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True)
class Picked:
    """An item of a list."""

    sequence: Pattern
    index: int


@dataclass(frozen=True)
class Fixed:
    """Constants that are part of the skeleton."""

    values: tuple[tuple[str, int | float | bool | str | None], ...]
    """Each with its type, as 1 and true are equal."""


Value: TypeAlias = Operand | Made
Pattern: TypeAlias = Gap | Operand | Made | Applied | Listed | Picked | Fixed

# ---- items


@dataclass(frozen=True)
class Step:
    """A line: the layer's path, its values and the expression."""

    path: tuple[str, ...]
    targets: tuple[Made, ...]
    value: Pattern


@dataclass(frozen=True)
class BlockCall:
    """
    A call of a block: its path, what it takes and makes, and where its holes begin among those of the group.

    `shares` says that its path is also that of another part, or of a layer elsewhere.
    """

    component: str
    shares: bool
    skeleton: Skeleton
    operands: tuple[Value, ...]
    results: tuple[Made, ...]
    holes: int


@dataclass(frozen=True)
class Repeat:
    """
    Calls of a block in a loop, from number `start` on; hole `stop` is the number behind the last.

    The operand at place `carried` is the result of the call before.
    """

    start: int
    stop: Gap
    skeleton: Skeleton
    operands: tuple[Value, ...]
    carried: int
    result: Made
    holes: int


Entry: TypeAlias = Step | BlockCall | Repeat


@dataclass(eq=False)
class Skeleton:
    """What groups do alike, and the groups: the first with its names, the constants of each."""

    operands: int
    entries: tuple[Entry, ...]
    results: tuple[Value, ...]
    group: Group
    names: tuple[str, ...]
    """The names of the operands of the first group."""
    columns: list[tuple[Hole, ...]] = field(default_factory=list[tuple[Hole, ...]])
    """The holes of each group."""
