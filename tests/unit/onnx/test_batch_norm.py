"""Batch norms of files that were exported for training: the network is that of the module, whatever its mode was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npuc.compiler import import_file, run_file
from npuc.compiler.core.errors import SourceError
from tests.onnx_files import graph, model, node, value

Array = npt.NDArray[Any]
RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 3, 2, 2)).astype(np.float32)
Y = np.array([0, 2, 1, 2], np.int32)
PARAMETERS = {f"bn.{name}": RNG.uniform(0.5, 1.5, 3).astype(np.float32) for name in ("weight", "bias")}
STATISTICS = {f"bn.running_{name}": RNG.uniform(0.5, 1.5, 3).astype(np.float32) for name in ("mean", "var")}
RESULTS = ["b", "new_mean", "new_var"]


def saved(
    folder: Path, nodes: Sequence[bytes], wanted: Sequence[str], numbers: dict[str, Array], opset: int = 17
) -> Path:
    path = folder / "net.onnx"
    path.write_bytes(model(graph(list(nodes), [value("x", X.shape)], list(wanted), numbers), opset))
    return path


def norm(scale: str = "bn.weight", outputs: Sequence[str] = RESULTS, **attributes: Any) -> bytes:
    return node("BatchNormalization", ["x", scale, "bn.bias", *STATISTICS], outputs, **attributes)


POOL = (node("GlobalAveragePool", ["b"], ["c"]), node("Flatten", ["c"], ["out"], axis=1))


def normalized(x: Array) -> Array:
    over = (0, 2, 3)
    plain = (x - x.mean(over, keepdims=True)) / np.sqrt(x.var(over, keepdims=True) + np.float32(1e-5))
    return plain * PARAMETERS["bn.weight"].reshape(3, 1, 1) + PARAMETERS["bn.bias"].reshape(3, 1, 1)


def test_the_mode_of_the_export_makes_no_difference(tmp_path: Path) -> None:
    numbers = PARAMETERS | STATISTICS
    trained = saved(tmp_path, [norm(training_mode=1), *POOL], ["out"], numbers)
    text = import_file(trained)
    given = {"x": X, "y": Y}
    step = run_file(trained, inputs=given)
    fixed = run_file(trained, inputs=given, inference=True).outputs["out"]
    frozen = saved(tmp_path, [norm(outputs=["b"]), *POOL], ["out"], numbers)
    assert import_file(frozen) == text
    assert np.array_equal(run_file(frozen, inputs=given).outputs["out"], step.outputs["out"])
    assert np.array_equal(run_file(frozen, inputs=given, inference=True).outputs["out"], fixed)
    assert np.allclose(step.outputs["out"], normalized(X).mean((2, 3)), atol=1e-5)
    assert not np.allclose(step.outputs["out"], fixed, atol=1e-2)


def test_a_scale_that_is_computed_multiplies_what_was_normalized_over_the_batch(tmp_path: Path) -> None:
    nodes = [node("Mul", ["bn.weight", "bn.weight"], ["scale"]), norm("scale", training_mode=1), *POOL]
    path = saved(tmp_path, nodes, ["out"], PARAMETERS | STATISTICS)
    run = run_file(path, inputs={"x": X, "y": Y})
    scale, shift = (PARAMETERS[f"bn.{name}"].reshape(3, 1, 1) for name in ("weight", "bias"))
    expected = ((normalized(X) - shift) / scale * scale**2 + shift).mean((2, 3))
    assert np.allclose(run.outputs["out"], expected, atol=1e-5)
    assert set(run.gradients) == set(PARAMETERS)


def test_statistics_that_are_shared_or_wanted_are_refused(tmp_path: Path) -> None:
    second = node("BatchNormalization", ["b", *PARAMETERS, *STATISTICS], ["d", "", ""], training_mode=1)
    tail = (node("GlobalAveragePool", ["d"], ["c"]), POOL[1])
    shared = saved(tmp_path, [norm(training_mode=1), second, *tail], ["out"], PARAMETERS | STATISTICS)
    with pytest.raises(
        SourceError, match="is in training mode, expected running statistics that are parameters of its own"
    ):
        import_file(shared)
    wanted = saved(tmp_path, [norm(training_mode=1), *POOL], ["out", "new_mean"], PARAMETERS | STATISTICS)
    with pytest.raises(SourceError, match="output 'new_mean' is wanted, which has no counterpart"):
        import_file(wanted)


@pytest.mark.parametrize("opset", [9, 13])
def test_before_opset_14_the_mode_is_in_the_number_of_results(tmp_path: Path, opset: int) -> None:
    """A node with five results is in training mode, whether anybody reads them or not."""
    results = ["b", "new_mean", "new_var", "saved_mean", "saved_var"]
    numbers = PARAMETERS | STATISTICS
    squared = node("Mul", ["bn.weight", "bn.weight"], ["scale"])
    given = {"x": X, "y": Y}
    newer = import_file(saved(tmp_path, [squared, norm("scale", training_mode=1), *POOL], ["out"], numbers))
    trained = saved(tmp_path, [squared, norm("scale", results), *POOL], ["out"], numbers, opset)
    assert import_file(trained) == newer
    step = run_file(trained, inputs=given).outputs["out"]
    frozen = saved(tmp_path, [squared, norm("scale", ["b"]), *POOL], ["out"], numbers, opset)
    assert import_file(frozen) != newer
    assert not np.allclose(run_file(frozen, inputs=given).outputs["out"], step, atol=1e-2)
    wanted = saved(tmp_path, [norm(outputs=results), *POOL], ["out", "saved_var"], numbers, opset)
    with pytest.raises(SourceError, match="output 'saved_var' is wanted, which has no counterpart"):
        import_file(wanted)
