"""The sizes of tensors, where the file has expressions of free sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import SourceError
from npuc.frontends.torch.expressions import ExpressionError, SizeExpression

if TYPE_CHECKING:
    from npuc.frontends.torch.program import Scalar, Size, TensorType


class Sizes:
    """The values of free sizes by their symbols, and what expressions of them come to."""

    def __init__(self, symbols: Mapping[str, int], filename: str):
        self.symbols = dict(symbols)
        self._filename = filename

    def size(self, size: Size) -> int:
        """The value of a size."""
        if isinstance(size, int):
            return size
        return int(self.number(size))

    def number(self, value: Scalar) -> int | float | bool:
        """The value of a number of the graph."""
        if not isinstance(value, SizeExpression):
            return value
        try:
            return value.evaluate(self.symbols)
        except ExpressionError as error:
            raise SourceError(f"{self._filename}: size {value}: {error}") from None

    def shape(self, type: TensorType) -> tuple[int, ...]:
        """The shape of a tensor."""
        return tuple(map(self.size, type.shape))
