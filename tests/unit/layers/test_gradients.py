"""Every layer's derivative against central differences, in float64, over random shapes and arguments."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.layers import get_functions
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from tests.calls import PRICED, all_calls
from tests.calls.values import build, random_values
from tests.gradients import assert_gradients

STOPPED = frozenset({"detach", "embedding padded"})
"""Calls whose gradient is not the derivative of what they compute."""


def test_every_function_of_the_language_is_called() -> None:
    assert {name.split()[0] for name in all_calls()} == set(get_functions()) - PRICED


@pytest.mark.parametrize("name", [name for name in all_calls() if name not in STOPPED])
@settings(max_examples=12)
@given(data=st.data())
def test_gradient_equals_central_differences(name: str, data: st.DataObject) -> None:
    call = all_calls()[name](data)
    net = build(call)
    values = random_values(call, net, seed=data.draw(st.integers(0, 1000)))
    params = {a.name for a in arguments_of(the_function(net.module)) if a.kind is ArgumentKind.PARAM}
    if not net.has_loss or not params:
        assert execute(net.module, values, double=True).outputs
        return
    assert_gradients(net.module, values, params, data)
