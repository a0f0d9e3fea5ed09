"""
What a frontend is: it turns the source of a program, text or bytes, into a module.

    class MyFrontend(Frontend):
        name = "mine"                       # what `format=` takes, and the suffix of its files
        title = "a file of mine"

        def read(self, source: Source, request: Request) -> Program:
            return Program(module_of(source.text))

npuc's own are the packages beside this file that have a `frontend.py` with a `FRONTEND`; others come from installed
distributions, see `npuc.frontends.registry`.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import MAX_OPS
from npuc.frontends.files import map_bytes

if TYPE_CHECKING:
    import numpy.typing as npt
    from xdsl.dialects.builtin import ModuleOp

    from npuc.frontends.layout import ArgumentLayout

    Array = npt.NDArray[Any]


_ENDS = 1 << 20
"""The bytes at either end of a mapped file that its fingerprint is made of."""


@frozen
class Source:
    """
    The source of a program: its content, who reads it, the name in places, and the name that reports carry.

    `values` are functions that read values which the content lacks, by the name of a parameter, constant or statistic.
    A large file of a binary format is mapped: what a reader passes over, such as weights, is not read.
    """

    content: str | bytes | mmap.mmap
    frontend: Frontend
    filename: str
    shown: str
    values: Mapping[str, Callable[[], Array]] = field(default_factory=dict[str, "Callable[[], Array]"])

    def __repr__(self) -> str:
        from npuc.compiler.core.display.words import cut

        unit = "characters" if isinstance(self.content, str) else "bytes"
        return f"<Source {cut(self.shown, 100)} ({self.format}): {len(self.content):,} {unit}>"

    @property
    def format(self) -> str:
        """The name of its format."""
        return self.frontend.name

    @property
    def text(self) -> str:
        """The content of a format of text; empty for a binary one."""
        return self.content if isinstance(self.content, str) else ""

    @property
    def data(self) -> bytes | mmap.mmap:
        """The content as bytes."""
        return self.content.encode() if isinstance(self.content, str) else self.content

    def fingerprint(self) -> str:
        """
        A digest that another content changes.

        Of a mapped file it covers the length, the time of the last change, and the ends: there lie the graph of an ONNX
        model and the checksums of all that an archive holds.
        """
        data = self.data
        if isinstance(data, bytes):
            return hashlib.sha256(data).hexdigest()
        changed = os.stat(self.filename).st_mtime_ns if os.path.exists(self.filename) else 0
        digest = hashlib.sha256(f"{len(data)} {changed} ".encode())
        digest.update(data[:_ENDS])
        digest.update(data[max(0, len(data) - _ENDS) :])
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Callable[..., Source], tuple[Any, ...]]:
        """A mapped file is mapped again where another process takes the source."""
        if isinstance(self.content, mmap.mmap):
            return _mapped, (self.frontend, self.filename, self.shown)
        return Source, (self.content, self.frontend, self.filename, self.shown)

    def report_location(self, loc: str | None) -> str | None:
        """A place as reports show it: without the folder of the source where its path is absolute."""
        folder = os.path.dirname(self.filename)
        if loc is None or not os.path.isabs(self.filename):
            return loc
        return loc.removeprefix(folder.rstrip(os.sep) + os.sep)


def _mapped(frontend: Frontend, filename: str, shown: str) -> Source:
    return Source(map_bytes(filename), frontend, filename, shown)


@frozen
class Request:
    """
    The parameters of reading a source.

    `defines` are values of the network's parameters. `inference` asks for the forward pass alone, or not (None: as the
    format has it when nobody says). `max_ops` limits the operations of the module. `choose` picks, of a source that
    lists layers, those that are wanted, by the names of all; what is wrong in the others is no error.
    `split_depthwise` takes depthwise convolutions apart, a convolution a channel, as SCALE-Sim does.

    Of a format of graphs without a training step: `results` are the outputs that are wanted (none: all), `losses` and
    `optimizer` what makes a step of them, as the language writes it (none: as the frontend chooses), and `freeze` are
    patterns of the parameters that are not trained. `opaque` prices operators without a meaning in place of an error,
    by the formulas of a file, `opaque_costs`, besides npuc's own.
    """

    defines: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inference: bool | None = None
    max_ops: int = MAX_OPS
    choose: Callable[[Sequence[str]], Collection[int]] | None = None
    split_depthwise: bool = False
    results: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    optimizer: str | None = None
    freeze: tuple[str, ...] = ()
    opaque: bool = False
    opaque_costs: str | None = None


@frozen
class Program:
    """
    The content of a source: its module, warnings for the user, and the values that it has for arguments.

    `values` holds, by the name of a parameter, constant or statistic, a function that reads its values; a run starts
    with them unless it is given others. `unneeded` names inputs of the source that nothing kept of it reads: a run
    ignores values for them. `unchecked` are assumptions about data that no operation of the module checks: with any, a
    run is refused. `text` writes the program in the network language; None where that is not possible, or its source is
    in that language. `layouts` are those of arguments that lie in another order than their source has them, by name: a
    run takes and gives values in the source's.
    """

    module: ModuleOp
    warnings: tuple[str, ...] = ()
    values: Mapping[str, Callable[[], Array]] = field(default_factory=dict[str, "Callable[[], Array]"])
    unneeded: frozenset[str] = frozenset()
    unchecked: tuple[str, ...] = ()
    text: Callable[[], str] | None = None
    layouts: Mapping[str, ArgumentLayout] = field(default_factory=dict[str, "ArgumentLayout"])


class Parameters(Protocol):
    """The parameters of a network: their names, the files that it is made of, and which values suit it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        ...

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """Name and text of each file that the source is made of, in a fixed order."""
        ...

    def check(self, defines: Mapping[str, Any]) -> None:
        """Raise `UsageError` for names and values that the source refuses."""
        ...


class Frontend(ABC):
    """
    A format of sources.

    `name` is what `format=` takes; files of the format end in one of `suffixes`, by default its name. `title` says in
    messages what such a source is. A source of a `binary` format is read as bytes, any other as UTF-8.
    `lists_layers`: its layers do not feed each other, so that nothing is said of memory over time, and `--only` picks
    layers while it is read. `parametric`: it has parameters, which `parameters` tells. `trusted`: its reader makes no
    wrong operation, so that none is verified. `lacks_step`: it holds graphs without a loss, of which the request's
    `losses`, `optimizer`, `freeze` and `results` make a training step. `prices_unknown`: it may have operators without
    a meaning, which the request's `opaque` prices. `is_ir`: it is a program of any level, whose
    passes may have run. `backend` is the one that scores it when nobody names one (None: npuc's default).
    """

    name: str
    title: str
    suffixes: tuple[str, ...] = ()
    binary: bool = False
    lists_layers: bool = False
    parametric: bool = False
    trusted: bool = False
    lacks_step: bool = False
    prices_unknown: bool = False
    is_ir: bool = False
    backend: str | None = None

    @abstractmethod
    def read(self, source: Source, request: Request) -> Program:
        """The program of a source. Raises `SourceError`s with places, `UsageError` for a wrong request."""

    def claims(self, suffix: str, data: bytes | mmap.mmap) -> bool:
        """Whether a file with the suffix of another format is of this one, by its content."""
        return False

    def parameters(self, source: Source) -> Parameters | None:
        """The parameters that `-D` and `--vary` set; None for a format that has none. Raises `SourceError`s."""
        return None
