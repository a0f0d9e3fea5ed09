"""
Conditions that are the same for every value of the parameters.

A condition is taken apart into terms: it holds where all facts of one of its terms hold. Facts say how an expression
stands to a constant or to another expression. A condition whose terms all contradict themselves never holds; it always
holds where its opposite never does. `n` is any number here, so that nothing is claimed that only integers make true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import msgspec

from npuc.frontends.dsl.arithmetic import combine, negate
from npuc.frontends.dsl.syntax import Expr, Literal, Logical, Operation, Unary
from npuc.frontends.dsl.values import Fault, Value
from npuc.frontends.source_text import Place

_MOST_TERMS, _MOST_FACTS = 64, 256
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_RELATIONS = {"==": {0}, "!=": {-1, 1}, "<": {-1}, ">": {1}, "<=": {-1, 0}, ">=": {0, 1}}


class Unknown(Exception):
    """An expression without a known value: it contains names, is wrong, or is too large."""


@dataclass(frozen=True)
class Fact:
    """`key symbol value`, or `key symbol other` where an expression stands on both sides."""

    key: str
    symbol: str
    value: Value = None
    other: str | None = None


Terms: TypeAlias = list[tuple[Fact, ...]]


def key_of(node: object) -> str:
    """A text that two nodes share if they are the same expression."""
    if isinstance(node, Place):
        return ""
    if isinstance(node, tuple):
        return f"({','.join(map(key_of, cast('tuple[object, ...]', node)))})"
    if isinstance(node, msgspec.Struct):
        return f"{type(node).__name__}{key_of(tuple(getattr(node, name) for name in node.__struct_fields__))}"
    return repr(node)


def constant(expr: Expr) -> Value:
    """The value of an expression without names. Raises Unknown for others and for wrong ones."""
    match expr:
        case Literal():
            return expr.value
        case Unary():
            value = constant(expr.operand)
            return not _boolean(value) if expr.operator == "not" else _checked(lambda: negate(value))
        case Operation():
            value = constant(expr.first)
            for symbol, _, operand in expr.rest:
                value = _combined(symbol, value, constant(operand))
            return value
        case _:
            raise Unknown


def _combined(symbol: str, a: Value, b: Value) -> Value:
    return _checked(lambda: combine(symbol, a, b))


def _checked(compute: Callable[[], Value]) -> Value:
    try:
        return compute()
    except Fault:
        raise Unknown from None


def _boolean(value: Value) -> bool:
    if not isinstance(value, bool):
        raise Unknown
    return value


def _is_constant(expr: Expr) -> bool:
    try:
        constant(expr)
    except Unknown:
        return False
    return True


def _terms(expr: Expr, holds: bool) -> Terms:
    """The terms of a condition, or of its opposite."""
    if _is_constant(expr):
        return [()] if _boolean(constant(expr)) == holds else []
    match expr:
        case Unary(operator="not"):
            return _terms(expr.operand, not holds)
        case Logical():
            parts = [_terms(part, holds) for part in expr.parts]
            return [term for part in parts for term in part] if (expr.word == "or") == holds else _product(parts)
        case Operation(rest=((symbol, _, operand),)) if symbol in _OPPOSITE:
            return _comparison(expr.first, symbol if holds else _OPPOSITE[symbol], operand)
        case _:
            return [(Fact(key_of(expr), "==", holds),)]


def _product(parts: Iterable[Terms]) -> Terms:
    """What holds where one term of each part does."""
    product: Terms = [()]
    for part in parts:
        product = [(*term, *other) for term in product for other in part]
        if len(product) > _MOST_TERMS or any(len(term) > _MOST_FACTS for term in product):
            raise Unknown
    return product


def _comparison(left: Expr, symbol: str, right: Expr) -> Terms:
    if _is_constant(right):
        return [(Fact(key_of(left), symbol, constant(right)),)]
    if _is_constant(left):
        return [(Fact(key_of(right), _MIRRORED[symbol], constant(left)),)]
    a, b = key_of(left), key_of(right)
    if a == b:
        return [()] if 0 in _RELATIONS[symbol] else []
    return [(Fact(min(a, b), symbol if a < b else _MIRRORED[symbol], other=max(a, b)),)]


def _is_possible(term: Sequence[Fact]) -> bool:
    """Whether the facts of a term do not contradict each other."""
    groups: dict[tuple[str, str | None], list[Fact]] = {}
    for fact in term:
        groups.setdefault((fact.key, fact.other), []).append(fact)
    return all(
        _agree(facts) if other is None else any(all(r in _RELATIONS[f.symbol] for f in facts) for r in (-1, 0, 1))
        for (_, other), facts in groups.items()
    )


def _agree(facts: Sequence[Fact]) -> bool:
    """Whether some value has all the properties."""
    equal = [fact.value for fact in facts if fact.symbol == "=="]
    bounds = [fact.value for fact in facts if fact.symbol not in ("==", "!=")]
    candidates = equal[:1]
    if not equal and bounds:
        lower = [v for f in facts if f.symbol in (">", ">=") and isinstance(v := f.value, int | float)]
        upper = [v for f in facts if f.symbol in ("<", "<=") and isinstance(v := f.value, int | float)]
        if len(lower) + len(upper) < len(bounds) or not lower or not upper or max(lower) < min(upper):
            return True
        candidates = [max(lower)]
    try:
        return not candidates or all(_combined(f.symbol, candidates[0], f.value) is True for f in facts)
    except Unknown:
        return True


def never(*conditions: tuple[Expr, bool]) -> bool:
    """Whether conditions, each to hold or not to hold, exclude each other."""
    try:
        terms = _product([_terms(condition, holds) for condition, holds in conditions])
        return not any(_is_possible(term) for term in terms)
    except Unknown:
        return False
