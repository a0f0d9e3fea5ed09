"""Random masks: what they are for a seed and a step, in training and in inference."""

import numpy as np
import pytest
from xdsl.dialects.builtin import i32

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers import get_functions
from npuc.compiler.layers.arguments import ArgumentError
from npuc.compiler.layers.base import Array
from npuc.dialects.tensors import tensor_of
from tests.networks import Net


def drawn(training: bool, step: int, dtype: str = "f32") -> Array:
    b = GraphBuilder("masks", training=training)
    with b.at("m", None):
        mask = get_functions()["bernoulli"](b, [40, 50], 0.25, dtype)
    module = b.finish(loss=None, outputs=[("m", mask)], optimizer=None)
    return execute(module, {"step": np.array(step)}).outputs["m"]


@pytest.mark.parametrize("training", [True, False])
def test_a_share_of_the_elements_is_one(training: bool) -> None:
    mask = drawn(training, 0)
    assert set(mask.reshape(-1).tolist()) == {0.0, 1.0}
    assert abs(mask.mean() - 0.25) < 0.04
    assert np.array_equal(mask, drawn(training, 0))
    assert not np.array_equal(mask, drawn(training, 1))


def test_a_mask_has_the_type_that_it_is_asked_for() -> None:
    assert drawn(True, 0, "bool").dtype == np.bool_
    assert drawn(True, 0, "i32").dtype == np.int32


@pytest.mark.parametrize("mode", ["row", "batch"])
def test_stochastic_depth_drops_whole_samples(mode: str) -> None:
    net = Net()
    y = net.call("stochastic_depth", net.input("x", 64, 3, 2), 0.5, mode=mode)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    found = execute(module, {"x": np.ones((64, 3, 2))}, double=True).outputs["y"]
    kept = found[:, 0, 0]
    assert np.array_equal(found, np.broadcast_to(kept[:, None, None], found.shape))
    assert set(kept.tolist()) == {0.0, 2.0} if mode == "row" else len(set(kept.tolist())) == 1


def test_stochastic_depth_is_the_identity_in_inference() -> None:
    b = GraphBuilder("depth", training=False)
    x = b.input("x", tensor_of(i32, (2, 3)))
    with b.at("y", None):
        assert get_functions()["stochastic_depth"](b, x, 0.5) is x


def test_wrong_probabilities_and_modes() -> None:
    net = Net()
    x = net.input("x", 2, 3)
    with pytest.raises(ArgumentError, match=r"found 1\.0, expected at least 0 and below 1"):
        net.call("stochastic_depth", x, 1.0)
    with pytest.raises(ArgumentError, match="found 'rows', expected 'row' or 'batch'"):
        net.call("stochastic_depth", x, 0.5, mode="rows")
