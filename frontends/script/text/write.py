"""From the skeletons of a network to its definitions: blocks, loops, and the network that calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuc.compiler.layers import get_functions
from npuc.frontends.dsl.blocks import library_names
from npuc.frontends.dsl.calls import BUILT_IN
from npuc.frontends.dsl.syntax import (
    Argument,
    Call,
    Declaration,
    Definition,
    Expr,
    ListOf,
    Literal,
    Loss,
    Name,
    NetworkStatement,
    Output,
    Parameter,
    Place,
    Return,
    Statement,
)
from npuc.frontends.script.text.body import LOOP, BlockText, BodyWriter
from npuc.frontends.script.text.flat import Flat
from npuc.frontends.script.text.names import identifier, is_word, snake_case
from npuc.frontends.script.text.parameters import block_parameters, constant
from npuc.frontends.script.text.patterns import Skeleton
from npuc.frontends.script.text.sizes import Size
from npuc.frontends.script.text.skeletons import Coded

_NOWHERE = Place(1, 1)
_CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict"})


class Blocks:
    """The blocks of skeletons; `classes` are the classes of modules by their paths."""

    def __init__(self, classes: Mapping[str, str]):
        self._classes = classes
        self._taken = frozenset((*get_functions(), *library_names(), *BUILT_IN))
        self._names = set(self._taken)
        self._of: dict[Skeleton, BlockText] = {}

    @property
    def definitions(self) -> list[Definition]:
        """The definitions, each before those that call it."""
        return [block.definition for block in self._of.values()]

    def add(self, skeleton: Skeleton) -> None:
        """Write the block of a skeleton, after those that it calls."""
        name = self._name(skeleton)
        operands = _operand_names(skeleton)
        parameters = block_parameters(skeleton, [*operands, LOOP])
        body = BodyWriter(self._of, skeleton, operands, parameters)
        statements = [*body.statements(), Return(_NOWHERE, tuple(map(body.value, skeleton.results)))]
        formals = [Parameter(_NOWHERE, operand, None) for operand in operands]
        formals += [Parameter(_NOWHERE, size, None) for size in parameters.sizes]
        formals += [Parameter(_NOWHERE, p.name, p.default) for p in parameters.parameters]
        definition = Definition(_NOWHERE, False, Name(_NOWHERE, name), tuple(formals), tuple(statements))
        self._of[skeleton] = BlockText(name, parameters, definition)

    @property
    def of(self) -> Mapping[Skeleton, BlockText]:
        """The blocks by their skeletons."""
        return self._of

    def _name(self, skeleton: Skeleton) -> str:
        path = skeleton.group.path
        kind = self._classes.get(".".join(path), "")
        if kind and kind not in _CONTAINERS:
            base = snake_case(kind)
        else:
            words = [identifier(part.rstrip("0123456789_")) for part in path if not part.isdigit()]
            base = words[-1] if words else "part"
        if base in self._taken:
            base = f"{base}_block"
        name, number = base, 2
        while name in self._names:
            name, number = f"{base}_{number}", number + 1
        self._names.add(name)
        return name


def network(
    flat: Flat, root: Coded, blocks: Blocks, sizes: Mapping[str, int], numbers: Mapping[Literal, Size]
) -> Definition:
    """The network itself; `sizes` are the defaults of its parameters, `numbers` those that follow from them."""
    skeleton = root.skeleton
    parameters = block_parameters(skeleton, ())
    declared = _declared_names(flat.declarations)
    operands = [declared[name] for name in root.operands]
    body = BodyWriter(blocks.of, skeleton, operands, parameters, fixed=(*declared.values(), *sizes))
    statements: list[Statement] = [_declaration(one, declared, numbers) for one in flat.declarations]
    statements += body.statements()
    made = {full: body.value(value).text for full, value in zip(root.results, skeleton.results, strict=True)}
    names = {**declared, **made}
    statements += [_result(statement, names) for statement in flat.results]
    formals = tuple(Parameter(_NOWHERE, name, Literal(_NOWHERE, value)) for name, value in sizes.items())
    return Definition(_NOWHERE, True, Name(_NOWHERE, flat.name), formals, tuple(statements))


def _declared_names(declarations: Sequence[Declaration]) -> dict[str, str]:
    """The names of inputs and labels as the language takes them, by those of the graph."""
    found: dict[str, str] = {}
    for one in declarations:
        full = one.name.text
        word = full if is_word(full) else identifier(full.replace(".", "_"))
        number, name = 2, word
        while name in found.values():
            name, number = f"{word}_{number}", number + 1
        found[full] = name
    return found


def _declaration(one: Declaration, names: Mapping[str, str], numbers: Mapping[Literal, Size]) -> Declaration:
    sizes = (constant(numbers[e]) if isinstance(e, Literal) and e in numbers else e for e in one.shape.items)
    shape = ListOf(_NOWHERE, tuple(sizes))
    return Declaration(one.at, one.labels, Name(_NOWHERE, names[one.name.text]), one.element, shape)


def _result(statement: NetworkStatement, names: Mapping[str, str]) -> Statement:
    """What a network returns, of the variables of its body."""
    match statement:
        case Loss():
            return Loss(_NOWHERE, _renamed(statement.value, names))
        case Output():
            value = _renamed(statement.value or statement.name, names)
            name = statement.name.text if is_word(statement.name.text) else identifier(statement.name.text)
            is_same = isinstance(value, Name) and value.text == name
            return Output(_NOWHERE, Name(_NOWHERE, name), None if is_same else value)
        case _:
            return statement


def _renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    match expr:
        case Name():
            return Name(_NOWHERE, names.get(expr.text, expr.text))
        case Call():
            arguments = (Argument(a.at, a.name, _renamed(a.value, names)) for a in expr.arguments)
            return Call(_NOWHERE, expr.function, tuple(arguments), expr.frozen)
        case _:
            return expr


def _operand_names(skeleton: Skeleton) -> tuple[str, ...]:
    """Names for the operands of a block: `x` for what comes first, the last word of its name for others."""
    found: list[str] = []
    for k, full in enumerate(skeleton.names):
        word = "x" if k == 0 else identifier(full.rpartition(".")[2])
        if k and (full.rpartition(".")[2].isdigit() or word == "x"):
            word = f"x{k}"
        number, name = 2, word
        while name in found or name == LOOP:
            name, number = f"{word}_{number}", number + 1
        found.append(name)
    return tuple(found)
