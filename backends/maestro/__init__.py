"""
The backend `maestro`: what data-centric mappings cost, as MAESTRO says or exactly.

The model, its sources and its limits are in docs/maestro.md.
"""

from npuc.backends.maestro.evaluate import evaluate, mapping_arrays

__all__ = ["evaluate", "mapping_arrays"]
