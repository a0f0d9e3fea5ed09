"""The pass `predict-gradients`: its two steps against numpy by hand, against autodiff, what it keeps and refuses."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, ModuleOp, StringAttr, f64

from npuc.compiler.analysis.memory.liveness import memory_of_module, memory_of_tensors, tensors_of
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.driver.passes import own_passes, read_pipeline
from npuc.compiler.interpreter.execute import Run, execute, the_function
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.autodiff.updates import begin, trained_of
from npuc.compiler.transforms.predict_gradients import PredictGradientsPass
from npuc.compiler.transforms.predict_gradients.weights import predicted_weights
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.optimizer import SgdOp
from npuc.dialects.train.signature import training_functions
from npuc.frontends import read_source
from tests.networks import integer_data, integer_networks

MLP = """network net(batch=6) {
  input  x: f32[batch, 5]
  labels y: i32[batch]
  h = tanh(linear(x, 4))
  loss cross_entropy(linear(h, 3), y)
  optimizer sgd(lr=0.5, momentum=0.9)
}
"""
IMAGES = """network net(batch=3) {
  input  x: f32[batch, 2, 6, 5]
  labels y: i32[batch]
  c = relu(conv2d(x, 4, kernel=3, stride=2, padding=1))
  d = conv2d(c, 4, kernel=3, padding=1, groups=4, bias=false)
  t = conv_transpose2d(d, 3, kernel=2)
  n = batch_norm(t)
  loss cross_entropy(linear(flatten(n), 3), y)
  optimizer adam(lr=0.01)
}
"""
WORDS = """network net(batch=2) {
  input  x: i32[batch, 4]
  labels y: i32[batch, 4]
  e = embedding(x, 7, 6, name="table")
  h = layer_norm(linear(e, 6, bias=false))
  loss cross_entropy(linear(h, 7), y)
  optimizer sgd(lr=0.1)
}
"""
CHAIN = """network chain(batch=64, width=32, depth=8) {
  input  x: f32[batch, width]
  labels y: i32[batch]
  h = x
  for i in 0..depth { h = relu(linear(h, width)) }
  loss cross_entropy(h, y)
  optimizer adam(lr=0.1)
}
"""


def made(text: str, options: str = "phase=bp") -> ModuleOp:
    module = read_source(text, format="dsl")
    (step,) = read_pipeline(f"predict-gradients{{{options}}}", own_passes())
    step.apply(Context(), module)
    module.verify()
    return module


def plain(text: str) -> ModuleOp:
    module = read_source(text, format="dsl")
    AutodiffPass().apply(Context(), module)
    return module


def data_of(text: str) -> dict[str, Array]:
    random = np.random.default_rng(3)
    if text is WORDS:
        return {"x": random.integers(0, 7, (2, 4)), "y": random.integers(0, 7, (2, 4))}
    shape = (6, 5) if text is MLP else (3, 2, 6, 5)
    return {"x": random.normal(size=shape), "y": random.integers(0, 3, shape[0])}


def run(module: ModuleOp, text: str, given: dict[str, Array] | None = None, steps: int = 1) -> Run:
    return execute(module, {**data_of(text), **(given or {})}, steps=steps, double=True)


def drawn(module: ModuleOp, text: str) -> dict[str, Array]:
    random = np.random.default_rng(5)
    found = run(module, text).params
    return {name: random.normal(size=v.shape) * 0.1 for name, v in found.items() if name.startswith("predictor.")}


def pooled(x: Array, size: int) -> Array:
    """Adaptive mean pooling of the last axis by its definition."""
    n = x.shape[-1]
    parts = [x[..., i * n // size : -(-(i + 1) * n // size)].mean(-1) for i in range(size)]
    return np.stack(parts, -1)


def rows_by_hand(pictures: Array, p: dict[str, Array], row: int) -> Array:
    """The predictor on pictures [channels, 4, 4]: a 3 x 3 convolution, relu, a linear layer."""
    channels = len(pictures)
    padded = np.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    kernel, features = p["predictor.conv.weight"], len(p["predictor.conv.bias"])
    maps = np.zeros((channels, features, 4, 4))
    for r in range(4):
        for s in range(4):
            window = padded[:, r : r + 3, s : s + 3]
            maps[:, :, r, s] = np.einsum("crs,frs->cf", window, kernel[:, 0]) + p["predictor.conv.bias"]
    inner = np.maximum(maps, 0).reshape(channels, -1)
    return inner @ p["predictor.linear.weight"][:, :row] + p["predictor.linear.bias"][:row]


def test_a_gp_step_is_the_optimizers_on_predictions_computed_by_hand() -> None:
    module = made(MLP, "phase=gp")
    p = drawn(module, MLP)
    found, data = run(module, MLP, p), data_of(MLP)
    w = found.params
    h = data["x"] @ w["h.linear.weight"] + w["h.linear.bias"]
    logits = np.tanh(h) @ w["linear.weight"] + w["linear.bias"] if "linear.weight" in w else None
    names = [n for n in w if n.endswith(".weight") and not n.startswith("predictor.")]
    assert len(names) == 2
    outputs = {names[0]: h, names[1]: np.tanh(h) @ w[names[1]] + w[names[1].replace("weight", "bias")]}
    assert logits is None or np.array_equal(logits, outputs[names[1]])
    for name, y in outputs.items():
        pictures = pooled(y.T, 16).reshape(-1, 4, 4)
        gradient = rows_by_hand(pictures, p, len(w[name])).T
        np.testing.assert_allclose(found.gradients[name], gradient, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.updated[name], w[name] - 0.5 * gradient, rtol=1e-12, atol=1e-14)
    for name in (n for n in w if n not in names):
        assert name not in found.updated or np.array_equal(found.updated[name], w[name])


def test_images_are_averaged_over_the_batch_and_pooled_by_channel() -> None:
    module = made(IMAGES, "phase=gp")
    p = drawn(module, IMAGES)
    found, data = run(module, IMAGES, p), data_of(IMAGES)
    w, bias = found.params["c.conv2d.weight"], found.params["c.conv2d.bias"]
    x = np.pad(data["x"], ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = np.zeros((3, 4, 3, 3))
    for r in range(3):
        for s in range(3):
            y[:, :, r, s] = np.einsum("bcij,ocij->bo", x[:, :, 2 * r : 2 * r + 3, 2 * s : 2 * s + 3], w) + bias
    mean = y.mean(0)
    pictures = pooled(pooled(mean, 4).transpose(0, 2, 1), 4).transpose(0, 2, 1)
    gradient = rows_by_hand(pictures, p, 18).reshape(w.shape)
    np.testing.assert_allclose(found.gradients["c.conv2d.weight"], gradient, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("text", [MLP, IMAGES, WORDS])
def test_a_bp_step_trains_the_network_as_autodiff_does_to_the_bit(text: str) -> None:
    ours, theirs = run(made(text), text, steps=3), run(plain(text), text, steps=3)
    assert ours.losses == theirs.losses
    for name, value in theirs.updated.items():
        assert np.array_equal(ours.updated[name], value), name
    for name, value in theirs.gradients.items():
        assert np.array_equal(ours.gradients[name], value), name


@pytest.mark.parametrize("text", [MLP, IMAGES, WORDS])
def test_a_predictor_learns_the_squared_error_of_its_predictions(text: str) -> None:
    bp, gp = made(text, "lr=0.01"), made(text, "phase=gp")
    p = drawn(bp, text)
    trained, predicted = run(bp, text, p), run(gp, text, p)
    names = [name for name in predicted.gradients if name in trained.gradients]
    error = sum(((predicted.gradients[name] - trained.gradients[name]) ** 2).sum() for name in names)
    np.testing.assert_allclose(trained.outputs["predictor.loss"], error, rtol=1e-9)
    losses = [float(run(bp, text, p, steps=n).outputs["predictor.loss"]) for n in (1, 8, 64)]
    assert all(after < before for before, after in pairwise(losses))


def test_the_predictors_gradients_are_those_of_differences() -> None:
    module = made(MLP)
    p = drawn(module, MLP)
    found = run(module, MLP, p)
    random = np.random.default_rng(1)
    for name in p:
        at = np.unravel_index(int(random.integers(0, p[name].size)), p[name].shape)
        step = np.zeros(p[name].shape)
        step[at] = 1e-5
        high, low = (run(module, MLP, {**p, name: p[name] + s}).outputs["predictor.loss"] for s in (step, -step))
        assert found.gradients[name][at] == pytest.approx((float(high) - float(low)) / 2e-5, rel=1e-5, abs=1e-8)


def test_an_untrained_predictor_changes_no_weight() -> None:
    found = run(made(IMAGES, "phase=gp"), IMAGES)
    for name, value in found.params.items():
        assert name not in found.updated or np.array_equal(found.updated[name], value)


def test_a_weight_is_updated_behind_its_layer_and_its_last_reader() -> None:
    ops = list(the_function(made(CHAIN, "phase=gp")).body.block.ops)
    assert {role_of(op) for op in ops} == {Role.FORWARD, Role.UPDATE}
    kinds = [layer_of(op) for op in ops if op.name in ("train.adam", "train.matmul")]
    layers = [name for name in kinds if not name.startswith("predictor.") and not name.endswith(".weight")]
    for before, after in pairwise(layers):
        assert kinds.index(before) < kinds.index(f"{before}.weight") < kinds.index(after)


def test_a_gp_step_keeps_no_activation_beyond_the_next_layer() -> None:
    def own(text: str, options: str = "phase=bp") -> int:
        memory = memory_of_module(made(text, options))
        assert memory is not None
        return memory.peak_bytes - memory.resident_bytes

    depths = [CHAIN.replace("depth=8", f"depth={n}") for n in (4, 8, 16, 32)]
    assert len({own(text, "phase=gp") for text in depths}) == 1
    plains = [memory_of_tensors(tensors_of(the_function(plain(text)), None)) for text in depths]
    kept = [one.kept_bytes for one in plains]
    assert all(after >= 2 * before for before, after in pairwise(kept))
    assert own(depths[-1], "phase=gp") < own(depths[0])
    gp = memory_of_tensors(tensors_of(the_function(made(depths[-1], "phase=gp")), None))
    assert gp.kept_bytes == 0


def test_a_bp_step_needs_little_more_memory_than_autodiffs() -> None:
    text = CHAIN.replace("depth=8", "depth=32").replace("batch=64", "batch=1024")
    ours, theirs = (memory_of_module(one) for one in (made(text), plain(text)))
    assert ours is not None
    assert theirs is not None
    assert ours.peak_bytes < 1.1 * theirs.peak_bytes


def test_an_ideal_predictors_gradients_are_inputs() -> None:
    module = made(MLP, "phase=gp predictor=ideal")
    with pytest.raises(UsageError, match=r"no value for input '.*gradient'"):
        run(module, MLP)
    known = run(plain(MLP), MLP)
    given = {f"{name}.gradient": g for name, g in known.gradients.items() if name.endswith("weight")}
    found = run(module, MLP, given)
    for name in (one.removesuffix(".gradient") for one in given):
        assert np.array_equal(found.updated[name], known.updated[name])
    assert sum(isinstance(op, SgdOp) for op in module.walk()) == 2


REFUSED = {
    "outputs=4": (MLP, "4 outputs, and a channel of the weight 'h.linear.weight' has 5 elements: expected outputs=5"),
    "pool=4": (MLP.replace("optimizer sgd(lr=0.5, momentum=0.9)", ""), "the network names no optimizer"),
    "only=nothing": (MLP, "no trained weight of a matrix product or a convolution is predicted"),
}


@pytest.mark.parametrize("phase", ["bp", "gp"])
@pytest.mark.parametrize("options", REFUSED)
def test_what_cannot_be_predicted_is_named(options: str, phase: str) -> None:
    text, message = REFUSED[options]
    with pytest.raises(SourceError, match=message):
        made(text, f"phase={phase} {options}")


def test_a_whole_step_is_refused() -> None:
    module = plain(MLP)
    with pytest.raises(SourceError, match="in place of autodiff"):
        PredictGradientsPass().apply(Context(), module)


def test_the_name_of_a_parameter_of_the_predictor_is_taken() -> None:
    module = read_source(MLP, format="dsl")
    text = str(module).replace('"h.linear.weight"', '"predictor.conv.weight"')
    renamed = read_source(text, format="mlir")
    with pytest.raises(SourceError, match=r"'predictor\.conv\.weight', the name of one of the predictor's"):
        PredictGradientsPass().apply(Context(), renamed)


@settings(max_examples=25)
@given(module=integer_networks(), phase=st.sampled_from(["bp", "gp"]))
def test_random_networks_keep_their_loss_and_bp_their_gradients(module: ModuleOp, phase: str) -> None:
    before, after = module.clone(), module.clone()
    (func,) = training_functions(after)
    func.attributes.setdefault(
        "train.optimizer", DictionaryAttr({"kind": StringAttr("sgd"), "lr": FloatAttr(0.5, f64)})
    )
    (plain_func,) = training_functions(before)
    plain_func.attributes["train.optimizer"] = func.attributes["train.optimizer"]
    if not predicted_weights(list(func.body.block.ops), trained_of(func, begin(func)[0]), lambda name: True):
        with pytest.raises(SourceError, match="no trained weight"):
            PredictGradientsPass(phase=phase).apply(Context(), after)
        return
    PredictGradientsPass(phase=phase).apply(Context(), after)
    after.verify()
    AutodiffPass().apply(Context(), before)
    ours, theirs = (execute(one, integer_data(module, 1), double=True) for one in (after, before))
    assert ours.losses == theirs.losses
    if phase == "bp":
        for name, value in theirs.updated.items():
            assert np.array_equal(ours.updated[name], value)
