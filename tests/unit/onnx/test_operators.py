"""What ONNX's operators mean: a run of a model of one node gives what numpy, or the definition, gives."""

from __future__ import annotations

from collections.abc import Mapping
from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npuc.compiler import compile_file, run_file
from npuc.compiler.core.errors import NpucError, SourceError, SourceErrors, UsageError
from tests.onnx_files import graph, model, node, value

Array = npt.NDArray[Any]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 4, 6)).astype(np.float32)
IMAGE = RNG.standard_normal((2, 4, 6, 6)).astype(np.float32)
CODES = {"float32": 1, "int32": 6, "int64": 7, "bool": 9}


def saved(
    folder: Path, op: str, x: Array, others: Mapping[str, Array], attributes: Mapping[str, Any], opset: int
) -> Path:
    made = node(op, ["x", *others], ["out"], **attributes)
    path = folder / "m.onnx"
    path.write_bytes(model(graph([made], [value("x", x.shape, CODES[x.dtype.name])], ["out"], dict(others)), opset))
    return path


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def reals(*values: float) -> Array:
    return np.array(values, np.float32)


W = RNG.standard_normal((6, 3)).astype(np.float32)
CASES: dict[str, tuple[Array, list[Array], dict[str, Any], Array]] = {
    "Relu": (X, [], {}, np.maximum(X, 0)),
    "Add": (X, [np.array(2, np.float32)], {}, X + 2),
    "Sub": (X, [X[0]], {}, X - X[0]),
    "Div": (X, [np.array(4, np.float32)], {}, X / 4),
    "Pow": (X, [np.array(2, np.float32)], {}, X**2),
    "Erf": (X, [], {}, np.vectorize(erf)(X)),
    "Reciprocal": (X, [], {}, 1 / X),
    "Clip": (X, [np.array(-0.5, np.float32)], {}, np.maximum(X, -0.5)),
    "HardSigmoid": (X, [], {}, np.clip(0.2 * X + 0.5, 0, 1)),
    "Celu": (X, [], {"alpha": 2.0}, np.maximum(X, 0) + np.minimum(0, 2 * (np.exp(X / 2) - 1))),
    "PRelu": (X, [reals(1, 2, 3, 4).reshape(4, 1)], {}, np.where(X < 0, reals(1, 2, 3, 4).reshape(4, 1) * X, X)),
    "Shrink": (X, [], {"lambd": 0.5, "bias": 0.1}, np.where(X < -0.5, X + 0.1, np.where(X > 0.5, X - 0.1, 0))),
    "Softmax": (X, [], {"axis": 1}, softmax(X, 1)),
    "Hardmax": (X, [], {"axis": 1}, (X == X.max(1, keepdims=True)).astype(np.float32)),
    "LpNormalization": (X, [], {"p": 1}, X / np.abs(X).sum(-1, keepdims=True)),
    "ReduceMean": (X, [ints(-1)], {}, X.mean(-1, keepdims=True)),
    "ReduceLogSumExp": (X, [ints(0, 2)], {"keepdims": 0}, np.log(np.exp(X).sum((0, 2)))),
    "ArgMax": (X, [], {"axis": 2, "keepdims": 0, "select_last_index": 1}, X.argmax(2)),
    "CumSum": (X, [np.array(1)], {"exclusive": 1, "reverse": 1}, np.cumsum(X[:, ::-1], 1)[:, ::-1] - X),
    "Reshape": (X, [ints(0, -1)], {}, X.reshape(2, 24)),
    "Unsqueeze": (X, [ints(0, -1)], {}, X[None, ..., None]),
    "Transpose": (X, [], {}, X.transpose()),
    "Slice": (X, [ints(-1, 1), ints(-9, 3), ints(2, 1), ints(-2, 1)], {}, X[:, 1:3, ::-2]),
    "Gather": (X, [ints(-1, 0).reshape(2, 1)], {"axis": 1}, np.take(X, ints(-1, 0).reshape(2, 1), 1)),
    "GatherElements": (X, [ints(-1, 0).reshape(1, 1, 2)], {"axis": 2}, X[:1, :1, [-1, 0]]),
    "GatherND": (X, [ints(0, 1, 1, -1).reshape(2, 2)], {}, X[[0, 1], [1, -1]]),
    "Expand": (X[:, :1], [ints(4, 1)], {}, np.broadcast_to(X[:, :1], (2, 4, 6))),
    "Tile": (X, [ints(1, 2, 1)], {}, np.tile(X, (1, 2, 1))),
    "Pad": (
        X,
        [ints(1, 0, 0, 2), reals(3.0)[0], ints(0, 2)],
        {},
        np.pad(X, ((1, 0), (0, 0), (0, 2)), constant_values=3),
    ),
    "Trilu": (X, [np.array(1)], {"upper": 0}, np.tril(X, 1)),
    "MatMul": (X, [W], {}, X @ W),
    "Gemm": (X[0], [W, reals(1, 2, 3)], {"alpha": 0.5}, 0.5 * X[0] @ W + reals(1, 2, 3)),
    "LayerNormalization": (X, [reals(*range(6))], {}, X),
    "GlobalAveragePool": (IMAGE, [], {}, IMAGE.mean((2, 3), keepdims=True)),
    "MaxPool": (IMAGE, [], {"kernel_shape": [2, 2], "strides": [2, 2]}, IMAGE.reshape(2, 4, 3, 2, 3, 2).max((3, 5))),
    "Resize": (IMAGE, [reals(), reals(1, 1, 2, 2)], {"mode": "nearest"}, IMAGE.repeat(2, 2).repeat(2, 3)),
    "DepthToSpace": (
        IMAGE,
        [],
        {"blocksize": 2},
        IMAGE.reshape(2, 2, 2, 1, 6, 6).transpose(0, 3, 4, 1, 5, 2).reshape(2, 1, 12, 12),
    ),
}
_CENTRED = X - X.mean(-1, keepdims=True)
_NORMAL = _CENTRED / np.sqrt((_CENTRED**2).mean(-1, keepdims=True) + 1e-5) * np.arange(6)
CASES["LayerNormalization"] = (*CASES["LayerNormalization"][:3], _NORMAL)


