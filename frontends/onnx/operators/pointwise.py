"""Arithmetic, comparison, choice and activations, element by element."""

from __future__ import annotations

from functools import partial

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.container.element_types import ELEMENT_TYPES
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.values import Constant
from npuc.frontends.script.weights import FLOATS

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)

_UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "BitwiseNot": "bitwise_not",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "HardSwish": "hard_swish",
    "IsNaN": "isnan",
    "Log": "log",
    "Mish": "mish",
    "Neg": "neg",
    "Not": "logical_not",
    "Relu": "relu",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Softplus": "softplus",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
_BINARY = {
    "Add": "add",
    "And": "logical_and",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Div": "div",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Mul": "mul",
    "Or": "logical_or",
    "Sub": "sub",
    "Xor": "logical_xor",
}
_TENSORS_ONLY = {"And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal"}


def _unary(function: str, c: OnnxContext) -> Result:
    return c.call(function, c.x())


def _binary(op: str, function: str, c: OnnxContext) -> Result:
    return c.call(function, *([c.x(0), c.x(1)] if op in _TENSORS_ONLY else c.operands()))


MEANINGS.update({op: partial(_unary, function) for op, function in _UNARY.items()})
MEANINGS.update({op: partial(_binary, op, function) for op, function in _BINARY.items()})


def _variadic(function: str, c: OnnxContext) -> Result:
    """A function of any number of tensors, two at a time."""
    total: Name | Call = c.x(0)
    for index in range(1, len(c.onnx.inputs)):
        total = c.call(function, c.held(total), c.x(index))
    return total


MEANINGS.update({op: partial(_variadic, name) for op, name in (("Max", "max"), ("Min", "min"), ("Sum", "add"))})


@operator("Mean")
def mean(c: OnnxContext) -> Result:
    return c.call("div", c.held(_held(c, _variadic("add", c))), len(c.onnx.inputs))


def _held(c: OnnxContext, value: Result) -> Name:
    assert isinstance(value, Name | Call)
    return c.held(value)


@operator("Mod")
def mod(c: OnnxContext) -> Result:
    return c.call("fmod" if c.onnx.int("fmod") else "remainder", *c.operands())


@operator("BitShift")
def bit_shift(c: OnnxContext) -> Result:
    return c.call("shift_left" if c.onnx.string("direction") == "LEFT" else "shift_right", c.x(0), c.x(1))


@operator("Pow")
def power(c: OnnxContext) -> Result:
    base, exponent = c.x(0), c.term(1, len(c.tensor(0).shape))
    element = c.element(base)
    if isinstance(exponent, Name):
        return c.call("pow", base, c.cast(exponent, element))
    if element not in FLOATS and isinstance(exponent, float):
        if not exponent.is_integer():
            raise c.error(f"raises integers to the power of {exponent}, which has no counterpart")
        exponent = int(exponent)
    return c.call("mul", base, base) if exponent == 2 else c.call("pow", base, exponent)


@operator("Reciprocal")
def reciprocal(c: OnnxContext) -> Result:
    return c.call("div", 1.0, c.x())


@operator("IsInf")
def is_inf(c: OnnxContext) -> Result:
    x = c.x()
    negative, positive = c.onnx.int("detect_negative", 1), c.onnx.int("detect_positive", 1)
    if negative and positive:
        return c.call("isinf", x)
    if not negative and not positive:
        raise c.error("looks for no infinity at all")
    side = c.let("greater" if positive else "less", x, 0.0)
    return c.call("logical_and", c.let("isinf", x), side)


@operator("Where")
def where(c: OnnxContext) -> Result:
    shapes = [c.tensor(index).shape for index in range(3)]
    x, y = c.term(1, max(len(shapes[0]), len(shapes[2]))), c.term(2, max(len(shapes[0]), len(shapes[1])))
    if not isinstance(x, Name) and not isinstance(y, Name):
        x = c.x(1)
    return c.call("where", c.x(0), x, y)


@operator("Cast", "CastLike")
def cast(c: OnnxContext) -> Result:
    if c.onnx.op == "CastLike":
        to = c.tensor(1).type
    else:
        code = c.onnx.int("to")
        if code not in ELEMENT_TYPES:
            raise c.error(f"found the element type {code}, expected 1 to {max(ELEMENT_TYPES)}")
        to = ELEMENT_TYPES[code]
    x, element = c.x(), c.language(to)
    return x if c.element(x) == element else c.call("cast", x, to=element)


@operator("Clip")
def clip(c: OnnxContext) -> Result:
    x = c.x()
    low, high = (c.number(index) for index in (1, 2))
    if c.element(x) in FLOATS and low is not None and high is not None:
        return c.call("clip", x, float(low), float(high))
    limited: Name | Call = x
    for index, function in ((1, "max"), (2, "min")):
        if c.onnx.has(index):
            limited = c.call(function, c.held(limited), c.term(index, len(c.shape(x))))
    return limited


