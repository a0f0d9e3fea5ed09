"""
Formats of sparse tensors: what is stored beside the values that are kept, and how many bits an element takes by that.

All bits are averages an element of the *dense shape*: the values kept, d * v of them where d is the density and v the
bits of a value, and the metadata. Sources: bitmap, CSR, CSC and run length as Eyeriss v2 (Chen et al., JETCAS 2019) and
the survey of Dave et al., "Hardware acceleration of sparse and irregular tensor computations of ML models", Proc. IEEE
2021, have them; N:M of Mishra et al., "Accelerating sparse deep neural networks", 2021 (arXiv 2104.08378); blocks are
the compressed sparse blocks of Yang et al., "Procrustes", MICRO 2020 (arXiv 2009.10976): a mask bit a weight and a
pointer a kernel. Our choice: pointers of 32 bits, indices of ceil(log2 length) bits.
"""

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, prod
from typing import TypeAlias

from npuc.compiler.core.frozen import frozen

POINTER_BITS = 32
"""The bits of a pointer: to a row, a column or a block."""
RUN = (1, 12)
LENGTH = (1, 1 << 44)
GROUP = (2, 64)
AXIS = (0, 7)
BLOCK = (1, 4096)
"""The least and the greatest of each parameter of a format."""
PLACES = 1 << 20
"""Entries a run-length code has on average are rounded up to a multiple of one part in so many."""
INDICES = "indices"
"""The word of an N:M format whose kept values have an index each in place of a code of the whole group."""


def _check(what: str, value: int, limits: tuple[int, int]) -> None:
    least, most = limits
    if not least <= value <= most:
        raise ValueError(f"{what} is {least} to {most}, got {value}")


def index_bits(length: int) -> int:
    """The bits of an index among `length` places: ceil(log2 length)."""
    return (length - 1).bit_length()


@frozen
class Bitmap:
    """A mask bit for each element, and the values kept in their order."""

    any_order = False

    def __str__(self) -> str:
        return "bitmap"

    def bits(self, value_bits: Fraction | int, density: Fraction) -> Fraction:
        """Average bits an element: d * v + 1."""
        return density * value_bits + 1


@frozen
class CompressedRows:
    """
    CSR: with each value kept its index in its row of `length` elements, and a pointer a row.

    A tensor is the matrix of its first axis by all others. Rows are read one after another; columns only by a search
    in every row.
    """

    length: int
    any_order = False

    def __post_init__(self) -> None:
        """Refuse lengths out of range with a ValueError."""
        _check(f"the length of {self}, in elements,", self.length, LENGTH)

    def __str__(self) -> str:
        return f"csr<{self.length}>"

    def bits(self, value_bits: Fraction | int, density: Fraction) -> Fraction:
        """Average bits an element: d * (v + index) + pointer / length."""
        return density * (value_bits + index_bits(self.length)) + Fraction(POINTER_BITS, self.length)


@frozen
class CompressedColumns(CompressedRows):
    """CSC: as CSR along the first axis, whose length is `length`: an index a value kept and a pointer a column."""

    def __str__(self) -> str:
        return f"csc<{self.length}>"


@frozen
class RunLength:
    """
    With each value kept the number of zeros before it, in `run` bits.

    A run of 2^run zeros or more takes filler entries: 2^run - 1 zeros and a value of zero each.
    """

    run: int
    any_order = False

    def __post_init__(self) -> None:
        """Refuse runs out of range with a ValueError."""
        _check(f"the run of {self}, in bits,", self.run, RUN)

    def __str__(self) -> str:
        return f"rle<{self.run}>"

    def bits(self, value_bits: Fraction | int, density: Fraction) -> Fraction:
        """Average bits an element where each is kept by chance, independently: (v + run) an entry, fillers included."""
        return self.entries(density) * (value_bits + self.run)

    def entries(self, density: Fraction) -> Fraction:
        """
        Entries an element, rounded up to a multiple of 1 / `PLACES`: d / (1 - (1 - d)^(2^run)).

        A run before a value is at least j long with chance (1 - d)^j, and takes floor(run / c) fillers, c = 2^run:
        their expectation is the sum over i >= 1 of (1 - d)^(i c), that is q / (1 - q) with q = (1 - d)^c.
        """
        return _entries(density, self.run)


