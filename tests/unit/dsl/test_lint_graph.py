"""The rules of `npuc lint` on the graph that a program builds: each finds what it should and nothing else."""

import pytest

from npuc.frontends.dsl.lint import lint_source
from tests.unit.dsl.lint_programs import found, network


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  a = linear(v, 3)\n  output a", ["6:7 no-gradient", "6:7 no-gradient"]),
        ("  a = linear(v, 3, bias=false)\n  output a", ["6:7 no-gradient"]),
        ("  a = frozen linear(v, 3)\n  output a", []),
        ("  a = linear(v, 3)\n  output a\n  loss mse(a, a)", []),
        ("  w = param([8, 3])\n  output a = argmax(matmul(v, w), 1)", ["6:7 no-gradient"]),
        ("  w = param([8])\n  output a = v < w", ["6:7 no-gradient"]),
        # the layer is kept for its statistics, its scale and shift with it
        ("  a = batch_norm(v)", ["6:3 unused-value", "6:7 no-gradient", "6:7 no-gradient"]),
    ],
)
def test_no_gradient(body: str, expected: list[str]) -> None:
    assert found(network(body)) == expected


def test_no_gradient_names_the_weight() -> None:
    (finding,) = lint_source(network("  w = param([8])\n  output a = v + w"), "f")
    assert finding.message == "the weight 'w' is never trained: the loss does not depend on it"


def test_no_gradient_without_a_loss_is_no_finding() -> None:
    assert found("network n() { input x: f32[4, 8]; h = linear(x, 3); output h }") == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  loss cross_entropy(softmax(linear(v, 3)), y)", ["6:8 softmax-twice"]),
        ("  p = log_softmax(linear(v, 3))\n  loss cross_entropy(p, y)", ["7:8 softmax-twice"]),
        ("  p = reshape(softmax(linear(v, 3)), [4, 3])\n  loss cross_entropy(p, y)", ["7:8 softmax-twice"]),
        ("  loss nll_loss(softmax(linear(v, 3)), y)", ["6:8 softmax-twice"]),
        ("  loss nll_loss(log_softmax(linear(v, 3)), y)", []),
        ("  loss binary_cross_entropy_with_logits(sigmoid(linear(v, 8)), v)", ["6:8 softmax-twice"]),
        ("  loss binary_cross_entropy_with_logits(linear(v, 8), sigmoid(v))", []),
        ("  loss binary_cross_entropy(sigmoid(linear(v, 8)), v)", []),
        ("  loss cross_entropy(relu(linear(v, 3)), y)", []),
        ("  loss mse(softmax(linear(v, 8)), v)", []),
    ],
)
def test_softmax_twice(body: str, expected: list[str]) -> None:
    assert found(network(body)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  output s = softmax(reshape(v, [32, 1]))", ["6:14 constant-result"]),
        ("  output s = softmax(reshape(v, [1, 32]), axis=0)", ["6:14 constant-result"]),
        ("  output s = softmax(v)", []),
        ("  loss cross_entropy(linear(v, 1), y)", ["6:8 constant-result"]),
        ("  h = batch_norm(reshape(v, [1, 32]))\n  loss mse(h, h)", ["6:7 constant-result"]),
        ("  h = batch_norm(reshape(v, [1, 4, 8]))\n  loss mse(h, h)", []),
    ],
)
def test_constant_result(body: str, expected: list[str]) -> None:
    assert found(network(body)) == expected


def test_the_graph_is_that_of_the_given_parameters() -> None:
    text = "network n(batch=4) { input x: f32[batch, 8]; h = batch_norm(x); loss mse(h, x) }"
    assert found(text) == []
    assert found(text, defines={"batch": 1}) == ["1:50 constant-result"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("batch_norm(conv2d(x, 4, kernel=1))", ["6:18 useless-bias"]),
        ("batch_norm(conv_transpose2d(x, 4, kernel=1))", ["6:18 useless-bias"]),
        ("batch_norm(linear(v, 4))", ["6:18 useless-bias"]),
        ("batch_norm(conv2d(x, 4, kernel=1, bias=false))", []),
        ("batch_norm(relu(conv2d(x, 4, kernel=1)))", []),
        ("batch_norm(linear(reshape(v, [2, 2, 8]), 4))", []),
        ("layer_norm(linear(v, 4))", []),
        ("batch_norm(linear(v, 8) + v)", []),
    ],
)
def test_useless_bias(value: str, expected: list[str]) -> None:
    assert found(network(f"  h = {value}\n  loss mse(h, h)")) == expected


def test_a_bias_that_something_else_sees_is_useful() -> None:
    assert found(network("  c = conv2d(x, 4, kernel=1)\n  h = batch_norm(c) + c\n  loss mse(h, h)")) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("relu(relu(v))", ["6:7 repeated-operation"]),
        ("relu6(relu6(v))", ["6:7 repeated-operation"]),
        ("abs(abs(v))", ["6:7 repeated-operation"]),
        ("clip(clip(v, 0, 1), 0, 2)", []),
        ("relu(gelu(v))", []),
        ("sigmoid(sigmoid(v))", []),
    ],
)
def test_repeated_operation(value: str, expected: list[str]) -> None:
    assert found(network(f"  h = {value}\n  loss mse(h, h)")) == expected
