"""
Complex numbers as pairs of real tensors: rotary positions are made with them.

What moves elements moves those of both parts; sums and products are written out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.values import Complex

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
Factor = Complex | Tensor | int | float

_PARTWISE = frozenset(
    "view reshape _unsafe_view view_as flatten unflatten squeeze unsqueeze permute transpose t slice select narrow "
    "expand expand_as clone contiguous detach alias lift_fresh_copy index index_select repeat movedim neg".split()
)
"""The operators that do the same to both parts."""


@operator("aten.view_as_complex")
def view_as_complex(c: Context, x: Tensor) -> Complex:
    names = [f"{c.layer}.real", f"{c.layer}.imag"]
    real, imaginary = c.script.several(names, "unbind", c.variable(x), len(c.shape(x)) - 1)
    return Complex(real, imaginary)


@operator("aten.view_as_real")
def view_as_real(c: Context, x: Complex) -> Call:
    return c.call("stack", [x.real, x.imaginary], len(c.shape(x.real)))


@operator("aten.complex")
def complex_(c: Context, real: Tensor, imag: Tensor) -> Complex:
    return Complex(real, imag)


@operator("aten.polar")
def polar(c: Context, abs: Tensor, angle: Tensor) -> Complex:
    return Complex(*(_product(c, abs, c.let(function, angle)) for function in ("cos", "sin")))


@operator("aten.real")
def real(c: Context, x: Complex | Tensor) -> Tensor:
    return x.real if isinstance(x, Complex) else x


@operator("aten.imag")
def imag(c: Context, x: Complex) -> Tensor:
    return x.imaginary


@operator("aten._conj", "aten.conj", "aten.conj_physical")
def conj(c: Context, x: Complex | Tensor) -> Complex | Tensor:
    return Complex(x.real, c.let("neg", x.imaginary)) if isinstance(x, Complex) else x


@operator("aten.resolve_conj", "aten.resolve_neg")
def resolve_conj(c: Context, x: Complex | Tensor) -> Complex | Tensor:
    return x


def _times(c: Context, x: Factor, other: Factor) -> Complex:
    if not isinstance(x, Complex):
        x, other = other, x
    assert isinstance(x, Complex)
    if not isinstance(other, Complex):
        return Complex(_product(c, x.real, other), _product(c, x.imaginary, other))
    real = c.let("sub", _product(c, x.real, other.real), _product(c, x.imaginary, other.imaginary))
    imaginary = c.let("add", _product(c, x.real, other.imaginary), _product(c, x.imaginary, other.real))
    return Complex(real, imaginary)


def _product(c: Context, x: Tensor, y: Tensor | float) -> Tensor:
    return c.let("mul", x, y)


def _sum(c: Context, x: Factor, other: Factor, alpha: float = 1, *, function: str = "add") -> Complex:
    if not isinstance(x, Complex) or not isinstance(other, Complex) or alpha != 1:
        raise Refused("found a sum of a complex and a real number, which is not read")
    return Complex(c.let(function, x.real, other.real), c.let(function, x.imaginary, other.imaginary))


def _difference(c: Context, x: Factor, other: Factor, alpha: float = 1) -> Complex:
    return _sum(c, x, other, alpha, function="sub")


_OTHERS: Mapping[str, Meaning] = {
    "mul": _times,
    "add": _sum,
    "sub": _difference,
}


def of_complex(operator: str, meaning: Meaning) -> Meaning:
    """The meaning of an operator for complex operands. Raises `Refused` where it has none."""
    kind = operator.split(".")[1] if "." in operator else operator
    if operator in MEANINGS or operator.rpartition(".")[0] in MEANINGS:
        return meaning
    if kind in _OTHERS:
        return _OTHERS[kind]
    if kind not in _PARTWISE:
        raise Refused("found complex numbers, which it has no meaning for here", "write real and imaginary parts")

    def both(c: Context, **named: object) -> Complex:
        parts = [
            _real(c.of_parts(suffix), meaning, {name: _part(value, suffix) for name, value in named.items()})
            for suffix in ("real", "imag")
        ]
        return Complex(*parts)

    return both


def _part(value: object, suffix: str) -> object:
    if not isinstance(value, Complex):
        return value
    return value.real if suffix == "real" else value.imaginary


def _real(c: Context, meaning: Meaning, named: Mapping[str, object]) -> Tensor:
    from npuc.frontends.torch.arguments import bound

    found = meaning(c, **bound(meaning, named))
    return c.script.assign(c.layer, found) if isinstance(found, Call) else cast(Tensor, found)
