"""What the operations of StableHLO mean in the network language."""

from __future__ import annotations

from npuc.frontends.jax.context import Meaning
from npuc.frontends.jax.operators import (
    convolutions,
    elementwise,
    indexing,
    products,
    random,
    reductions,
    shapes,
    windows,
)

MEANINGS: dict[str, Meaning] = {
    **elementwise.MEANINGS,
    **shapes.MEANINGS,
    **products.MEANINGS,
    **convolutions.MEANINGS,
    **reductions.MEANINGS,
    **windows.MEANINGS,
    **indexing.MEANINGS,
    **random.MEANINGS,
}
"""The meaning of each operation, by its name without the dialect."""
