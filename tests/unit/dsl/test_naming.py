"""The names of layers and weights."""

import re

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from npuc.compiler.core.errors import NpucError
from npuc.dialects.provenance import layer_of
from npuc.dialects.train.base import TrainOp
from npuc.frontends import read_source
from npuc.frontends.dsl.naming import Names

BLOCKS = """
block unit(x) {
  a = relu(x)
  return gelu(a)
}
block pair(x, y) {
  a = relu(x)
  return a, gelu(y)
}
block tower(x, n) {
  for i in 0..n { x = unit(x) }
  return x
}
block named(x) {
  a = relu(x)
  return gelu(a, name=".")
}
block own(x, name) {
  if name != "k" { error name }
  return relu(x)
}
block weighted(x) {
  w = param([8, 8])
  return linear(x, weight=w, bias=false)
}
"""
_SECOND = ["1.u.a", "1.u.gelu", "1.r"]


def program(body: str) -> str:
    """A network over `x` of f32[4, 8] with the blocks above."""
    return f"{BLOCKS}\nnetwork t() {{\n  input x: f32[4, 8]\n{body}\n  loss mse(x, 0 * x)\n output x\n}}"


def layers(body: str) -> list[str]:
    """The names of the layers of a network's body, each once, in order."""
    module = read_source(program(body), training=False)
    names = [layer_of(op) for op in module.walk() if isinstance(op, TrainOp)]
    return list(dict.fromkeys(names))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = relu(gelu(relu(gelu(x))))", ["x.gelu", "x.relu", "x.gelu_2", "x"]),
        ("x = relu(x); x = relu(gelu(x))", ["x", "x_2.gelu", "x_2"]),
        ("h = x + x * x; x = h + h + h", ["h.mul", "h", "x.add", "x"]),
        ("x = -x", ["x"]),
        ("x = relu(x) if true else gelu(x)", ["x"]),
        ("h = [relu(x), relu(x)]; x = h[0] + h[1]", ["h.relu", "h.relu_2", "x"]),
        ("n = 3; n = n + 1; x = x * n", ["x"]),
        ("s = unit(x); x = s", ["s.a", "s.gelu"]),
        ("x = unit(x); x = unit(x)", ["x.a", "x.gelu", "x_2.a", "x_2.gelu"]),
        ("x = relu(unit(x))", ["x.unit.a", "x.unit.gelu", "x"]),
        ("x = unit(relu(x))", ["x.relu", "x.a", "x.gelu"]),
        ("p, q = pair(x, x); x = p + q", ["p.a", "p.gelu", "x"]),
        ("s = tower(x, 2); x = s", ["s.0.a", "s.0.gelu", "s.1.a", "s.1.gelu"]),
        ("for i in 0..2 { x = relu(x) }", ["0.x", "1.x"]),
        ("for i in 1..3 { x = relu(x) }", ["1.x", "2.x"]),
        ("for w in [5, 8] { x = linear(x, w) }", ["0.x", "1.x"]),
        ("for i in 0..2 { x = unit(x) }", ["0.a", "0.gelu", "1.a", "1.gelu"]),
        ("for i in 0..1 { x = unit(x); x = unit(x) }", ["0.a", "0.gelu", "0.x.a", "0.x.gelu"]),
        ("for i in 0..1 { y = unit(x); x = y }", ["0.y.a", "0.y.gelu"]),
        ("h = x; for i in 0..1 { h, x = pair(h, x) }; x = h + x", ["0.a", "0.gelu", "x"]),
        ("for i in 0..2 { for j in 0..2 { x = relu(x) } }", ["0.0.x", "0.1.x", "1.0.x", "1.1.x"]),
        ("for i in 0..1 { for j in 0..1 { x = unit(x) }; x = unit(x) }", ["0.0.a", "0.0.gelu", "0.a", "0.gelu"]),
        ("for i in 0..1 { x = relu(x) }; for i in 0..1 { x = relu(x) }", ["0.x", "0.x_2"]),
        ("for i in 0..1 { a = relu(x); x = unit(a) }", ["0.a", "0.a_2", "0.gelu"]),
        ("for i in 0..1 { if i == 0 { x = unit(x) } }", ["0.a", "0.gelu"]),
        ('x = relu(gelu(x), name="0")', ["0.gelu", "0"]),
        ('x = relu(gelu(x, name="a.1"), name="b")', ["a.1", "b"]),
        ('x = relu(x, name="h"); h = gelu(x); x = relu(h, name="h")', ["h", "h_2", "h_3"]),
        ('x = unit(x, name="s"); x = unit(x, name="s")', ["s.a", "s.gelu", "s.a_2", "s.gelu_2"]),
        ('p, q = split(x, [4, 4], axis=1, name="cut"); x = concat([p, q], 1)', ["cut", "x"]),
        ('for i in 0..2 { x = relu(unit(x, name="u"), name="r") }', ["0.u.a", "0.u.gelu", "0.r", *_SECOND]),
        ("s = named(x); x = s", ["s.a", "s"]),
        ('x = named(x, name="s"); x = named(x, name="s")', ["s.a", "s", "s.a_2", "s_2"]),
        ("for i in 0..2 { x = named(x) }", ["0.a", "0", "1.a", "1"]),
        ('n = "k"; x = relu(x, name=n)', ["k"]),
        ('x = own(x, name="k")', ["x.relu"]),
    ],
)
def test_layer_names(body: str, expected: list[str]):
    assert layers(body) == expected


def test_losses_and_returns_are_named_by_their_function():
    module = read_source(program("").replace("loss mse", "loss 2 * mse"))
    names = [layer_of(op) for op in module.walk() if isinstance(op, TrainOp)]
    assert names == ["mul_2", "mse", "mul"] or names == ["mul", "mse", "mul_2"]


def test_weights_are_named_by_their_layer_or_their_path():
    body = "w = param([8, 8]); x = linear(x, weight=w); s = weighted(x); for i in 0..1 { x = weighted(s) }"
    module = read_source(program(body), training=False)
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    assert function.arg_attrs is not None
    names = [a.data for entry in function.arg_attrs if isinstance(a := entry.data.get("train.param"), StringAttr)]
    assert names == ["w", "x.bias", "s.w", "0.w"]


def test_names_are_unique():
    names = Names()
    assert [names.unique("h") for _ in range(3)] == ["h", "h_2", "h_3"]
    assert names.unique("h_2") == "h_2_2"
    assert names.unique("h") == "h_4"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('x = relu(x, name="")', 'found "", expected the name of a layer'),
        ('x = relu(x, name="a..b")', 'found "a..b", expected the name of a layer'),
        ('x = relu(x, name="a b")', 'found "a b", expected the name of a layer'),
        ('x = relu(x, name=".")', 'found ".", expected the name of a layer'),
        ("x = relu(x, name=3)", "found 3, expected the name of a layer"),
        ('n = max(1, 2, name="n"); x = x * n', "found a name for max, which makes no layer here"),
        ('n = shape(x, name="n"); x = x * n[0]', "found a name for shape, which makes no layer here"),
    ],
)
def test_wrong_names_are_refused(body: str, message: str):
    with pytest.raises(NpucError, match=re.escape(message)):
        layers(body)
