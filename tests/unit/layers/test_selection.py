"""Selection by values: which places, what work, and what is said where there are more or fewer than the size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler import compile_source, run_source
from npuc.compiler.core.errors import NpucError
from npuc.compiler.layers import get_layer
from npuc.dialects.train.base import TrainOp
from tests.networks import Net


@given(st.integers(0, 99), st.integers(1, 3), st.integers(1, 5))
def test_places_are_those_of_numpy(seed: int, rows: int, kept: int) -> None:
    x = np.random.default_rng(seed).permuted(np.tile(np.arange(6.0), (rows, 1)), axis=1)
    text = f"network n() {{ input x: f64[{rows}, 6]\n p = nonzero(x < {kept}, {rows * kept})\n output p }}"
    found = run_source(text, inputs={"x": x}, inference=True).outputs["p"]
    np.testing.assert_array_equal(found, np.argwhere(x < kept))


BOXES = [[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6], [1, 1, 3, 3], [6, 6, 5, 5]]
SCORES = [0.5, 0.9, 0.3, 0.8, 0.3]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("iou=0.5", [1, 3, 2]),
        ("iou=0.1", [1, 2]),
        ("iou=1.0", [1, 3, 0, 2, 4]),
        ("iou=0.5, most=1", [1]),
        ("iou=0.5, least=0.3", [1, 3]),
    ],
)
def test_boxes_of_high_scores_stay(options: str, kept: list[int]) -> None:
    found = _nms(BOXES, options, len(kept))
    np.testing.assert_array_equal(found[:, 2], kept)
    centered = [[(a + c) / 2, (b + d) / 2, abs(c - a), abs(d - b)] for a, b, c, d in BOXES]
    np.testing.assert_array_equal(_nms(centered, f"{options}, centered=true", len(kept)), found)


def _nms(boxes: Any, options: str, size: int) -> Any:
    text = f"""network n() {{
  input boxes: f64[1, 5, 4]
  input scores: f64[1, 1, 5]
  p = non_max_suppression(boxes, scores, {size}, {options})
  output p
}}"""
    inputs = {"boxes": np.array([boxes], float), "scores": np.array([[SCORES]])}
    return run_source(text, inputs=inputs, inference=True).outputs["p"]


@pytest.mark.parametrize("level", ["train", "npu"])
@pytest.mark.parametrize("size", [2, 4])
def test_another_number_is_an_error_of_the_run(size: int, level: str) -> None:
    text = f"network n() {{ input x: f64[6]\n near = nonzero(x < 3, {size})\n output near }}"
    message = f"layer 'near': found 3 elements that are not 0, expected its size, {size}"
    with pytest.raises(NpucError, match=message):
        run_source(text, inputs={"x": np.arange(6.0)}, inference=True, level=level)
    with pytest.raises(NpucError, match=f"found 3 boxes that stay, expected its size, {size}"):
        _nms(BOXES, "iou=0.5", size)


def test_gradients_go_to_the_chosen_elements() -> None:
    text = """network n() {
  input x: f64[2, 3]
  w = param([2, 3], f64)
  p = nonzero(x > 0, 3)
  rows, columns = unbind(p, 1)
  chosen = index(w, [rows, columns], [0, 1])
  loss sum(chosen * chosen)
}"""
    x, w = np.array([[1.0, -1, 2], [-1, -1, 3]]), np.arange(6.0).reshape(2, 3)
    run = run_source(text, inputs={"x": x, "w": w})
    np.testing.assert_allclose(run.gradients["w"], np.where(x > 0, 2 * w, 0))


def test_work() -> None:
    net = Net()
    places = net.call("nonzero", net.input("x", 4, 6), 5).owner
    assert isinstance(places, TrainOp)
    assert get_layer(places).work(places).vector_ops == 2 * 24
    kept = net.call("non_max_suppression", net.input("b", 1, 8, 4), net.input("s", 1, 2, 8), 5).owner
    assert isinstance(kept, TrainOp)
    assert get_layer(kept).work(kept).vector_ops == 16 * 3 + 5 * 8 * 13


def test_costs_on_all_backends() -> None:
    text = """network n() {
  input x: f32[8, 16]
  h = linear(x, 16)
  p = nonzero(h > 0, 40)
  rows, columns = unbind(p, 1)
  loss sum(index(h, [rows, columns], [0, 1]))
}"""
    for backend in ("roofline", "cycle"):
        report = compile_source(text, backend=backend)
        assert any(row.op.endswith("nonzero") or row.name == "p" for row in report.ops)
