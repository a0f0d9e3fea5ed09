"""What sections compute equals darknet's loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from npuc.compiler import run_file
from npuc.frontends.source import text_source
from tests.unit.darknet import reference
from tests.unit.darknet.reference import Image


class _Random(np.random.Generator):
    """Numbers that 32 bits hold."""

    def normal32(self, shape: tuple[int, ...]) -> Image:
        return self.integers(-64, 65, shape) / 16


RNG = _Random(np.random.PCG64(0))


def computed(body: str, x: Image, **parameters: Image) -> Image:
    """The last value of a network of one image."""
    channels, height, width = x.shape
    text = f"[net]\nbatch=1\nchannels={channels}\nheight={height}\nwidth={width}\n{body}"
    inputs = {"x": x[None], **parameters}
    run = run_file(text_source(text, "cfg", "net.cfg"), inputs=inputs, inference=True)
    return run.outputs["output"][0]


@given(st.integers(1, 6), st.integers(1, 4), st.data())
def test_maxpool(size: int, stride: int, data: st.DataObject) -> None:
    padding = data.draw(st.integers(0, size - 1))
    x = RNG.normal32((2, data.draw(st.integers(size, 9)), data.draw(st.integers(size, 9))))
    expected = reference.maxpool(x, size, stride, padding)
    found = computed(f"[maxpool]\nsize={size}\nstride={stride}\npadding={padding}\n", x)
    np.testing.assert_array_equal(found, expected)


@given(st.integers(1, 5), st.integers(1, 4))
def test_maxpool_by_default_pads_by_its_size_less_one(size: int, stride: int) -> None:
    x = RNG.normal32((1, 7, 8))
    expected = reference.maxpool(x, size, stride, size - 1)
    np.testing.assert_array_equal(computed(f"[maxpool]\nsize={size}\nstride={stride}\n", x), expected)


@given(st.sampled_from([1, 3, 5]), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2), st.booleans())
def test_convolution(size: int, stride: int, dilation: int, groups: int, pad: bool) -> None:
    assume(dilation == 1 or (pad and stride == 1))
    x, weight = RNG.integers(-4, 5, (4, 9, 9)), RNG.integers(-4, 5, (6, 4 // groups, size, size))
    dilation = dilation if size > 1 else 1
    expected = reference.convolution(x, weight, stride, size // 2 * pad, dilation, groups)
    options = f"filters=6\nsize={size}\nstride={stride}\npad={int(pad)}\ngroups={groups}\ndilation={dilation}\n"
    given = {"conv0.weight": weight.astype(float), "conv0.bias": np.arange(6.0)}
    found = computed(f"[convolutional]\n{options}activation=linear\n", x.astype(float), **given)
    np.testing.assert_array_equal(found, expected + np.arange(6.0)[:, None, None])


@pytest.mark.parametrize("word", ["reorg", "reorg3d"])
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))
def test_reorg(word: str, stride: int, rows: int, columns: int, channels: int) -> None:
    x = RNG.normal32((channels * stride**2, rows * stride, columns * stride))
    expected = reference.reorg(x, stride, old=word == "reorg")
    np.testing.assert_array_equal(computed(f"[{word}]\nstride={stride}\n", x), expected)


@given(st.integers(1, 5), st.integers(1, 2))
def test_shortcut_of_another_size(filters: int, stride: int) -> None:
    x, weight = RNG.normal32((3, 8, 8)), RNG.normal32((filters, 3, 1, 1))
    inner = f"[activation]\nactivation=linear\n[convolutional]\nfilters={filters}\nstride={stride}\nactivation=linear\n"
    y = reference.convolution(x, weight, stride, 0, 1, 1)
    given = {"conv1.weight": weight, "conv1.bias": np.zeros(filters)}
    found = computed(f"{inner}[shortcut]\nfrom=-2\nactivation=linear\n", x, **given)
    np.testing.assert_allclose(found, reference.shortcut(y, x), rtol=1e-5, atol=1e-5)


def test_upsample() -> None:
    x = RNG.normal32((2, 3, 4))
    np.testing.assert_allclose(computed("[upsample]\nstride=3\nscale=0.5\n", x), reference.upsample(x, 3, 0.5))


def test_route_takes_a_group_of_channels() -> None:
    x = RNG.normal32((6, 2, 2))
    body = "[activation]\nactivation=linear\n[route]\nlayers=-1,0\ngroups=3\ngroup_id=1\n"
    np.testing.assert_array_equal(computed(body, x), np.concatenate([x[2:4], x[2:4]]))


def test_crop_takes_the_middle() -> None:
    x = RNG.normal32((1, 6, 7))
    np.testing.assert_array_equal(computed("[crop]\ncrop_height=4\ncrop_width=3\nnoadjust=1\n", x), x[:, 1:5, 2:5])
    np.testing.assert_allclose(computed("[crop]\ncrop_height=6\ncrop_width=7\n", x), 2 * x - 1, rtol=1e-6, atol=1e-6)


def test_normalization_is_over_the_sum_of_squares() -> None:
    x = RNG.normal32((5, 1, 1))
    squares = np.array([sum(x[max(0, k - 1) : k + 2, 0, 0] ** 2) for k in range(5)])
    expected = x[:, 0, 0] / (2 + 0.3 * squares) ** 0.5
    found = computed("[normalization]\nsize=3\nalpha=0.3\nbeta=0.5\nkappa=2\n", x)
    np.testing.assert_allclose(found[:, 0, 0], expected, rtol=1e-5)


def test_scale_channels_and_sam() -> None:
    x = RNG.normal32((3, 4, 4))
    mean = x.mean((1, 2))[:, None, None]
    head = "[activation]\nactivation=linear\n"
    np.testing.assert_allclose(
        computed(f"{head}[avgpool]\n[scale_channels]\nfrom=0\n", x), x * mean, rtol=1e-5, atol=1e-5
    )
    found = computed(f"{head}[activation]\nactivation=relu\n[sam]\nfrom=0\nactivation=linear\n", x)
    np.testing.assert_allclose(found, np.maximum(x, 0) * x)


ACTIVATIONS: dict[str, Callable[[Image], Image]] = {
    "linear": lambda x: x,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "loggy": lambda x: 2 / (1 + np.exp(-x)) - 1,
    "relu": lambda x: x * (x > 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky": lambda x: np.where(x > 0, x, 0.1 * x),
    "relie": lambda x: np.where(x > 0, x, 0.01 * x),
    "ramp": lambda x: x * (x > 0) + 0.1 * x,
    "tanh": lambda x: np.tanh(x),
    "elu": lambda x: np.where(x >= 0, x, np.exp(x) - 1),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "mish": lambda x: x * np.tanh(np.log(1 + np.exp(x))),
    "hardtan": lambda x: np.clip(x, -1, 1),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    x = np.linspace(-8, 8, 32).reshape(2, 4, 4)
    found = computed(f"[activation]\nactivation={name}\n", x)
    np.testing.assert_allclose(found, ACTIVATIONS[name](x), rtol=1e-5, atol=1e-5)


def _sigmoid(x: Image) -> Image:
    return 1 / (1 + np.exp(-x))


def test_gru_resets_the_state_before_its_product() -> None:
    x = RNG.normal32((1, 3, 2))
    w = {k: RNG.normal32((2, 4)) for k in "zrh"}
    u = {k: RNG.normal32((4, 4)) for k in "zrh"}
    b = {k: RNG.normal32((4,)) for k in "zrh"}
    given = {f"gru0.w{k}.weight": w[k] for k in "zrh"} | {f"gru0.u{k}": u[k] for k in "zrh"}
    given |= {f"gru0.w{k}.bias": np.zeros(4) for k in "zrh"} | {f"gru0.u{k}_bias": b[k] for k in "zrh"}
    source = text_source("[net]\ninputs=2\ntime_steps=3\nbatch=1\n[gru]\noutput=4\ntanh=1\n", "cfg", "net.cfg")
    run = run_file(source, inputs={"x": x, **given}, inference=True)
    state = np.zeros(4)
    for step, value in enumerate(x[0]):
        z, r = (_sigmoid(value @ w[k] + state @ u[k] + b[k]) for k in "zr")
        h = np.tanh(value @ w["h"] + (r * state) @ u["h"] + b["h"])
        state = z * state + (1 - z) * h
        np.testing.assert_allclose(run.outputs["output"][0, step], state, rtol=1e-4, atol=1e-6)
