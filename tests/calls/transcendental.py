"""Random calls of trigonometric, hyperbolic, logarithmic and exponential functions."""

from tests.calls import Draw
from tests.calls.draw import unary

_ANY = ("atan", "sinh", "cosh", "asinh", "expm1")
_BELOW_ONE = ("asin", "acos", "atanh", "log1p")
_POSITIVE = ("log2", "log10")

CALLS: dict[str, Draw] = {
    "tan": unary("tan", range=(-1.4, 1.4)),
    "acosh": unary("acosh", range=(1.2, 3.0)),
    **{name: unary(name, range=(-3.0, 3.0)) for name in _ANY},
    **{name: unary(name, range=(-0.9, 0.9)) for name in _BELOW_ONE},
    **{name: unary(name, range=(0.3, 3.0)) for name in _POSITIVE},
}
