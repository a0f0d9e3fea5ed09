"""Softmax that a graph spells out is softmax, with its numbers; what only looks like it stays as it is."""

from pathlib import Path

import numpy as np
import pytest

from npuc.compiler import import_file, run_file
from tests.onnx_files import graph, model, node, value

SHAPE = [2, 3, 4]


def _imported(path: Path, largest: int, total: int, *, logarithm: bool = False, base: str = "x") -> str:
    """The text of the graph: x less its largest along an axis, over the sum of exponentials or less its logarithm."""
    last = (
        [node("Log", ["s"], ["l"]), node("Sub", ["d", "l"], ["y"])] if logarithm else [node("Div", ["e", "s"], ["y"])]
    )
    nodes = [
        node("Abs", ["x"], ["a"]),
        node("ReduceMax", [base], ["m"], axes=[largest], keepdims=1),
        node("Sub", ["x", "m"], ["d"]),
        node("Exp", ["d"], ["e"]),
        node("ReduceSum", ["e"], ["s"], axes=[total], keepdims=1),
        *last,
    ]
    path.write_bytes(model(graph(nodes, [value("x", SHAPE)], ["y"]), opset=11))
    return import_file(path, inference=True)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("logarithm", [False, True])
def test_softmax_is_recognised(tmp_path: Path, axis: int, logarithm: bool) -> None:
    path = tmp_path / "m.onnx"
    text = _imported(path, axis, axis, logarithm=logarithm)
    name = "log_softmax" if logarithm else "softmax"
    assert f"= {name}(x, axis={axis % 3}" in text
    assert "exp(" not in text
    x = np.random.default_rng(0).normal(size=SHAPE)
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    shares = powers / powers.sum(axis=axis, keepdims=True)
    found = run_file(path, inference=True, inputs={"x": x}).outputs["y"]
    np.testing.assert_allclose(found, np.log(shares) if logarithm else shares, rtol=1e-5)


@pytest.mark.parametrize("logarithm", [False, True])
@pytest.mark.parametrize(("largest", "total", "base"), [(1, 2, "x"), (2, 1, "x"), (2, 2, "a")])
def test_what_looks_like_softmax_stays(tmp_path: Path, largest: int, total: int, base: str, logarithm: bool) -> None:
    path = tmp_path / "m.onnx"
    text = _imported(path, largest, total, logarithm=logarithm, base=base)
    assert "softmax(" not in text
    assert "exp(" in text
    x = np.random.default_rng(0).normal(size=SHAPE)
    source = np.abs(x) if base == "a" else x
    centred = x - source.max(axis=largest, keepdims=True)
    sums = np.exp(centred).sum(axis=total, keepdims=True)
    expected = centred - np.log(sums) if logarithm else np.exp(centred) / sums
    found = run_file(path, inference=True, inputs={"x": x}).outputs["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
