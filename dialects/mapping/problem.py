"""
The layer that a mapping is for, in the terms of data-centric directives: a kind, dimension sizes, strides.

    CONV  K 64  C 3  R 7  S 7  Y 230  X 230  stride Y 2 X 2

K output channels, C input channels, R and S filter rows and columns, Y and X rows and columns of the *input*, Y' and X'
of the output, N batch, G groups; a GEMM of M x K times K x N has M, N, K. Sizes are in elements. Terms and couplings
are MAESTRO's (github.com/maestro-project/maestro).
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal, get_args

from npuc.compiler.core.frozen import frozen

KindName = Literal["CONV", "DSCONV", "NGCONV", "TRCONV", "GEMM"]
KINDS: tuple[KindName, ...] = get_args(KindName)
Role = Literal["I", "W", "O"]
"""A tensor: input, weights, output."""

SLIDES = {"Y": "R", "X": "S"}
"""Which filter dimension each input dimension slides over."""
OUTPUT = {"Y": "Y'", "X": "X'"}
"""The output's name of each input dimension."""

_COUPLED: dict[KindName, dict[Role, str]] = {
    "CONV": {"I": "NCYX", "W": "KCRS", "O": "NKYX"},
    "TRCONV": {"I": "NCYX", "W": "KCRS", "O": "NKYX"},
    "DSCONV": {"I": "NCYX", "W": "CRS", "O": "NCYX"},
    "NGCONV": {"I": "NGCYX", "W": "GKCRS", "O": "NGKCYX"},
    "GEMM": {"I": "MK", "W": "KN", "O": "MN"},
}


@frozen
class Problem:
    """
    A layer: its kind, the sizes of its dimensions, and its strides (1 where none is given).

    `sizes` are input-centric: Y and X, not Y' and X'. A batch of one may be left out.
    """

    kind: KindName
    dims: tuple[tuple[str, int], ...]
    strides: tuple[tuple[str, int], ...] = ()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The size of each dimension by name."""
        return dict(self.dims)

    @cached_property
    def stride(self) -> dict[str, int]:
        """The strides of Y and X."""
        return {"Y": 1, "X": 1} | dict(self.strides)

    @property
    def slides(self) -> bool:
        """Whether windows slide over the input: all kinds but GEMM."""
        return self.kind != "GEMM"

    def coupled(self, role: Role) -> tuple[str, ...]:
        """The dimensions that index a tensor, Y and X standing for Y' and X' of the output."""
        return tuple(d for d in _COUPLED[self.kind][role] if d in self.sizes)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The dimensions of input and weights, sorted: all that a mapping speaks of."""
        return tuple(sorted({*self.coupled("I"), *self.coupled("W")}))

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the layer, exactly: every output that its strides reach, every tap."""
        product = 1
        for dim in self.named:
            product *= self.outputs(dim)
        return product

    def outputs(self, dim: str) -> int:
        """The number of output positions along Y or X; the size of any other dimension."""
        if dim not in SLIDES or not self.slides:
            return self.sizes[dim]
        return (self.sizes[dim] - self.sizes[SLIDES[dim]]) // self.stride[dim] + 1

    def elements(self, role: Role, given: Mapping[str, int] | None = None) -> int:
        """
        The elements of a tensor, whole or of the part that has these sizes.

        Those of the output are as if strides were 1, as MAESTRO has it.
        """
        sizes = self.sizes if given is None else given
        product = 1
        for dim in self.coupled(role):
            slides = role == "O" and self.slides and dim in SLIDES
            product *= sizes[dim] - sizes[SLIDES[dim]] + 1 if slides else sizes[dim]
        return product

    @staticmethod
    def possible(kind: KindName) -> tuple[str, ...]:
        """The dimensions that a layer of a kind may have, sorted; K of a depthwise one means nothing and is 1."""
        known = {*_COUPLED[kind]["I"], *_COUPLED[kind]["W"], "N"}
        return tuple(sorted(known | ({"K", "G"} if kind != "GEMM" else set())))

    @cached_property
    def mappable(self) -> tuple[str, ...]:
        """The names that a map may have: dimensions, and those of the output where windows slide."""
        return (*self.sizes, *(OUTPUT[d] for d in self.sizes if d in OUTPUT and self.slides))

    def problems(self) -> Iterator[str]:
        """What is wrong with the layer, a sentence each; nothing for a right one."""
        for name, numbers in (("size", self.dims), ("stride", self.strides)):
            for dim, number in numbers:
                if number < 1:
                    yield f"{name} of {dim} is {number}, expected at least 1"
        if self.strides and not self.slides:
            yield f"a {self.kind} has no strides"
        missing = [dim for dim in self.needed() if dim not in self.sizes]
        if missing:
            yield f"a {self.kind} needs a size of {', '.join(missing)}"
            return
        for dim, window in SLIDES.items() if self.slides else ():
            if self.sizes[dim] < self.sizes[window]:
                yield f"{dim} is {self.sizes[dim]}, less than {window}, which is {self.sizes[window]}"
        for dim, size in self.dims:
            if dim not in self.named and size > 1:
                yield f"{dim} is {size}, a {self.kind} has no {dim}: expected 1"

    def needed(self) -> tuple[str, ...]:
        """The dimensions that a layer of this kind must have."""
        return tuple(sorted({*_COUPLED[self.kind]["I"], *_COUPLED[self.kind]["W"]} - {"N", "G"} | _own(self.kind)))


def _own(kind: KindName) -> set[str]:
    """Dimensions that only some kinds need."""
    return {"N"} if kind == "GEMM" else set()
