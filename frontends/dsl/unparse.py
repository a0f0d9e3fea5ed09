"""From the syntax tree of the network language to its text, one statement a line; `format_source` lays it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuc.frontends.dsl.syntax import (
    Assignment,
    Call,
    Conditional,
    Declaration,
    Definition,
    Error,
    Expr,
    For,
    If,
    Index,
    ListOf,
    Literal,
    Logical,
    Loss,
    Name,
    Operation,
    Optimizer,
    Output,
    Return,
    Statement,
    Unary,
)
from npuc.frontends.dsl.values import literal_text

_ATOM = 9
_POWER = 7
_LEVELS = {"+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "**": _POWER}
_COMPARISON = 3
_UNARY = 6
_WORDS = {"or": 1, "and": 2}


def definition_text(definition: Definition) -> str:
    """A network or a block."""
    kind = "network" if definition.is_network else "block"
    parameters = ", ".join(
        p.name if p.default is None else f"{p.name}={expression_text(p.default)}" for p in definition.parameters
    )
    lines = [f"{kind} {definition.name.text}({parameters}) {{", *_lines(definition.body), "}"]
    return "\n".join(lines) + "\n"


def expression_text(expr: Expr) -> str:
    """An expression, with the brackets that it needs."""
    return _expression(expr)[0]


def _lines(body: Sequence[Statement]) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement)


def _statement(statement: Statement) -> Iterator[str]:
    match statement:
        case Declaration():
            word = "labels" if statement.labels else "input"
            yield f"{word} {statement.name.text}: {statement.element.text}{expression_text(statement.shape)}"
        case Assignment():
            yield f"{', '.join(t.text for t in statement.targets)} = {expression_text(statement.value)}"
        case Return():
            yield f"return {_listed(statement.values)}"
        case Error():
            yield f"error {_listed(statement.values)}"
        case Loss():
            yield f"loss {expression_text(statement.value)}"
        case Output():
            shown = "" if statement.value is None else f" = {expression_text(statement.value)}"
            yield f"output {statement.name.text}{shown}"
        case Optimizer():
            yield f"optimizer {expression_text(statement.call)}"
        case For():
            last = "" if statement.last is None else f"..{expression_text(statement.last)}"
            head = f"for {statement.name.text} in {expression_text(statement.first)}{last} {{"
            lines = list(_lines(statement.body))
            if len(lines) == 1:
                yield f"{head} {lines[0]} }}"
            else:
                yield from (head, *lines, "}")
        case If():
            word = "if"
            for condition, body in statement.cases:
                yield f"{word} {expression_text(condition)} {{"
                yield from _lines(body)
                word = "} else if"
            if statement.otherwise:
                yield "} else {"
                yield from _lines(statement.otherwise)
            yield "}"


def _listed(items: Sequence[Expr]) -> str:
    return ", ".join(map(expression_text, items))


def _expression(expr: Expr) -> tuple[str, int]:
    """The text of an expression, and how tightly it binds."""
    match expr:
        case Literal():
            negative = isinstance(expr.value, int | float) and expr.value < 0
            return literal_text(expr.value), _UNARY if negative else _ATOM
        case Name():
            return expr.text, _ATOM
        case ListOf():
            return f"[{_listed(expr.items)}]", _ATOM
        case Call():
            return _call(expr), _ATOM
        case Index():
            return f"{_within(expr.sequence, _ATOM)}[{expression_text(expr.index)}]", _ATOM
        case Unary():
            level = _UNARY if expr.operator == "-" else _COMPARISON
            gap = "" if expr.operator == "-" else " "
            return f"{expr.operator}{gap}{_within(expr.operand, level)}", level
        case Operation():
            return _operation(expr)
        case Logical():
            level = _WORDS[expr.word]
            return f" {expr.word} ".join(_within(part, level + 1) for part in expr.parts), level
        case Conditional():
            parts = [f"{_within(chosen, 1)} if {_within(condition, 1)} else " for condition, chosen in expr.cases]
            return f"{''.join(parts)}{_within(expr.otherwise, 1)}", 0


def _within(expr: Expr, level: int) -> str:
    """An expression as an operand of what binds so tightly."""
    text, own = _expression(expr)
    return text if own >= level else f"({text})"


def _operation(expr: Operation) -> tuple[str, int]:
    level = _LEVELS.get(expr.rest[0][0], _COMPARISON)
    if level == _POWER:
        (symbol, _, exponent) = expr.rest[0]
        return f"{_within(expr.first, _ATOM)} {symbol} {_within(exponent, _UNARY)}", level
    rest = (f" {symbol} {_within(operand, level + 1)}" for symbol, _, operand in expr.rest)
    first = _within(expr.first, level if level > _COMPARISON else level + 1)
    return f"{first}{''.join(rest)}", level


def _call(call: Call) -> str:
    given = (f"{a.name}={expression_text(a.value)}" if a.name else expression_text(a.value) for a in call.arguments)
    return f"{'frozen ' if call.frozen else ''}{call.function}({', '.join(given)})"
