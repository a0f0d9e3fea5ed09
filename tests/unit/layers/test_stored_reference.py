"""Every function against results and gradients that PyTorch computed (float64, 1e-9 relative), without PyTorch."""

import json
from functools import cache

import numpy as np
import pytest
from xdsl.context import Context

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers import get_functions
from npuc.compiler.transforms.autodiff import AutodiffPass
from tests.calls import PRICED
from tests.calls.close import assert_close
from tests.calls.stored import FOLDER, Stored
from tests.calls.values import build

pytestmark = pytest.mark.oracle


@cache
def stored() -> list[Stored]:
    files = sorted(FOLDER.glob("*.json"))
    return [Stored.from_json(one) for file in files for one in json.loads(file.read_text())]


def test_every_function_is_stored() -> None:
    random = {"dropout", "bernoulli", "stochastic_depth"}
    assert {one.call.function for one in stored()} == set(get_functions()) - random - PRICED


@pytest.mark.parametrize("one", stored(), ids=[f"{one.name}-{number}" for number, one in enumerate(stored())])
def test_results_and_gradients_equal_the_stored_ones(one: Stored) -> None:
    net = build(one.call)
    if net.has_loss:
        AutodiffPass().apply(Context(), net.module)
    run = execute(net.module, one.values, double=True)
    for index, theirs in enumerate(one.outputs):
        assert_close(np.asarray(run.outputs[f"out{index}"]), theirs, f"result {index}")
    for argument, gradient in run.gradients.items():
        assert_close(gradient, one.gradients[argument], f"gradient of {argument}")
