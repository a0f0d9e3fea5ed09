"""
What an emitter is, and how emitters are found: what `npuc compile --emit NAME -o FILE` writes.

npuc's own are the modules beside this file with an `EMITTER`, under their module's name; others are published by any
installed distribution through the entry point group `npuc.emitters`:

    [project.entry-points."npuc.emitters"]
    mine = "my_package:MyEmitter"          # a class, or a function without arguments that returns an emitter
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from npuc.compiler.core.cache import reads
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.core.files.outputs import cannot_write
from npuc.compiler.core.foreign import Foreign, summary
from npuc.compiler.core.frozen import frozen

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.graph import Graph
    from npuc.compiler.report import Report
    from npuc.hardware import Hardware

ENTRY_POINTS = "npuc.emitters"
DEFAULT = "mlir"


@frozen
class Compiled:
    """
    A program as one backend scored it: the final module, the machine, the report.

    `depth` is how far a graph folds it, as `--depth` says; None: as it is best read.
    """

    module: ModuleOp
    machine: Hardware
    report: Report
    depth: str | None = None


@frozen
class Emitted:
    """
    What an emitter made: one text, or files by name; and what is to be told of it.

    `note` is said before files are written. `family` is a regular expression of the names that a reader of the folder
    takes for files of this program.
    """

    content: str | Mapping[str, str | bytes]
    warnings: tuple[str, ...] = ()
    note: str = ""
    family: str = ""

    def check_beside(self, folder: str) -> None:
        """Raise `UsageError` for a folder with files of the family that are not among these: another run's."""
        if not isinstance(self.content, str):
            reads.note(folder)
        if not os.path.isdir(folder):
            return
        try:
            found = sorted(name for name in os.listdir(folder) if re.fullmatch(self.family, name))
        except OSError as e:
            raise cannot_write(folder, e) from e
        others = [name for name in found if name not in self.content]
        if others:
            more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
            raise UsageError(
                f"'{folder}' has {others[0]}{more} of another run, which readers would take for a part of this one",
                hint="name another folder, or remove the files of the other run",
            )


class Emitter(ABC):
    """
    A form in which a compiled program is written.

    One of a `folder` writes files by name into the folder of `-o`, any other a text. Where `-o` is left out, it goes to
    standard output if it is `printed`, else nothing is written. `backend` is the one whose programs it takes (None:
    all), `refusal` what is said of the others. One `of_primitives` takes the step as it is before matrix work is
    scheduled, all of it in primitive operations.
    """

    folder: bool = False
    printed: bool = False
    backend: str | None = None
    refusal: str = ""
    of_primitives: bool = False

    @abstractmethod
    def emit(self, compiled: Compiled) -> Emitted:
        """What is written. Raises `UsageError` for a program that has no such form."""


class Drawing(Emitter):
    """A form of the program's graph: that of a program that nothing scored has no costs."""

    printed = True

    @abstractmethod
    def draw(self, graph: Graph) -> str:
        """The text of a graph."""

    def emit(self, compiled: Compiled) -> Emitted:
        """See `Emitter`."""
        from npuc.compiler.graph import build, depth_of

        return Emitted(self.draw(build(compiled.module, compiled.report, depth_of(compiled.depth))))


class Translation(Emitter):
    """A form of a program of primitives in a dialect of others: one public function with all it computes."""

    of_primitives = True

    @abstractmethod
    def write(self, module: ModuleOp) -> str:
        """The text of a program of primitives. Raises `SourceError` that lists what has no such form."""

    def emit(self, compiled: Compiled) -> Emitted:
        """See `Emitter`."""
        return Emitted(self.write(compiled.module))


@dataclass
class _Outside(Emitter):
    """An emitter that is not npuc's: what it raises is reported as its own, not as a defect of npuc."""

    name: str
    emitter: Emitter

    def __post_init__(self) -> None:
        own = self.emitter
        self.folder, self.printed, self.backend, self.refusal = own.folder, own.printed, own.backend, own.refusal
        self.of_primitives = own.of_primitives

    def emit(self, compiled: Compiled) -> Emitted:
        """See `Emitter`."""
        hint = "--debug shows where"
        with Foreign(lambda e: SourceError(f"emitter '{self.name}' failed: {summary(e)}", hint=hint)):
            found = cast(object, self.emitter.emit(compiled))
        if not isinstance(found, Emitted):
            raise SourceError(f"emitter '{self.name}' returned {type(found).__name__}, expected Emitted")
        return found


def own_emitters() -> tuple[str, ...]:
    """The names of npuc's emitters, the default first: those of their modules, `-` for `_`."""
    places = (Path(place) for place in import_module("npuc.compiler.emit").__path__)
    modules = {file.stem for place in places for file in place.glob("*.py")} - {"__init__", "base"}
    found = {name.replace("_", "-") for name in modules}
    return (DEFAULT, *sorted(found - {DEFAULT}))


def _published() -> dict[str, str]:
    from importlib.metadata import entry_points

    own = own_emitters()
    return {point.name: point.value for point in sorted(entry_points(group=ENTRY_POINTS)) if point.name not in own}


def emitter_names() -> tuple[str, ...]:
    """The names of all emitters, npuc's own first."""
    return (*own_emitters(), *_published())


def check_depth(depth: str | None, *, drawn: bool) -> None:
    """Raise `UsageError` for a depth that is none, and for one where no graph is drawn."""
    if depth is None:
        return
    from npuc.compiler.graph import depth_of

    depth_of(depth)
    if not drawn:
        raise UsageError("--depth is about a graph", hint="--emit svg or --emit dot draws one")


def get_drawing(name: str) -> Drawing:
    """The emitter of that name, which draws graphs. Raises `UsageError` for one that takes scored programs only."""
    found = get_emitter(name)
    if not isinstance(found, Drawing):
        raise UsageError(f"--emit {name} needs a program with its costs", hint=f"npuc compile SOURCE --emit {name}")
    return found


def get_emitter(name: str) -> Emitter:
    """The emitter of that name. Raises `UsageError` with those that are known."""
    if name in own_emitters():
        return cast(Emitter, import_module(f"npuc.compiler.emit.{name.replace('-', '_')}").EMITTER)
    published = _published()
    if name not in published:
        known = emitter_names()
        raise UsageError(f"--emit {name}: expected {', '.join(known[:-1])} or {known[-1]}")
    path = published[name]
    module, _, attribute = path.partition(":")
    with Foreign(lambda e: UsageError(f"emitter '{name}' cannot be loaded from {path}: {summary(e)}")):
        found = cast("Callable[[], object]", getattr(import_module(module), attribute))()
    if not isinstance(found, Emitter):
        raise UsageError(f"{path}: '{name}' is not an emitter", hint="an emitter is an npuc.compiler.emit.base.Emitter")
    return _Outside(name, found)
