"""The content of a layer table, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST = 2**31 - 1
"""The largest number that a table may hold."""


@dataclass(frozen=True)
class Product:
    """Y[m, n] = X[m, k] W[k, n]."""

    m: int
    n: int
    k: int

    @property
    def elements(self) -> tuple[int, int, int]:
        """Elements of input, weight and output."""
        return self.m * self.k, self.k * self.n, self.m * self.n


@dataclass(frozen=True)
class Convolution:
    """
    A convolution of one image as SCALE-Sim describes it; the sizes of the image include padding.

    The number of positions is rounded up: a last window that hangs over the edge reads nothing there.
    """

    height: int
    width: int
    filter_height: int
    filter_width: int
    channels: int
    filters: int
    stride_height: int
    stride_width: int

    @property
    def out_height(self) -> int:
        """Positions of the window along the height."""
        return -(-(self.height - self.filter_height) // self.stride_height) + 1

    @property
    def out_width(self) -> int:
        """Positions of the window along the width."""
        return -(-(self.width - self.filter_width) // self.stride_width) + 1

    @property
    def elements(self) -> tuple[int, int, int]:
        """Elements of input, weight and output."""
        return (
            self.height * self.width * self.channels,
            self.filter_height * self.filter_width * self.channels * self.filters,
            self.out_height * self.out_width * self.filters,
        )

    @property
    def overhang(self) -> tuple[int, int]:
        """Rows and columns that the last windows reach beyond the image."""
        return (
            (self.out_height - 1) * self.stride_height + self.filter_height - self.height,
            (self.out_width - 1) * self.stride_width + self.filter_width - self.width,
        )


@dataclass(frozen=True)
class TableLayer:
    """
    A row of a table: the computation, its repetitions, and the line of the file.

    `has_dx` says whether the gradient of the input is part of a training step; `sparsity` (N, M) that of M weights
    along K the first N are kept.
    """

    name: str
    line: int
    work: Product | Convolution
    count: int = 1
    has_dx: bool = True
    sparsity: tuple[int, int] | None = None


@dataclass(frozen=True)
class Table:
    """A table: its layers in order, whether it is one of training (it says `has_dX`), and remarks for the user."""

    layers: tuple[TableLayer, ...]
    training: bool
    warnings: tuple[str, ...] = ()
