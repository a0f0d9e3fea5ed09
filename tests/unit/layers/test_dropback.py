"""DropBack against an implementation in plain Python and numpy, its states, its work, its refusals, and a training."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from npuc.backends.roofline.iteration.update import optimizer_of
from npuc.compiler.core.builder import Optimizer
from npuc.compiler.core.errors import NpucError, SourceError
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.run import run_source
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.interpreter.parameters import initial_value
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.dropback import DropbackLayer, kept_count
from npuc.compiler.layers.quantile import follow, follow_additive
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.dropback import DropbackOp
from npuc.dialects.train.signature import Argument, ArgumentKind, arguments_of
from npuc.frontends import read_source
from npuc.frontends.source import text_source
from tests.networks import Net, dot_loss

NETWORK = """network t(batch=8) {
  input x: f32[batch, 20]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 16)), 4), y)
  optimizer OPTIMIZER
}"""


def step_of(shape: tuple[int, ...], **options: Any) -> Any:
    """A step in which the gradient of w is the input `target`."""
    net = Net()
    loss = dot_loss(net, net.param("w", *shape))
    module = net.b.finish(loss=loss, outputs=[], optimizer=Optimizer("dropback", options))
    AutodiffPass().apply(Context(), module)
    module.verify()
    return module


def gradient_of(module: Any, values: dict[str, Array]) -> Array:
    return execute(module, values, steps=1, double=True).gradients["w"]


def expected(
    w: list[float], gradient: list[float], steps: int, keep: float, lr: float, momentum: float, decay: float
) -> tuple[list[float], list[set[int]]]:
    """The weights after some steps, one element at a time, and which elements stayed in each step."""
    start, velocity, history = list(w), [0.0] * len(w), list[set[int]]()
    count = math.ceil(round(keep * len(w), 9))
    for step in range(steps):
        home = [decay ** (step + 1) * one for one in start]
        if momentum:
            velocity = [momentum * v + g for v, g in zip(velocity, gradient, strict=True)]
        else:
            velocity = gradient
        moved = [a - lr * v for a, v in zip(w, velocity, strict=True)]
        order = sorted(range(len(w)), key=lambda i: (-abs(moved[i] - home[i]), i))
        history.append(set(order[:count]))
        w = [moved[i] if i in history[-1] else home[i] for i in range(len(w))]
    return w, history


@settings(max_examples=60)
@given(
    size=st.integers(1, 40),
    keep=st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0]),
    momentum=st.sampled_from([0.0, 0.5]),
    decay=st.sampled_from([1.0, 0.9, 0.5, 0.0]),
    seed=st.integers(0, 99),
)
def test_steps_are_those_of_plain_python(size: int, keep: float, momentum: float, decay: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    # few values, so that there are ties; all sums are exact
    values = {"w": random.integers(-8, 8, size) / 4, "target": random.integers(-8, 8, size) / 4}
    module = step_of((size,), lr=0.5, keep=keep, momentum=momentum, decay=decay)
    gradient = gradient_of(module, values)
    found = execute(module, values, steps=3, double=True).updated
    wanted, _ = expected(values["w"].tolist(), gradient.tolist(), 3, keep, 0.5, momentum, decay)
    np.testing.assert_allclose(found["w"], wanted, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(found["w.initial"], values["w"])


@given(size=st.integers(1, 300), keep=st.sampled_from([0.1, 0.3, 0.07]), seed=st.integers(0, 9))
def test_exactly_k_differ_from_their_start(size: int, keep: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = {"w": random.standard_normal(size), "target": random.uniform(0.5, 1.0, size)}
    for decay in (1.0, 0.9):
        new = execute(step_of((size,), lr=0.5, keep=keep, decay=decay), values, steps=4, double=True).updated["w"]
        count = math.ceil(round(keep * size, 9))
        assert np.count_nonzero(new != decay**4 * values["w"]) == count


@pytest.mark.parametrize(
    ("share", "count", "kept"), [(0.1, 10, 1), (0.1, 11, 2), (1.0, 5, 5), (0.7, 30, 21), (1e-9, 3, 1)]
)
def test_a_share_is_exact(share: float, count: int, kept: int) -> None:
    """0.7 is a little less than 7/10 as a binary number, 0.1 a little more than 1/10."""
    assert kept_count(share, count) == kept


def test_pruned_weights_become_zero() -> None:
    values = {"w": np.linspace(1.0, 2.0, 10), "target": np.linspace(0.1, 1.0, 10)}
    new = execute(step_of((10,), lr=1.0, keep=0.2, decay=0.5), values, steps=200, double=True).updated["w"]
    assert np.count_nonzero(np.abs(new) > 1e-30) == 2


def draw(shape: tuple[int, ...], seed: int) -> Array:
    return initial_value(Argument(0, ArgumentKind.PARAM, "w", bound=bound_of(shape)), shape, seed)


def bound_of(shape: tuple[int, ...]) -> float:
    (argument,) = (a for a in arguments_of(the_function(step_of(shape, lr=0.5))) if a.name == "w")
    assert argument.bound
    return argument.bound


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_regenerated_values_are_those_of_the_state(seed: int, momentum: float) -> None:
    """To the bit, and without a state."""
    values = {"w": draw((6, 5), seed), "target": np.linspace(-1.0, 2.0, 30).reshape(6, 5)}
    options: dict[str, Any] = {"lr": 0.25, "keep": 0.3, "decay": 0.9, "momentum": momentum}
    stored = execute(step_of((6, 5), **options), values, steps=3).updated
    drawn = execute(step_of((6, 5), regenerate=True, seed=float(seed), **options), values, steps=3).updated
    np.testing.assert_array_equal(drawn["w"], stored["w"])
    assert "w.initial" in stored
    assert "w.initial" not in drawn


def test_other_values_than_those_of_the_seed_are_refused() -> None:
    module = step_of((6, 5), lr=0.5, regenerate=True, seed=1.0)
    values = {"w": draw((6, 5), 2), "target": np.ones((6, 5))}
    with pytest.raises(SourceError, match=r"'w' does not start with the values of seed 1.*they are a state"):
        execute(module, values, double=True)


# ---- the threshold


def test_the_notes_quantile() -> None:
    """200 000 half-normal values: about 1.645 where the exact quantile is 1.6505, 10.1 % above."""
    values = np.abs(np.random.default_rng(0).standard_normal(200_000))
    estimate, above = follow_additive(values.tolist(), 0.9, 1e-3)
    assert np.quantile(values, 0.9) == pytest.approx(1.6505, abs=0.01)
    assert estimate == pytest.approx(1.645, abs=0.03)
    settled = above[20_000:]
    assert sum(settled) / len(settled) == pytest.approx(0.1, rel=0.03)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_the_multiplicative_form_needs_no_scale(scale: float) -> None:
    values = scale * np.abs(np.random.default_rng(1).standard_normal(100_000))
    estimate, above = follow(values.tolist(), 0.9, 1e-3)
    assert estimate / scale == pytest.approx(1.645, abs=0.06)
    assert sum(above[20_000:]) / 80_000 == pytest.approx(0.1, rel=0.03)


def test_a_threshold_keeps_about_k() -> None:
    """Once it has settled, and gradients differ from step to step; its state is one number."""
    random = np.random.default_rng(2)
    start = weights = initial = random.standard_normal((300, 100))
    threshold: Array = np.asarray(0.0)
    module = step_of(start.shape, lr=0.5, keep=0.1, quantile=True)
    (update,) = [op for op in module.walk() if isinstance(op, DropbackOp)]
    kept: list[int] = []
    for step in range(12):
        arrays = (weights, random.standard_normal(start.shape), initial, threshold, np.asarray(step))
        weights, initial, threshold = DropbackLayer().evaluate(update, *arrays)
        kept.append(int(np.count_nonzero(weights != start)))
    assert threshold.shape == ()
    np.testing.assert_allclose(kept[5:], 3000, rtol=0.03)


@given(size=st.integers(1, 30), seed=st.integers(0, 99))
def test_threshold_steps_are_those_of_plain_python(size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = {"w": random.standard_normal(size), "target": random.standard_normal(size)}
    module = step_of((size,), lr=0.5, keep=0.3, quantile=True, rate=0.1)
    gradient = gradient_of(module, values)
    w, threshold = values["w"].tolist(), 0.0
    for _ in range(3):
        for i, start in enumerate(values["w"]):
            moved = w[i] - 0.5 * gradient[i]
            size_of = abs(moved - start)
            w[i] = moved if size_of > threshold else start
            if threshold == 0.0:
                threshold = size_of
            else:
                threshold *= 1 + 0.1 * 0.7 if size_of > threshold else 1 - 0.1 * 0.3
    found = execute(module, values, steps=3, double=True).updated
    np.testing.assert_allclose(found["w"], w, rtol=1e-12)
    assert float(found["w.threshold"]) == pytest.approx(threshold)


# ---- work


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        # 3 comparisons find the 3 largest of 30, with the sort's log2 30 as the most
        ({}, 2 + 3 + (1 + 2) + 2),
        ({"keep": 1.0}, 2 + 3 + 5 + 2),
        ({"momentum": 0.5}, 4 + 3 + (1 + 2) + 2),
        ({"quantile": True}, 2 + 3 + 2 + 2),
        ({"regenerate": True}, 2 + 3 + (1 + 2) + 2 + 8),
    ],
)
def test_work(options: dict[str, Any], steps: int) -> None:
    module = step_of((6, 5), lr=0.5, **options)
    (update,) = [op for op in module.walk() if isinstance(op, DropbackOp)]
    work = get_layer(update).work(update)
    assert work.vector_ops == 30 * steps
    assert (work.reread is None) == ("quantile" in options)
    assert work.reread is None or len(work.reread.operands) == 2 - ("regenerate" in options)


@pytest.mark.parametrize(("options", "states"), [({}, 1), ({"momentum": 0.5, "quantile": True}, 2)])
def test_roofline_counts_states_and_comparisons(options: dict[str, Any], states: int) -> None:
    """Of the program before and after autodiff; a threshold is no state of a parameter's size."""
    text = ", ".join(f"{name}={str(value).lower()}" for name, value in options.items())
    module = read_source(NETWORK.replace("OPTIMIZER", f"dropback(lr=0.1{', ' * bool(text)}{text})"))
    before = optimizer_of(the_function(module))
    AutodiffPass().apply(Context(), module)
    after = optimizer_of(the_function(module))
    assert before is not None
    assert after is not None
    assert before.states == after.states == states
    for count in (16, 100_000):
        k = math.ceil(count / 10)
        find = 2 if "quantile" in options else 1 + (k - 1).bit_length()
        wanted = count * (2 + 2 * ("momentum" in options) + 3 + find + 2)
        assert before.vector_ops(count) == after.vector_ops(count) == wanted


