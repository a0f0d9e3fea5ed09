"""The contraction that is mapped, as plain data: dimensions, and for each tensor its axes over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

from npuc.dialects.mapping import Problem, Role
from npuc.dialects.mapping.problem import SLIDES
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from npuc.dialects.products import Passes

Floats = NDArray[np.float64]
ROLES: tuple[Role, ...] = ("I", "W", "O")


@dataclass(frozen=True)
class TensorAxis:
    """One index of a tensor: a dimension times a coefficient, or the sum of two such terms."""

    terms: tuple[tuple[str, int], ...]

    def extent(self, sizes: list[Floats]) -> Floats:
        """
        The number of different values that the index takes where each of its dimensions runs over so many.

        Exactly: of s y + d r with coprime s and d, two pairs are equal if they differ by a multiple of (d, -s).
        """
        if not self.terms:
            return np.ones(())
        if len(self.terms) == 1:
            return sizes[0]
        (_, s), (_, d) = self.terms
        common = gcd(s, d)
        twice = np.maximum(sizes[0] - d // common, 0.0) * np.maximum(sizes[1] - s // common, 0.0)
        return sizes[0] * sizes[1] - twice


@dataclass(frozen=True)
class Contraction:
    """`O += I * W` over named dimensions; a product takes so many `passes` through a multiplier, a cycle each."""

    dims: tuple[tuple[str, int], ...]
    tensors: tuple[tuple[TensorAxis, ...], ...]
    passes: Passes = 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The dimensions, in order."""
        return tuple(name for name, _ in self.dims)

    def axes(self, role: Role) -> tuple[TensorAxis, ...]:
        """The axes of a tensor."""
        return self.tensors[ROLES.index(role)]

    def coupled(self, role: Role) -> tuple[str, ...]:
        """The dimensions that index a tensor."""
        return tuple(d for axis in self.axes(role) for d, _ in axis.terms)

    @cached_property
    def adding(self) -> tuple[str, ...]:
        """The dimensions along which products are added up: several of their values reach the same output."""
        once = {axis.terms[0][0] for axis in self.axes("O") if len(axis.terms) == 1}
        return tuple(d for d in self.names if d not in once)

    def renamed(self, names: dict[str, str]) -> Contraction:
        """The same contraction with other names of its dimensions."""
        axes = tuple(
            tuple(TensorAxis(tuple((names[d], c) for d, c in axis.terms)) for axis in tensor) for tensor in self.tensors
        )
        return Contraction(tuple((names[d], size) for d, size in self.dims), axes, self.passes)

    @property
    def mac_passes(self) -> Passes:
        """The passes of all multiply-accumulates through multipliers."""
        return self.passes * self.macs

    def cycles(self, products: Floats, lanes: Floats | float) -> Floats:
        """The cycles in which so many lanes do products one after another: their passes, rounded up."""
        return np.ceil(self.passes.numerator * products / (self.passes.denominator * lanes))

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        product = 1
        for _, size in self.dims:
            product *= size
        return product


def contraction_of(problem: Problem) -> Contraction:
    """The contraction of a layer in MAESTRO's terms; its Y and X are the output's."""
    roles: dict[Role, tuple[TensorAxis, ...]] = {}
    for role in ROLES:
        # MAESTRO's grouped convolution has an output for each input channel, which are one sum.
        dims = [d for d in problem.coupled(role) if not (problem.kind == "NGCONV" and role == "O" and d == "C")]
        roles[role] = tuple(_axis(problem, role, d) for d in dims)
    sizes = tuple((d, problem.outputs(d)) for d in problem.named)
    return Contraction(sizes, (roles["I"], roles["W"], roles["O"]))


def _axis(problem: Problem, role: Role, dim: str) -> TensorAxis:
    if role == "I" and problem.slides and dim in SLIDES:
        return TensorAxis(((dim, problem.stride[dim]), (SLIDES[dim], 1)))
    return TensorAxis(((dim, 1),))


@lru_cache(maxsize=4096)
def contraction_of_statement(nest: Nest, statement: Statement) -> Contraction:
    """A statement of a nest as the contraction that is mapped: padding counts as data, as it does in MACs."""
    tensors = (nest.tensors[name] for name in (statement.lhs, statement.rhs, statement.out))
    found = tuple(_axes(nest, tensor) for tensor in tensors)
    assert len(found) == len(ROLES)
    return Contraction(nest.dims, found, statement.passes)


def _axes(nest: Nest, tensor: Tensor) -> tuple[TensorAxis, ...]:
    return tuple(part for axis in tensor.axes for part in _parts(nest, axis))


def _parts(nest: Nest, axis: Axis) -> list[TensorAxis]:
    """
    An index as indices of their own where its terms do not overlap: of `g * 3 + i` with three i, g and i.

    What is left of several terms that overlap is one index.
    """
    parts: list[list[tuple[str, int]]] = []
    reach = 0
    for dim, coefficient in sorted(axis.terms, key=lambda term: term[1]):
        if parts and coefficient <= reach:
            parts[-1].append((dim, coefficient))
        else:
            parts.append([(dim, coefficient)])
        reach += coefficient * (nest.sizes[dim] - 1)
    return [TensorAxis(tuple(sorted(part, key=lambda term: axis.terms.index(term)))) for part in parts]
