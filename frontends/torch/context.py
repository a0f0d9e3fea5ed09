"""One call of an exported program as meanings see it: with the types that PyTorch recorded of its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from npuc.frontends.script.context import CallContext
from npuc.frontends.torch.values import PARTS, element_of

if TYPE_CHECKING:
    from npuc.frontends.script.script import Script
    from npuc.frontends.torch.program import TensorType


class Context(CallContext):
    """What the meaning of an ATen operator is written with: `results` are the types of its results, with all sizes."""

    def __init__(self, script: Script, layer: str, results: Sequence[TensorType], sizes: Sequence[tuple[int, ...]]):
        super().__init__(script, layer)
        self._results = results
        self._sizes = sizes

    def result_shape(self, number: int = 0) -> tuple[int, ...]:
        """The shape of a result."""
        return self._sizes[number]

    def result_element(self, number: int = 0) -> str:
        """The element type of a result, as the language writes it."""
        return element_of(self._results[number].dtype)

    def of_parts(self, suffix: str) -> Context:
        """What the same is written with for a part of complex numbers, real or imag."""
        results = [replace(one, dtype=PARTS.get(one.dtype, one.dtype)) for one in self._results]
        return Context(self.script, f"{self.layer}.{suffix}", results, self._sizes)

    @property
    def result_shapes(self) -> Sequence[tuple[int, ...]]:
        """The shapes of the results."""
        return self._sizes

    @property
    def result_count(self) -> int:
        """The number of results."""
        return len(self._sizes)
