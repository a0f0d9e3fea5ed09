"""The sizes of tensors, where the file has expressions of free sizes, and sizes that depend on data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.frontends.script.distinct import checked_nodes
from npuc.frontends.torch.expressions import ExpressionError, SizeExpression
from npuc.frontends.torch.program import ScalarName, TensorName

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.frontends.torch.program import ExportedProgram, Scalar, Size, TensorType, TorchNode, TorchValue


class Sizes:
    """The values of free sizes by their symbols, and what expressions of them come to."""

    def __init__(self, symbols: Mapping[str, int], filename: str):
        self.symbols = dict(symbols)
        self._filename = filename

    def size(self, size: Size) -> int:
        """The value of a size."""
        if isinstance(size, int):
            return size
        found = self.number(size)
        if not isfinite(found) or found != int(found):
            raise SourceError(f"{self._filename}: size {size}: found {found}, expected a whole number")
        return int(found)

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


@dataclass(frozen=True)
class DataSize:
    """A size that depends on data: its symbol, and the node that makes it."""

    symbol: str
    node: TorchNode


class FreeSizes:
    """
    The sizes that a program leaves free: symbols, and the axes of inputs that are one.

    `of_data` are those that no input has, by the names of the nodes that make them: they have no example.
    """

    NO_BOUND = 1 << 62

    def __init__(self, program: ExportedProgram):
        self._axes: dict[str, str] = {}
        self.of_data = {size.node.name: size for size in _sizes_of_data(program)}
        for one in program.inputs:
            if one.kind != "user" or not isinstance(one.value, TensorName):
                continue
            for axis, size in enumerate(program.graph.tensors[one.value.name].shape):
                if isinstance(size, SizeExpression) and size.is_symbol:
                    self._axes[f"{one.name}.{axis}"] = size.text
        self._examples = {str(one): int(value) for one, value in program.hints.items() if one.is_symbol}
        self._ranges = program.ranges
        data = {size.symbol for size in self.of_data.values()}
        found = dict.fromkeys([*self._axes.values(), *self._examples, *program.ranges])
        self.symbols = tuple(symbol for symbol in found if symbol not in data)
        self.names = (*self._axes, *self.symbols, *self.of_data, *data)

    def symbol(self, name: str) -> str | None:
        """The symbol that a name means: its own, or that of an input's axis or of a node."""
        if name in self.of_data:
            return self.of_data[name].symbol
        known = name in self.symbols or any(size.symbol == name for size in self.of_data.values())
        return name if known else self._axes.get(name)

    @property
    def axes(self) -> dict[str, int]:
        """The first axis of an input that each symbol is."""
        found: dict[str, int] = {}
        for place, symbol in self._axes.items():
            found.setdefault(symbol, int(place.rpartition(".")[2]))
        return found

    def example(self, symbol: str) -> int:
        """The size in the example, or the smallest one that is allowed."""
        return self._examples.get(symbol, self.range(symbol)[0])

    def range(self, symbol: str) -> tuple[int, int]:
        """The least and the most that a size may be."""
        found = self._ranges.get(symbol)
        least = 1 if found is None or found.least is None else max(1, found.least)
        return least, self.NO_BOUND if found is None or found.most is None else found.most


def _sizes_of_data(program: ExportedProgram) -> Iterator[DataSize]:
    """The symbols that are in no input, each with the first call whose results have it."""
    types = {id(type): type for type in program.graph.tensors.values()}  # which calls of equal modules share
    if not program.graph.scalars and not any(type.symbols for type in types.values()):
        return
    known = {symbol for value in program.graph.inputs for symbol in _symbols(program, value)}
    for node in program.graph.nodes:
        for value in node.outputs:
            for symbol in _symbols(program, value):
                if symbol not in known:
                    known.add(symbol)
                    yield DataSize(symbol, node)


def _symbols(program: ExportedProgram, value: TorchValue) -> Iterator[str]:
    """The symbols in the type of a value of the top graph."""
    if isinstance(value, tuple):
        for one in value:
            yield from _symbols(program, one)
    elif isinstance(value, TensorName | ScalarName):
        graph = program.graph
        if isinstance(value, TensorName):
            yield from graph.tensors[value.name].symbols
        elif isinstance(scalar := graph.scalars[value.name], SizeExpression):
            yield from scalar.symbols


def check_assumed(program: ExportedProgram, free: FreeSizes, symbols: Mapping[str, int]) -> None:
    """Raise an error that names all sizes which depend on data and have no value."""
    problems: list[SourceError] = []
    for name, size in free.of_data.items():
        if size.symbol not in symbols:
            least, most = free.range(size.symbol)
            example = most if most <= 1 << 20 else max(1, least)
            bounds = f", {least} to {most}" if most < free.NO_BOUND else ""
            message = f"{size.node.operator}: the size {size.symbol} of its result depends on data{bounds}"
            place = program.place(size.node)
            problems.append(SourceError(message, location=place, hint=f"-D {name}={example} assumes a size"))
    if problems:
        raise problems[0] if len(problems) == 1 else SourceErrors(tuple(problems[:20]))


def assumptions(free: FreeSizes, symbols: Mapping[str, int], module: ModuleOp) -> tuple[list[str], tuple[str, ...]]:
    """Remarks on the sizes that are assumed, and those of them that a run does not check."""
    checked = checked_nodes(module) if free.of_data else set[int]()
    remarks: list[str] = []
    unchecked: list[str] = []
    for size in free.of_data.values():
        said = f"{size.node.operator} (node {size.node.number}) is assumed to give the size {symbols[size.symbol]}"
        remarks.append(f"{said}, which depends on data")
        if size.node.number not in checked:
            unchecked.append(said)
    return remarks, tuple(unchecked)
