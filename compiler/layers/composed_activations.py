"""Activation functions made of other layers, with PyTorch's gradients at their kinks."""

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.activation import clip
from npuc.compiler.layers.arguments import ArgumentError, Value, check_not_negative, normal_axis
from npuc.compiler.layers.arithmetic import add, div, mul, negated, sub
from npuc.compiler.layers.compare import greater, where
from npuc.compiler.layers.join import split
from npuc.compiler.layers.pointwise import abs
from npuc.compiler.layers.smooth import elu, sigmoid, softplus, tanh
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.activation import ClipOp

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
"""Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017."""


def hardtanh(b: GraphBuilder, x: Value, low: float = -1.0, high: float = 1.0) -> SSAValue:
    """x limited to [low, high]; at the bounds the gradient is 0, other than that of `clip`."""
    if not low < high:
        raise ArgumentError("low", f"found {low}, expected less than high, which is {high}")
    return b.emit(ClipOp(x, low=float(low), high=float(high))).out


def selu(b: GraphBuilder, x: Value) -> SSAValue:
    """1.0507 times x where x > 0, else times 1.6733 (exp(x) - 1)."""
    return mul(b, elu(b, x, SELU_ALPHA), SELU_SCALE)


def celu(b: GraphBuilder, x: Value, alpha: float = 1.0) -> SSAValue:
    """x where x > 0, else alpha (exp(x / alpha) - 1)."""
    if not 0 < alpha:
        raise ArgumentError("alpha", f"found {alpha}, expected a positive number")
    return elu(b, x) if alpha == 1 else mul(b, elu(b, mul(b, x, 1 / alpha)), alpha)


def softsign(b: GraphBuilder, x: Value) -> SSAValue:
    """x / (1 + |x|)."""
    return div(b, x, add(b, abs(b, x), 1))


def log_sigmoid(b: GraphBuilder, x: Value) -> SSAValue:
    """The logarithm of sigmoid(x), computed without losing small probabilities."""
    return negated(softplus(b, negated(x, b.emit)), b.emit)


def tanhshrink(b: GraphBuilder, x: Value) -> SSAValue:
    """x - tanh(x)."""
    return sub(b, x, tanh(b, x))


def hardshrink(b: GraphBuilder, x: Value, lambd: float = 0.5) -> SSAValue:
    """x where |x| > lambd, else 0."""
    check_not_negative("lambd", lambd)
    return where(b, greater(b, abs(b, x), lambd), x, 0)


def softshrink(b: GraphBuilder, x: Value, lambd: float = 0.5) -> SSAValue:
    """x brought nearer to 0 by lambd; 0 where |x| <= lambd."""
    check_not_negative("lambd", lambd)
    return sub(b, x, clip(b, x, -lambd, lambd))


def threshold(b: GraphBuilder, x: Value, threshold: float, value: float) -> SSAValue:
    """x where x > threshold, else value."""
    return where(b, greater(b, x, threshold), x, value)


def glu(b: GraphBuilder, x: Value, axis: int = -1) -> SSAValue:
    """The first half of x along an axis times sigmoid of the second half."""
    shape = shape_of(x)
    place = normal_axis("axis", axis, len(shape))
    if shape[place] % 2:
        raise ArgumentError("axis", f"found {axis}, whose size is {shape[place]}, expected an even size")
    values, gates = split(b, x, shape[place] // 2, place)
    return mul(b, values, sigmoid(b, gates))


LAYERS = ()
FUNCTIONS = (
    hardtanh,
    selu,
    celu,
    softsign,
    log_sigmoid,
    tanhshrink,
    hardshrink,
    softshrink,
    threshold,
    glu,
)