@pytest.mark.parametrize("op", CASES)
def test_an_operator_gives_its_results(op: str, tmp_path: Path) -> None:
    x, operands, attributes, expected = CASES[op]
    others = {f"i{number}": array for number, array in enumerate(operands)}
    found = run_file(saved(tmp_path, op, x, others, attributes, 21), inputs={"x": x}, inference=True).outputs["out"]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def direct(x: Array, w: Array, pads: tuple[int, int, int, int], stride: int) -> Array:
    """A convolution by its definition."""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("bihwrs,oirs->bohw", windows, w)


@pytest.mark.parametrize(
    ("attributes", "pads"),
    [
        ({"pads": [1, 0, 0, 2], "strides": [2, 2]}, (1, 0, 0, 2)),
        ({"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (0, 0, 1, 1)),
        ({"auto_pad": "SAME_LOWER", "strides": [2, 2]}, (1, 1, 0, 0)),
        ({"auto_pad": "VALID", "strides": [2, 2]}, (0, 0, 0, 0)),
    ],
)
def test_a_convolution_is_padded_as_it_says(
    attributes: dict[str, Any], pads: tuple[int, int, int, int], tmp_path: Path
) -> None:
    w = RNG.standard_normal((3, 4, 3, 3)).astype(np.float32)
    path = saved(tmp_path, "Conv", IMAGE, {"c.weight": w}, attributes, 21)
    run = run_file(path, inputs={"x": IMAGE}, inference=True)
    np.testing.assert_allclose(run.outputs["out"], direct(IMAGE, w, pads, 2), rtol=1e-4, atol=1e-4)


def network(folder: Path) -> Path:
    """A small network with a norm, a product and its bias, of a free batch."""
    numbers: dict[str, Array] = {
        "conv.weight": RNG.standard_normal((4, 3, 1, 1)).astype(np.float32),
        **{f"bn.{name}": RNG.uniform(0.5, 1.5, 4).astype(np.float32) for name in ("weight", "bias")},
        **{f"bn.running_{name}": RNG.uniform(0.5, 1.5, 4).astype(np.float32) for name in ("mean", "var")},
        "w": RNG.standard_normal((4, 5)).astype(np.float32),
        "head.bias": reals(1, 2, 3, 4, 5),
        "shape": ints(0, -1),
    }
    nodes = [
        node("Conv", ["x", "conv.weight"], ["a"]),
        node("BatchNormalization", ["a", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"], ["b"]),
        node("GlobalAveragePool", ["b"], ["c"]),
        node("Reshape", ["c", "shape"], ["d"]),
        node("MatMul", ["d", "w"], ["e"]),
        node("Add", ["e", "head.bias"], ["out"]),
    ]
    path = folder / "net.onnx"
    path.write_bytes(model(graph(nodes, [value("x", ["N", 3, 4, 4])], ["out"], numbers)))
    return path


def test_a_training_step_of_a_network(tmp_path: Path) -> None:
    path = network(tmp_path)
    x = RNG.standard_normal((2, 3, 4, 4)).astype(np.float32)
    run = run_file(path, inputs={"x": x, "y": np.array([1, 2], np.int32)}, defines={"N": 2})
    names = {"conv.weight", "bn.weight", "bn.bias", "head.weight", "head.bias"}
    assert set(run.gradients) == names
    report = compile_file(path, defines={"x.0": 2}, backend="cycle")
    assert report.totals.macs == (2 * 16 * 4 * 3) * 2 + 2 * 4 * 5 * 3  # the gradient of x is not needed


def test_parts_of_a_network_are_frozen(tmp_path: Path) -> None:
    path = network(tmp_path)
    inputs = {"x": np.ones((2, 3, 4, 4), np.float32), "y": np.array([1, 2], np.int32)}
    run = run_file(path, inputs=inputs, defines={"N": 2}, freeze=["bn.*", "conv.*"])
    assert set(run.gradients) == {"head.weight", "head.bias"}
    with pytest.raises(UsageError, match="no parameter has such a name"):
        run_file(path, inputs=inputs, defines={"N": 2}, freeze="bm.*")


def test_a_size_that_is_free_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"sizes of inputs are free: N\n  hint: -D N=8"):
        compile_file(network(tmp_path))


def test_unknown_operators_are_named_together(tmp_path: Path) -> None:
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Fft", ["a"], ["b"]),
        node("Fft", ["b"], ["c"]),
        node("Zap", ["c"], ["d"], "z"),
    ]
    path = tmp_path / "m.onnx"
    path.write_bytes(model(graph(nodes, [value("x", [2])], ["d"])))
    with pytest.raises(SourceErrors) as caught:
        compile_file(path)
    first, second = str(caught.value).replace(f"{tmp_path}/", "").split("\nm.onnx:4")
    assert first.startswith("m.onnx:2:1: error: unsupported operator Fft (nodes 2, 3)")
    assert second.startswith(":1: error: unsupported operator z.Zap")


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "expected"),
    [
        ("MaxPool", [], {"kernel_shape": [2, 2, 2, 2]}, "does not fit a tensor of rank 4"),
        ("Reshape", [ints(5, -1)], {}, "cannot be reshaped to [5, -1]"),
        (
            "Resize",
            [reals(), reals(1, 1, 2, 2)],
            {"coordinate_transformation_mode": "own"},
            "resizes by coordinates 'own'",
        ),
        ("Cast", [], {"to": 2}, "found a tensor of uint8"),
        ("Concat", [IMAGE[:, :, :2]], {"axis": 1}, "error"),
    ],
)
def test_what_has_no_counterpart_names_its_node(
    op: str, operands: list[Array], attributes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    others = {f"i{number}": array for number, array in enumerate(operands)}
    path = saved(tmp_path, op, IMAGE, others, attributes, 21)
    with pytest.raises(SourceError) as caught:
        compile_file(path)
    assert "m.onnx:1:1: error: " in str(caught.value)
    assert expected in str(caught.value)


def test_a_file_of_anything_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"network x() {}")
    with pytest.raises(NpucError, match="damaged, or is no ONNX model"):
        compile_file(tmp_path / "m.onnx")


@pytest.mark.parametrize(("op", "rank"), [("Conv", 2), ("Conv", 6), ("ConvTranspose", 2)])
def test_a_convolution_of_no_axes_has_no_counterpart(op: str, rank: int, tmp_path: Path) -> None:
    given = {"kernel_shape": [1] * 4, "pads": [0] * 8, "strides": [1] * 4}
    weights = np.zeros((4,) * rank, np.float32)
    path = saved(tmp_path, op, np.zeros((2, 4) + (3,) * 4, np.float32), {"c.weight": weights}, given, 21)
    with pytest.raises(SourceError, match=f"{op}: convolves {rank - 2} axes, which has no counterpart"):
        run_file(path, inference=True)
