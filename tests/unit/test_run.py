"""Running programs through the public functions: names, levels, data types, several steps, and wrong calls."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler import UsageError, describe_source, run_file, run_source
from npuc.compiler.core.errors import SourceError
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import RunKeywords, run_options
from npuc.compiler.interpreter.compare import compare
from npuc.frontends.source import text_source

MLP = """
network mlp(batch=6, hidden=5) {
  input  x: f32[batch, 4]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  logits = linear(h, 3)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""


def data(seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {"x": random.normal(size=(6, 4)), "y": random.integers(0, 3, 6)}


def test_describe_names_every_argument_and_output() -> None:
    found = describe_source(MLP)
    assert found["inputs"] == {"x": {"shape": [6, 4], "dtype": "f32"}}
    assert found["labels"] == {"y": {"shape": [6], "dtype": "i32"}}
    assert list(found["params"]) == ["h.linear.weight", "h.linear.bias", "logits.weight", "logits.bias"]
    assert found["states"]["logits.weight.momentum"] == {"shape": [5, 3], "dtype": "f32"}
    assert found["stats"] == {}
    assert found["outputs"] == {"logits": {"shape": [6, 3], "dtype": "f32"}}
    assert describe_source(MLP, defines={"batch": 2}, inference=True)["states"] == {}


def test_a_step_equals_the_same_step_written_in_numpy() -> None:
    given = data()
    run = run_source(MLP, inputs=given, dtype="float64", seed=3)
    w1, b1, w2, b2 = (run.params[n] for n in ("h.linear.weight", "h.linear.bias", "logits.weight", "logits.bias"))
    h = np.maximum(given["x"] @ w1 + b1, 0)
    logits = h @ w2 + b2
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    rows = np.arange(6)
    np.testing.assert_allclose(run.losses, [-np.log(p[rows, given["y"]]).mean()], rtol=1e-12)
    np.testing.assert_allclose(run.outputs["logits"], logits, rtol=1e-12)
    p[rows, given["y"]] -= 1
    np.testing.assert_allclose(run.gradients["logits.weight"], h.T @ p / 6, rtol=1e-12)
    np.testing.assert_allclose(run.gradients["logits.bias"], p.sum(axis=0) / 6, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(run.updated["logits.weight"], w2 - 0.1 * h.T @ p / 6, rtol=1e-12)
    np.testing.assert_allclose(run.updated["logits.weight.momentum"], h.T @ p / 6, rtol=1e-12)


@pytest.mark.parametrize("level", ["train", "npu", "tiles"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_level_computes_the_same(level: str, dtype: str) -> None:
    base = run_source(MLP, inputs=data(), dtype="float64", steps=3)
    run = run_source(MLP, inputs=data(), dtype=dtype, steps=3, level=level)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(run.losses, base.losses, rtol=tolerance)
    assert run.updated.keys() == base.updated.keys()
    for name, value in base.updated.items():
        assert run.updated[name].dtype == dtype
        np.testing.assert_allclose(run.updated[name], value, rtol=tolerance, atol=tolerance)
    assert run.gradients.keys() == base.gradients.keys()


def test_a_small_network_learns_a_small_task() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(6, 4))
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    run = run_source(MLP, inputs={"x": x, "y": y}, defines={"hidden": 16}, steps=60, seed=1)
    assert run.loss is not None
    assert run.losses[0] > 0.8
    assert run.loss < 0.05
    assert (run.outputs["logits"].argmax(axis=1) == y).all()


def test_the_seed_decides_missing_parameters_and_nothing_else_is_random() -> None:
    first, again, other = (run_source(MLP, inputs=data(), seed=s) for s in (5, 5, 6))
    assert first.losses == again.losses
    assert first.losses != other.losses


def test_given_parameters_are_used() -> None:
    zero = {"logits.weight": np.zeros((5, 3)), "logits.bias": np.zeros(3)}
    run = run_source(MLP, inputs=data() | zero, dtype="float64")
    assert run.loss == pytest.approx(np.log(3), rel=1e-12)


@pytest.mark.parametrize("more", [{}, {"y": data()["y"]}, {"logits.weight.momentum": np.zeros((5, 3))}])
def test_inference_needs_no_labels_and_changes_nothing(more: dict[str, Any]) -> None:
    run = run_source(MLP, inputs={"x": data()["x"]} | more, inference=True)
    assert run.losses == []
    assert run.updated == {}
    assert run.outputs["logits"].shape == (6, 3)


def test_a_network_without_an_optimizer_gives_its_gradients() -> None:
    text = MLP.replace("  optimizer sgd(lr=0.1, momentum=0.9)\n", "")
    run = run_source(text, inputs=data(), dtype="float64")
    expected = run_source(MLP, inputs=data(), dtype="float64").gradients
    assert run.updated == {}
    for name, gradient in expected.items():
        np.testing.assert_array_equal(run.gradients[name], gradient)


def test_a_pipeline_is_run_as_written() -> None:
    run = run_source(MLP, inputs=data(), pipeline="autodiff,lower-to-npu{conv=im2col}")
    assert set(run.gradients) == {"h.linear.weight", "h.linear.bias", "logits.weight", "logits.bias"}
    forward = run_source(MLP, inputs=data(), pipeline="")
    assert forward.gradients == {}
    assert forward.losses == pytest.approx(run.losses)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": {"x": data()["x"]}}, "no value for input 'y'"),
        ({"inputs": data() | {"logits.wieght": np.zeros((5, 3))}}, "unknown input 'logits.wieght'"),
        ({"inputs": data() | {"x": np.zeros((6, 5))}}, "input 'x' has shape 6x5, expected 6x4"),
        ({"inputs": data() | {"y": np.full(6, 0.5)}}, "input 'y' has fractions, expected integers"),
        ({"inputs": data() | {"x": np.full((6, 4), "a")}}, "input 'x' has element type <U1, expected numbers"),
        (
            {"inputs": data() | {"y": np.full(6, 2**40)}},
            f"input 'y' has values beyond {-(2**31)} to {2**31 - 1}, the range of i32",
        ),
        ({"inputs": data(), "seed": -1}, "seed is -1, expected at least 0"),
        ({"inputs": data(), "dtype": "float16"}, "unknown dtype 'float16'"),
        ({"inputs": data(), "level": "tile"}, "unknown level 'tile'"),
        ({"inputs": data(), "steps": 0}, "steps is 0, expected at least 1"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(options: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        run_source(MLP, **options)
    assert caught.value.message == message
    assert caught.value.exit_code == 2


def test_a_label_outside_the_classes_is_an_error_of_the_data() -> None:
    with pytest.raises(SourceError, match="a label is 3, the logits have 3 classes"):
        run_source(MLP, inputs=data() | {"y": np.full(6, 3)})


def test_a_file_is_run_like_its_text(tmp_path: Path) -> None:
    file = tmp_path / "net.dsl"
    file.write_text(MLP)
    assert run_file(file, inputs=data()).losses == run_source(MLP, inputs=data()).losses


@pytest.mark.parametrize("level", [None, "npu", "tiles"])
@pytest.mark.parametrize("opt_level", [1, 2, 3])
def test_every_optimisation_level_computes_the_same(opt_level: int, level: str | None) -> None:
    """As at -O0, by the comparison that checks passes, over two steps of training."""
    text = MLP.replace("linear(h, 3)", "linear(relu(linear(h, 6)), 3)")
    small = {"memory.spm_kib": 0.25, "array.rows": 4, "array.cols": 4}

    def results(opt: int | None, level: str | None) -> dict[str, Any]:
        run = run_source(
            text,
            inputs=data(),
            dtype="float64",
            steps=2,
            opt_level=opt,
            level=level,
            hardware="igo-small",
            overrides=small,
        )
        assert run.updated
        return {"losses": np.asarray(run.losses), **run.gradients, **run.updated, **run.outputs}

    assert compare(results(0, None), results(opt_level, level)).equal


def test_an_optimisation_level_runs_its_passes() -> None:
    source = text_source(MLP.replace("linear(h, 3)", "linear(relu(linear(h, 6)), 3)"), "dsl", "f")

    def ops(options: RunKeywords) -> set[str]:
        return {op.name for op in lowered_source(source, run_options(options)).walk()}

    assert "npu.contract" not in ops({})
    assert "npu.interleave" not in ops({"opt_level": 0})
    assert {"npu.contract", "npu.interleave"} <= ops({"opt_level": 1})
    assert "npu.streams" in ops({"opt_level": 1, "level": "tiles"})
    assert "train.matmul" in ops({"opt_level": 1, "level": "train"})
    assert "npu.contract" not in ops({"pipeline": "autodiff"})
    with pytest.raises(UsageError, match="-O3 does not apply with -p"):
        run_options({"opt_level": 3, "pipeline": "autodiff"})
    with pytest.raises(UsageError, match="unknown optimisation level 4"):
        lowered_source(source, run_options({"opt_level": 4}))
