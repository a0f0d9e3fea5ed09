"""Programs of JAX that draw random numbers: masks become draws of the network, others are refused."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from npuc.compiler.core.errors import SourceError
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.layers import dropout
from npuc.compiler.transforms.autodiff import whole_step
from npuc.dialects.provenance import role_of
from npuc.dialects.train.signature import arguments_of
from npuc.frontends.base import Program
from tests.jax_programs import read_text, run_of, text_of
from tests.jax_random import DATA, FORWARDS, dropped, loss_of, masks_of, params_of

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
QUICK = ("split", "carried_again")


def programs(quick: tuple[str, ...]) -> list[Any]:
    return [name if name in quick else pytest.param(name, marks=pytest.mark.heavy) for name in FORWARDS]


def step_of(loss: Any, optimizer: Any) -> Any:
    def step(params: Any, state: Any, key: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, key, x)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    return step


def draws(program: Program) -> list[Any]:
    return [op for op in program.module.walk() if op.name == "train.dropout"]


class JaxMasks:
    """The masks of JAX in place of npuc's draws: those of each seed, which count the draws from the first on."""

    def __init__(self, program: Program, monkeypatch: pytest.MonkeyPatch):
        self.seeds = list(dict.fromkeys(op.seed.value.data for op in draws(program)))
        self.masks: list[Any] = []
        monkeypatch.setattr(dropout, "draws_at", self.draws_at)

    def draws_at(self, key: tuple[int, int], of: Any, index: Any) -> Any:
        """1 where JAX keeps an element, 0 where it does not; a mask may lie in another order of its axes."""
        mask = self.masks[self.seeds.index(key[0])]
        order = next(order for order in permutations(range(mask.ndim)) if mask.transpose(order).shape == tuple(of))
        return mask.transpose(order)[np.ix_(*index)].astype(float)


def given_of(program: Program, values: dict[str, Any]) -> dict[str, Any]:
    wanted = {one.name for one in arguments_of(the_function(program.module))}
    return {name: value for name, value in values.items() if name in wanted}


@pytest.mark.parametrize("name", programs(QUICK))
def test_steps_give_the_numbers_of_jax_for_its_masks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, optimizer, params = loss_of(name), optax.sgd(0.1, momentum=0.9), params_of(name)
    step, state = step_of(loss, optimizer), optimizer.init(params)
    program = read_text(text_of(step, (params, state, jax.random.key(0), DATA)))
    masks = JaxMasks(program, monkeypatch)
    values: dict[str, Any] = {**params, "x": DATA}
    for number in range(3):
        key = jax.random.key(number)
        masks.masks = masks_of(loss, params, key, DATA)
        assert len(masks.masks) == len(masks.seeds)
        run = run_of(program, given_of(program, values))
        params, state, value = jax.jit(step)(params, state, key, DATA)
        assert run.loss == pytest.approx(float(value), rel=1e-5)
        for parameter, expected in params.items():
            np.testing.assert_allclose(run.updated[parameter], expected, rtol=1e-5, atol=1e-5)
        values |= run.updated
    assert values["step"] == 3


@pytest.mark.parametrize("name", programs(("images",)))
def test_gradients_that_npuc_derives_are_those_of_jax_for_its_masks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, params, key = loss_of(name), params_of(name), jax.random.key(1)
    program = read_text(text_of(loss, (params, key, DATA)))
    masks = JaxMasks(program, monkeypatch)
    masks.masks = masks_of(loss, params, key, DATA)
    assert len(masks.masks) == len(masks.seeds)
    run = run_of(program, given_of(program, {**params, "x": DATA}), whole_step(program.module))
    value, gradients = jax.value_and_grad(loss)(params, key, DATA)
    assert run.loss == pytest.approx(float(value), rel=1e-5)
    for parameter, expected in gradients.items():
        np.testing.assert_allclose(run.gradients[parameter], expected, rtol=1e-4, atol=1e-6)


