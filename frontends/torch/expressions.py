"""
The expressions in which PyTorch writes sizes: functions and operators on whole numbers and symbols, never executed.

Two spellings are read: sympy's `srepr`, as in `Add(Mul(Integer(2), Symbol('s27', integer=True)), Integer(1))`, which
files hold, and the printed one, as in `2*s27 + 1` or `(s0//2)`. Functions: torch/utils/_sympy/functions.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from npuc.frontends.torch.functions import FUNCTIONS, Number, bounded

MAX_TEXT = 20_000
"""The most characters of an expression."""
MAX_DEPTH = 60
"""How deep functions and parentheses may be nested."""
MAX_OPERATORS = 100
"""The most operators of the printed spelling in an expression."""

_Tree: TypeAlias = "int | float | bool | str | tuple[str, tuple[_Tree, ...]]"
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|'(?P<text>[^'\\]*)'"
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%(),=<>]))"
)
_COMPARE = {
    "<": "StrictLessThan",
    "<=": "LessThan",
    ">": "StrictGreaterThan",
    ">=": "GreaterThan",
    "==": "Equality",
    "!=": "Unequality",
}
_ADD = {"+": "Add", "-": "Subtract"}
_MULTIPLY = {"*": "Mul", "/": "IntTrueDiv", "//": "FloorDiv", "%": "Mod"}
_CONSTANTS: dict[str, Number] = {"True": True, "False": False, "true": True, "false": False}


class ExpressionError(ValueError):
    """A text that is no expression, or an expression that has no value; the message has no place."""


@dataclass(frozen=True, slots=True)
class SizeExpression:
    """An expression over symbols, in the order in which they appear; `text` is how it is written in messages."""

    text: str
    symbols: tuple[str, ...] = field(compare=False)
    _tree: _Tree = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> SizeExpression:
        """The expression that a text spells. Raises `ExpressionError`."""
        reader = _Reader(text)
        tree = reader.whole()
        return cls(_shown(tree), tuple(reader.symbols), tree)

    def __str__(self) -> str:
        return self.text

    @property
    def is_symbol(self) -> bool:
        """Whether it is one symbol."""
        return isinstance(self._tree, str)

    def evaluate(self, values: Mapping[str, Number]) -> Number:
        """Its value. Raises `ExpressionError` for a symbol without a value, a division by 0 and huge numbers."""
        return _value(self._tree, values)


def _value(tree: _Tree, values: Mapping[str, Number]) -> Number:
    if isinstance(tree, str):
        if tree not in values:
            raise ExpressionError(f"'{tree}' has no value")
        return values[tree]
    if not isinstance(tree, tuple):
        return tree
    name, arguments = tree
    try:
        return bounded(FUNCTIONS[name].compute(*(_value(argument, values) for argument in arguments)))
    except (ArithmeticError, ValueError, TypeError) as error:
        if isinstance(error, ExpressionError):
            raise
        raise ExpressionError(f"{_shown(tree)} has no value ({error})") from None


def _shown(tree: _Tree) -> str:
    """An expression in the printed spelling."""
    if not isinstance(tree, tuple):
        return str(tree)
    name, arguments = tree
    sign = FUNCTIONS[name].sign
    parts = [_shown(argument) for argument in arguments]
    if not sign or len(parts) < 2:
        return f"{name}({', '.join(parts)})"
    nested = (isinstance(argument, tuple) and bool(FUNCTIONS[argument[0]].sign) for argument in arguments)
    return sign.join(f"({part})" if inner else part for part, inner in zip(parts, nested, strict=True))


class _Reader:
    """A parser of one text, by recursive descent."""

    def __init__(self, text: str):
        if len(text) > MAX_TEXT:
            raise ExpressionError(f"found an expression of {len(text):,} characters, expected at most {MAX_TEXT:,}")
        self.text = text
        self.position = 0
        self.depth = 0
        self.operators = 0
        self.symbols: dict[str, None] = {}
        self.kind, self.token = "", ""
        self._next()

    def whole(self) -> _Tree:
        tree = self._comparison()
        if self.kind:
            raise self._unexpected("the end")
        return tree

    def _next(self) -> None:
        rest = self.text[self.position :].strip() if self.position + 20 > len(self.text) else "more"
        if not rest:
            self.kind, self.token = "", ""
            return
        found = _TOKEN.match(self.text, self.position)
        if found is None:
            raise ExpressionError(f"cannot read the size expression at '{self.text[self.position :][:20]}'")
        self.kind, self.position = found.lastgroup or "", found.end()
        self.token = found.group(self.kind)

    def _unexpected(self, expected: str) -> ExpressionError:
        found = f"'{self.token}'" if self.kind else "its end"
        return ExpressionError(f"found {found} in a size expression, expected {expected}")

    def _accept(self, *signs: str) -> str:
        if self.kind != "sign" or self.token not in signs:
            return ""
        token = self.token
        self._next()
        return token

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected(f"'{sign}'")

    def _comparison(self) -> _Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"found a size expression nested deeper than {MAX_DEPTH} levels")
        left = self._chain(0)
        if sign := self._accept(*_COMPARE):
            left = (_COMPARE[sign], (left, self._chain(0)))
        self.depth -= 1
        return left

    def _chain(self, level: int) -> _Tree:
        """A sum (level 0) or a product of operands; operators of a level bind from the left."""
        names = (_ADD, _MULTIPLY)[level]
        left = self._operand(level)
        while sign := self._accept(*names):
            self.operators += 1
            if self.operators > MAX_OPERATORS:
                raise ExpressionError(f"found a size expression of more than {MAX_OPERATORS} operators")
            left = (names[sign], (left, self._operand(level)))
        return left

    def _operand(self, level: int) -> _Tree:
        return self._chain(1) if level == 0 else self._signed()

    def _signed(self) -> _Tree:
        negative, count = False, 0
        while sign := self._accept("-", "+"):
            negative, count = negative != (sign == "-"), count + 1
        power = self._power()
        if not negative:
            return power
        return -power if isinstance(power, int | float) else ("Mul", (-1, power))

    def _power(self) -> _Tree:
        base = self._atom()
        if not self._accept("**"):
            return base
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"found a size expression nested deeper than {MAX_DEPTH} levels")
        exponent = self._signed()
        self.depth -= 1
        return ("Pow", (base, exponent))

    def _atom(self) -> _Tree:
        kind, token = self.kind, self.token
        if kind == "number":
            self._next()
            return self._number(token)
        if kind == "name":
            self._next()
            if self._accept("("):
                return self._call(token)
            if token in _CONSTANTS:
                return _CONSTANTS[token]
            return self._symbol(token)
        self._expect("(")
        tree = self._comparison()
        self._expect(")")
        return tree

    def _number(self, token: str) -> Number:
        try:
            return bounded(int(token) if token.isdecimal() else float(token))
        except ValueError as error:
            raise ExpressionError(str(error)) from None

    def _symbol(self, name: str) -> str:
        self.symbols[name] = None
        return name

    def _call(self, name: str) -> _Tree:
        if name == "Symbol":
            return self._symbol(self._first())
        if name == "Float":
            return self._number(self._first())
        arguments: list[_Tree] = []
        while not self._accept(")"):
            if arguments:
                self._expect(",")
            arguments.append(self._comparison())
        if name == "Integer" and len(arguments) == 1 and isinstance(arguments[0], int):
            return arguments[0]
        function = FUNCTIONS.get(name)
        if function is None:
            raise ExpressionError(f"unknown function '{name}' in a size expression")
        if not function.least <= len(arguments) <= function.most:
            raise ExpressionError(f"found {len(arguments)} arguments of '{name}' in a size expression")
        return name, tuple(arguments)

    def _first(self) -> str:
        """The name or number in quotes that a symbol begins with; what is assumed about it is skipped."""
        text = self.token
        if self.kind != "text":
            raise self._unexpected("a name in quotes")
        self._next()
        while self._accept(","):
            for _ in range(3):  # name = value
                if not self.kind or self.token in (",", ")"):
                    raise self._unexpected("an assumption")
                self._next()
        self._expect(")")
        return text
