"""
The backend `maestro`: contractions on processing elements in clusters, by data-centric mappings.

    machine.py    what the model takes from a hardware description
    batch.py      many mappings of a layer at once
    cost.py       what one contraction costs under its mapping, in either mode
    rows.py       its row of the report
    backend.py    the backend itself

    npuc.backends.maestro.evaluate(problem, mappings, hardware)

The model, its two modes, its sources and its limits are in docs/maestro.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuc.backends.maestro.batch import evaluate, mapping_arrays

__all__ = ["evaluate", "mapping_arrays"]


def __getattr__(name: str) -> object:
    """The two functions are loaded when they are used: the keys of the backend need no numpy."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.batch"), name)
