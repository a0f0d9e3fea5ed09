"""Nearest upsampling against PyTorch: which element each of the result is, and where its gradient goes."""

from collections.abc import Sequence
from math import floor

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from xdsl.dialects.builtin import TensorType, f16, f32, f64
from xdsl.ir import Attribute

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.dialects.train.base import TrainOp
from tests.networks import Net

torch.set_num_threads(1)

SCALES = [number / 100 for number in range(104, 397, 4)]
TYPES = {f16: torch.float16, f32: torch.float32, f64: torch.float64}


def ours(element: Attribute, size: int, *, scale: float | None = None, out: int | None = None) -> tuple[Array, Array]:
    """Of a row of `size` columns: the column that each of the result is, and how many each becomes."""
    net = Net()
    x = net.b.input("x", TensorType(element, (1, 1, 1, size)))
    y = net.call("upsample", x, scale=scale and [1, scale], size=out and [1, out])
    forward = y.owner
    assert isinstance(forward, TrainOp)
    layer = get_layer(forward)
    (columns,) = layer.evaluate(forward, np.arange(float(size)).reshape(1, 1, 1, size))
    (dx,) = layer.vjp(forward, [y], [True], net.b.emit)
    assert dx is not None
    assert isinstance(dx.owner, TrainOp)
    (counts,) = get_layer(dx.owner).evaluate(dx.owner, np.ones_like(columns))
    return columns.ravel(), counts.ravel()


def theirs(dtype: torch.dtype, size: int, *, scale: float | None = None, out: int | None = None) -> Sequence[Array]:
    """
    The same by PyTorch, in the channels-last layout.

    In the other layout its forward pass on float64, and on no other type, rounds in another way than its gradient.
    """
    x = torch.arange(float(size), dtype=dtype).repeat(1, 4, 2, 1)
    x = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    y = F.interpolate(x, scale_factor=scale and (1.0, scale), size=out and (2, out))
    y.backward(torch.ones_like(y))
    assert x.grad is not None
    return y[0, 0, 0].detach().double().numpy(), x.grad[0, 0, 0].double().numpy()


@pytest.mark.parametrize("element", TYPES)
def test_scales(element: Attribute) -> None:
    for size in range(1, 41):
        for scale in SCALES:
            expected = theirs(TYPES[element], size, scale=scale)
            assert len(expected[0]) == floor(size * scale)
            for found, wanted in zip(ours(element, size, scale=scale), expected, strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=f"{size} columns scaled by {scale}")


def test_sizes() -> None:
    for size in range(1, 30, 4):
        for out in range(1, 120):
            expected = theirs(torch.float32, size, out=out)
            for found, wanted in zip(ours(f32, size, out=out), expected, strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=f"{size} columns resized to {out}")
