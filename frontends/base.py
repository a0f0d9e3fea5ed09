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

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from npuc.compiler.core.options import MAX_OPS

if TYPE_CHECKING:
    import numpy.typing as npt
    from xdsl.dialects.builtin import ModuleOp

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Source:
    """The source of a program: its content, who reads it, the name in places, and the name that reports carry."""

    content: str | bytes
    frontend: Frontend
    filename: str
    shown: str

    @property
    def format(self) -> str:
        """The name of its format."""
        return self.frontend.name

    @property
    def text(self) -> str:
        """The content of a format of text; empty for a binary one."""
        return self.content if isinstance(self.content, str) else ""

    @property
    def data(self) -> bytes:
        """The content as bytes."""
        return self.content if isinstance(self.content, bytes) else self.content.encode()

    def report_location(self, loc: str | None) -> str | None:
        """A place as reports show it: without the folder of the source where its path is absolute."""
        folder = os.path.dirname(self.filename)
        if loc is None or not os.path.isabs(self.filename):
            return loc
        return loc.removeprefix(folder.rstrip(os.sep) + os.sep)


@dataclass(frozen=True)
class Request:
    """
    The parameters of reading a source.

    `defines` are values of the network's parameters. `inference` asks for the forward pass alone, or not (None: as the
    format has it when nobody says). `max_ops` limits the operations of the module. `choose` picks, of a source that
    lists layers, those that are wanted, by the names of all; what is wrong in the others is no error.
    `split_depthwise` takes depthwise convolutions apart, a convolution a channel, as SCALE-Sim does.

    Of a format of graphs without a training step: `results` are the outputs that are wanted (none: all), `losses` and
    `optimizer` what makes a step of them, as the language writes it (none: as the frontend chooses), and `freeze` are
    patterns of the parameters that are not trained.
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


@dataclass(frozen=True)
class Program:
    """
    The content of a source: its module, warnings for the user, and the values that it has for arguments.

    `values` holds, by the name of a parameter, constant or statistic, a function that reads its values; a run starts
    with them unless it is given others.
    """

    module: ModuleOp
    warnings: tuple[str, ...] = ()
    values: Mapping[str, Callable[[], Array]] = field(default_factory=dict[str, "Callable[[], Array]"])


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
    `losses`, `optimizer`, `freeze` and `results` make a training step. `is_ir`: it is a program of any level, whose
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
    is_ir: bool = False
    backend: str | None = None

    @abstractmethod
    def read(self, source: Source, request: Request) -> Program:
        """The program of a source. Raises `SourceError`s with places, `UsageError` for a wrong request."""

    def parameters(self, source: Source) -> Parameters | None:
        """The parameters that `-D` and `--vary` set; None for a format that has none. Raises `SourceError`s."""
        return None
