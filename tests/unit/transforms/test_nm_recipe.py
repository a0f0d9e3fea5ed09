"""The pass `nm-recipe`: fading masks from dense to hard ones, straight-through gradients, SR-STE, what is refused."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_source
from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.options import Options
from npuc.compiler.core.stages import remarks_to
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.read import read_program
from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers.transposable import structured
from npuc.compiler.report.sparse import SparseFacts
from npuc.frontends.mlir import make_context
from npuc.frontends.source import text_source

NET = """
network net(batch=4) {
  input x: f32[batch, 12]
  input t: f32[batch, 8]
  h = relu(linear(x, 16))
  loss mse(linear(h, 8), t)
  optimizer sgd(lr=0.5)
}
"""
IMAGES = """
network net(batch=2) {
  input x: f32[batch, 8, 5, 5]
  labels y: i32[batch]
  h = relu(conv2d(x, 12, kernel=3, padding=1))
  loss cross_entropy(linear(flatten(h), 4), y)
  optimizer sgd(lr=0.5)
}
"""
NPU = "autodiff,lower-to-npu"
Array = npt.NDArray[Any]


def read(passes: str, network: str = NET) -> Any:
    source = text_source(network, "dsl", "<string>")
    sources = SourceTexts({source.filename: source.text})
    module = read_program(source, Options(), sources)
    run_pipeline(module, read_pipeline(passes, available_passes()), make_context(), sources)
    module.verify()
    return module


def data(seed: int, network: str = NET) -> dict[str, Array]:
    """Inputs and parameters of a network."""
    random = np.random.default_rng(seed)
    if network == NET:
        shapes = {"x": (4, 12), "t": (4, 8), "h.linear.weight": (12, 16), "linear.weight": (16, 8)}
        return {name: random.standard_normal(shape) for name, shape in shapes.items()}
    weights = {
        "h.conv2d.weight": random.standard_normal((12, 8, 3, 3)),
        "linear.weight": random.standard_normal((300, 4)),
    }
    return {"x": random.standard_normal((2, 8, 5, 5)), "y": np.array([1, 3]), **weights}


def updated(passes: str, values: dict[str, Array], steps: int = 1, network: str = NET) -> dict[str, Array]:
    """The parameters after some steps, in float64."""
    return execute(read(passes, network), values, steps=steps, double=True).updated


def recipe(text: str) -> str:
    return f"{NPU},nm-recipe{{{text}}}"


WEIGHTS = ("h.linear.weight", "linear.weight")


def test_a_mask_that_has_not_begun_is_no_mask() -> None:
    values = data(0)
    dense = updated(NPU, values, 3)
    for text in ("kind=linear start=10 steps=4", "kind=exponential start=10 rate=1"):
        found = updated(recipe(f'pattern="2:4" {text}'), values, 3)
        assert all((found[name] == dense[name]).all() for name in dense)


def test_a_mask_that_has_faded_in_is_the_hard_one() -> None:
    values = data(1)
    hard = updated(recipe('pattern="1:4"'), values, 1)
    # the step that counts is the second: after the first, which is dense, nothing else is to differ
    program = read(recipe('pattern="1:4" kind=linear steps=1'))
    late = execute(program, {**values, "step": np.array(5)}, steps=1, double=True).updated
    assert all((late[name] == hard[name]).all() for name in hard)
    exponential = read(recipe('pattern="1:4" kind=exponential rate=500'))
    far = execute(exponential, {**values, "step": np.array(5)}, steps=1, double=True).updated
    assert all(np.allclose(far[name], hard[name], rtol=0, atol=1e-12) for name in hard)


def test_half_a_mask_drops_half() -> None:
    """The weights of a product are what the mask keeps, and half of the rest."""
    values = data(2)
    half = read(recipe('pattern="2:4" kind=linear steps=10'))
    found = execute(half, {**values, "step": np.array(5)}, steps=1, double=True).updated
    pruned = {
        name: w * np.where(structured(w, 2, 4, 0, None), 1.0, 0.5) for name, w in values.items() if name in WEIGHTS
    }
    dense = updated(NPU, {**values, **pruned})
    for name in WEIGHTS:  # gradients are those of the pruned weights, and pass straight through to the others
        assert np.allclose(found[name] - values[name], dense[name] - pruned[name], rtol=0, atol=1e-12)


@given(st.integers(0, 99), st.sampled_from(["1:2", "2:4", "1:4", "2:8", "3:5"]), st.booleans())
@settings(max_examples=12)
def test_gradients_are_those_of_the_pruned_weights(seed: int, pattern: str, transposable: bool) -> None:
    values = data(seed)
    kept, of = map(int, pattern.split(":"))
    found = updated(recipe(f'pattern="{pattern}" transposable={str(transposable).lower()}'), values)
    across = {"h.linear.weight": None, "linear.weight": 1 if transposable else None}  # the first layer has no dX
    pruned = {name: w * structured(w, kept, of, 0, across[name]) for name, w in values.items() if name in WEIGHTS}
    dense = updated(NPU, {**values, **pruned})
    for name in WEIGHTS:
        assert np.allclose(found[name] - values[name], dense[name] - pruned[name], rtol=0, atol=1e-12)


def test_kernels_are_pruned_along_their_channels() -> None:
    values = data(3, IMAGES)
    found = updated(recipe('pattern="2:4"'), values, network=IMAGES)
    kernel, weight = values["h.conv2d.weight"], values["linear.weight"]
    pruned = {"h.conv2d.weight": kernel * structured(kernel, 2, 4, 1, None)}
    pruned["linear.weight"] = weight * structured(weight, 2, 4, 0, None)
    dense = updated(NPU, {**values, **pruned}, network=IMAGES)
    for name, own in pruned.items():
        assert np.allclose(found[name] - values[name], dense[name] - own, rtol=0, atol=1e-12)


def test_the_pull_of_sr_ste() -> None:
    """What is dropped is smaller by lr x strength of itself, all else as without the pull."""
    values = data(4)
    plain, pulled = (updated(recipe(f'pattern="2:4" strength={s}'), values) for s in (0, 0.125))
    for name in WEIGHTS:
        dropped = ~structured(values[name], 2, 4, 0, None)
        difference = plain[name] - pulled[name]
        assert np.allclose(difference, 0.5 * 0.125 * values[name] * dropped, rtol=0, atol=1e-12)
        assert np.abs(difference[dropped]).max() > 0.01


def test_only_some_layers() -> None:
    values = data(5)
    found, dense = updated(recipe('pattern="2:4" only="h.linear"'), values), updated(NPU, values)
    assert "prune" not in str(read(f'{NPU},nm-recipe{{pattern="2:4" only=nowhere}}'))
    text = str(read(recipe('pattern="2:4" only="h.linear"')))
    assert text.count("npu.vector prune") == text.count("prune(%h_linear_weight") == 1
    assert not np.allclose(found["linear.weight"], dense["linear.weight"])


def test_groups_that_do_not_divide_an_axis_are_said() -> None:
    said: list[str] = []
    with remarks_to(said.append):
        read(recipe('pattern="2:5"'))
    assert said == [
        "nm-recipe: groups of 5 do not divide the 16 values that are summed of 'linear_weight' and 1 more: the last is "
        "padded with zeros"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('pattern="2-4"', "pattern is '2-4', expected N:M as in 2:4"),
        ('pattern="4:4"', "expected N:M with 1 <= N < M <= 64"),
        ('pattern="0:4"', "expected N:M with 1 <= N < M <= 64"),
        ('pattern="2:4" kind=soft', "kind is 'soft', expected hard, linear, exponential"),
        ('pattern="2:4" kind=linear', "steps is 0, expected at least 1 with kind=linear"),
        ('pattern="2:4" steps=4', "steps is 4, expected at least 1 with kind=linear, and with nothing else"),
        ('pattern="2:4" kind=exponential', "rate is 0.0, expected above 0 with kind=exponential"),
        ('pattern="2:4" rate=1', "rate is 1.0, expected above 0 with kind=exponential, and with nothing else"),
        ('pattern="2:4" start=1', "start is 1, expected at least 0, with kind=linear or kind=exponential"),
        ('pattern="2:4" strength=-1', "strength is -1.0, expected at least 0"),
    ],
)
def test_wrong_options(text: str, message: str) -> None:
    with pytest.raises(NpucError, match=message.replace("(", r"\(")):
        read(recipe(text))


def test_a_pull_needs_weights_that_are_updated() -> None:
    with pytest.raises(NpucError, match="strength pulls at parameters"):
        read('lower-to-npu,nm-recipe{pattern="2:4" strength=0.1}')


def test_a_schedule_is_not_overtaken() -> None:
    with pytest.raises(NpucError, match="has a schedule already"):
        read(f'{NPU},tile{{steps="m:4,n:4,k:4"}},nm-recipe{{pattern="2:4"}}')


@pytest.mark.parametrize(("transposable", "share"), [("false", Fraction(5, 6)), ("true", Fraction(2, 3))])
def test_the_share_of_products_is_the_formulas(transposable: str, share: Fraction) -> None:
    """2:4 forward: (0.5 + 1 + 1) / 3; with dX, too: (0.5 + 0.5 + 1) / 3. The first layer has no dX."""
    text = NET.replace("relu(linear(x, 16))", "relu(linear(relu(linear(x, 16)), 16))")
    placed = f'lower-to-npu=nm-recipe{{pattern="2:4" transposable={transposable}}}'
    report = compile_source(
        text,
        backend="cycle",
        opt_level=0,
        after=[placed],
        overrides={"array.skips": "structured", "array.dataflow": "ws"},
    )
    rows = [op for op in report.ops if op.macs and op.name != "h.linear"]
    assert len(rows) == 6
    carried = 0
    for op in rows:
        facts = SparseFacts.found_in(op)
        carried += (op.macs or 0) if facts is None else facts.carried_macs
    assert Fraction(carried, sum(op.macs or 0 for op in rows)) == share
