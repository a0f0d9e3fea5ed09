"""Loops and branches of JAX: what constants decide is unrolled and chosen, what data decide is refused."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.core.errors import SourceError
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.dialects.train.signature import arguments_of
from npuc.frontends.jax.fold import INTEGERS, folded, shifted
from npuc.frontends.jax.program import HloOp, HloType
from npuc.frontends.jax.values import Known
from tests.jax_programs import read_text, text_of

jax = pytest.importorskip("jax")
X = np.random.default_rng(0).normal(0, 1, (5, 6)).astype("float32")
PARAMS = {"w": np.random.default_rng(1).normal(0, 0.5, (6, 6)).astype("float32")}
WORDS = st.integers(-(2**31), 2**31 - 1)


def _while(params: Any, x: Any) -> Any:
    return jax.lax.while_loop(lambda c: abs(c).sum() < 100.0, lambda c: c @ params["w"] * 2, x)


def _bound(params: Any, x: Any, count: Any) -> Any:
    return jax.lax.fori_loop(0, count, lambda i, c: c @ params["w"], x)


def _cond(params: Any, x: Any) -> Any:
    return jax.lax.cond(x.sum() > 0, lambda c: c @ params["w"], lambda c: c * 2, x)


def _switch(params: Any, x: Any, count: Any) -> Any:
    return jax.lax.switch(count % 3, [lambda c: c @ params["w"], lambda c: c * 2, lambda c: c], x)


def _of_weights(params: Any, x: Any) -> Any:
    return jax.lax.cond(params["w"][0, 0] > x[0, 0], lambda c: c @ params["w"], lambda c: c * 2, x)


def _of_draw(params: Any, x: Any) -> Any:
    drawn = jax.random.bernoulli(jax.random.key(0), 0.5)
    return jax.lax.cond(drawn, lambda c: c @ params["w"], lambda c: c * 2, x)


def _rate(params: Any, x: Any, count: Any) -> Any:
    rate = jax.lax.cond(count < 3, lambda _: 0.1, lambda _: 0.01, count)
    loss, gradients = jax.value_and_grad(lambda p: ((x @ p["w"]) ** 2).mean())(params)
    return jax.tree.map(lambda p, g: p - rate * g, params, gradients), count + 1, loss


LOOP = "found a loop whose condition depends on data ({}), expected one that follows from constants"
CHOICE = "found a choice among {} branches that depends on data ({}), expected one that follows from constants"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("function", "count", "message"),
    [
        (_while, None, LOOP.format("x")),
        (_bound, 3, LOOP.format("count")),
        (_cond, None, CHOICE.format(2, "x")),
        (_switch, 1, CHOICE.format(3, "count")),
        (_of_weights, None, CHOICE.format(2, "params['w'], x")),
        (_of_draw, None, CHOICE.format(2, "a random draw")),
        (_rate, 1, CHOICE.format(2, "count")),
    ],
)
def test_what_data_decide_is_refused(function: Any, count: int | None, message: str) -> None:
    arguments = (PARAMS, X) if count is None else (PARAMS, X, np.int32(count))
    with pytest.raises(SourceError) as caught:
        read_text(text_of(function, arguments))
    assert message in str(caught.value)
    line = function.__code__.co_firstlineno + (2 if function is _of_draw else 1)
    assert f"test_control_flow.py:{line}): found" in str(caught.value)
    assert (caught.value.hint or "").startswith("lax.scan" if "loop" in message else "jnp.where")


@pytest.mark.heavy
def test_a_text_without_sources_has_its_own_places() -> None:
    text = jax.jit(_cond).lower(PARAMS, X).as_text()
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "stablehlo.case" in one)
    with pytest.raises(SourceError, match=rf"step\.mlir:{line}:\d+: error: stablehlo.case: found a choice") as caught:
        read_text(text)
    assert caught.value.location is not None


@pytest.mark.heavy
@pytest.mark.parametrize(
    "which",
    [
        lambda i: i,
        lambda i: i // 2,
        lambda i: (i - 3) // 2 + 2,
        lambda i: jax.lax.div(i - 3, 2) + 1,
        lambda i: (i - 4) % 3,
        lambda i: jax.lax.rem(i - 4, 3) + 1,
        lambda i: i**2 - i,
        lambda i: (i << 1) >> 2,
        lambda i: jax.lax.shift_right_logical(i - 1, 30),
        lambda i: jax.numpy.asarray([2, 0, 1, 1, 0, 2])[i],
        lambda i: 7,
        lambda i: -3,
    ],
)
def test_what_constants_decide_is_chosen(which: Any) -> None:
    """Also choices that are none of the branches: the nearest is taken."""
    branches = [lambda c, w: c @ w, lambda c, w: c * 2, lambda c, w: c - 1]

    def loss(params: Any, x: Any) -> Any:
        made = jax.lax.fori_loop(0, 6, lambda i, c: jax.lax.switch(which(i), branches, c, params["w"]), x)
        return (made**2).mean()

    program = read_text(text_of(loss, (PARAMS, X)))
    names = {one.name for one in arguments_of(the_function(program.module))}
    run = execute(program.module, {name: value for name, value in {**PARAMS, "x": X}.items() if name in names})
    assert run.loss == pytest.approx(float(jax.jit(loss)(PARAMS, X)), rel=1e-5)


@pytest.mark.heavy
def test_a_step_with_constant_choices_is_that_of_jax() -> None:
    def loss(params: Any, x: Any) -> Any:
        def turn(i: Any, c: Any) -> Any:
            return jax.lax.cond(i % 2 == 0, lambda c: jax.numpy.tanh(c @ params["w"]), lambda c: c * 0.5, c)

        return (jax.lax.fori_loop(0, 4, turn, x) ** 2).mean()

    def step(params: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    program, params = read_text(text_of(step, (PARAMS, X))), PARAMS
    for _ in range(3):
        run = execute(program.module, {**params, "x": X})
        params, value = jax.jit(step)(params, X)
        assert run.loss == pytest.approx(float(value), rel=1e-5)
        np.testing.assert_allclose(run.updated["w"], params["w"], rtol=1e-5, atol=1e-6)
    assert sum(op.name == "train.matmul" for op in program.module.walk()) == 2 * 3 - 1  # none for the gradient of x


def array(*numbers: int) -> Any:
    return np.array(numbers, "int32")


@given(WORDS, WORDS)
def test_integers_are_divided_towards_zero(a: int, b: int) -> None:
    quotient, remainder = (INTEGERS[kind](array(a), array(b)) for kind in ("divide", "remainder"))
    if b == 0 or (a, b) == (-(2**31), -1):
        assert quotient is None
        return
    expected = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    assert quotient is not None
    assert remainder is not None
    assert (quotient[0], remainder[0]) == (expected, a - expected * b)


@given(WORDS, st.integers(-2, 40))
def test_integers_are_shifted_as_stablehlo_has_it(a: int, count: int) -> None:
    beyond, word = not 0 <= count < 32, a % 2**32
    left, arithmetic, logical = (
        int(shifted(f"shift_{kind}", array(a), array(count))[0])
        for kind in ("left", "right_arithmetic", "right_logical")
    )
    assert left % 2**32 == (0 if beyond else (word << count) % 2**32)
    assert arithmetic == ((-1 if a < 0 else 0) if beyond else a >> count)
    assert logical % 2**32 == (0 if beyond else word >> count)


@pytest.mark.parametrize("kind", ["divide", "remainder"])
def test_a_division_by_zero_is_left_to_the_network(kind: str) -> None:
    op = HloOp(f"stablehlo.{kind}", (), (), {}, {}, {}, (), "", "")
    operands = [Known(array(3, 4), "i32"), Known(array(1, 0), "i32")]
    assert folded(op, operands, [HloType((2,), "i32")]) is None
