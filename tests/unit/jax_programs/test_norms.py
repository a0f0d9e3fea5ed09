"""Normalisations that JAX spells out: which layer of the language each is, and the numbers of both."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npuc.compiler import run_file
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.transforms.autodiff import whole_step
from npuc.dialects.train.signature import arguments_of
from npuc.frontends.base import Program, Request
from npuc.frontends.source import text_source
from tests.jax_norms import NORMS, OTHERS, Spelled
from tests.jax_programs import text_of

jax = pytest.importorskip("jax")
LAYERS = ("layer_norm(", "rms_norm(", "batch_norm(", "group_norm(")


def values(norm: Spelled) -> tuple[Any, Any]:
    """Parameters and x: small integers, so that means of squares are exact where their number is a power of two."""
    random = np.random.default_rng(0)
    params = {name: random.integers(1, 5, norm.width).astype(np.float32) for name in "gb"}
    return params, random.integers(-4, 5, norm.shape).astype(np.float32)


def read(function: Any, arguments: Any, **request: Any) -> Program:
    source = text_source(text_of(function, arguments).encode(), "jax", "m.mlir")
    program = source.frontend.read(source, Request(**request))
    program.module.verify()
    return program


def text(norm: Spelled, arguments: Any) -> str:
    program = read(norm.forward, arguments, inference=True)
    assert program.text is not None
    return program.text()


def check_numbers(written: str, norm: Spelled, arguments: Any) -> None:
    params, x = arguments
    given = {name: params[name] for name in params if f"{name} = param" in written}
    run = run_file(text_source(written.encode(), "dsl", "net.dsl"), inference=True, inputs={**given, "x": x})
    np.testing.assert_allclose(run.outputs["result"], norm.forward(params, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NORMS)
def test_a_normalisation_is_the_layer(name: str) -> None:
    norm = NORMS[name]
    written = text(norm, values(norm))
    assert [call for call in LAYERS if call in written] == [f"{norm.call}("]
    assert not [call for call in ("rsqrt(", "sqrt(", "mean(", "sum(", " - ") if call in written]
    check_numbers(written, norm, values(norm))


@pytest.mark.parametrize("name", OTHERS)
def test_what_looks_like_a_normalisation_is_none(name: str) -> None:
    norm = OTHERS[name]
    written = text(norm, values(norm))
    assert not [call for call in LAYERS if call in written]
    check_numbers(written, norm, values(norm))


@pytest.mark.heavy
@pytest.mark.parametrize("name", NORMS)
def test_gradients_are_those_of_jax(name: str) -> None:
    norm = NORMS[name]
    params, x = values(norm)
    weights = np.random.default_rng(1).normal(size=norm.shape).astype(np.float32)

    def loss(p: Any, x: Any) -> Any:
        return (norm.forward(p, x) * weights).sum()

    module = whole_step(read(loss, (params, x)).module)
    names = {one.name for one in arguments_of(the_function(module))}
    run = execute(module, {name: value for name, value in {**params, "x": x}.items() if name in names})
    expected = jax.grad(loss)(params, x)
    for key, gradient in run.gradients.items():
        np.testing.assert_allclose(gradient, expected[key], rtol=2e-3, atol=2e-4)
    assert "g" in run.gradients


def test_a_step_keeps_what_its_derivative_reads() -> None:
    """In a whole step the mean and the root serve the backward pass, too: no layer takes their place."""
    norm = NORMS["plain"]
    params, x = values(norm)

    def step(params: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(lambda p, x: (norm.forward(p, x) ** 2).mean())(params, x)
        return jax.tree.map(lambda p, g: p - 0.5 * g, params, gradients), value

    program = read(step, (params, x))
    names = {op.name for op in program.module.walk()}
    assert "train.layer_norm" not in names
    run = execute(program.module, {**params, "x": x})
    updated, value = step(params, x)
    assert run.loss == pytest.approx(float(value), rel=1e-5)
    for name, expected in updated.items():
        np.testing.assert_allclose(run.updated[name], expected, rtol=1e-4, atol=1e-5)


def test_a_root_that_is_read_twice_stays() -> None:
    """Only what the layer has replaced is left out."""
    norm = NORMS["plain"]
    params, x = values(norm)

    def forward(p: Any, x: Any) -> Any:
        variance = x.var(-1, keepdims=True)
        root = jax.lax.rsqrt(variance + 1e-5)
        return (x - x.mean(-1, keepdims=True)) * root * p["g"] + root

    both = Spelled(forward, norm.shape, "layer_norm")
    written = text(both, (params, x))
    assert "layer_norm(" in written
    assert "rsqrt(" in written
    check_numbers(written, both, (params, x))
