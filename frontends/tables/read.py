"""
Reading a table: which of the kinds it is, by its header and the number of its cells, and its rows as layers.

A header that names columns M, N and K makes a table of products, whose other columns are known by name as well. Any
other header makes a topology of SCALE-Sim: 8 or 9 cells are a convolution, 4 or 5 a product. Where the header itself
has cells for one of the two, all rows are of this kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Literal

from npuc.compiler.core.errors import Location, SourceError, SourceErrors, did_you_mean
from npuc.compiler.core.numbers import is_integer
from npuc.dialects.tensors import MAX_ELEMENTS
from npuc.frontends.tables.cells import Cell, Line, RowReader, lines_of
from npuc.frontends.tables.model import Convolution, Product, Table, TableLayer

MOST_ERRORS = 20
MOST_LAYERS = 200_000
Choose = Callable[[Sequence[str]], Collection[int]]
"""Given the names of all rows, the numbers of those to keep."""

_SIZES = (
    "the height of the input",
    "the width of the input",
    "the height of the filter",
    "the width of the filter",
    "the number of channels",
    "the number of filters",
)
_SPARSITY = re.compile(r"n:m|spars.*")
Kind = Literal["convolution", "product"]
_CELLS: dict[Kind, str] = {"convolution": "8 or 9 (a convolution)", "product": "4 or 5 (name, M, N, K)"}
_FOREIGN = re.compile(r"[^A-Za-z0-9_\-+./]")
_NAMED = ("layer", "count", "has_dx", "m", "n", "k")


@dataclass(frozen=True)
class _Columns:
    """The column numbers of a table of products, None for columns that it lacks."""

    prefix: tuple[int, ...]
    m: int
    n: int
    k: int
    count: int | None
    has_dx: int | None
    sparsity: int


def read_table(
    text: str, filename: str, *, channels: bool = False, choose: Choose | None = None, most: int = MOST_LAYERS
) -> Table:
    """
    The table that a text holds.

    `channels` expands convolutions whose name contains `DP` into one layer a channel, as SCALE-Sim does. `choose`
    picks rows by name; what is wrong in the others is no error. Raises `SourceError`, or `SourceErrors` with one for
    each malformed cell; a table of more than `most` layers is an error too.
    """
    lines = list(lines_of(text))
    if not lines:
        location = Location(filename, 1, 1)
        hint = "a header such as layer,M,N,K and a line a layer"
        raise SourceError("the table is empty", location=location, hint=hint)
    columns, kind = _columns(lines[0], filename), _kind_of(len(lines[0].cells))
    warnings: list[str] = []
    if columns is None and _looks_like_layer(lines[0]):
        kind = None  # there is no header
        place = f"{filename}:{lines[0].number}"
        warnings.append(f"{place}: the first line is taken as a layer; SCALE-Sim skips it as the header")
        body = lines
    else:
        body = lines[1:]
    if not body:
        place = Location(filename, lines[0].number, 1)
        raise SourceError("the table has a header and no layers", location=place, source_line=lines[0].text)
    if columns is not None:
        warnings += _unread(columns, [lines[0], *body], filename)
    names = [_name(line, columns, number) for number, line in enumerate(body)]
    kept = range(len(body)) if choose is None else choose(names)
    layers: list[TableLayer] = []
    errors: list[SourceError] = []
    for number, line in enumerate(body):
        if number in kept:
            reader = RowReader(filename, line)
            layer = _layer(reader, columns or kind, names[number])
            errors += reader.errors
            layers += [] if layer is None else [layer]
    _raise(errors)
    total = 0
    for layer in layers:
        total += max(depthwise_channels(layer), 1) if channels else 1
        if total > most:
            place = Location(filename, layer.line, 1)
            hint = "raise --max-ops, or keep some layers with --only"
            raise SourceError(f"the table has more than {most:,} layers", location=place, hint=hint)
    if channels:
        layers = _by_channel(layers, warnings)
    return Table(tuple(layers), columns is not None and columns.has_dx is not None, tuple(warnings))


def _raise(errors: list[SourceError]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SourceErrors(errors[:MOST_ERRORS])


def _columns(header: Line, filename: str) -> _Columns | None:
    """The columns of a table of products; None for a header of another kind. Raises for a column named twice."""
    names = [cell.text.lower() for cell in header.cells]
    if not {"m", "n", "k"} <= set(names):
        return None
    reader = RowReader(filename, header)
    for number, name in enumerate(names):
        if name in _NAMED and names.index(name) < number:
            reader.fail(f"two columns are named '{header.cells[number].text}'", header.cells[number])
    _raise(reader.errors)
    where = {name: number for number, name in enumerate(names) if name in _NAMED}
    # SCALE-Sim takes the cell behind K for it, whatever the header says.
    sparsity = next((number for number, name in enumerate(names) if _SPARSITY.fullmatch(name)), len(names))
    known = [*where.values(), sparsity]
    prefix = range(where["layer"] + 1) if "layer" in where else range(min(known))
    prefix = tuple(number for number in prefix if number == where.get("layer") or number not in known)
    return _Columns(prefix, where["m"], where["n"], where["k"], where.get("count"), where.get("has_dx"), sparsity)


def _unread(columns: _Columns, lines: Sequence[Line], filename: str) -> list[str]:
    """The warnings of columns that mean nothing here, and of the first cell that stands under no column."""
    own = (columns.m, columns.n, columns.k, columns.count, columns.has_dx, columns.sparsity)
    read, header = {*own, *columns.prefix}, lines[0]
    unread = [(i, cell) for i, cell in enumerate(header.cells) if i not in read and cell.text]
    warnings = [
        f"{filename}:{header.number}:{cell.col}: nothing reads the column '{cell.text}' ({_hint(cell.text)})"
        for _, cell in unread
    ]
    read.update(i for i, _ in unread)
    first = next(i for i in count() if i not in read)
    longer = (line for line in lines if len(line.cells) > first)
    cells = ((line, cell) for line in longer for i, cell in enumerate(line.cells) if i not in read and cell.text)
    for line, cell in islice(cells, 1):
        warnings.append(f"{filename}:{line.number}:{cell.col}: nothing reads '{cell.text}', which is under no column")
    return warnings


def _hint(column: str) -> str:
    return did_you_mean(column, ["layer", "M", "N", "K", "count", "has_dX", "N:M"])


def _looks_like_layer(line: Line) -> bool:
    """Whether the first line has a layer's numbers where a header has names."""
    return len(line.cells) in (4, 5, 8, 9) and all(is_integer(cell.text) for cell in line.cells[1:4])


