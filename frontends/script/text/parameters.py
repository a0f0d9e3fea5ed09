"""The parameters of a block: the constants in which its calls differ, and how its body and its calls write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from npuc.frontends.dsl.syntax import Expr, Literal, Name, Operation, Place
from npuc.frontends.script.text.names import identifier
from npuc.frontends.script.text.patterns import Constant, Hole, Skeleton
from npuc.frontends.script.text.sizes import Size

_NOWHERE = Place(1, 1)


@dataclass(frozen=True)
class BlockParameter:
    """A parameter of a block: its name, the hole of a call that has its value, and its default."""

    name: str
    hole: int
    default: Literal | None


@dataclass(frozen=True)
class BlockParameters:
    """The parameters of a skeleton, those with a default last, and the expression for each of its holes."""

    sizes: tuple[str, ...]
    parameters: tuple[BlockParameter, ...]
    exprs: tuple[Expr, ...]


def block_parameters(skeleton: Skeleton, taken: Sequence[str]) -> BlockParameters:
    """The parameters that all calls of a skeleton need, under names that are not taken."""
    columns = list(zip(*skeleton.columns, strict=True))
    exprs: list[Expr | None] = [None] * len(columns)
    sizes: dict[str, None] = {}
    free: list[int] = []
    for k, column in enumerate(columns):
        value = column[0].value
        if len({hole.key for hole in column}) > 1:
            free.append(k)
            continue
        exprs[k] = constant(value)
        if isinstance(value, Size):
            sizes[value.parameter] = None
    names = set(taken) | set(sizes)
    found: list[BlockParameter] = []
    for k in sorted(free, key=lambda k: _magnitude(columns[k])):
        base = next((p for p in found if _ratio(columns[k], columns[p.hole]) is not None), None)
        if base is None:
            base = BlockParameter(_name(columns, k, free, names), k, _default(columns[k]))
            names.add(base.name)
            found.append(base)
        exprs[k] = _times(_ratio(columns[k], columns[base.hole]) or 1, base.name)
    found.sort(key=lambda p: (p.default is not None, p.hole))
    done = [expr for expr in exprs if expr is not None]
    return BlockParameters(tuple(sizes), tuple(found), tuple(done))


def constant(value: Constant) -> Expr:
    """A constant as an expression; a size is that of the network's parameter."""
    if not isinstance(value, Size):
        return Literal(_NOWHERE, value)
    expr: Expr = _times(value.factor, value.parameter)
    if value.offset:
        symbol = "+" if value.offset > 0 else "-"
        expr = Operation(_NOWHERE, expr, ((symbol, _NOWHERE, Literal(_NOWHERE, abs(value.offset))),))
    return expr


def _times(factor: int, name: str) -> Expr:
    variable = Name(_NOWHERE, name)
    return variable if factor == 1 else Operation(_NOWHERE, Literal(_NOWHERE, factor), (("*", _NOWHERE, variable),))


def _magnitude(column: Sequence[Hole]) -> tuple[float, ...]:
    """Smaller columns first, so that larger ones are multiples of them."""
    return tuple(float(h.value) if isinstance(h.value, int | float) else 0.0 for h in column)


def _ratio(column: Sequence[Hole], base: Sequence[Hole]) -> int | None:
    """The factor by which all values of a column are those of another; 1 where they are equal."""
    if all(a.key == b.key for a, b in zip(column, base, strict=True)):
        return 1
    ratios: set[int] = set()
    for a, b in ((a.value, b.value) for a, b in zip(column, base, strict=True)):
        if type(a) is not int or type(b) is not int or b <= 4 or a % b:
            return None
        ratios.add(a // b)
    return ratios.pop() if len(ratios) == 1 else None


def _default(column: Sequence[Hole]) -> Literal | None:
    """The default of a function, where most calls have it."""
    default = column[0].default
    if default is None:
        return None
    (key, count) = Counter(hole.key for hole in column).most_common(1)[0]
    is_default = key == (type(default.value).__name__, default.value)
    return default if is_default and 2 * count > len(column) else None


def _name(columns: Sequence[tuple[Hole, ...]], k: int, free: Sequence[int], names: set[str]) -> str:
    """A name for the parameter of a column: what it is an argument of, with the layer's name where several are."""
    hole = columns[k][0]
    role = "size" if hole.role == "shape" else identifier(hole.role)
    alike = [j for j in free if columns[j][0].role == hole.role and _ratio(columns[j], columns[k]) is None]
    name = role if not alike else f"{identifier(hole.layer)}_{role}"
    number, candidate = 2, name
    while candidate in names:
        candidate, number = f"{name}_{number}", number + 1
    return candidate
