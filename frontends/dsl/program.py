"""A whole program: one network and the blocks of its file and of those it imports."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from npuc.compiler.core.errors import NpucError, SourceError
from npuc.compiler.core.frozen import frozen
from npuc.frontends.dsl.binding import REQUIRED, Formal, Signature
from npuc.frontends.dsl.syntax import Definition, Expr, Import, ListOf, Literal, Unary
from npuc.frontends.dsl.syntax.parser import parse
from npuc.frontends.dsl.values import literal_text
from npuc.frontends.files import SAMPLES, read_text
from npuc.frontends.source_text import Diagnostics, Place, SourceText

_MAX_IMPORT_DEPTH = 32


@frozen
class Routine:
    """A definition with the file it stands in; `shipped` says that this is a file of the library."""

    definition: Definition
    source: SourceText
    shipped: bool = False

    @cached_property
    def signature(self) -> Signature:
        """The parameters of a call."""
        formals = (
            Formal(p.name, None, REQUIRED if p.default is None else _default_text(p.default))
            for p in self.definition.parameters
        )
        return Signature(self.definition.name.text, tuple(formals))


def _default_text(default: Expr) -> str:
    """A default as a signature shows it: a literal, or … for what is computed."""
    match default:
        case Literal():
            return literal_text(default.value)
        case Unary(operator="-", operand=Literal() as operand):
            return f"-{literal_text(operand.value)}"
        case ListOf():
            return f"[{', '.join(_default_text(item) for item in default.items)}]"
        case _:
            return "…"


@frozen
class LoadedProgram:
    """The input of elaboration: the network and all blocks it may call."""

    network: Routine
    blocks: Mapping[str, Routine]


@dataclass
class _Loader:
    diagnostics: Diagnostics
    networks: list[Routine] = field(default_factory=list[Routine])
    blocks: dict[str, Routine] = field(default_factory=dict[str, Routine])
    loaded: set[str] = field(default_factory=set[str])

    def load(self, source: SourceText, path: tuple[str, ...]) -> None:
        """Read a file and what it imports; `path` lists the files that lead here, this one last."""
        self.loaded.add(path[-1])
        file = parse(source, self.diagnostics)
        for one in file.imports:
            self._import(source, one, path)
        for definition in file.definitions:
            self._define(Routine(definition, source), imported=len(path) > 1)

    def _import(self, source: SourceText, one: Import, path: tuple[str, ...]) -> None:
        target = os.path.normpath(os.path.join(os.path.dirname(source.filename), one.path))
        if one.path.startswith(SAMPLES):
            target = one.path
        elif source.filename.startswith(SAMPLES):
            target = f"{SAMPLES}{os.path.normpath(one.path)}"
        problem = _refusal(one.path, target, path)
        if problem is not None:
            self.diagnostics.add(source.error(one.at, problem))
        elif target not in self.loaded:
            try:
                text = read_text(target)
            except SourceError as error:
                self.diagnostics.add(error)
            except NpucError as error:
                self.diagnostics.add(source.error(one.at, f"cannot import: {error.message}", error.hint))
            else:
                self.load(SourceText(text, target), (*path, target))

    def _define(self, routine: Routine, *, imported: bool) -> None:
        definition, source = routine.definition, routine.source
        at, name = definition.name.at, definition.name.text
        if definition.is_network:
            if imported:
                message = f"found network '{name}' in an imported file, expected blocks only"
                self.diagnostics.add(source.error(definition.at, message))
            elif self.networks:
                first = self.networks[0].definition
                message = (
                    f"found a second network '{name}', expected one: '{first.name.text}' is in line {first.at.line}"
                )
                self.diagnostics.add(source.error(definition.at, message))
            else:
                self.networks.append(routine)
        elif name in self.blocks:
            other = self.blocks[name]
            where = other.source.location(other.definition.name.at)
            self.diagnostics.add(source.error(at, f"block '{name}' is defined twice, first at {where}"))
        else:
            self.blocks[name] = routine


def _refusal(written: str, target: str, path: tuple[str, ...]) -> str | None:
    if os.path.isabs(written) or written.startswith("~"):
        return f"found the absolute path '{written}', expected one relative to the importing file"
    if not written or "\0" in written:
        return "found an empty path, expected the name of a file"
    if os.path.exists(target) and not os.path.isfile(target):
        return f"cannot import: '{target}' is no regular file"
    if target in path:
        cycle = (*path[path.index(target) :], target)
        return f"the files import each other: {' -> '.join(cycle)}"
    if len(path) > _MAX_IMPORT_DEPTH:
        return f"imports are nested more than {_MAX_IMPORT_DEPTH} deep"
    return None


def load_program(text: str, filename: str) -> LoadedProgram:
    """
    Parse a text and the files it imports.

    Raises the syntax errors of all of them, wrong imports, names defined twice, and none or several networks.
    """
    diagnostics = Diagnostics()
    loader = _Loader(diagnostics)
    source = SourceText(text, filename)
    loader.load(source, (os.path.normpath(filename),))
    if not loader.networks and not len(diagnostics):
        hint = "a program is a block of the form: network name(batch=1) { … }"
        diagnostics.add(source.error(Place(1, 1), "found no network, expected one", hint))
    diagnostics.raise_if_any()
    return LoadedProgram(loader.networks[0], loader.blocks)
