"""What a compiler of others is to npuc: it takes the text of an emitter, and runs the function in it."""

from __future__ import annotations

import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, cast

import numpy as np

from npuc.compiler.core.errors import CheckError, UsageError, did_you_mean
from npuc.compiler.core.foreign import MOST_LETTERS
from npuc.compiler.layers.base import Array

OTHERS = ("iree", "xla")
PROGRAM, VALUES, RESULTS = "program.mlir", "values.npz", "results.npz"
"""The files of a folder in which a process finds what it is to run, and leaves what it computed."""
CHILD = "npuc.compiler.others.child"


class Other(ABC):
    """A compiler of others: the emitter whose text it takes, and the extra of npuc that installs it."""

    name: ClassVar[str]
    title: ClassVar[str]
    emits: ClassVar[str]
    extra: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    """Its modules, of which one is missing where it is not installed whole."""

    def check_installed(self) -> None:
        """Raise `UsageError` that names the extra, where the compiler is not installed."""
        for module in self.modules:
            if not is_installed(module):
                message = f"--with {self.name} needs {self.title}, which is not installed ({module})"
                raise UsageError(message, hint=f"pip install 'npuc[{self.extra}]'")

    @abstractmethod
    def version(self) -> str:
        """The version that is installed."""

    @abstractmethod
    def compute(self, text: str, function: str, values: Sequence[Array]) -> list[Array]:
        """What a function of a module computes of values of all its arguments. May raise whatever the compiler does."""

    def run(self, text: str, function: str, values: Sequence[Array]) -> list[Array]:
        """
        The results of a function, computed in a process of its own, which code of another may end.

        Raises `CheckError` where the compiler does not take it, or its program fails.
        """
        with TemporaryDirectory(prefix="npuc-") as folder:
            np.savez(f"{folder}/{VALUES}", *values)
            Path(folder, PROGRAM).write_text(text, encoding="utf-8")
            command = [sys.executable, "-m", CHILD, self.name, folder, function]
            ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if ended.returncode:
                raise self._failed(ended.returncode, ended.stderr)
            with np.load(f"{folder}/{RESULTS}") as found:
                return [found[name] for name in found.files]

    def _failed(self, status: int, said: str) -> CheckError:
        """The error of a process that ended with a status and has said so much."""
        error = CheckError(
            f"{self.title} {self.version()} does not run what --emit {self.emits} writes: {_told(status, said)}",
            hint="--debug shows all that it says",
        )
        error.__cause__ = RuntimeError(said)
        return error


def _told(status: int, said: str) -> str:
    """The line that tells of an error, or how the process ended."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = next((line for line in lines if "error:" in line), lines[-1] if lines else "")
    if status < 0:
        named = f"its process was ended by signal {-status}"
    return named[:MOST_LETTERS]


def is_installed(module: str) -> bool:
    """Whether a module can be found; it is not loaded."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def get_other(name: str) -> Other:
    """The compiler of a name. Raises `UsageError` for an unknown one, and for one that is not installed."""
    if name not in OTHERS:
        raise UsageError(f"--with {name}: expected {' or '.join(OTHERS)}", hint=did_you_mean(name, OTHERS))
    found = cast(Other, import_module(f"npuc.compiler.others.{name}").OTHER)
    found.check_installed()
    return found
