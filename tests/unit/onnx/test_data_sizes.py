"""ONNX operators whose results have a size that depends on data: assumed by the name of the node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_source, run_source
from npuc.compiler.core.errors import NpucError, SourceError, UsageError
from tests.onnx_files import AttributeLike, graph, model, node, value

X = np.array([[1.0, 0, -2], [0, 3, 1]], np.float32)


def _model(op: str, outputs: Sequence[str] = ("y",), *, shape: Any = (2, 3), **attributes: AttributeLike) -> bytes:
    return model(graph([node(op, ["x"], outputs, "", **attributes)], [value("x", shape)], outputs))


def _run(data: bytes, inputs: dict[str, Any], **defines: int) -> dict[str, Any]:
    return run_source(data, "onnx", inputs=inputs, inference=True, defines=defines).outputs


def test_places_of_elements_that_are_not_0() -> None:
    np.testing.assert_array_equal(_run(_model("NonZero"), {"x": X}, y=4)["y"], np.stack(np.nonzero(X)))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_elements_where_a_condition_is_true(axis: int | None) -> None:
    named: dict[str, AttributeLike] = {} if axis is None else {"axis": axis}
    condition = np.array([True, False, True, True]) if axis is None else np.array([False, True])
    nodes = [node("Compress", ["x", "c"], ["y"], "", **named)]
    data = model(graph(nodes, [value("x", (2, 3)), value("c", condition.shape, 9)], ["y"]))
    found = _run(data, {"x": X, "c": condition}, y=int(condition.sum()))
    np.testing.assert_array_equal(found["y"], np.compress(condition, X, axis))


@pytest.mark.parametrize("ordered", [0, 1])
def test_distinct_values(ordered: int) -> None:
    x = np.array([2.0, 1, 1, 3, 4, 3, 0], np.float32)
    names = ("values", "places", "inverse", "counts")
    found = _run(_model("Unique", names, shape=(7,), sorted=ordered), {"x": x}, values=5)
    values, places, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    if not ordered:
        order = np.argsort(places)
        values, places, inverse, counts = values[order], places[order], np.argsort(order)[inverse], counts[order]
    for name, expected in zip(names, (values, places, inverse, counts), strict=True):
        np.testing.assert_array_equal(found[name], expected)


BOXES = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]


@pytest.mark.parametrize("centered", [0, 1])
def test_boxes_that_stay(centered: int) -> None:
    limits = {"most": np.array([3]), "iou": np.array([0.5], np.float32), "least": np.array([0.0], np.float32)}
    names = ["boxes", "scores", *limits]
    nodes = [node("NonMaxSuppression", names, ["y"], center_point_box=centered)]
    inputs = [value("boxes", (1, 6, 4)), value("scores", (1, 1, 6))]
    data = model(graph(nodes, inputs, ["y"], {name: array for name, array in limits.items()}))
    boxes = np.array([BOXES], np.float32)
    if centered:
        low, high = boxes[..., :2], boxes[..., 2:]
        boxes = np.concatenate([(low + high) / 2, high - low], -1)
    scores = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], np.float32)
    found = _run(data, {"boxes": boxes, "scores": scores}, y=3)
    np.testing.assert_array_equal(found["y"], [[0, 0, 3], [0, 0, 0], [0, 0, 5]])


def test_what_follows_has_the_assumed_size_and_is_said() -> None:
    nodes = [
        node("NonZero", ["x"], ["p"]),
        node("Transpose", ["p"], ["t"], perm=[1, 0]),
        node("GatherND", ["x", "t"], ["g"]),
        node("Relu", ["g"], ["y"]),
    ]
    data = model(graph(nodes, [value("x", (2, 3))], ["y"]))
    assert _run(data, {"x": X}, p=4)["y"].tolist() == [1, 0, 3, 1]
    report = compile_source(data, "onnx", backend="roofline", inference=True, defines={"p": 4})
    assert "NonZero (node 1) is assumed to give the size 4, which depends on data" in report.warnings
    with pytest.raises(NpucError, match="found 4 elements that are not 0, expected its size, 3"):
        _run(data, {"x": X}, p=3)


def test_a_size_without_a_value_is_named() -> None:
    with pytest.raises(SourceError, match="NonZero: the size of its result depends on data, 1 to 6") as caught:
        compile_source(_model("NonZero"), "onnx", backend="roofline", inference=True)
    assert caught.value.hint == "-D y=6 assumes a size"


@pytest.mark.parametrize(("size", "message"), [(0, "at least 1"), (7, "found a size of 7 by -D y, expected 1 to 6")])
def test_a_size_lies_within_its_bounds(size: int, message: str) -> None:
    with pytest.raises(NpucError, match=message):
        compile_source(_model("NonZero"), "onnx", backend="roofline", inference=True, defines={"y": size})


def test_a_size_of_what_is_known_is_refused() -> None:
    nodes = [node("NonZero", ["k"], ["p"]), node("Gather", ["x", "p"], ["y"])]
    data = model(graph(nodes, [value("x", (2, 3))], ["y"], {"k": np.array([0, 1])}))
    assert _run(data, {"x": X})["y"].shape == (1, 1, 3)
    with pytest.raises(UsageError, match="-D p: the size of its result does not depend on data"):
        _run(data, {"x": X}, p=1)


def test_a_size_that_nothing_checks_is_not_run() -> None:
    nodes = [
        node("NonZero", ["x"], ["p"]),
        node("Shape", ["p"], ["s"]),
        node("ConstantOfShape", ["s"], ["o"]),
        node("Add", ["o", "b"], ["y"]),
    ]
    data = model(graph(nodes, [value("x", (2, 3)), value("b", (1,))], ["y"]))
    inputs = {"x": X, "b": np.ones(1, np.float32)}
    with pytest.raises(UsageError, match=r"cannot be run: NonZero \(node 1\) is assumed to give the size 4"):
        _run(data, inputs, p=4)
