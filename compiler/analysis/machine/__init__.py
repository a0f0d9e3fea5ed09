"""A machine as schedules and costs see it, and what its array does with tiles."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuc.compiler.analysis.machine.facts import Machine, machine_from

__all__ = ["Machine", "machine_from"]


def __getattr__(name: str) -> object:
    """`facts` needs IR, which hardware files can do without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.facts"), name)
