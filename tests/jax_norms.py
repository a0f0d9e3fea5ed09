"""
Normalisations as users of JAX spell them out, and functions that only look like one.

JAX is optional: a test that takes one of these asks `pytest.importorskip("jax")` first.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Spelled:
    """A function of parameters g and b and of x, the shape of x, and the call of the language that it is."""

    forward: Callable[[Any, Any], Any]
    shape: tuple[int, ...]
    call: str
    width: tuple[int, ...] = (8,)
    """The shape of scale and shift."""


def _statistics(x: Any, axes: Any) -> tuple[Any, Any]:
    import jax.numpy as jnp

    return jnp.mean(x, axes, keepdims=True), jnp.var(x, axes, keepdims=True)


def _plain(p: Any, x: Any, axes: Any = -1, eps: float = 1e-5) -> Any:
    import jax.numpy as jnp

    mean, variance = _statistics(x, axes)
    return (x - mean) / jnp.sqrt(variance + eps) * p["g"] + p["b"]


def _by_hand(p: Any, x: Any) -> Any:
    """The variance as a mean of squares of what is left."""
    from jax import lax

    mean = x.sum(-1, keepdims=True) / x.shape[-1]
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return p["g"] * ((x - mean) * lax.rsqrt(variance + 1e-3)) + p["b"]


def _flax(p: Any, x: Any) -> Any:
    """The mean of squares less the square of the mean, the scale in the inverse root: as flax.linen.LayerNorm."""
    import jax.numpy as jnp
    from jax import lax

    mean = x.mean(-1)
    variance = jnp.maximum(0.0, lax.square(x).mean(-1) - lax.square(mean))
    factor = lax.rsqrt(jnp.expand_dims(variance, -1) + 1e-6) * p["g"]
    return (x - jnp.expand_dims(mean, -1)) * factor + p["b"]


def _haiku(p: Any, x: Any) -> Any:
    from jax import lax

    mean, variance = _statistics(x, -1)
    return p["g"] * lax.rsqrt(variance + 1e-5) * (x - mean) + p["b"]


def _equinox(p: Any, x: Any) -> Any:
    """Of one row, mapped over the others: as equinox.nn.LayerNorm."""
    import jax
    import jax.numpy as jnp

    def row(x: Any) -> Any:
        mean, variance = _statistics(x, None)
        return (x - mean) * jax.lax.rsqrt(jnp.maximum(0.0, variance) + 1e-5) * p["g"] + p["b"]

    return jax.vmap(jax.vmap(row))(x)


def _inverse(p: Any, x: Any) -> Any:
    import jax.numpy as jnp

    mean, variance = _statistics(x, -1)
    return (x - mean) * (1 / jnp.sqrt(variance + 1e-5)) * p["g"] + p["b"]


def _unshifted(p: Any, x: Any) -> Any:
    from jax import lax

    mean, variance = _statistics(x, -1)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["g"]


def _rms(p: Any, x: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    return x * lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6) * p["g"]


def _rms_divided(p: Any, x: Any) -> Any:
    import jax.numpy as jnp

    return p["g"] * (x / jnp.sqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6))


def _rms_flax(p: Any, x: Any) -> Any:
    """The scale in the inverse root, and a mean of 0: as flax.linen.RMSNorm."""
    import jax.numpy as jnp
    from jax import lax

    factor = lax.rsqrt(jnp.mean(lax.square(x), -1, keepdims=True) + 1e-6) * p["g"]
    return (x - 0.0) * factor


def _rms_gemma(p: Any, x: Any) -> Any:
    """The scale is 1 more than the parameter."""
    import jax.numpy as jnp
    from jax import lax

    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * (1 + p["g"])


def _batch(p: Any, x: Any) -> Any:
    from jax import lax

    mean, variance = _statistics(x, (0, 2, 3))
    g, b = (p[name][None, :, None, None] for name in "gb")
    return (x - mean) * lax.rsqrt(variance + 1e-5) * g + b


def _batch_scaled_first(p: Any, x: Any) -> Any:
    """The scale in the inverse root of a channel: as flax.linen.BatchNorm and Haiku."""
    from jax import lax

    mean, variance = _statistics(x, (0, 2, 3))
    g, b = (p[name][None, :, None, None] for name in "gb")
    return (x - mean) * (lax.rsqrt(variance + 1e-5) * g) + b


def _features(p: Any, x: Any) -> Any:
    from jax import lax

    mean, variance = x.mean(0), x.var(0)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["g"] + p["b"]


NORMS = {
    "plain": Spelled(_plain, (2, 5, 8), "layer_norm"),
    "plain_matrix": Spelled(_plain, (6, 8), "layer_norm"),
    "two_axes": Spelled(lambda p, x: _plain(p, x, (-2, -1)), (3, 5, 8), "layer_norm", (5, 8)),
    "by_hand": Spelled(_by_hand, (2, 5, 8), "layer_norm"),
    "flax": Spelled(_flax, (2, 5, 8), "layer_norm"),
    "haiku": Spelled(_haiku, (2, 5, 8), "layer_norm"),
    "equinox": Spelled(_equinox, (2, 5, 8), "layer_norm"),
    "inverse": Spelled(_inverse, (2, 5, 8), "layer_norm"),
    "unshifted": Spelled(_unshifted, (8, 8), "layer_norm"),
    "rms": Spelled(_rms, (2, 5, 8), "rms_norm"),
    "rms_divided": Spelled(_rms_divided, (8, 8), "rms_norm"),
    "rms_flax": Spelled(_rms_flax, (2, 5, 8), "rms_norm"),
    "rms_gemma": Spelled(_rms_gemma, (2, 5, 8), "rms_norm"),
    "batch": Spelled(_batch, (4, 8, 3, 5), "batch_norm"),
    "batch_scaled_first": Spelled(_batch_scaled_first, (4, 8, 3, 5), "batch_norm"),
    "features": Spelled(_features, (6, 8), "batch_norm"),
}


def _other_axis(p: Any, x: Any) -> Any:
    """The variance over another axis than the mean."""
    from jax import lax

    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(0, keepdims=True) + 1e-5) * p["g"]


def _outside(p: Any, x: Any) -> Any:
    """eps beside the root."""
    import jax.numpy as jnp

    mean, variance = _statistics(x, -1)
    return (x - mean) / (jnp.sqrt(variance) + 1e-5) * p["g"]


def _unbiased(p: Any, x: Any) -> Any:
    """The variance of a sample."""
    from jax import lax

    variance = x.var(-1, keepdims=True, ddof=1)
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(variance + 1e-5) * p["g"]


def _other_mean(p: Any, x: Any) -> Any:
    """The mean of another tensor."""
    from jax import lax

    mean, variance = _statistics(x, -1)
    return (x - lax.exp(mean)) * lax.rsqrt(variance + 1e-5) * p["g"]


def _other_tensor(p: Any, x: Any) -> Any:
    """The statistics of another tensor than the one that is scaled."""
    import jax.numpy as jnp
    from jax import lax

    return jnp.tanh(x) * lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6) * p["g"]


def _spread_wrong(p: Any, x: Any) -> Any:
    """Statistics of rows that are spread along columns, of a square matrix."""
    from jax import lax

    return (x - x.mean(-1)) * lax.rsqrt(x.var(-1) + 1e-5) * p["g"]


def _sum_of_squares(p: Any, x: Any) -> Any:
    from jax import lax

    return x * lax.rsqrt((x**2).sum(-1, keepdims=True) + 1e-6) * p["g"]


def _cubes(p: Any, x: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    return x * lax.rsqrt(jnp.abs(jnp.mean(x**3, -1, keepdims=True)) + 1e-6) * p["g"]


def _root(p: Any, x: Any) -> Any:
    """Multiplied by the root."""
    import jax.numpy as jnp

    mean, variance = _statistics(x, -1)
    return (x - mean) * jnp.sqrt(variance + 1e-5) * p["g"]


def _power(p: Any, x: Any) -> Any:
    """Another power than the inverse root."""
    mean, variance = _statistics(x, -1)
    return (x - mean) / (variance + 1e-5) * p["g"]


OTHERS = {
    "other_axis": Spelled(_other_axis, (8, 8), ""),
    "outside": Spelled(_outside, (2, 5, 8), ""),
    "unbiased": Spelled(_unbiased, (2, 5, 8), ""),
    "other_mean": Spelled(_other_mean, (2, 5, 8), ""),
    "other_tensor": Spelled(_other_tensor, (2, 5, 8), ""),
    "spread_wrong": Spelled(_spread_wrong, (8, 8), ""),
    "sum_of_squares": Spelled(_sum_of_squares, (2, 5, 8), ""),
    "cubes": Spelled(_cubes, (2, 5, 8), ""),
    "root": Spelled(_root, (2, 5, 8), ""),
    "power": Spelled(_power, (2, 5, 8), ""),
}
