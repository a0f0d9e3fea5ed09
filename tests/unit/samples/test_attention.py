"""The attention block that ships with npuc, imported by a network of one's own."""

import numpy as np
import numpy.typing as npt
import pytest

from npuc.compiler.errors import SourceError
from npuc.compiler.layers.base import Array
from npuc.compiler.run import run_source
from npuc.frontends import read_source

CROSS_ATTENTION = """
import "samples:_attention.dsl"
network cross(heads=2) {
  input x: f64[2, 3, 8]
  input memory: f64[2, 5, 8]
  attention = attention(x, memory, heads)
  output attention
}
"""


def softmax(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_attention_block_in_a_network_of_ones_own(heads: int) -> None:
    random = np.random.default_rng(0)
    x, memory = random.standard_normal((2, 3, 8)), random.standard_normal((2, 5, 8))
    result = run_source(
        CROSS_ATTENTION, inputs={"x": x, "memory": memory}, defines={"heads": heads}, inference=True, filename="net.dsl"
    )

    def full(name: str, value: Array) -> Array:
        return value @ result.params[f"attention.{name}.weight"] + result.params[f"attention.{name}.bias"]

    q, k, v = full("q", x), full("k", memory), full("v", memory)
    size = 8 // heads
    parts = [slice(size * head, size * (head + 1)) for head in range(heads)]
    context = [softmax(q[..., p] @ k[..., p].swapaxes(1, 2) / np.sqrt(size)) @ v[..., p] for p in parts]
    expected = full("out", np.concatenate(context, axis=-1))
    np.testing.assert_allclose(result.outputs["attention"], expected, rtol=1e-12)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(SourceError, match="8 / 3 is not an integer"):
        read_source(CROSS_ATTENTION, filename="net.dsl", defines={"heads": 3}, training=False)
