"""
Networks and training steps in JAX, as its users write them.

JAX is optional: a test that takes a program of these asks `pytest.importorskip("jax")` first.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class JaxProgram:
    """A loss of parameters and data with the forward function, and values for both."""

    forward: Callable[..., Any]
    """Of parameters and the first of the data."""
    loss: Callable[..., Any]
    """Of parameters and all data."""
    params: Any
    data: tuple[Any, ...]

    def step(self, optimizer: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A whole training step with an optimizer of optax, and its arguments."""
        import jax
        import optax

        def step(params: Any, state: Any, *data: Any) -> Any:
            loss, gradients = jax.value_and_grad(self.loss)(params, *data)
            updates, state = optimizer.update(gradients, state, params)
            return optax.apply_updates(params, updates), state, loss

        return step, (self.params, optimizer.init(self.params), *self.data)


def read_text(text: str, **request: Any) -> Any:
    """The verified program of a module's text."""
    from npuc.frontends.base import Request
    from npuc.frontends.source import text_source

    source = text_source(text.encode(), "jax", "step.mlir")
    program = source.frontend.read(source, Request(**request))
    program.module.verify()
    return program


def run_of(program: Any, given: dict[str, Any], module: Any = None) -> Any:
    """A run that takes and gives values as JAX has them."""
    from npuc.compiler.interpreter.execute import execute

    layouts = program.layouts
    stored = {name: layouts[name].stored(name, x) if name in layouts else x for name, x in given.items()}
    run = execute(module or program.module, stored)
    for found in (run.gradients, run.updated):
        found.update({name: layouts[name].given(x) for name, x in found.items() if name in layouts})
    return run


def random_array(*shape: int, seed: int = 0, scale: float = 0.3) -> Any:
    import jax
    import numpy as np

    return jax.numpy.asarray(np.random.default_rng(seed + sum(shape)).normal(0, scale, shape), "float32")


def labels(count: int, classes: int) -> Any:
    import jax.numpy as jnp

    return jnp.arange(count, dtype="int32") * 5 % classes


def cross_entropy(logits: Any, labels: Any) -> Any:
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def mlp(batch: int = 4) -> JaxProgram:
    """Two layers with a ReLU between."""
    import jax

    def forward(p: Any, x: Any) -> Any:
        with jax.named_scope("hidden"):
            h = jax.nn.relu(x @ p["w1"] + p["b1"])
        with jax.named_scope("logits"):
            return h @ p["w2"] + p["b2"]

    params = {"w1": random_array(8, 16), "b1": random_array(16), "w2": random_array(16, 10), "b2": random_array(10)}
    return JaxProgram(
        forward,
        lambda p, x, y: cross_entropy(forward(p, x), y),
        params,
        (random_array(batch, 8, seed=5), labels(batch, 10)),
    )