KEYS = {
    "raw": (lambda key: key, lambda: jax.random.PRNGKey(0)),
    "typed": (lambda key: key, lambda: jax.random.key(0)),
    "rbg": (lambda key: key, lambda: jax.random.key(0, impl="rbg")),
    "unsafe_rbg": (lambda key: jax.random.split(key)[0], lambda: jax.random.key(0, impl="unsafe_rbg")),
    "seed": (lambda seed: jax.random.PRNGKey(seed), lambda: np.int32(3)),
    "constant": (lambda _: jax.random.key(42), lambda: np.int32(3)),
    "count": (lambda count: jax.random.fold_in(jax.random.key(0), count), lambda: np.int32(3)),
    "batch": (lambda key: jax.random.split(key, 5)[3], lambda: jax.random.key(0)),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("partitionable", [True, False])
def test_keys_of_each_kind_give_one_dropout(name: str, partitionable: bool) -> None:
    key_of, make = KEYS[name]

    def loss(params: Any, key: Any, x: Any) -> Any:
        return (dropped(key_of(key), x @ params["w"]) ** 2).mean()

    params, step = {"w": DATA.T @ DATA}, step_of(loss, optimizer := optax.sgd(0.1))
    with jax.threefry_partitionable(partitionable):
        text = text_of(step, (params, optimizer.init(params), make(), DATA))
    found = draws(program := read_text(text))
    assert [(str(role_of(op)), op.p.value.data, op.seed.value.data) for op in found] == [
        ("forward", 0.25, 1),
        ("dx", 0.25, 1),
    ]
    assert any("one random mask" in warning for warning in program.warnings)


@pytest.mark.heavy
def test_a_key_that_comes_back_is_no_result() -> None:
    def step(params: Any, key: Any, x: Any) -> Any:
        key, own = jax.random.split(key)
        value, gradients = jax.value_and_grad(lambda p: (dropped(own, x @ p["w"]) ** 2).mean())(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), key, value

    run = execute(read_text(text_of(step, ({"w": DATA.T}, jax.random.key(0), DATA))).module, {"w": DATA.T, "x": DATA})
    assert set(run.updated) == {"w", "step"}


@pytest.mark.heavy
def test_masks_have_the_share_and_both_passes_read_one() -> None:
    def step(params: Any, key: Any, x: Any) -> Any:
        def loss(p: Any) -> Any:
            return dropped(key, p["w"] * x).sum()

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - g, params, gradients), value, gradients

    ones = np.ones((200, 100), "float32")
    program = read_text(text_of(step, ({"w": ones}, jax.random.key(0), ones)))
    first, second = (execute(program.module, {"w": ones, "x": ones, "step": np.array(n)}) for n in (0, 1))
    gradient = ones - first.updated["w"]
    assert np.unique(gradient) == pytest.approx([0, 1 / 0.75])
    assert first.loss == pytest.approx(float(gradient.sum()), rel=1e-5)
    assert (gradient > 0).mean() == pytest.approx(0.75, abs=0.015)  # five standard deviations
    assert (first.updated["w"] != second.updated["w"]).any()


@pytest.mark.heavy
def test_dropout_is_the_language_s_and_nothing_in_inference() -> None:
    params = params_of("split")
    text = text_of(lambda params, key, x: FORWARDS["split"](key, x, params), (params, jax.random.key(0), DATA))
    program = read_text(text)
    assert program.text is not None
    assert "dropout(tanh, p=0.25" in program.text().replace("w1_", "")
    assert "dropout(" in program.text()
    assert not draws(read_text(text, inference=True))


@pytest.mark.heavy
def test_a_step_in_inference_is_its_loss_without_masks() -> None:
    def loss(params: Any, key: Any, x: Any, rate: float = 0.25) -> Any:
        h = x @ params["w"]
        return (((dropped(key, h, rate) if rate else h) @ params["v"]) ** 2).mean()

    step, params = step_of(loss, optimizer := optax.sgd(0.1)), {"w": DATA.T, "v": DATA}
    program = read_text(text_of(step, (params, optimizer.init(params), jax.random.key(0), DATA)), inference=True)
    run = execute(program.module, {**params, "x": DATA})
    assert not draws(program)
    (value,) = run.outputs.values()
    assert float(value) == pytest.approx(float(loss(params, None, DATA, 0.0)), rel=1e-5)


