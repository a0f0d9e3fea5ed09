"""
Networks in JAX that draw masks, as its users write them, and the masks that JAX draws.

JAX is optional: a test that takes a program of these asks `pytest.importorskip("jax")` first.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

Loss = Callable[[Any, Any, Any], Any]
"""A loss of parameters, a key, and rows of data."""


def dropped(key: Any, x: Any, rate: float = 0.25, shape: Any = None) -> Any:
    """Dropout as flax.linen has it: elements divided by the share that is kept, then chosen by `select`."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    kept = 1.0 - rate
    mask = jax.random.bernoulli(key, p=kept, shape=shape or x.shape)
    return lax.select(jnp.broadcast_to(mask, x.shape), x / kept, jnp.zeros_like(x))


def _scaled_after(key: Any, x: Any, p: Any) -> Any:
    import jax
    import jax.numpy as jnp

    h = jnp.tanh(x @ p["w1"])
    return jnp.where(jax.random.bernoulli(key, 0.75, h.shape), h, 0.0) / 0.75 @ p["w2"]


def _multiplied(key: Any, x: Any, p: Any) -> Any:
    import jax
    import jax.numpy as jnp

    h = jnp.tanh(x @ p["w1"])
    return h * (jax.random.bernoulli(key, 0.75, h.shape).astype(h.dtype) / 0.75) @ p["w2"]


def _split(key: Any, x: Any, p: Any) -> Any:
    import jax
    import jax.numpy as jnp

    first, second = jax.random.split(key)
    h = dropped(first, jnp.tanh(x @ p["w1"]))
    return dropped(jax.random.fold_in(second, 7), h @ p["w2"], 0.5)


def _broadcast(key: Any, x: Any, p: Any) -> Any:
    import jax.numpy as jnp

    h = jnp.tanh(x @ p["w1"])
    return dropped(key, h, shape=(1, h.shape[1])) @ p["w2"]


def _depth(key: Any, x: Any, p: Any) -> Any:
    import jax
    import jax.numpy as jnp

    own, whole = jax.random.split(key)
    rows = jax.random.bernoulli(own, 0.75, (x.shape[0], 1))
    x = x + jnp.where(rows, jnp.tanh(x @ p["w1"]) @ p["w2"] / 0.75, 0.0)
    return x + jnp.where(jax.random.bernoulli(whole, 0.5), jnp.tanh(x @ p["w3"]) / 0.5, 0.0)


def _both_sides(key: Any, x: Any, p: Any) -> Any:
    import jax
    import jax.numpy as jnp

    h = x @ p["w1"]
    mask = jax.random.bernoulli(key, 0.25, h.shape)
    return jnp.where(mask, jnp.tanh(h), jnp.where(~mask, h, 1.0)) @ p["w2"]


def _carried(key: Any, x: Any, p: Any, again: bool = False) -> Any:
    import jax
    import jax.numpy as jnp

    def layer(carry: Any, w: Any) -> Any:
        x, key = carry
        key, own = jax.random.split(key)
        return (dropped(own, jnp.tanh(x @ w)), key), None

    (x, _), _ = jax.lax.scan(jax.checkpoint(layer) if again else layer, (x, key), p["layers"])
    return x


def _made_before(key: Any, x: Any, p: Any, folded: bool = False) -> Any:
    import jax
    import jax.numpy as jnp

    @jax.checkpoint
    def layer(x: Any, row: Any) -> Any:
        w, own = row
        return dropped(jax.random.fold_in(key, own) if folded else own, jnp.tanh(x @ w)), None

    x, _ = jax.lax.scan(layer, x, (p["layers"], jnp.arange(3) if folded else jax.random.split(key, 3)))
    return x


def _images(key: Any, x: Any, p: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    x = x.reshape(x.shape[0], 2, 3, 1)
    h = lax.conv_general_dilated(x, p["k"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return dropped(key, jnp.tanh(h)).mean((1, 2)) @ p["w4"]


FORWARDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scaled_after": _scaled_after,
    "multiplied": _multiplied,
    "split": _split,
    "broadcast": _broadcast,
    "depth": _depth,
    "both_sides": _both_sides,
    "carried": _carried,
    "carried_again": lambda key, x, p: _carried(key, x, p, again=True),
    "made_before": _made_before,
    "folded": lambda key, x, p: _made_before(key, x, p, folded=True),
    "images": _images,
}
"""Outputs of a key, data [5, 6] and parameters, by what is special about their masks."""


def loss_of(name: str) -> Loss:
    """The mean of the squares of outputs."""

    def loss(params: Any, key: Any, x: Any) -> Any:
        return (FORWARDS[name](key, x, params) ** 2).mean()

    return loss


def params_of(name: str) -> Any:
    """The parameters that a network has."""
    sizes = {"w1": (6, 8), "w2": (8, 6), "w3": (6, 6), "layers": (3, 6, 6), "k": (2, 2, 1, 4), "w4": (4, 6)}
    own = {
        "carried": ["layers"],
        "carried_again": ["layers"],
        "made_before": ["layers"],
        "folded": ["layers"],
        "images": ["k", "w4"],
        "depth": ["w1", "w2", "w3"],
    }
    random = np.random.default_rng(3)
    return {one: random.normal(0, 0.5, sizes[one]).astype("float32") for one in own.get(name, ["w1", "w2"])}


def example() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A whole step of two layers with a dropout between, and its arguments."""
    import jax
    import optax

    optimizer = optax.sgd(0.1)

    def loss(params: Any, key: Any, x: Any, y: Any) -> Any:
        with jax.named_scope("hidden"):
            h = jax.nn.relu(x @ params["w1"])
        with jax.named_scope("dropout"):
            h = dropped(key, h)
        with jax.named_scope("logits"):
            logits = h @ params["w2"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(params: Any, state: Any, key: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, key, x, y)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    params = {"w1": np.ones((6, 8), "float32"), "w2": np.ones((8, 4), "float32")}
    return step, (params, optimizer.init(params), jax.random.key(0), DATA, np.arange(5, dtype="int32") % 4)


DATA = np.random.default_rng(4).normal(0, 1, (5, 6)).astype("float32")


def masks_of(loss: Loss, *arguments: Any) -> list[Any]:
    """The masks that a loss draws, in order."""
    import jax

    masks: list[Any] = []
    bernoulli = jax.random.bernoulli

    def recorded(*given: Any, **named: Any) -> Any:
        masks.append(np.asarray(made := bernoulli(*given, **named)))
        return made

    eager = patch.object(jax.random, "bernoulli", recorded), patch.object(jax, "checkpoint", lambda layer: layer)
    with eager[0], eager[1], jax.disable_jit():
        loss(*arguments)
    return masks
