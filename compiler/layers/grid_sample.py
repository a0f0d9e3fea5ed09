"""
Samples of images at given places (spatial transformers, deformable attention).

Work: an operation for each element that a sample weighs, in each channel: 2 an axis where it is linear, 4 where cubic,
1 where nearest; as many backward for x, and for the grid as many for each axis. A sample's weights, which all channels
share, are an operation each as well.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Value, check_word
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Layer, Work, derivative, elements
from npuc.compiler.layers.grid_taps import GridTap, Sampling
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.grid_sample import (
    MODES,
    PADDINGS,
    GridBase,
    GridSampleDgridOp,
    GridSampleDxOp,
    GridSampleOp,
)

_TAPS = {"bilinear": 2, "nearest": 1, "bicubic": 4}


def _weighed(op: GridBase, samples: SSAValue) -> int:
    """The elements that all samples weigh, in all channels."""
    return _TAPS[op.mode.data] ** (len(shape_of(samples)) - 2) * elements(samples)


def _weights(op: GridBase, grid: SSAValue) -> int:
    """The weights of all samples."""
    return _TAPS[op.mode.data] * elements(grid)


def _axes(op: GridBase, grid: Array, sizes: Sequence[int]) -> list[Sequence[GridTap]]:
    """What samples read along each axis; the grid has the last axis first."""
    sampling = Sampling(op.mode.data, op.padding.data, op.corners is not None)
    return [sampling.taps(grid[..., -1 - axis], size) for axis, size in enumerate(sizes)]


def _reads(axes: Sequence[Sequence[GridTap]], batch: int) -> Iterator[tuple[tuple[Any, ...], tuple[GridTap, ...]]]:
    """For each combination of elements along the axes: its place in x, channels last, and the taps."""
    rank = axes[0][0].index.ndim
    images = np.arange(batch).reshape(-1, *[1] * (rank - 1))
    for taps in product(*axes):
        yield (images, slice(None), *(tap.index for tap in taps)), taps


class GridSampleLayer(Layer[GridSampleOp]):
    """Weighted sums of the elements around each place; at most what the samples weigh is read."""

    op = GridSampleOp

    def evaluate(self, op: GridSampleOp, *arrays: Array) -> tuple[Array, ...]:
        x, grid = arrays
        out = np.zeros((*grid.shape[:-1], x.shape[1]), dtype=x.dtype, like=x)
        for place, taps in _reads(_axes(op, grid, x.shape[2:]), len(x)):
            out += x[place] * prod((tap.weight for tap in taps), start=np.ones((), dtype=x.dtype, like=x))[
                ..., None
            ].astype(x.dtype)
        return (np.moveaxis(out, -1, 1),)

    def vjp(
        self, op: GridSampleOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        dx = emit(derivative(GridSampleDxOp, op, g, op.grid, results=[op.x.type])).dx if needs[0] else None
        dgrid = emit(derivative(GridSampleDgridOp, op, g, op.x, op.grid)).dgrid if needs[1] else None
        return [dx, dgrid]

    def work(self, op: GridSampleOp) -> Work:
        weighed = _weighed(op, op.out)
        reads = (min(weighed, elements(op.x)), elements(op.grid))
        return Work(vector_ops=weighed + _weights(op, op.grid), reads=reads)

    def cuts(self, op: GridSampleOp) -> Sequence[Cut]:
        batch, channels, *sizes = shape_of(op.out)
        found = [(batch, Cut((0, 0), (0,))), (channels, Cut((1, None), (1,)))]
        found += [(size, Cut((None, axis + 1), (axis + 2,))) for axis, size in enumerate(sizes)]
        return [cut for size, cut in found if size > 1]


class GridSampleDxLayer(Layer[GridSampleDxOp]):
    """The gradient of each sample spread over what it weighs."""

    op = GridSampleDxOp

    def evaluate(self, op: GridSampleDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, grid = arrays
        dx = np.zeros(shape_of(op.dx), dtype=dy.dtype, like=dy)
        last = np.moveaxis(dy, 1, -1)
        for place, taps in _reads(_axes(op, grid, dx.shape[2:]), len(dx)):
            weight = prod((tap.weight for tap in taps), start=np.ones((), dtype=dy.dtype, like=dy))[..., None]
            np.add.at(dx, place, last * weight.astype(dy.dtype))
        return (dx,)

    def work(self, op: GridSampleDxOp) -> Work:
        return Work(vector_ops=_weighed(op, op.dy) + _weights(op, op.grid))

    def cuts(self, op: GridSampleDxOp) -> Sequence[Cut]:
        batch, channels, *_ = shape_of(op.dx)
        both = ((batch, Cut((0, 0), (0,))), (channels, Cut((1, None), (1,))))
        return [cut for size, cut in both if size > 1]


class GridSampleDgridLayer(Layer[GridSampleDgridOp]):
    """The slope of x along each axis, times dy, summed over channels."""

    op = GridSampleDgridOp

    def evaluate(self, op: GridSampleDgridOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, grid = arrays
        dgrid = np.zeros_like(grid)
        last = np.moveaxis(dy, 1, -1)
        for place, taps in _reads(_axes(op, grid, x.shape[2:]), len(x)):
            value = (x[place] * last).sum(axis=-1)
            for axis, own in enumerate(taps):
                others = prod((tap.weight for number, tap in enumerate(taps) if number != axis), start=own.slope)
                dgrid[..., -1 - axis] += value * others.astype(grid.dtype)
        return (dgrid,)

    def work(self, op: GridSampleDgridOp) -> Work:
        axes = shape_of(op.grid)[-1]
        return Work(vector_ops=(axes + 1) * _weighed(op, op.dy) + _weights(op, op.grid))

    def cuts(self, op: GridSampleDgridOp) -> Sequence[Cut]:
        batch, *sizes, _ = shape_of(op.dgrid)
        found = [(batch, Cut((0, 0, 0), (0,)))]
        found += [(size, Cut((axis + 2, None, axis + 1), (axis + 1,))) for axis, size in enumerate(sizes)]
        return [cut for size, cut in found if size > 1]


def grid_sample(
    b: GraphBuilder,
    x: Value,
    grid: Value,
    mode: str = "bilinear",
    padding: str = "zeros",
    align_corners: bool = False,
) -> SSAValue:
    """
    x [batch, channels, height, width] at the places `grid` [batch, rows, columns, 2]: [batch, channels, rows, columns].

    A place is [column, row] from -1 to 1, the borders of x or, with `align_corners`, the middles of its outer pixels.
    `mode` is "bilinear", "nearest" or "bicubic"; `padding` says what lies beyond: "zeros", the "border", or a
    "reflection" of x. x may have a third axis, depth, before the others: places are then [column, row, depth].
    """
    check_word("mode", mode, MODES)
    check_word("padding", padding, PADDINGS)
    shape, places = shape_of(x), shape_of(grid)
    if len(shape) not in (4, 5):
        raise ArgumentError("x", f"found a tensor of rank {len(shape)}, expected [batch, channels, height, width]")
    if mode == "bicubic" and len(shape) == 5:
        raise ArgumentError("mode", "found 'bicubic', expected 'bilinear' or 'nearest' for an x of rank 5")
    if len(places) != len(shape) or places[0] != shape[0] or places[-1] != len(shape) - 2:
        wanted = ", ".join(["rows", "columns"] if len(shape) == 4 else ["depth", "rows", "columns"])
        found = f"found the shape {list(places)}, expected [{shape[0]}, {wanted}, {len(shape) - 2}]"
        raise ArgumentError("grid", found)
    return b.emit(GridSampleOp(x, grid, mode=mode, padding=padding, corners=align_corners)).out


LAYERS = (GridSampleLayer(), GridSampleDxLayer(), GridSampleDgridLayer())
FUNCTIONS = (grid_sample,)
