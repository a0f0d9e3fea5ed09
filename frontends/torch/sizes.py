"""The sizes of tensors, where the file has expressions of free sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import SourceError
from npuc.frontends.torch.expressions import ExpressionError, SizeExpression
from npuc.frontends.torch.program import TensorName

if TYPE_CHECKING:
    from npuc.frontends.torch.program import ExportedProgram, Scalar, Size, TensorType


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


class FreeSizes:
    """The sizes that a program leaves free: symbols, and the axes of inputs that are one."""

    NO_BOUND = 1 << 62

    def __init__(self, program: ExportedProgram):
        self._axes: dict[str, str] = {}
        for one in program.inputs:
            if one.kind != "user" or not isinstance(one.value, TensorName):
                continue
            for axis, size in enumerate(program.graph.tensors[one.value.name].shape):
                if isinstance(size, SizeExpression) and size.is_symbol:
                    self._axes[f"{one.name}.{axis}"] = size.text
        self._examples = {str(one): int(value) for one, value in program.hints.items() if one.is_symbol}
        self._ranges = program.ranges
        found = dict.fromkeys([*self._axes.values(), *self._examples, *program.ranges])
        self.symbols = tuple(found)
        self.names = (*self._axes, *self.symbols)

    def symbol(self, name: str) -> str | None:
        """The symbol that a name means: its own, or that of an input's axis."""
        return name if name in self.symbols else self._axes.get(name)

    def example(self, symbol: str) -> int:
        """The size in the example, or the smallest one that is allowed."""
        return self._examples.get(symbol, self.range(symbol)[0])

    def range(self, symbol: str) -> tuple[int, int]:
        """The least and the most that a size may be."""
        found = self._ranges.get(symbol)
        least = 1 if found is None or found.least is None else max(1, found.least)
        return least, self.NO_BOUND if found is None or found.most is None else found.most