@lru_cache(maxsize=1024)
def _entries(density: Fraction, run: int) -> Fraction:
    return Fraction(ceil(density / (1 - (1 - density) ** (1 << run)) * PLACES), PLACES)


@frozen
class Structured:
    """
    N:M: of each `of` elements that follow each other along an axis `kept` are stored, and which ones.

    `axes` has one axis, along which the groups are stored, or more where the same mask is N:M along each of them
    (a transposable mask). Which ones is a number below C(M, N) a group, or with `indices` log2 M bits a value kept.
    """

    kept: int
    of: int
    axes: tuple[int, ...] = (0,)
    indices: bool = False

    def __post_init__(self) -> None:
        """Refuse counts and axes out of range with a ValueError."""
        _check(f"the group of {self}, in elements,", self.of, GROUP)
        _check(f"what {self} keeps of a group", self.kept, (1, self.of))
        if not self.axes or len(set(self.axes)) != len(self.axes):
            raise ValueError(f"axes of {self} are {list(self.axes)}, expected one or more, each once")
        for axis in self.axes:
            _check(f"an axis of {self}", axis, AXIS)

    def __str__(self) -> str:
        words = [str(self.kept), str(self.of), *map(str, self.axes), *([INDICES] if self.indices else [])]
        return f"nm<{', '.join(words)}>"

    @property
    def density(self) -> Fraction:
        """N / M."""
        return Fraction(self.kept, self.of)

    @property
    def any_order(self) -> bool:
        """Whether the groups are found along two axes: the mask is transposable."""
        return len(self.axes) > 1

    def bits(self, value_bits: Fraction | int, density: Fraction) -> Fraction:
        """Average bits an element: N/M * v, and ceil(log2 C(M, N)) / M, or N/M * ceil(log2 M) with indices."""
        if self.indices:
            return density * (value_bits + index_bits(self.of))
        return density * value_bits + Fraction(index_bits(comb(self.of, self.kept)), self.of)


@frozen
class Blocks:
    """
    Compressed sparse blocks: blocks of these sizes along the last axes, with a mask bit an element and a pointer each.

    A block is found by its pointer in any order, and its mask says where its values are, however it is turned: the
    kernels of a convolution are read forward, for dX (turned, and transposed) and for dW as they are stored.
    """

    sizes: tuple[int, ...]
    any_order = True

    def __post_init__(self) -> None:
        """Refuse sizes out of range with a ValueError."""
        if not self.sizes:
            raise ValueError("blocks have one size or more, got none")
        for size in (*self.sizes, self.elements):
            _check(f"a size of {self}, in elements,", size, BLOCK)

    def __str__(self) -> str:
        return f"blocks<{', '.join(map(str, self.sizes))}>"

    @property
    def elements(self) -> int:
        """The elements of a block."""
        return prod(self.sizes)

    def bits(self, value_bits: Fraction | int, density: Fraction) -> Fraction:
        """Average bits an element: d * v + 1 + pointer / elements of a block."""
        return density * value_bits + 1 + Fraction(POINTER_BITS, self.elements)


SparseFormat: TypeAlias = Bitmap | CompressedRows | RunLength | Structured | Blocks
"""
`any_order` of each says whether it is read along another axis without rewriting; `products_without_rewriting` what
that means for the products of a training step.
"""
NAMES = ("bitmap", "csr<length>", "csc<length>", "rle<bits>", "nm<n, m, axis>", "blocks<sizes>")
"""The formats as they are written in types."""
_READS = {"weights": ("forward", "dx"), "activations": ("forward", "dw"), "gradients": ("dx", "dw")}


def matrix_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """A shape as the matrix of rows and columns that CSR and CSC store: the first axis by all others."""
    return (1, prod(shape)) if len(shape) < 2 else (shape[0], prod(shape[1:]))


