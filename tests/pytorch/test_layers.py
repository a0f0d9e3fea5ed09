"""Every function of the language against PyTorch: results and all gradients, in float64, to 1e-9 relative."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers import get_functions
from npuc.compiler.transforms.autodiff import AutodiffPass
from tests.calls import PRICED, all_calls
from tests.calls.close import assert_close
from tests.calls.values import build, random_values
from tests.pytorch.counterparts import RANDOM, counterparts, judge

torch.set_num_threads(1)


def test_every_function_has_a_counterpart() -> None:
    assert set(get_functions()) - RANDOM - PRICED == set(counterparts())


@pytest.mark.parametrize("name", [name for name in all_calls() if name.split()[0] not in RANDOM])
@settings(max_examples=15)
@given(data=st.data())
def test_results_and_gradients_equal_those_of_pytorch(name: str, data: st.DataObject) -> None:
    call = all_calls()[name](data)
    net = build(call)
    values = random_values(call, net, seed=data.draw(st.integers(0, 1000)))
    judged = judge(call, net, values)
    step = net.module
    if net.has_loss:
        AutodiffPass().apply(Context(), step)
    run = execute(step, values, double=True)
    for number, theirs in enumerate(judged.outputs):
        assert_close(np.asarray(run.outputs[f"out{number}"]), theirs, f"result {number}")
    for argument, gradient in run.gradients.items():
        assert_close(gradient, judged.gradients[argument], f"gradient of {argument}")
    for argument in judged.gradients.keys() - run.gradients.keys():
        assert not judged.gradients[argument].any(), f"gradient of {argument} is missing"
