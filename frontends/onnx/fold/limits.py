"""How much may be computed while a file is read: what it says of itself must not cost time or memory without end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from npuc.compiler.core.options import MAX_OPS


class NotFolded(Exception):
    """A constant is not computed while the file is read, as by its size; the program computes it, where it can."""


@dataclass
class Limits:
    """
    The most elements of a constant, those of all together, and the nodes that are walked.

    Nodes of functions and bodies count each time they are entered.
    """

    elements: int = 1 << 16
    total: int = 1 << 26
    nodes: int = MAX_OPS

    def claim(self, shape: Sequence[int]) -> None:
        """Note that a constant of a shape is computed. Raises `NotFolded`."""
        count = prod(shape)
        if count > self.elements or count > self.total:
            raise NotFolded(f"a constant of {count} elements")
        self.total -= count
