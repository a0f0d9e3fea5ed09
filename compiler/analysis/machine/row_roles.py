"""
What the dimensions of a statement are to a row-stationary array: rows, taps, filters, channels, images.

Two dimensions are a window where one axis of a tensor is their sum. If the tensor is an operand, it is the *ifmap*: the
summed dimension has the taps, the other one, of the output, the positions. So it is in a convolution, and in its dW,
whose taps are the positions of the forward pass. If the tensor is the output, as in dX and in a transposed convolution,
taps that step on the same outputs make a convolution of their own, of stride 1: one for each residue of a tap by the
stride. The last window lies in the elements, the one before it on rows and columns of PE sets.

All other dimensions count by membership: images are in output and ifmap, filters in output and filter, channels in both
operands. A matrix product has no window: its sets are single elements.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import ceil, gcd, prod

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Axis, Nest, Statement


@frozen
class Window:
    """
    Two dimensions of one axis: index = `stride` x position + `dilation` x tap.

    `scatters`: the axis, of `size` indices, is one of the output.
    """

    position: str
    tap: str
    stride: int
    dilation: int
    size: int
    scatters: bool


@frozen
class Convolution:
    """
    A convolution in one dimension: `taps` for each of `positions`, at stride x position + dilation x tap.

    `count` of them are alike.
    """

    positions: int
    taps: int
    stride: int = 1
    dilation: int = 1
    count: int = 1

    @property
    def phases(self) -> int:
        """The orders of positions in which a window goes on with taps of the one before."""
        return min(self.positions, self.dilation // gcd(self.stride, self.dilation))

    def fresh(self, taps: int) -> int:
        """What a window of so many taps has that the one before, of its phase, has not."""
        return min(taps, self.stride // gcd(self.stride, self.dilation))

    def inputs(self, positions: int, taps: int) -> int:
        """The distinct inputs of so many neighbouring positions and taps."""
        g = gcd(self.stride, self.dilation)
        twice = max(0, positions - self.dilation // g) * max(0, taps - self.stride // g)
        return positions * taps - twice


SINGLE = (Convolution(1, 1),)
"""What there is without a window."""


def convolutions(window: Window | None, extents: Mapping[str, int]) -> tuple[Convolution, ...]:
    """The convolutions that a window is where its dimensions have these extents."""
    if window is None:
        return SINGLE
    return _convolutions(window, extents[window.position], extents[window.tap])


@lru_cache(maxsize=65536)
def _convolutions(window: Window, positions: int, taps: int) -> tuple[Convolution, ...]:
    stride, dilation = window.stride, window.dilation
    if not window.scatters:
        return (Convolution(positions, taps, stride, dilation),)
    g = gcd(stride, dilation)
    classes, apart = stride // g, dilation // g
    few, more = divmod(taps, classes)
    found: list[Convolution] = []
    for own, count in ((few + 1, more), (few, classes - more)):
        if own and count:
            reached = positions * own - max(0, positions - apart) * (own - 1)
            # What lies outside the tensor is dropped.
            reached = max(positions, min(reached, -(-window.size // stride)))
            found.append(Convolution(reached, own, 1, apart, count))
    return tuple(found)


@frozen
class RowRoles:
    """The dimensions of a statement by what they are to the array, its tensors, and the passes of its products."""

    ifmap: str
    filter: str
    out: str
    batch: tuple[str, ...]
    images: tuple[str, ...]
    filters: tuple[str, ...]
    channels: tuple[str, ...]
    rows: Window | None
    taps: Window | None
    passes: int = 1

    def sizes(self, extents: Mapping[str, int]) -> tuple[int, int, int, int, int]:
        """Filter rows, output rows, taps, filters and channels for these extents of the dimensions."""
        row, tap = convolutions(self.rows, extents), convolutions(self.taps, extents)
        return (
            max(one.taps for one in row),
            max(one.positions for one in row),
            max(one.taps for one in tap),
            prod(extents[d] for d in self.filters),
            prod(extents[d] for d in self.channels),
        )


@lru_cache(maxsize=4096)
def roles_of(nest: Nest, statement: Statement) -> RowRoles:
    """The roles of the dimensions in a statement."""
    view = gemm_view(nest, statement)
    left, right, summed = set(view.m), set(view.n), set(view.k)
    ifmap, filter_ = statement.lhs, statement.rhs
    windows = _windows(nest, statement.lhs, left, summed, scatters=False)
    if not windows:
        windows = _windows(nest, statement.rhs, right, summed, scatters=False)
        if windows:
            ifmap, filter_, left, right = filter_, ifmap, right, left
    if not windows:
        windows = _windows(nest, statement.out, left, right, scatters=True)
    *before, taps = windows[-2:] or [None]
    rows = before[0] if before else None
    used = {d for window in (rows, taps) if window is not None for d in (window.position, window.tap)}

    def others(dims: set[str]) -> tuple[str, ...]:
        return tuple(d for d in nest.sizes if d in dims and d not in used)

    dims = (others(left), others(right), others(summed))
    # Elements of this array work beside each other on steps of their own: none skips what another does.
    return RowRoles(ifmap, filter_, statement.out, view.batch, *dims, rows, taps, ceil(statement.passes))


def _windows(nest: Nest, name: str, positions: set[str], taps: set[str], *, scatters: bool) -> list[Window]:
    """The axes of a tensor that are the sum of one dimension of each kind."""
    tensor = nest.tensors[name]
    found: list[Window] = []
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        by_kind = _by_kind(axis, positions, taps)
        if by_kind is not None:
            (position, stride), (tap, dilation) = by_kind
            found.append(Window(position, tap, stride, dilation, size, scatters))
    return found


def _by_kind(axis: Axis, positions: set[str], taps: set[str]) -> tuple[tuple[str, int], tuple[str, int]] | None:
    if len(axis.terms) != 2:
        return None
    first, second = axis.terms
    if first[0] in positions and second[0] in taps:
        return first, second
    return (second, first) if second[0] in positions and first[0] in taps else None