def _noise(kind: str) -> Any:
    def loss(params: Any, key: Any, x: Any) -> Any:
        with jax.named_scope("noise"):
            h = x @ params["w"]
            match kind:
                case "normal":
                    return h + jax.random.normal(key, h.shape)
                case "uniform":
                    return h + jax.random.uniform(key, h.shape)
                case "exponential":
                    return h + jax.random.exponential(key, h.shape)
                case "randint":
                    return h + jax.random.randint(key, h.shape, 0, 5)
                case "permutation":
                    return jax.random.permutation(key, h)
                case "probability":
                    return h * jax.random.bernoulli(key, jax.nn.sigmoid(h))
                case _:
                    return jax.random.bernoulli(key, 0.5, h.shape, mode="high") * h

    return loss


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (
            "normal",
            "chlo.erf_inv (",
        ),
        ("uniform", "stablehlo.add ("),
        ("exponential", "random draws of exponentially distributed numbers in the layer 'noise'"),
        ("randint", "random draws of integers in the layer 'noise'"),
        ("permutation", "random draws of integers in the layer 'noise'"),
        ("probability", "a mask whose probability is computed"),
        ("high", "random draws of uniform numbers in the layer 'noise'"),
    ],
)
def test_other_random_numbers_are_refused(kind: str, found: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_text(text_of(_noise(kind), ({"w": DATA.T}, jax.random.key(0), DATA)))
    message = str(caught.value)
    assert found in message
    assert "test_random.py:" in message
    assert "expected masks of one probability, as jax.random.bernoulli gives" in message
    assert caught.value.hint == "draw them outside of the function, and give them as an argument"


@pytest.mark.heavy
def test_other_unsigned_integers_are_refused() -> None:
    with pytest.raises(SourceError, match=r"found unsigned integers, which the network language lacks"):
        read_text(text_of(lambda params, x: x.astype("float32") @ params["w"], ({"w": DATA.T}, DATA.astype("uint8"))))


LOOP = """module {{ func.func public @main(%k: {type}) -> {type} {{
  %first = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<1000000000> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %first, %s = %k) : tensor<i32>, {type}
  cond {{
    %c = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %j = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.multiply %s, %s : {type}
    stablehlo.return %j, %t : tensor<i32>, {type}
  }}
  return %r#1 : {type} }} }}"""


@pytest.mark.heavy
@pytest.mark.parametrize("type", ["tensor<ui32>", "tensor<1024xui32>", "tensor<1000000000xui32>"])
def test_keys_of_a_long_loop_end(type: str) -> None:
    """Numbers that stand in for keys are few, and computed no longer than others."""
    with pytest.raises(SourceError, match=r"step\.mlir:\d+:\d+: error: .*found loops and calls of more than 5,000"):
        read_text(LOOP.format(type=type), max_ops=5000)


@pytest.mark.heavy
def test_keys_that_depend_on_data_and_are_kept_are_refused() -> None:
    def loss(params: Any, x: Any) -> Any:
        @jax.checkpoint
        def layer(carry: Any, w: Any) -> Any:
            x, key = carry
            key, own = jax.random.split(key)
            return (dropped(own, x @ w), key), None

        key = jax.random.key(jax.numpy.argmax(x @ params["w"][0]))
        return (jax.lax.scan(layer, (x, key), params["w"])[0][0] ** 2).mean()

    step = step_of(lambda params, key, x: loss(params, x), optimizer := optax.sgd(0.1))
    params = {"w": np.stack([np.eye(6, dtype="float32")] * 3)}
    with pytest.raises(SourceError, match="found keys of random numbers that are kept, and computed of data") as caught:
        read_text(text_of(step, (params, optimizer.init(params), np.int32(0), DATA)))
    assert caught.value.hint is not None
    assert "before the loop" in caught.value.hint