@operator("LeakyRelu")
def leaky_relu(c: OnnxContext) -> Result:
    return c.call("leaky_relu", c.x(), c.onnx.float("alpha", 0.01))


@operator("PRelu")
def prelu(c: OnnxContext) -> Result:
    x, slope = c.x(), c.tensor(1)
    rank, shape = len(c.shape(x)), slope.shape
    if (
        rank > 1
        and slope.shape[:1] == c.shape(x)[1:2]
        and all(size == 1 for size in shape[1:])
        and len(shape) == rank - 1
    ):
        return c.call("prelu", x, weight=c.let("reshape", c.variable(slope), [shape[0]]))
    below = c.let("mul", x, c.x(1))
    return c.call("where", c.let("less", x, 0), below, x)


@operator("Elu")
def elu(c: OnnxContext) -> Result:
    return c.call("elu", c.x(), c.onnx.float("alpha", 1.0))


@operator("Celu")
def celu(c: OnnxContext) -> Result:
    alpha = c.onnx.float("alpha", 1.0)
    if alpha == 1:
        return c.call("elu", c.x())
    return c.call("mul", c.let("elu", c.let("div", c.x(), alpha)), alpha)


@operator("Selu")
def selu(c: OnnxContext) -> Result:
    alpha, gamma = c.onnx.float("alpha", 1.67326319217681884765625), c.onnx.float("gamma", 1.05070102214813232421875)
    return c.call("mul", c.let("elu", c.x(), alpha), gamma)


@operator("HardSigmoid")
def hard_sigmoid(c: OnnxContext) -> Result:
    alpha, beta = c.onnx.float("alpha", 0.2), c.onnx.float("beta", 0.5)
    if abs(alpha - 1 / 6) < 1e-7 and beta == 0.5:
        return c.call("hard_sigmoid", c.x())
    return c.call("clip", c.let("add", c.let("mul", c.x(), alpha), beta), 0.0, 1.0)


@operator("ThresholdedRelu")
def thresholded_relu(c: OnnxContext) -> Result:
    x = c.x()
    return c.call("where", c.let("greater", x, c.onnx.float("alpha", 1.0)), x, 0.0)


@operator("Shrink")
def shrink(c: OnnxContext) -> Result:
    x, bias, edge = c.x(), c.onnx.float("bias"), c.onnx.float("lambd", 0.5)
    upper = c.let("where", c.let("greater", x, edge), c.let("sub", x, bias), c.let("mul", x, 0))
    return c.call("where", c.let("less", x, -edge), c.let("add", x, bias), upper)


@operator("Softsign")
def softsign(c: OnnxContext) -> Result:
    return c.call("div", c.x(), c.let("add", c.let("abs", c.x()), 1.0))


@operator("Swish")
def swish(c: OnnxContext) -> Result:
    alpha = c.onnx.float("alpha", 1.0)
    if alpha == 1:
        return c.call("silu", c.x())
    return c.call("mul", c.x(), c.let("sigmoid", c.let("mul", c.x(), alpha)))


@operator("SwiGLU")
def swiglu(c: OnnxContext) -> Result:
    return c.call("mul", c.held(_held(c, swish(c))), c.x(1))


@operator("Gelu")
def gelu(c: OnnxContext) -> Result:
    approximate = c.onnx.string("approximate", "none")
    return c.call("gelu", c.x(), **({} if approximate == "none" else {"approximate": approximate}))


@operator("Softmax")
def softmax(c: OnnxContext) -> Result:
    return c.call("softmax", c.x(), c.axis_of(c.x(), -1))


@operator("LogSoftmax")
def log_softmax(c: OnnxContext) -> Result:
    return c.call("log_softmax", c.x(), c.axis_of(c.x(), -1))


@operator("Dropout")
def dropout(c: OnnxContext) -> Result:
    """In training form, as the network was before it was exported."""
    ratio = c.number(1) if c.onnx.has(1) else 0.5
    if not c.script.training and (not isinstance(c.onnx.input(2), Constant | None) or c.number(2)):
        raise c.error("is random: it is in training mode, expected inference")
    if ratio is None or not 0 <= ratio < 1:
        raise c.error("its ratio depends on data, expected a constant from 0 to below 1")
    results: list[Name | Call] = [c.call("dropout", c.x(), float(ratio)) if ratio else c.x()]
    if any(c.onnx.outputs[1:]):
        if c.script.training:
            c.only(1)
        results.append(c.call("full", list(c.shape(c.x())), 1, dtype="bool"))
    return results
