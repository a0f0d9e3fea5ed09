"""Another batch than the exported one: the same model, written for it, gives the same results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npuc.compiler import compile_file, run_file
from npuc.compiler.core.errors import SourceError, UsageError
from tests.onnx_files import graph, model, node, value

Array = npt.NDArray[Any]
RNG = np.random.default_rng(0)
WEIGHTS = {
    "conv.weight": RNG.standard_normal((8, 3, 4, 4)).astype(np.float32),
    "token": RNG.standard_normal((1, 1, 8)).astype(np.float32),
    "place": RNG.standard_normal((5, 8)).astype(np.float32),
    "qkv": RNG.standard_normal((8, 24)).astype(np.float32),
    "head": RNG.standard_normal((8, 6)).astype(np.float32),
}
X = RNG.standard_normal((6, 3, 8, 8)).astype(np.float32)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def transformer(batch: int) -> bytes:
    """Patches, a token before them, attention of two heads with a mask, as an exporter writes it for one batch."""
    numbers: dict[str, Array] = {
        **WEIGHTS,
        "patches": ints(batch, 8, 4),
        "tokens": ints(batch, 1, 8),
        "places": np.tile(np.arange(5), (batch, 1)),
        "three": ints(batch, 5, 3, 2, 4),
        "mask": np.where(np.tri(5, dtype=bool), 0, -1e9).astype(np.float32) * np.ones((batch, 1, 1, 1), np.float32),
        "merged": ints(batch * 2, 5, 4),
        "apart": ints(batch, 2, 5, 4),
        "rows": ints(batch * 5, 8),
        "back": ints(batch, -1, 6),
        "q": np.array(0),
        "k": np.array(1),
        "v": np.array(2),
    }
    nodes = [
        node("Conv", ["x", "conv.weight"], ["c"], strides=[4, 4]),
        node("Reshape", ["c", "patches"], ["p"]),
        node("Transpose", ["p"], ["pt"], perm=[0, 2, 1]),
        node("Expand", ["token", "tokens"], ["t"]),
        node("Concat", ["t", "pt"], ["s"], axis=1),
        node("Gather", ["place", "places"], ["g"]),
        node("Add", ["s", "g"], ["e"]),
        node("MatMul", ["e", "qkv"], ["m"]),
        node("Reshape", ["m", "three"], ["h"]),
        node("Transpose", ["h"], ["ht"], perm=[2, 0, 3, 1, 4]),
        *(node("Gather", ["ht", name], [f"{name}h"]) for name in ("q", "k", "v")),
        *(node("Reshape", [f"{name}h", "merged"], [f"{name}m"]) for name in ("q", "k", "v")),
        node("Transpose", ["km"], ["kt"], perm=[0, 2, 1]),
        node("MatMul", ["qm", "kt"], ["scores"]),
        node("Reshape", ["scores", "square"], ["wide"]),
        node("Add", ["wide", "mask"], ["masked"]),
        node("Softmax", ["masked"], ["weights"]),
        node("Reshape", ["vm", "apart"], ["va"]),
        node("MatMul", ["weights", "va"], ["context"]),
        node("Transpose", ["context"], ["ct"], perm=[0, 2, 1, 3]),
        node("Reshape", ["ct", "rows"], ["r"]),
        node("MatMul", ["r", "head"], ["o"]),
        node("Reshape", ["o", "back"], ["out"]),
    ]
    numbers["square"] = ints(batch, 2, 5, 5)
    return model(graph(nodes, [value("x", [batch, 3, 8, 8])], ["out"], numbers))


@pytest.mark.parametrize("exported", [1, 2, 3])
@pytest.mark.parametrize("wanted", [1, 4, 6])
def test_a_model_of_one_batch_gives_the_results_of_another(exported: int, wanted: int, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(transformer(exported))
    found = run_file(path, inputs={"x": X[:wanted]}, inference=True, defines={"batch": wanted}).outputs["out"]
    path.write_bytes(transformer(wanted))
    expected = run_file(path, inputs={"x": X[:wanted]}, inference=True).outputs["out"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_a_step_grows_with_the_batch(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(transformer(2))
    macs = [compile_file(path, backend="roofline", defines={"batch": n}).totals.macs or 0 for n in (2, 6)]
    assert macs[1] == 3 * macs[0] > 0
    run = run_file(path, inputs={"x": X, "y": np.zeros((6, 5), np.int32)}, defines={"batch": 6})
    assert run.gradients["token"].shape == (1, 1, 8)


@pytest.mark.parametrize(
    ("nodes", "numbers", "expected"),
    [
        (
            [node("Add", ["x", "table"], ["out"])],
            {"table": np.arange(8, dtype=np.float32).reshape(2, 4)},
            r"m.onnx:1:1: error: shapes 3x4 and 2x4 do not broadcast .*: no batch of 3 can be made of a model that was",
        ),
        ([node("Reshape", ["x", "s"], ["out"])], {"s": ints(4, 2)}, None),
        (
            [node("Transpose", ["x"], ["t"]), node("Reshape", ["t", "s"], ["out"])],
            {"s": ints(2, 4)},
            r"m.onnx: output 'out' has the shape \[2, 6\]: no batch of 3 can be made",
        ),
    ],
)
def test_what_is_tied_to_the_exported_batch_is_refused(
    nodes: list[bytes], numbers: dict[str, Array], expected: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(graph(nodes, [value("x", [2, 4])], ["out"], numbers)))
    inputs = {"x": np.arange(12, dtype=np.float32).reshape(3, 4)}
    if expected is None:
        run = run_file(path, inputs=inputs, inference=True, defines={"batch": 3})
        np.testing.assert_array_equal(run.outputs["out"], inputs["x"].reshape(6, 2))
        return
    with pytest.raises(SourceError, match=expected):
        run_file(path, inputs=inputs, inference=True, defines={"batch": 3})


def test_the_batch_is_a_size_from_1_of_inputs_that_have_axes(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(transformer(2))
    with pytest.raises(UsageError, match="-D batch=0: found 0, expected a size from 1"):
        compile_file(path, defines={"batch": 0})
    path.write_bytes(model(graph([node("Relu", ["x"], ["out"])], [value("x", [])], ["out"])))
    with pytest.raises(UsageError, match="-D batch: the model has no such size"):
        compile_file(path, defines={"batch": 2})


def test_a_free_first_axis_is_the_batch_too(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(graph([node("Relu", ["x"], ["out"])], [value("x", ["N", 4])], ["out"])))
    run = run_file(path, inputs={"x": np.ones((3, 4), np.float32)}, inference=True, defines={"batch": 3})
    assert run.outputs["out"].shape == (3, 4)
