"""Networks of sequences: decoders as GPT and LLaMA, an encoder of patches, an LSTM."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any

from tests.jax_beside import Beside
from tests.jax_programs import JaxProgram, cross_entropy, labels, lstm_states, random_array


def _layer_norm(x: Any, p: Any) -> Any:
    """As Haiku writes it."""
    import jax.numpy as jnp
    from jax import lax

    mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
    inverse = p["scale"] * lax.rsqrt(variance + 1e-5)
    return inverse * (x - mean) + p["offset"]


def _linear(x: Any, p: Any) -> Any:
    return x @ p["w"] + p["b"] if "b" in p else x @ p["w"]


def _heads(x: Any, heads: int) -> Any:
    b, t, d = x.shape
    return x.reshape(b, t, heads, d // heads)


def _attended(q: Any, k: Any, v: Any, causal: bool) -> Any:
    """As Flax writes it: axes [batch, length, heads, size]."""
    import jax
    import jax.numpy as jnp

    b, t, heads, size = q.shape
    scores = jnp.einsum("bqhd,bkhd->bhqk", q * size**-0.5, k)
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e30)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(b, t, heads * size)


def _attention(x: Any, p: Any, heads: int, causal: bool) -> Any:
    import jax

    found: dict[str, Any] = {}
    for name in ("q", "k", "v"):
        with jax.named_scope(name):
            found[name] = _heads(_linear(x, p[name]), heads)
    mixed = _attended(found["q"], found["k"], found["v"], causal)
    with jax.named_scope("out"):
        return _linear(mixed, p["out"])


def _weights(inner: int, outer: int, bias: bool = True) -> Any:
    w = {"w": random_array(inner, outer, scale=0.1)}
    return {**w, "b": random_array(outer, seed=inner)} if bias else w


def _norm(width: int, seed: int) -> Any:
    return {"scale": 1 + random_array(width, seed=seed), "offset": random_array(width, seed=seed + 1)}


def _encoder_block(width: int) -> Any:
    return {
        "norm1": _norm(width, 1),
        "norm2": _norm(width, 3),
        **{name: _weights(width, width) for name in ("q", "k", "v", "out")},
        "up": _weights(width, 4 * width),
        "down": _weights(4 * width, width),
    }


def _block(x: Any, p: Any, heads: int, causal: bool) -> Any:
    import jax

    with jax.named_scope("attention"):
        x = x + _attention(_layer_norm(x, p["norm1"]), p, heads, causal)
    with jax.named_scope("up"):
        h = jax.nn.gelu(_linear(_layer_norm(x, p["norm2"]), p["up"]), approximate=True)
    with jax.named_scope("down"):
        return x + _linear(h, p["down"])


def gpt() -> JaxProgram:
    """Two blocks of GPT-2 with tied logits."""
    import jax
    import jax.numpy as jnp

    batch, length, width, words = 2, 16, 32, 50

    def forward(p: Any, ids: Any) -> Any:
        x = p["wte"][ids] + p["wpe"]
        for number in range(2):
            with jax.named_scope(f"block{number}"):
                x = _block(x, p[f"block{number}"], 4, True)
        with jax.named_scope("logits"):
            return _layer_norm(x, p["norm"]) @ p["wte"].T

    params = {
        "wte": random_array(words, width),
        "wpe": random_array(length, width),
        **{f"block{number}": _encoder_block(width) for number in range(2)},
        "norm": _norm(width, 7),
    }
    ids = jnp.arange(batch * length, dtype="int32").reshape(batch, length) * 3 % words
    return JaxProgram(forward, lambda p, x, y: cross_entropy(forward(p, x), y), params, (ids, (ids + 1) % words))


GPT = """block layer(x) {
  x = x + multi_head_attention(layer_norm(x), 4, causal=true)
  return x + linear(gelu(linear(layer_norm(x), 128), approximate=tanh), 32)
}

