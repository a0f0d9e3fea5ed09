"""
The syntax tree of the network language.

Every node knows its place `at`. Chains of one operator (`a + b + c`) are flat, so that a long one is not deep. Nodes
compare by identity: two calls of one text are different calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from npuc.frontends.source_text import Place

# ---- expressions


class Literal(msgspec.Struct, frozen=True, eq=False):
    """A number, string, boolean or none."""

    at: Place
    value: int | float | str | bool | None


class Name(msgspec.Struct, frozen=True, eq=False):
    """The use of a variable."""

    at: Place
    text: str


class ListOf(msgspec.Struct, frozen=True, eq=False):
    """`[a, b, c]`."""

    at: Place
    items: tuple[Expr, ...]


class Operation(msgspec.Struct, frozen=True, eq=False):
    """`first op a op b`, applied from left to right; `rest` holds operator, its place and operand."""

    at: Place
    first: Expr
    rest: tuple[tuple[str, Place, Expr], ...]


class Logical(msgspec.Struct, frozen=True, eq=False):
    """`a and b and c`, or the same with `or`."""

    at: Place
    word: str
    parts: tuple[Expr, ...]


class Unary(msgspec.Struct, frozen=True, eq=False):
    """`-a` or `not a`."""

    at: Place
    operator: str
    operand: Expr


class Conditional(msgspec.Struct, frozen=True, eq=False):
    """`a if c else b if d else e`: `cases` holds (c, a), (d, b); `otherwise` is e."""

    at: Place
    cases: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr


class Index(msgspec.Struct, frozen=True, eq=False):
    """`sequence[index]`."""

    at: Place
    sequence: Expr
    index: Expr


class Argument(msgspec.Struct, frozen=True, eq=False):
    """One argument of a call; `name` is None for a positional one."""

    at: Place
    name: str | None
    value: Expr


class Call(msgspec.Struct, frozen=True, eq=False):
    """`function(arguments)`; `frozen` when the parameters it makes are not trained."""

    at: Place
    function: str
    arguments: tuple[Argument, ...]
    frozen: bool = False


Expr: TypeAlias = Literal | Name | ListOf | Operation | Logical | Unary | Conditional | Index | Call

# ---- statements


class Declaration(msgspec.Struct, frozen=True, eq=False):
    """`input x: f32[batch, 784]` or `labels y: i32[batch]`."""

    at: Place
    labels: bool
    name: Name
    element: Name
    shape: ListOf


class Assignment(msgspec.Struct, frozen=True, eq=False):
    """`a = value` or `a, b = value`."""

    at: Place
    targets: tuple[Name, ...]
    value: Expr


class Return(msgspec.Struct, frozen=True, eq=False):
    """`return a, b`."""

    at: Place
    values: tuple[Expr, ...]


class Error(msgspec.Struct, frozen=True, eq=False):
    """`error "found ", n`: the values are wrong, and the text made of `values` says why."""

    at: Place
    values: tuple[Expr, ...]


class Loss(msgspec.Struct, frozen=True, eq=False):
    """`loss value`."""

    at: Place
    value: Expr


class Output(msgspec.Struct, frozen=True, eq=False):
    """`output name` or `output name = value`."""

    at: Place
    name: Name
    value: Expr | None


class Optimizer(msgspec.Struct, frozen=True, eq=False):
    """`optimizer sgd(lr=0.1)`."""

    at: Place
    call: Call


class For(msgspec.Struct, frozen=True, eq=False):
    """`for name in first..last { }`, or over the list `first` when `last` is None."""

    at: Place
    name: Name
    first: Expr
    last: Expr | None
    body: tuple[Statement, ...]


class If(msgspec.Struct, frozen=True, eq=False):
    """`if c { } else if d { } else { }`: `cases` holds (c, body), (d, body)."""

    at: Place
    cases: tuple[tuple[Expr, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


NetworkStatement: TypeAlias = Declaration | Loss | Output | Optimizer
Statement: TypeAlias = Assignment | Return | Error | For | If | NetworkStatement

# ---- files


class Parameter(msgspec.Struct, frozen=True, eq=False):
    """A parameter of a network or block; required when `default` is None."""

    at: Place
    name: str
    default: Expr | None


class Definition(msgspec.Struct, frozen=True, eq=False):
    """A network or a block."""

    at: Place
    is_network: bool
    name: Name
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]

    @property
    def defaults(self) -> tuple[Expr, ...]:
        """The defaults of its parameters."""
        return tuple(p.default for p in self.parameters if p.default is not None)


class Import(msgspec.Struct, frozen=True, eq=False):
    """`import "blocks.dsl"`."""

    at: Place
    path: str


class File(msgspec.Struct, frozen=True, eq=False):
    """The content of one file."""

    imports: tuple[Import, ...]
    definitions: tuple[Definition, ...]


Node: TypeAlias = Expr | Statement


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Literal() | Name():
            return ()
        case ListOf():
            return node.items
        case Operation():
            return (node.first, *(operand for _, _, operand in node.rest))
        case Logical():
            return node.parts
        case Unary():
            return (node.operand,)
        case Conditional():
            return (*(e for case in node.cases for e in case), node.otherwise)
        case Index():
            return (node.sequence, node.index)
        case Call():
            return tuple(a.value for a in node.arguments)
        case Declaration():
            return (node.element, node.shape)
        case Assignment() | Loss():
            return (node.value,)
        case Return() | Error():
            return node.values
        case Output():
            return (node.value if node.value is not None else node.name,)
        case Optimizer():
            return (node.call,)
        case For():
            return (node.first, *(() if node.last is None else (node.last,)), *node.body)
        case If():
            return (*(n for condition, body in node.cases for n in (condition, *body)), *node.otherwise)


def walk(*roots: Node) -> Iterator[Node]:
    """Each node under `roots`, parents first, in source order, without the names that a statement assigns."""
    stack: list[Node] = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(_children(node)))


def reads(*roots: Node) -> frozenset[str]:
    """The names that expressions and statements use."""
    return frozenset(node.text for node in walk(*roots) if isinstance(node, Name))


def assigned(*roots: Statement) -> Iterator[Name]:
    """The names that statements give a value to, nested ones included."""
    for node in walk(*roots):
        match node:
            case Assignment():
                yield from node.targets
            case Declaration() | For():
                yield node.name
            case _:
                pass