def convnet(batch: int = 2) -> JaxProgram:
    """LeNet's order of layers: convolutions, ReLU, largest of windows, linear layers."""
    import jax
    from jax import lax

    def layer(x: Any, w: Any, b: Any) -> Any:
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        y = jax.nn.relu(y + b[None, :, None, None])
        return lax.reduce_window(y, -float("inf"), lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def forward(p: Any, x: Any) -> Any:
        with jax.named_scope("conv1"):
            x = layer(x, p["w1"], p["b1"])
        with jax.named_scope("conv2"):
            x = layer(x, p["w2"], p["b2"])
        with jax.named_scope("logits"):
            return x.reshape(x.shape[0], -1) @ p["w3"] + p["b3"]

    params = {
        "w1": random_array(4, 1, 3, 3),
        "b1": random_array(4),
        "w2": random_array(6, 4, 3, 3),
        "b2": random_array(6),
        "w3": random_array(6 * 2 * 2, 10),
        "b3": random_array(10),
    }
    return JaxProgram(
        forward,
        lambda p, x, y: cross_entropy(forward(p, x), y),
        params,
        (random_array(batch, 1, 8, 8, seed=5), labels(batch, 10)),
    )


def resnet(batch: int = 2) -> JaxProgram:
    """A convolution, a residual block with a projection, batch normalisation by the batch, the mean of places."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def conv(x: Any, w: Any, stride: int = 1) -> Any:
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def norm(x: Any, scale: Any, bias: Any) -> Any:
        mean = x.mean((0, 1, 2), keepdims=True)
        variance = ((x - mean) ** 2).mean((0, 1, 2), keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias

    def forward(p: Any, x: Any) -> Any:
        with jax.named_scope("stem"):
            x = jax.nn.relu(norm(conv(x, p["stem"]), p["s0"], p["c0"]))
        with jax.named_scope("block"):
            y = jax.nn.relu(norm(conv(x, p["w1"], 2), p["s1"], p["c1"]))
            y = norm(conv(y, p["w2"]), p["s2"], p["c2"])
            x = jax.nn.relu(y + conv(x, p["project"], 2))
        with jax.named_scope("logits"):
            return x.mean((1, 2)) @ p["fc"] + p["b"]

    params = {
        "stem": random_array(3, 3, 3, 4),
        "w1": random_array(3, 3, 4, 8),
        "w2": random_array(3, 3, 8, 8),
        "project": random_array(1, 1, 4, 8),
        "fc": random_array(8, 10),
        "b": random_array(10),
        **{f"s{i}": 1 + random_array(n, seed=i) for i, n in enumerate((4, 8, 8))},
        **{f"c{i}": random_array(n, seed=i) for i, n in enumerate((4, 8, 8))},
    }
    jnp.zeros(1)
    return JaxProgram(
        forward,
        lambda p, x, y: cross_entropy(forward(p, x), y),
        params,
        (random_array(batch, 8, 8, 3, seed=5), labels(batch, 10)),
    )


def gpt(
    batch: int = 2, length: int = 6, width: int = 8, heads: int = 2, layers: int = 2, scan: bool = False
) -> JaxProgram:
    """A decoder as GPT-2: embeddings, blocks of causal attention and a perceptron with GELU, tied logits."""
    import jax
    import jax.numpy as jnp

    def norm(x: Any, scale: Any, bias: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + bias

    def attention(x: Any, p: Any) -> Any:
        b, t, d = x.shape
        q, k, v = (part.reshape(b, t, heads, d // heads) for part in jnp.split(x @ p["qkv"], 3, -1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (d // heads) ** 0.5
        mask = jnp.tril(jnp.ones((t, t), bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, t, d) @ p["out"]

    def block(x: Any, p: Any) -> Any:
        with jax.named_scope("attention"):
            x = x + attention(norm(x, p["s1"], p["c1"]), p)
        with jax.named_scope("mlp"):
            return x + jax.nn.gelu(norm(x, p["s2"], p["c2"]) @ p["up"] + p["b"], approximate=True) @ p["down"]

    def forward(p: Any, ids: Any) -> Any:
        x = p["wte"][ids] + p["wpe"][: ids.shape[1]]
        if scan:
            x, _ = jax.lax.scan(lambda x, one: (block(x, one), None), x, p["blocks"])
        else:
            for number in range(layers):
                with jax.named_scope(f"block{number}"):
                    x = block(x, {name: values[number] for name, values in p["blocks"].items()})
        with jax.named_scope("logits"):
            return norm(x, p["s"], p["c"]) @ p["wte"].T

    def stacked(*shape: int, seed: int = 0) -> Any:
        return jnp.stack([random_array(*shape, seed=seed + number) for number in range(layers)])

    blocks = {
        "qkv": stacked(width, 3 * width),
        "out": stacked(width, width),
        "up": stacked(width, 4 * width),
        "b": stacked(4 * width),
        "down": stacked(4 * width, width),
        **{name: stacked(width, seed=seed) for seed, name in enumerate(("s1", "c1", "s2", "c2"))},
    }
    params = {
        "wte": random_array(11, width),
        "wpe": random_array(length, width),
        "blocks": blocks,
        "s": random_array(width, seed=1),
        "c": random_array(width, seed=2),
    }
    ids = jnp.arange(batch * length, dtype="int32").reshape(batch, length) * 3 % 11
    return JaxProgram(forward, lambda p, x, y: cross_entropy(forward(p, x), y), params, (ids, (ids + 1) % 11))


def scanned_gpt() -> JaxProgram:
    """The decoder with its blocks in one `lax.scan`."""
    return gpt(scan=True)


def lstm_states(p: Any, x: Any, batch: int, width: int) -> Any:
    """The last state of an LSTM over x [length, batch, inner], by `lax.scan`."""
    import jax
    import jax.numpy as jnp

    def cell(carry: Any, row: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(row @ p["wx"] + h @ p["wh"] + p["b"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), None

    zeros = jnp.zeros((batch, width), x.dtype)
    (h, _), _ = jax.lax.scan(cell, (zeros, zeros), x)
    return h


def lstm(batch: int = 2, length: int = 4, width: int = 5) -> JaxProgram:
    """An LSTM by `lax.scan`, whose last state is classified."""

    def forward(p: Any, x: Any) -> Any:
        return lstm_states(p, x, x.shape[1], width) @ p["out"]

    params = {
        "wx": random_array(3, 4 * width),
        "wh": random_array(width, 4 * width),
        "b": random_array(4 * width),
        "out": random_array(width, 10),
    }
    return JaxProgram(
        forward,
        lambda p, x, y: cross_entropy(forward(p, x), y),
        params,
        (random_array(length, batch, 3, seed=5), labels(batch, 10)),
    )


PROGRAMS: dict[str, Callable[[], JaxProgram]] = {
    "mlp": mlp,
    "convnet": convnet,
    "resnet": resnet,
    "gpt": gpt,
    "scanned_gpt": scanned_gpt,
    "lstm": lstm,
}


def text_of(function: Callable[..., Any], arguments: tuple[Any, ...], generic: bool = False) -> str:
    """What `jax.jit(function).lower(*arguments)` exports as text; with places, or in MLIR's generic form without."""
    import jax

    lowered = jax.jit(function).lower(*arguments)
    if not generic:
        return lowered.as_text(debug_info=True)
    module: Any = lowered.compiler_ir("stablehlo")
    return str(module.operation.get_asm(print_generic_op_form=True))