def format_problem(format: SparseFormat, shape: tuple[int, ...]) -> str | None:
    """Why a tensor of a shape is not stored in a format; None if it may be."""
    rows, columns = matrix_shape(shape)
    if isinstance(format, CompressedRows):
        length = rows if isinstance(format, CompressedColumns) else columns
        if format.length != length:
            return f"{format} has a length of {format.length}, expected {length}, as the tensor is {rows} by {columns}"
    if isinstance(format, Structured) and max(format.axes) >= len(shape):
        return f"{format} has groups along axis {max(format.axes)} of a tensor of {len(shape)} axes"
    if isinstance(format, Blocks) and len(format.sizes) > len(shape):
        return f"{format} has blocks of {len(format.sizes)} axes, the tensor has {len(shape)}"
    return None


def most_kept(format: SparseFormat, density: Fraction, shape: tuple[int, ...]) -> int:
    """
    The most values that a tensor of a shape may have which a type of this density states, rounded up to whole ones.

    N:M keeps N of the last group of an axis, too, where that is short; blocks are kept whole.
    """
    size = prod(shape)
    if isinstance(format, Structured):
        return min(_kept_along(format, size, shape[axis]) for axis in format.axes)
    if isinstance(format, Blocks):
        lead = len(shape) - len(format.sizes)
        count = prod(shape[:lead]) * prod(-(-n // s) for n, s in zip(shape[lead:], format.sizes, strict=True))
        return min(size, max(ceil(density * size), ceil(density * count) * format.elements))
    return ceil(density * size)


def _kept_along(format: Structured, size: int, length: int) -> int:
    full, rest = divmod(length, format.of)
    return size // length * (full * format.kept + min(rest, format.kept))


def products_without_rewriting(format: SparseFormat, kind: str) -> tuple[str, ...]:
    """
    Which products of a training step read an operand of a kind (weights, activations, gradients) as it is stored.

    Each kind is read by two products, which reduce over different axes of it: the first reads it in the order in which
    it is stored, the second along another axis, which takes a format that is read in any order. The third product of
    weights, dW, reads none of them: what it makes is stored at their places.
    """
    first, second = _READS[kind]
    return (first, second) if format.any_order else (first,)


@lru_cache(maxsize=1024)
def parse_sparse_format(text: str) -> SparseFormat:
    """
    The format that a text names, as in `csr<512>`, `nm<2, 4, 0>`, `blocks<3, 3>`. Spaces count nothing.

    A ValueError says what is wrong with another text.
    """
    found = re.fullmatch(r"([a-z]+)(?:<([^<>]*)>)?", "".join(text.split()))
    if found is None:
        raise ValueError(f"unknown format '{text}'; known: {', '.join(NAMES)}")
    name, words = found[1], found[2].split(",") if found[2] else []
    indices = name == "nm" and words[-1:] == [INDICES]
    numbers = words[:-1] if indices else words
    if not all(re.fullmatch("[0-9]{1,18}", word) for word in numbers):
        raise ValueError(f"'{text}' has parameters that are no whole numbers; known: {', '.join(NAMES)}")
    return _made(text, name, tuple(map(int, numbers)), indices)


def _made(text: str, name: str, values: tuple[int, ...], indices: bool) -> SparseFormat:
    match name, values:
        case "bitmap", ():
            return Bitmap()
        case "csr", (length,):
            return CompressedRows(length)
        case "csc", (length,):
            return CompressedColumns(length)
        case "rle", (run,):
            return RunLength(run)
        case "nm", (kept, of, axis, *more):
            return Structured(kept, of, (axis, *more), indices)
        case "blocks", (first, *rest):
            return Blocks((first, *rest))
        case (("bitmap" | "csr" | "csc" | "rle" | "nm" | "blocks"), _):
            written = next(one for one in NAMES if one.startswith(name))
            raise ValueError(f"'{text}' has {len(values)} parameters; it is written {written}")
        case _:
            raise ValueError(f"unknown format '{text}'; known: {', '.join(NAMES)}")
