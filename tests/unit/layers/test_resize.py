"""Resizing of images and region pooling: exact examples, what is read, and a loop over single samples."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f64, i1, i32
from xdsl.ir import Attribute

from npuc.compiler.core.errors import SourceError
from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.base import TrainOp
from tests.networks import Net


def result(function: str, x: Array, *others: Array, element: Attribute = f64, **arguments: Any) -> Array:
    """A function of an image and of other float tensors."""
    net = Net(training=False)
    operands = [net.b.input("x", tensor_of(element, x.shape))]
    operands += [net.input(f"o{number}", *other.shape) for number, other in enumerate(others)]
    y = net.call(function, *operands, layer="y", **arguments)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    module.verify()
    return execute(module, {"x": x} | {f"o{n}": o for n, o in enumerate(others)}, double=True).outputs["y"]


def resized(values: list[float], **arguments: Any) -> list[float]:
    """A row of pixels resized, its height kept."""
    out = result("upsample", np.array([[[values]]]), **arguments)
    assert out.shape[2] == 1
    return out.ravel().tolist()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"scale": [1, 2]}, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        ({"size": [1, 3]}, [0, 1, 3]),
        ({"scale": [1, 0.7]}, [0, 1, 2]),
        ({"scale": [1, 0.5]}, [0, 2]),
        ({"scale": [1, 2.1]}, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        ({"scale": [1, 2.3]}, [0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4]),
    ],
)
def test_nearest(arguments: dict[str, Any], expected: list[float]) -> None:
    """A scale that is not the ratio of the sizes says where the columns lie."""
    assert resized([0.0, 1.0, 2.0, 3.0, 4.0], **arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"scale": [1, 2]}, [0.0, 2.0, 6.0, 8.0]),
        ({"size": [1, 3], "align_corners": True}, [0.0, 4.0, 8.0]),
        ({"size": [1, 1]}, [4.0]),
        ({"size": [1, 1], "align_corners": True}, [0.0]),
        ({"scale": 1}, [0.0, 8.0]),
    ],
)
def test_bilinear(arguments: dict[str, Any], expected: list[float]) -> None:
    assert resized([0.0, 8.0], mode="bilinear", **arguments) == expected


@pytest.mark.parametrize("element", [i1, i32])
def test_nearest_and_pixel_shuffle_move_integers_and_booleans(element: Attribute) -> None:
    x = np.array([0, 1, 1, 0]).reshape(1, 4, 1, 1)
    assert result("upsample", x, element=element, scale=2)[0, :, 1, 1].tolist() == [0, 1, 1, 0]
    assert result("pixel_shuffle", x, element=element, factor=2).tolist() == [[[[0, 1], [1, 0]]]]


def test_work_of_resizing() -> None:
    """Nearest moves what it takes; bilinear weighs 2 x 2 elements for each of the result."""
    net = Net()
    x = net.input("x", 2, 3, 6, 4)
    smaller, larger, weighed = (
        net.call("upsample", x, scale=0.5),
        net.call("upsample", x, size=[7, 9]),
        net.call("upsample", x, scale=2, mode="bilinear"),
    )
    works = [get_layer(y.owner).work(y.owner) for y in (smaller, larger, weighed) if isinstance(y.owner, TrainOp)]
    assert [work.reads for work in works] == [(2 * 3 * 3 * 2,), (2 * 3 * 6 * 4,), None]
    assert [work.vector_ops for work in works] == [0, 0, 4 * 2 * 3 * 12 * 8]


def test_work_of_regions() -> None:
    """Each element of the result is the mean of 2 x 2 samples here, and each sample weighs four elements."""
    net = Net()
    (x, rois) = (net.input("x", 2, 3, 32, 32), net.input("rois", 5, 5))
    pooled = net.call("roi_align", x, rois, size=[3, 2], sampling_ratio=2)
    assert isinstance(pooled.owner, TrainOp)
    work = get_layer(pooled.owner).work(pooled.owner)
    assert (work.vector_ops, work.reads) == (4 * 2 * 2 * 5 * 3 * 3 * 2, (4 * 2 * 2 * 5 * 3 * 3 * 2, 5 * 5))


IMAGE = np.arange(2 * 2 * 3 * 4, dtype=np.float64).reshape(2, 2, 3, 4) ** 2


def test_a_region_of_the_whole_image_sampled_at_its_pixels_is_the_image() -> None:
    rois = np.array([[1, 0, 0, 4, 3], [0, 0, 0, 8, 6]])
    pooled = result("roi_align", IMAGE, rois[:1], size=[3, 4], sampling_ratio=1)
    assert pooled.tolist() == IMAGE[1:].tolist()
    pooled = result("roi_align", IMAGE, rois[1:], size=[3, 4], sampling_ratio=1, scale=0.5)
    assert pooled.tolist() == IMAGE[:1].tolist()


def test_samples_more_than_a_pixel_outside_are_zero() -> None:
    rois = np.array([[0, -9, 0, -5, 3], [0, 0, 7, 4, 9]])
    assert not result("roi_align", IMAGE + 1, rois, size=2).any()


@pytest.mark.parametrize("image", [2.0, -1.0, float("nan")])
def test_a_region_of_no_image_is_an_error(image: float) -> None:
    rois = np.array([[0.0, 0, 0, 1, 1], [image, 0, 0, 1, 1]])
    with pytest.raises(SourceError) as caught:
        result("roi_align", IMAGE, rois, size=2)
    expected = f"layer 'y': argument 'rois' has image {image:g} in region 1, expected 0 to 1"
    assert caught.value.message == f"the program cannot run on this data: {expected}"


def _pixel(image: Array, y: float, x: float) -> Array:
    """The bilinear value of each channel between four pixels, the border continued by a pixel."""
    _, height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros_like(image[:, 0, 0])
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    value = np.zeros_like(image[:, 0, 0])
    for row in (int(y), int(y) + 1):
        for column in (int(x), int(x) + 1):
            weight = (1 - abs(y - row)) * (1 - abs(x - column))
            if weight:
                value += weight * image[:, row, column]
    return value


def _pooled(image: Array, roi: Array, size: tuple[int, int], scale: float, ratio: int, *, aligned: bool) -> Array:
    left, top, right, bottom = roi * scale - (0.5 if aligned else 0.0)
    tall, wide = (bottom - top, right - left) if aligned else (max(bottom - top, 1.0), max(right - left, 1.0))
    out = np.zeros((image.shape[0], *size))
    for i, j in np.ndindex(size):
        for u, v in np.ndindex(ratio, ratio):
            y = top + (i * ratio + u + 0.5) * tall / (size[0] * ratio)
            x = left + (j * ratio + v + 0.5) * wide / (size[1] * ratio)
            out[:, i, j] += _pixel(image, y, x) / ratio**2
    return out


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize(("seed", "ratio"), [(0, 1), (1, 2), (2, 3), (3, 2)])
def test_regions_against_a_loop_over_samples(seed: int, ratio: int, aligned: bool) -> None:
    """Regions inside the image, across its border, and turned round."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((3, 2, 5, 7))
    rois = np.column_stack([random.integers(0, 3, 40), random.uniform(-6, 18, (40, 4))])
    pooled = result("roi_align", x, rois, size=[2, 3], scale=0.5, sampling_ratio=ratio, aligned=aligned)
    for region, roi in zip(pooled, rois, strict=True):
        expected = _pooled(x[int(roi[0])], roi[1:], (2, 3), 0.5, ratio, aligned=aligned)
        np.testing.assert_allclose(region, expected, rtol=1e-12, atol=1e-12)
