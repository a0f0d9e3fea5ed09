"""
Formulas of work: arithmetic on named sizes, as exact fractions.

    b*h*m*n*2*d        max(m, n) // 16        2**0.5 is none: pow(n, 2), ceil(n / 128), min(window, n)

A formula is sums of products of numbers, names and calls: + - * / //, brackets, `max` and `min` of one or more, `ceil`
and `floor` of one, `pow` of a number and a whole exponent. `/` is exact, `//` rounds down as Python does. Length,
nesting and the size of numbers are bounded, so that no formula takes long; nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor

from npuc.compiler.core.errors import did_you_mean
from npuc.compiler.core.frozen import frozen

MAX_LENGTH = 2000
"""The most characters of a formula."""
MAX_DEPTH = 40
"""How deep brackets and calls may be nested."""
MAX_BITS = 256
"""The most binary digits of a numerator or denominator."""
MAX_EXPONENT = 32
"""The largest exponent."""

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_][A-Za-z0-9_]*)|(//|[-+*/(),]))")


class FormulaError(Exception):
    """What is wrong with a formula, and where: `at` counts characters from 0."""

    def __init__(self, message: str, at: int, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.at = at
        self.hint = hint


@frozen
class _Node:
    """A number, a name, or a function of other nodes."""

    at: int
    kind: str
    number: Fraction = Fraction(0)
    name: str = ""
    parts: tuple[_Node, ...] = ()


@frozen
class Formula:
    """A parsed formula; `names` are the sizes that it is of."""

    text: str
    root: _Node
    names: tuple[str, ...]

    def value(self, sizes: Mapping[str, Fraction | int]) -> Fraction:
        """The number that it is for sizes. Raises `FormulaError` for a name without one, and for what has none."""
        return _value(self.root, sizes)


def parse_formula(text: str) -> Formula:
    """The formula that a text is. Raises `FormulaError`."""
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"found {len(text):,} characters, expected at most {MAX_LENGTH:,}", 0)
    parser = _Parser(text)
    root = parser.sum(0)
    parser.end()
    return Formula(text, root, tuple(dict.fromkeys(node.name for node in _walk(root) if node.kind == "name")))


def _walk(root: _Node) -> Iterator[_Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.parts))


class _Parser:
    """Recursive descent over the tokens of a text."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = list(_tokens(text))
        self.place = 0

    def _peek(self) -> str:
        return self.tokens[self.place][1]

    def _take(self) -> tuple[int, str]:
        found = self.tokens[self.place]
        self.place += 1
        return found

    def _wrong(self, expected: str) -> FormulaError:
        at, token = self.tokens[self.place]
        return FormulaError(f"found {token or 'the end'}, expected {expected}", at)

    def end(self) -> None:
        """Raise unless all is read."""
        if self._peek():
            raise self._wrong("an operator or the end")

    def sum(self, depth: int) -> _Node:
        """Terms joined by + and -."""
        return self._joined(("+", "-"), self._product, depth)

    def _product(self, depth: int) -> _Node:
        return self._joined(("*", "/", "//"), self._signed, depth)

    def _joined(self, operators: Sequence[str], part: Callable[[int], _Node], depth: int) -> _Node:
        node = part(depth)
        while self._peek() in operators:
            at, operator = self._take()
            node = _Node(at, operator, parts=(node, part(depth)))
        return node

    def _signed(self, depth: int) -> _Node:
        if self._peek() in ("-", "+"):
            at, sign = self._take()
            self._check(depth, at)
            inner = self._signed(depth + 1)
            return inner if sign == "+" else _Node(at, "negative", parts=(inner,))
        return self._atom(depth)

    def _check(self, depth: int, at: int) -> None:
        if depth >= MAX_DEPTH:
            raise FormulaError(f"brackets and calls are nested deeper than {MAX_DEPTH}", at)

    def _atom(self, depth: int) -> _Node:
        at, token = self.tokens[self.place]
        if token == "(":
            self._check(depth, at)
            self._take()
            node = self.sum(depth + 1)
            self._close()
            return node
        if token[:1].isdigit():
            self._take()
            return _Node(at, "number", number=_bounded(Fraction(token), at))
        if not token[:1].isalpha() and token[:1] != "_":
            raise self._wrong("a number, a name or '('")
        self._take()
        return self._call(at, token, depth) if self._peek() == "(" else _Node(at, "name", name=token)

    def _call(self, at: int, name: str, depth: int) -> _Node:
        if name not in _CALLS:
            raise FormulaError(f"found the function '{name}', expected one of {', '.join(_CALLS)}", at)
        self._check(depth, at)
        self._take()
        parts = [self.sum(depth + 1)]
        while self._peek() == ",":
            self._take()
            parts.append(self.sum(depth + 1))
        self._close()
        least, most = _CALLS[name]
        if not least <= len(parts) <= most:
            count = str(least) if least == most else f"{least} or more"
            raise FormulaError(f"{name} takes {count} argument{'s' * (most > 1)}, found {len(parts)}", at)
        return _Node(at, name, parts=tuple(parts))

    def _close(self) -> None:
        if self._peek() != ")":
            raise self._wrong("')'")
        self._take()


