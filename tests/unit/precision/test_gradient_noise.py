"""The pass `gradient-noise`: how much noise, on which gradients, in which step."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npuc.compiler import run_source
from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.options import Options
from npuc.compiler.core.stages import remarks_to
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.read import read_program
from npuc.compiler.interpreter.execute import execute
from npuc.frontends.mlir import make_context
from npuc.frontends.source import text_source

NET = """
network net(batch=4) {
  input x: f32[batch, 60]
  input t: f32[batch, 70]
  h = linear(x, 80)
  loss mse(linear(h, 70), t)
  optimizer sgd(lr=1.0)
}
"""
Array = npt.NDArray[Any]


def read(passes: str) -> Any:
    source = text_source(NET, "dsl", "<string>")
    sources = SourceTexts({source.filename: source.text})
    module = read_program(source, Options(), sources)
    run_pipeline(module, read_pipeline(passes, available_passes()), make_context(), sources)
    module.verify()
    return module


def updated(passes: str, steps: int = 1) -> dict[str, Array]:
    """The parameters after some steps, in float64, on data of zeros: gradients are those of the biases alone."""
    inputs: dict[str, Array] = {"x": np.zeros((4, 60)), "t": np.zeros((4, 70))}
    return execute(read(passes), inputs, steps=steps, double=True).updated


def noise(passes: str, layer: str = "h.weight") -> Array:
    """What a pass adds to a gradient in the first step."""
    return updated("autodiff")[layer] - updated(passes)[layer]


def test_noise_is_normal_with_the_standard_deviation_that_is_asked_for() -> None:
    added = noise("autodiff,gradient-noise{sigma=0.5}").reshape(-1)
    count = added.size
    assert abs(added.mean()) < 4 * 0.5 / np.sqrt(count)
    assert abs(added.std() / 0.5 - 1) < 4 / np.sqrt(2 * count)
    for quantile, share in ((-0.5, 0.1587), (0.0, 0.5), (1.0, 0.9772)):
        assert abs((added < quantile).mean() - share) < 4 * np.sqrt(share * (1 - share) / count)


def test_it_falls_from_step_to_step_and_differs_between_steps_and_parameters() -> None:
    passes = "autodiff,gradient-noise{sigma=0.5 decay=2}"
    module, values = read(passes), dict[str, Array]()
    plain = read("autodiff")
    inputs: dict[str, Array] = {"x": np.zeros((4, 60)), "t": np.zeros((4, 70))}
    found: list[Array] = []
    for _ in range(3):
        before = {name: value for name, value in values.items() if name != "step"}
        expected = execute(plain, {**inputs, **before}, double=True).updated
        run = execute(module, {**inputs, **values}, double=True)
        found.append(expected["h.weight"] - run.updated["h.weight"])
        values = {**run.params, **run.updated}
    for step, added in enumerate(found):
        assert abs(added.std() * (1 + step) / 0.5 - 1) < 0.06
    assert abs(np.corrcoef(found[0].reshape(-1), found[1].reshape(-1))[0, 1]) < 0.06
    first = noise("autodiff,gradient-noise{sigma=0.5}", "h.weight").reshape(-1)
    other = noise("autodiff,gradient-noise{sigma=0.5}", "linear.weight").reshape(-1)[: first.size]
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.06


def test_only_some_parameters_have_it_and_another_seed_gives_other_noise() -> None:
    passes = 'autodiff,gradient-noise{sigma=0.1 only="h.*"}'
    assert not noise(passes, "linear.weight").any()
    assert noise(passes, "h.bias").any()
    one, other = (noise(f"autodiff,gradient-noise{{sigma=0.1 seed={seed}}}") for seed in (1, 2))
    assert np.array_equal(one, noise("autodiff,gradient-noise{sigma=0.1 seed=1}"))
    assert not np.array_equal(one, other)


def test_without_noise_nothing_changes_and_every_level_has_the_same() -> None:
    plain, made = updated("autodiff", 2), updated("autodiff,gradient-noise{sigma=0}", 2)
    assert all(np.array_equal(value, made[name]) for name, value in plain.items())
    source = text_source(NET, "dsl", "<string>")
    passes = "autodiff,gradient-noise{sigma=0.1},lower-to-npu,interleave{mode=zip},schedule,fuse-vector,lower-tiles"
    done = check_program(source, {"pipeline": passes})
    assert "other numbers" in str(done[1])
    assert all("other numbers" not in str(one) for one in (done[0], *done[2:]))


@pytest.mark.parametrize(
    ("options", "message"),
    [("sigma=-1", "sigma is -1"), ("sigma=1 decay=-2", "decay is -2"), ("sigma=1 seed=-1", "seed is -1")],
)
def test_options_that_mean_nothing_are_refused(options: str, message: str) -> None:
    with pytest.raises(NpucError, match=message):
        read(f"autodiff,gradient-noise{{{options}}}")


def test_it_says_where_there_is_nothing_to_do() -> None:
    said: list[str] = []
    with remarks_to(said.append):
        read("gradient-noise{sigma=1},autodiff,gradient-noise{sigma=1 only=nope}")
    assert any("comes after autodiff" in one for one in said)
    assert any("no update is of such a layer" in one for one in said)
    with pytest.raises(NpucError, match="lower"):
        run_source(NET, pipeline="autodiff,lower-to-npu,gradient-noise{sigma=1}")
