"""
Modules by the names that the documentation gave them before they moved, for one release.

    from npuc.backends.hardware import load_hardware    # npuc.hardware, with a DeprecationWarning

The former name is the module itself, not a copy of it, so that its classes are the same.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False  # this module is loaded before signals are taken over, and these load forty others
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from types import ModuleType
else:
    Loader = object

FORMER_NAMES = {
    "npuc.backends.hardware": "npuc.hardware",
    "npuc.compiler.analysis.bounds": "npuc.compiler.analysis.nest.bounds",
    "npuc.compiler.analysis.elements": "npuc.compiler.analysis.nest.elements",
    "npuc.compiler.analysis.network": "npuc.compiler.analysis.interconnect",
    "npuc.compiler.analysis.partition_knn": "npuc.compiler.analysis.schedule.partition_knn",
    "npuc.compiler.analysis.pipeline": "npuc.compiler.analysis.timing.double_buffer",
    "npuc.compiler.analysis.search": "npuc.compiler.analysis.schedule.search",
    "npuc.compiler.errors": "npuc.compiler.core.errors",
    "npuc.compiler.study": "npuc.studies",
    "npuc.compiler.sweep": "npuc.compiler.explore.sweep",
    "npuc.hardware.kinds": "npuc.compiler.core.kinds",
}
"""Packages with all that is in them, and modules."""


def present_name(name: str) -> str | None:
    """The name of today of a module of that former name; None: it is no former name."""
    for former, present in FORMER_NAMES.items():
        if name == former or name.startswith(former + "."):
            return present + name.removeprefix(former)
    return None


class _Forward(Loader):
    """Loads a module by giving the one of another name."""

    def __init__(self, present: str) -> None:
        self.present = present

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making of a module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        present = import_module(self.present)
        warnings.warn(
            f"{module.__name__} is {self.present} now; the former name goes with the next release",
            DeprecationWarning,
            stacklevel=2,
        )
        # importlib returns what stands in sys.modules after a module has run
        sys.modules[module.__name__] = present


class _Finder:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        present = present_name(fullname)
        return None if present is None else ModuleSpec(fullname, _Forward(present))


def install() -> None:
    """Let former names be imported. It comes before the search of folders, which would load a second copy."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
