"""
The backend `maestro`: contractions on processing elements in clusters, by data-centric mappings.

    machine.py    what the model takes from a hardware description
    evaluate.py   many mappings of a layer at once
    price.py      what one contraction costs under its mapping, in either mode
    rows.py       its row of the report
    backend.py    the backend itself

The model, its two modes, its sources and its limits are in docs/maestro.md.
"""

from npuc.backends.maestro.backend import BACKEND, MaestroBackend
from npuc.backends.maestro.evaluate import evaluate, mapping_arrays

__all__ = ["BACKEND", "MaestroBackend", "evaluate", "mapping_arrays"]
