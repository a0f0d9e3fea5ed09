"""What a compiler of others is to npuc: it takes the text of an emitter, and runs the function in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import ClassVar, cast

from npuc.compiler.core.errors import CheckError, UsageError, did_you_mean
from npuc.compiler.core.foreign import first_line
from npuc.compiler.layers.base import Array

OTHERS = ("iree", "xla")


class Other(ABC):
    """A compiler of others: the emitter whose text it takes, and the extra of npuc that installs it."""

    name: ClassVar[str]
    title: ClassVar[str]
    emits: ClassVar[str]
    extra: ClassVar[str]
    module: ClassVar[str]
    """The module of its that is missing where it is not installed."""

    def check_installed(self) -> None:
        """Raise `UsageError` that names the extra, where the compiler is not installed."""
        try:
            import_module(self.module)
        except ModuleNotFoundError as e:
            message = f"--with {self.name} needs {self.title}, which is not installed"
            raise UsageError(message, hint=f"pip install 'npuc[{self.extra}]'") from e

    @abstractmethod
    def version(self) -> str:
        """The version that is installed."""

    @abstractmethod
    def compute(self, text: str, function: str, values: Sequence[Array]) -> list[Array]:
        """What a function of a module computes of values of all its arguments. May raise whatever the compiler does."""

    def run(self, text: str, function: str, values: Sequence[Array]) -> list[Array]:
        """The results of a function. Raises `CheckError` where the compiler does not take it, or its program fails."""
        try:
            return self.compute(text, function, values)
        except Exception as e:  # of another's code, which may raise anything
            raise CheckError(
                f"{self.title} {self.version()} does not run what --emit {self.emits} writes: {_told(e)}",
                hint="--debug shows all that it says",
            ) from e


def _told(error: Exception) -> str:
    """The first line of what a compiler says that tells of an error."""
    lines = [line.strip() for line in str(error).splitlines()]
    named = (line for line in lines if "error:" in line)
    return next(named, first_line(error))[:240]


def get_other(name: str) -> Other:
    """The compiler of a name. Raises `UsageError` for an unknown one, and for one that is not installed."""
    if name not in OTHERS:
        raise UsageError(f"--with {name}: expected {' or '.join(OTHERS)}", hint=did_you_mean(name, OTHERS))
    found = cast(Other, import_module(f"npuc.compiler.others.{name}").OTHER)
    found.check_installed()
    return found