network net() {
  input x: i32[2, 16]
  labels y: i32[2, 16]
  wte = param([50, 32])
  wpe = param([16, 32])
  block0 = layer(embedding(x, weight=wte) + wpe)
  block1 = layer(block0)
  norm = layer_norm(block1)
  loss cross_entropy(matmul(norm, wte, transpose_b=true), y)
  optimizer sgd(lr=0.1)
}"""


def _rotary(x: Any) -> Any:
    """Positions by halves; x is [batch, length, heads, size]."""
    import jax.numpy as jnp

    length, size = x.shape[1], x.shape[3]
    frequencies = 1.0 / (10000.0 ** (jnp.arange(0, size, 2, dtype="float32") / size))
    angles = jnp.outer(jnp.arange(length, dtype="float32"), frequencies)
    cosine, sine = (jnp.concatenate([f(angles)] * 2, -1)[None, :, None, :] for f in (jnp.cos, jnp.sin))
    first, second = jnp.split(x, 2, -1)
    return x * cosine + jnp.concatenate([-second, first], -1) * sine


def _rms_norm(x: Any, g: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    return x * lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6) * g


def llama() -> JaxProgram:
    """A block of LLaMA."""
    import jax
    import jax.numpy as jnp

    batch, length, width, hidden, heads = 2, 16, 32, 64, 4

    def forward(p: Any, x: Any) -> Any:
        with jax.named_scope("attention"):
            n = _rms_norm(x, p["g1"])
            q, k, v = (_heads(n @ p[name], heads) for name in ("wq", "wk", "wv"))
            x = x + _attended(_rotary(q), _rotary(k), v, True) @ p["wo"]
        with jax.named_scope("mlp"):
            n = _rms_norm(x, p["g2"])
            return x + (jax.nn.silu(n @ p["gate"]) * (n @ p["up"])) @ p["down"]

    shapes = {"wq": width, "wk": width, "wv": width, "wo": width, "gate": hidden, "up": hidden}
    params = {
        **{name: random_array(width, outer, scale=0.1) for name, outer in shapes.items()},
        "down": random_array(hidden, width, scale=0.1),
        "g1": 1 + random_array(width, seed=1),
        "g2": 1 + random_array(width, seed=2),
    }
    data = (random_array(batch, length, width, seed=5), random_array(batch, length, width, seed=6))
    return JaxProgram(forward, lambda p, x, y: jnp.mean((forward(p, x) - y) ** 2), params, data)


LLAMA = """network net() {
  input x: f32[2, 16, 32]
  input y: f32[2, 16, 32]
  n = rms_norm(x, eps=1e-6)
  h = x + multi_head_attention(n, 4, causal=true, bias=false, rotary=true)
  n = rms_norm(h, eps=1e-6)
  h = h + linear(silu(linear(n, 64, bias=false)) * linear(n, 64, bias=false), 32, bias=false)
  loss mse(h, y)
  optimizer sgd(lr=0.1)
}"""


def vit() -> JaxProgram:
    """Patches by a convolution in NHWC, one block of an encoder, the mean of places."""
    import jax
    from jax import lax

    def forward(p: Any, x: Any) -> Any:
        with jax.named_scope("patches"):
            x = lax.conv_general_dilated(
                x, p["patches"]["w"], (4, 4), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = x + p["patches"]["b"]
        x = x.reshape(x.shape[0], -1, x.shape[-1]) + p["positions"]
        with jax.named_scope("block"):
            x = _block(x, p["block"], 4, False)
        with jax.named_scope("logits"):
            return _linear(_layer_norm(x, p["norm"]).mean(1), p["logits"])

    params = {
        "patches": {"w": random_array(4, 4, 3, 32, scale=0.1), "b": random_array(32)},
        "positions": random_array(16, 32),
        "block": _encoder_block(32),
        "norm": _norm(32, 7),
        "logits": _weights(32, 10),
    }
    data = (random_array(2, 16, 16, 3, seed=5), labels(2, 10))
    return JaxProgram(forward, lambda p, x, y: cross_entropy(forward(p, x), y), params, data)


VIT = """block layer(x) {
  x = x + multi_head_attention(layer_norm(x), 4)
  return x + linear(gelu(linear(layer_norm(x), 128), approximate=tanh), 32)
}

network net() {
  input x: f32[2, 3, 16, 16]
  labels y: i32[2]
  patches = conv2d(x, 32, kernel=4, stride=4)
  positions = param([16, 32])
  block = layer(transpose(reshape(patches, [2, 32, 16]), [0, 2, 1]) + positions)
  norm = layer_norm(block)
  logits = linear(mean(norm, axis=1), 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}"""


def lstm() -> JaxProgram:
    """An LSTM by `lax.scan`, whose last state is classified."""
    import jax

    batch, length, inner, width = 4, 5, 12, 16

    def forward(p: Any, x: Any) -> Any:
        h = lstm_states(p, x, batch, width)
        with jax.named_scope("logits"):
            return h @ p["out"]

    params = {
        "wx": random_array(inner, 4 * width),
        "wh": random_array(width, 4 * width),
        "b": random_array(4 * width),
        "out": random_array(width, 10),
    }
    data = (random_array(length, batch, inner, seed=5), labels(batch, 10))
    return JaxProgram(forward, lambda p, x, y: cross_entropy(forward(p, x), y), params, data)


LSTM = """network net() {
  input x: f32[5, 4, 12]
  labels y: i32[4]
  wx = param([12, 64])
  wh = param([16, 64])
  b = param([64])
  h = zeros([4, 16])
  c = zeros([4, 16])
  for t in 0..5 {
    row = reshape(slice(x, 0, t, t + 1), [4, 12])
    i, f, g, o = split(matmul(row, wx) + matmul(h, wh) + b, [16, 16, 16, 16], axis=1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
  }
  loss cross_entropy(linear(h, 10, bias=false), y)
  optimizer sgd(lr=0.1)
}"""

SEQUENCE = {
    "gpt": Beside(gpt, GPT),
    "llama": Beside(llama, LLAMA),
    "vit": Beside(vit, VIT),
    "lstm": Beside(lstm, LSTM),
}
