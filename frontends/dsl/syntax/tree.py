"""From reductions of the grammar to nodes of the syntax tree: one method per rule, called by lark while it parses."""

from typing import Any, TypeAlias

from lark import Token, Transformer

from npuc.frontends.dsl.syntax import (
    Argument,
    Assignment,
    Call,
    Conditional,
    Declaration,
    Definition,
    Error,
    Expr,
    File,
    For,
    If,
    Import,
    Index,
    ListOf,
    Literal,
    Logical,
    Loss,
    Name,
    Operation,
    Optimizer,
    Output,
    Parameter,
    Return,
    Statement,
    Unary,
)
from npuc.frontends.dsl.syntax.tokens import place

Children: TypeAlias = list[Any]
"""The tokens and nodes under a rule of the grammar, in its order."""


def _name(token: Token) -> Name:
    return Name(place(token), str(token))


class TreeBuilder(Transformer[Token, File]):
    """Builds the syntax tree; holds no state, so that one instance serves all files."""

    def start(self, children: Children) -> File:
        imports = tuple(c for c in children if isinstance(c, Import))
        return File(imports, tuple(c for c in children if isinstance(c, Definition)))

    def import_(self, children: Children) -> Import:
        _, path = children
        return Import(place(path), path[1:-1])

    def definition(self, children: Children) -> Definition:
        kind, name, *parameters, body = children
        given = parameters[0] if parameters else ()
        return Definition(place(kind), kind.type == "NETWORK", _name(name), given, body)

    def parameters(self, children: Children) -> tuple[Parameter, ...]:
        return tuple(children)

    def parameter(self, children: Children) -> Parameter:
        name, *default = children
        return Parameter(place(name), str(name), default[0] if default else None)

    def body(self, children: Children) -> tuple[Statement, ...]:
        return tuple(children)

    # statements

    def declaration(self, children: Children) -> Declaration:
        word, name, element, items = children
        return Declaration(place(word), word.type == "LABELS", _name(name), _name(element), items)

    def assignment(self, children: Children) -> Assignment:
        *targets, value = children
        return Assignment(place(targets[0]), tuple(map(_name, targets)), value)

    def return_(self, children: Children) -> Return:
        word, *values = children
        return Return(place(word), tuple(values))

    def error(self, children: Children) -> Error:
        word, *values = children
        return Error(place(word), tuple(values))

    def loss(self, children: Children) -> Loss:
        word, value = children
        return Loss(place(word), value)

    def output(self, children: Children) -> Output:
        word, name, *value = children
        return Output(place(word), _name(name), value[0] if value else None)

    def optimizer(self, children: Children) -> Optimizer:
        word, call = children
        return Optimizer(place(word), call)

    def for_(self, children: Children) -> For:
        word, name, first, *rest, body = children
        return For(place(word), _name(name), first, rest[1] if rest else None, body)

    def if_(self, children: Children) -> If:
        word, *rest = children
        parts = [c for c in rest if not isinstance(c, Token)]
        otherwise = parts.pop() if len(parts) % 2 else ()
        return If(place(word), tuple(zip(parts[::2], parts[1::2], strict=True)), otherwise)

    # expressions

    def name(self, children: Children) -> Name:
        return _name(children[0])

    def literal(self, children: Children) -> Literal:
        (token,) = children
        match token.type:
            case "INT":
                return Literal(place(token), int(token))
            case "FLOAT":
                return Literal(place(token), float(token))
            case "STRING":
                return Literal(place(token), str(token[1:-1]))
            case kind:
                return Literal(place(token), {"TRUE": True, "FALSE": False, "NONE": None}[kind])

    def items(self, children: Children) -> ListOf:
        bracket, *items = children
        return ListOf(place(bracket), tuple(items))

    def call(self, children: Children) -> Call:
        name, *arguments = children
        return Call(place(name), str(name), tuple(arguments))

    def argument(self, children: Children) -> Argument:
        if len(children) == 2:
            name, value = children
            return Argument(place(name), str(name), value)
        value: Expr = children[0]
        return Argument(value.at, None, value)

    def frozen(self, children: Children) -> Call:
        _, call = children
        return Call(call.at, call.function, call.arguments, frozen=True)

    def index(self, children: Children) -> Index:
        sequence, index = children
        return Index(sequence.at, sequence, index)

    def unary(self, children: Children) -> Unary:
        operator, operand = children
        return Unary(place(operator), str(operator), operand)

    def binary(self, children: Children) -> Operation:
        first, *rest = children
        steps = zip(rest[::2], rest[1::2], strict=True)
        return Operation(first.at, first, tuple((str(op), place(op), operand) for op, operand in steps))

    def logical_or(self, children: Children) -> Logical:
        return Logical(children[0].at, "or", tuple(children))

    def logical_and(self, children: Children) -> Logical:
        return Logical(children[0].at, "and", tuple(children))

    def conditional(self, children: Children) -> Conditional:
        parts = [c for c in children if not isinstance(c, Token)]
        *chosen, otherwise = parts
        return Conditional(parts[0].at, tuple(zip(chosen[1::2], chosen[::2], strict=True)), otherwise)