def layer_name(text: str, number: int) -> str:
    """A name of letters, digits and `_ - + . /`: other characters become `_`, an empty one the number of the row."""
    return _FOREIGN.sub("_", text.strip()) or f"layer{number}"


def _name(line: Line, columns: _Columns | None, number: int) -> str:
    """The name of a row, given its number."""
    parts = (0,) if columns is None else columns.prefix
    return layer_name("/".join(line.cells[i].text for i in parts if i < len(line.cells)), number)


def _kind_of(cells: int, *, noted: bool = False) -> Kind | None:
    """The kind of layer that a topology's line of so many cells describes; `noted`: notes follow an empty cell."""
    return "convolution" if cells in (8, 9) or noted else "product" if cells in (4, 5) else None


def _layer(reader: RowReader, expected: _Columns | Kind | None, name: str) -> TableLayer | None:
    """
    The layer of a row, None for no layer at all; what is wrong with it, the reader notes.

    `expected` is given by the header for all rows: columns of products, the kind of all layers, or nothing.
    """
    cells = reader.line.cells
    kind = _kind_of(len(cells), noted=[cell.text for cell in cells[8:9]] == [""])
    if isinstance(expected, _Columns):
        layer = _product(reader, expected, name)
    elif kind is None or expected not in (None, kind):
        hint = "a header with columns M, N and K makes a table of products, in any order"
        if expected is not None:
            hint = f"the header has the cells of a {expected}; {hint}"
        place = Cell("", len(reader.line.text) - len(reader.line.text.lstrip()) + 1)
        found = f"found {len(cells)} cell{'s' * (len(cells) != 1)}"
        wanted = " or ".join(text for one, text in _CELLS.items() if expected in (None, one))
        reader.fail(f"{found}, expected {wanted}", place, hint)
        return None
    elif kind == "convolution":
        layer = _convolution(reader, name)
    else:
        layer = _gemm(reader, name)
    if not reader.errors and max(layer.work.elements) > MAX_ELEMENTS:
        reader.fail(f"a tensor of {max(layer.work.elements):,} elements, expected at most {MAX_ELEMENTS:,}", cells[0])
    return layer


def _product(reader: RowReader, columns: _Columns, name: str) -> TableLayer:
    m, n, k = (reader.whole(i, what) for i, what in ((columns.m, "M"), (columns.n, "N"), (columns.k, "K")))
    return TableLayer(
        name,
        reader.line.number,
        Product(m, n, k),
        count=1 if columns.count is None else reader.whole(columns.count, "count"),
        has_dx=columns.has_dx is None or reader.flag(columns.has_dx, "has_dX"),
        sparsity=reader.ratio(columns.sparsity),
    )


def _gemm(reader: RowReader, name: str) -> TableLayer:
    m, n, k = (reader.whole(i, what) for i, what in enumerate("MNK", 1))
    return TableLayer(name, reader.line.number, Product(m, n, k), sparsity=reader.ratio(4))


def _convolution(reader: RowReader, name: str) -> TableLayer:
    sizes = [reader.whole(i, what) for i, what in enumerate(_SIZES, 1)]
    height, width, filter_height, filter_width, channels, filters = sizes
    conv = Convolution(height, width, filter_height, filter_width, channels, filters, *reader.strides(7))
    if not reader.errors:
        for index, own, image in ((3, conv.filter_height, conv.height), (4, conv.filter_width, conv.width)):
            if own > image:
                what, size = _SIZES[index - 1], _SIZES[index - 3]
                hint = "sizes of the input include padding"
                reader.fail(f"{what} is {own}, {size} is {image}", reader.line.cells[index], hint)
    return TableLayer(name, reader.line.number, conv, sparsity=reader.ratio(8))


def depthwise_channels(layer: TableLayer) -> int:
    """The channels into which SCALE-Sim splits a convolution whose name contains `DP`; 0 for other layers."""
    return layer.work.channels if isinstance(layer.work, Convolution) and "DP" in layer.name else 0


def _by_channel(layers: Sequence[TableLayer], warnings: list[str]) -> list[TableLayer]:
    """The layers, with convolutions whose name contains `DP` split into one layer per channel."""
    found: list[TableLayer] = []
    expanded = 0
    for layer in layers:
        channels = depthwise_channels(layer)
        if channels and isinstance(layer.work, Convolution):
            expanded += 1
            found += [replace(layer, work=replace(layer.work, channels=1))] * channels
        else:
            found.append(layer)
    if expanded:
        what = "convolution whose name contains" if expanded == 1 else "convolutions whose names contain"
        warnings.append(f"{expanded} {what} DP: one row a channel, as in SCALE-Sim")
    return found
