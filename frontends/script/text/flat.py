"""The statements of a graph that count, as few as its layers need: dead ones left out, expressions nested."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from npuc.frontends.dsl.syntax import (
    Argument,
    Assignment,
    Call,
    Declaration,
    Definition,
    Expr,
    ListOf,
    Loss,
    Name,
    NetworkStatement,
    Optimizer,
    Output,
    walk,
)
from npuc.frontends.script.needed import needed

_NUMBER = re.compile(r"_([1-9]\d{0,5})")


@dataclass(frozen=True, eq=False)
class FlatLine:
    """An assignment: the full names of the values, of which the first is the layer's, and the expression."""

    targets: tuple[str, ...]
    value: Expr

    @property
    def layer(self) -> str:
        """The full name of the layer that the expression makes."""
        return self.targets[0]


@dataclass(frozen=True)
class Flat:
    """A network as lines between its declarations and its results."""

    name: str
    declarations: tuple[Declaration, ...]
    lines: tuple[FlatLine, ...]
    results: tuple[NetworkStatement, ...]


def flat(definition: Definition) -> Flat:
    """The network of a script, without what nothing depends on."""
    body = needed(definition)
    results = tuple(s for s in body if isinstance(s, Loss | Output | Optimizer))
    lines = [FlatLine(tuple(t.text for t in s.targets), s.value) for s in body if isinstance(s, Assignment)]
    declarations = tuple(s for s in body if isinstance(s, Declaration))
    return Flat(definition.name.text, declarations, tuple(_nested(lines, results)), results)


def _nested(lines: Sequence[FlatLine], results: Sequence[NetworkStatement]) -> list[FlatLine]:
    """
    Lines with the expressions inside that the language would name as they are named.

    `h = relu(h.linear)` after `h.linear = linear(x)` is `h = relu(linear(x))`, where nothing else uses the value, so
    that the order of operations stays.
    """
    uses = Counter(
        node.text
        for root in (*(line.value for line in lines), *results)
        for node in walk(root)
        if isinstance(node, Name)
    )
    done: list[FlatLine] = []
    layers: set[str] = set()
    for line in lines:
        done.append(replace(line, value=_Absorber(done, uses, layers, line.layer).expr(line.value)))
        layers.add(line.layer)
    return done


@dataclass
class _Absorber:
    """Takes lines from the end of those written, as an expression uses them from its last operand to the first."""

    done: list[FlatLine]
    uses: Counter[str]
    layers: set[str]
    layer: str

    def expr(self, expr: Expr) -> Expr:
        match expr:
            case Name():
                return self._name(expr)
            case ListOf():
                return ListOf(expr.at, tuple(reversed([self.expr(item) for item in reversed(expr.items)])))
            case Call():
                given = [Argument(a.at, a.name, self.expr(a.value)) for a in reversed(expr.arguments)]
                return Call(expr.at, expr.function, tuple(reversed(given)), expr.frozen)
            case _:
                return expr

    def _name(self, name: Name) -> Expr:
        last = self.done[-1] if self.done else None
        if last is None or last.targets != (name.text,) or self.uses[name.text] != 1:
            return name
        if not isinstance(last.value, Call) or last.value.function == "param":
            return name
        if sum(isinstance(node, Call) for node in walk(last.value)) > 1:
            return name  # what is inside is named after it
        if not self._is_usual(name.text, f"{self.layer}.{last.value.function}"):
            return name
        self.done.pop()
        return self.expr(last.value)

    def _is_usual(self, name: str, usual: str) -> bool:
        """Whether a layer has the name that the language gives it, with a number where others have it before."""
        if name == usual:
            return True
        number = _NUMBER.fullmatch(name.removeprefix(usual)) if name.startswith(usual) else None
        if number is None or usual not in self.layers:
            return False
        return all(f"{usual}_{k}" in self.layers for k in range(2, int(number[1])))