# ---- the language


SIGNATURE = (
    "signature: dropback(lr, momentum=0.0, keep=0.1, decay=1.0, quantile=false, rate=0.001, regenerate=false, seed=0.0)"
)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("keep=0", "argument 'keep' of dropback: found 0.0, expected above 0 and at most 1"),
        ("decay=1.5", "argument 'decay' of dropback: found 1.5, expected 0 to 1"),
        ("quantile=true, rate=1", "argument 'rate' of dropback: found 1.0, expected above 0 and below 1"),
        ("rate=0.5", "argument 'rate' of dropback: found 0.5, which has no effect without quantile"),
        ("seed=3", "argument 'seed' of dropback: found 3, which has no effect without regenerate"),
        (
            "regenerate=true, seed=0.5",
            "argument 'seed' of dropback: found 0.5, expected a whole number of at least 0",
        ),
    ],
)
def test_refused(options: str, problem: str) -> None:
    with pytest.raises(NpucError) as caught:
        read_source(NETWORK.replace("OPTIMIZER", f"dropback(lr=0.1, {options})"), filename="f")
    assert caught.value.message == problem
    assert caught.value.hint == SIGNATURE


def test_a_step_is_read_back() -> None:
    """The update says how its parameter starts."""
    module = read_source(NETWORK.replace("OPTIMIZER", "dropback(lr=0.1, regenerate=true, seed=7)"))
    AutodiffPass().apply(Context(), module)
    updates = [op for op in module.walk() if isinstance(op, TrainOp) and role_of(op) is Role.UPDATE]
    starts = {op.start.data: op.bound.value.data for op in updates if isinstance(op, DropbackOp)}
    bounds = {a.name: a.bound for a in arguments_of(the_function(module)) if a.kind is ArgumentKind.PARAM}
    assert starts == {name: bound or 0.0 for name, bound in bounds.items()}


@pytest.mark.parametrize("options", ["decay=0.9", "quantile=true, decay=0.9", "momentum=0.5, regenerate=true"])
def test_training_converges(options: str) -> None:
    """With a fifth of the weights the loss falls, as it does with all of them."""
    text = NETWORK.replace("OPTIMIZER", f"dropback(lr=0.5, keep=0.2, {options})")
    losses = run_source(text, steps=40).losses
    assert losses[-1] < 0.2 * losses[0]


@pytest.mark.parametrize("options", ["decay=0.9", "quantile=true, momentum=0.5", "regenerate=true, seed=3, decay=0.5"])
def test_passes_keep_the_step(options: str) -> None:
    """Also that of initial values that are drawn again, though the check has parameters of its own."""
    text = NETWORK.replace("OPTIMIZER", f"dropback(lr=0.5, keep=0.25, {options})")
    done = check_program(text_source(text, "dsl", "net.dsl"), {})
    assert [check.step for check in done][:2] == ["autodiff", "lower-to-npu"]
    assert all(check.comparison.equal for check in done)
