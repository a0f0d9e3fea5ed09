"""The machine model of schedules and cost models, and the timing of its array."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuc.compiler.analysis.machine.facts import Machine, machine_from

__all__ = ["Machine", "machine_from"]


def __getattr__(name: str) -> object:
    """Import `facts` on first use: it needs IR, which readers of hardware files do without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.facts"), name)
