"""SCALE-Sim's input: a layer (a product, or a convolution that becomes one) and a configuration."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

from npuc.compiler.analysis.machine.array import Dataflow

Representation = Literal["ellpack_block", "csr", "csc"]


@dataclass(frozen=True)
class Image:
    """
    The input of a convolution: height x width pixels of `channels` words, and the window that slides over it.

    There is no padding: sizes are those of the padded input. Where the window's steps do not end at the edge there is
    one output row (column) more than a convolution has, whose windows hang over: SCALE-Sim rounds up.
    `images` of them follow each other in memory; SCALE-Sim itself has one.
    """

    height: int
    width: int
    filter_height: int
    filter_width: int
    channels: int
    stride_h: int = 1
    stride_w: int = 1
    images: int = 1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"{name} is {value}, but must be at least 1")
        if self.filter_height > self.height or self.filter_width > self.width:
            window, image = f"{self.filter_height}x{self.filter_width}", f"{self.height}x{self.width}"
            raise ValueError(f"the filter ({window}) is larger than the image ({image})")

    @property
    def output_height(self) -> int:
        """Positions of the window along the height."""
        return -(-(self.height - self.filter_height) // self.stride_h) + 1

    @property
    def output_width(self) -> int:
        """Positions of the window along the width."""
        return -(-(self.width - self.filter_width) // self.stride_w) + 1

    @property
    def reach_height(self) -> int:
        """Height up to the end of the last window: at least `height`."""
        return (self.output_height - 1) * self.stride_h + self.filter_height

    @property
    def reach_width(self) -> int:
        """Width up to the end of the last window: at least `width`."""
        return (self.output_width - 1) * self.stride_w + self.filter_width

    @property
    def overhangs(self) -> bool:
        """Whether some window hangs over the edge."""
        return self.reach_height > self.height or self.reach_width > self.width

    @property
    def overlaps(self) -> bool:
        """Whether some pixel lies in two windows."""
        along_h = self.stride_h < self.filter_height and self.output_height > 1
        return along_h or (self.stride_w < self.filter_width and self.output_width > 1)


@dataclass(frozen=True)
class Sparsity:
    """N:M sparsity of the filter: of each `block` rows the first `kept` are kept, in all columns."""

    kept: int
    block: int

    def __post_init__(self) -> None:
        if not 1 <= self.kept <= self.block:
            raise ValueError(f"sparsity {self.kept}:{self.block} is not N:M with 1 <= N <= M")

    def rows(self, k: int) -> int:
        """The number of rows kept of `k`."""
        return self.kept * (k // self.block) + min(self.kept, k % self.block)


@dataclass(frozen=True)
class Layer:
    """
    Y[M, N] = X[M, K] W[K, N]: X is SCALE-Sim's ifmap, W its filter, Y its ofmap. K is the dense one.

    With an image, X is its windows as a matrix: M = images x output positions, K = window x channels.
    """

    m: int
    n: int
    k: int
    image: Image | None = None
    sparsity: Sparsity | None = None

    def __post_init__(self) -> None:
        for name, value in (("M", self.m), ("N", self.n), ("K", self.k)):
            if value < 1:
                raise ValueError(f"{name} is {value}, but must be at least 1")

    @classmethod
    def convolution(cls, image: Image, filters: int, sparsity: Sparsity | None = None) -> Self:
        """A convolution as a product."""
        m = image.images * image.output_height * image.output_width
        k = image.filter_height * image.filter_width * image.channels
        return cls(m, filters, k, image, sparsity)

    @cached_property
    def rows(self) -> int:
        """The rows of the filter that are kept: they take the place of K everywhere but in `Overall Util`."""
        return self.k if self.sparsity is None else self.sparsity.rows(self.k)


@dataclass(frozen=True)
class Configuration:
    """
    The array, the three SRAM sizes in kB (of 1024 words of 1 byte), and the requested parts of the report.

    `memory` off leaves out the columns of the memory model. `representation` is the storage format of sparse filters.
    """

    rows: int
    cols: int
    dataflow: Dataflow
    ifmap_sram_kb: int = 64
    filter_sram_kb: int = 64
    ofmap_sram_kb: int = 64
    memory: bool = True
    representation: Representation = "ellpack_block"

    def __post_init__(self) -> None:
        for name in ("rows", "cols", "ifmap_sram_kb", "filter_sram_kb", "ofmap_sram_kb"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, but must be at least 1")