_CALLS = {"max": (1, MAX_LENGTH), "min": (1, MAX_LENGTH), "ceil": (1, 1), "floor": (1, 1), "pow": (2, 2)}
"""The functions, with the least and the largest number of their arguments."""


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """Places and tokens; the last one is empty."""
    place, end = 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None:
            at = place + len(text[place:]) - len(text[place:].lstrip())
            raise FormulaError(f"found {text[at]!r}, expected a number, a name or an operator", at)
        kind = found.lastindex
        assert kind is not None
        if text.startswith("**", found.start(kind)):
            raise FormulaError("found **, expected an operator", found.start(kind), "pow(x, 2) is x squared")
        yield found.start(kind), found.group(kind)
        place = found.end()
    yield end, ""


def _bounded(number: Fraction, at: int) -> Fraction:
    """A number, unless it is too large."""
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
        raise FormulaError(f"its value has more than {MAX_BITS} binary digits", at)
    return number


def _value(node: _Node, sizes: Mapping[str, Fraction | int]) -> Fraction:
    """The value of a tree, whose left sides may be as long as the text: joined parts in turn, nested ones by calls."""
    if node.kind == "number":
        return node.number
    if node.kind == "name":
        if node.name not in sizes:
            known = ", ".join(sizes) or "none"
            hint = did_you_mean(node.name, list(sizes)) or f"names here: {known}"
            raise FormulaError(f"unknown name '{node.name}'", node.at, hint)
        return _bounded(Fraction(sizes[node.name]), node.at)
    chain = [node]
    while chain[-1].kind in _OPERATORS and chain[-1].parts[0].kind in _OPERATORS:
        chain.append(chain[-1].parts[0])
    found = _applied(chain[-1], [_value(part, sizes) for part in chain[-1].parts])
    for outer in reversed(chain[:-1]):
        found = _applied(outer, [found, _value(outer.parts[1], sizes)])
    return found


_OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: Fraction(a // b),
}


def _applied(node: _Node, values: Sequence[Fraction]) -> Fraction:
    """An operator or function on numbers, each of bounded size."""
    if node.kind in _OPERATORS:
        if node.kind in ("/", "//") and values[1] == 0:
            raise FormulaError("divides by 0", node.at)
        return _bounded(_OPERATORS[node.kind](*values), node.at)
    if node.kind == "negative":
        return -values[0]
    if node.kind in ("max", "min"):
        return (max if node.kind == "max" else min)(values)
    if node.kind in ("ceil", "floor"):
        return Fraction((ceil if node.kind == "ceil" else floor)(values[0]))
    return _power(node, *values)


def _power(node: _Node, base: Fraction, exponent: Fraction) -> Fraction:
    """A power by a whole exponent, multiplied step by step, so that no step is large."""
    if exponent.denominator != 1 or not 0 <= exponent <= MAX_EXPONENT:
        raise FormulaError(f"found the exponent {exponent}, expected a whole number from 0 to {MAX_EXPONENT}", node.at)
    found = Fraction(1)
    for _ in range(int(exponent)):
        found = _bounded(found * base, node.at)
    return found
