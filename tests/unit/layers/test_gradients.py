"""Every layer's derivative against central differences, in float64, over random shapes and arguments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.layers import get_functions
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from tests.calls import all_calls
from tests.calls.values import build, random_values

STEP = 1e-5
STOPPED = frozenset({"detach"})
"""Functions whose gradient is not the derivative of what they compute."""


def test_every_function_of_the_language_is_called() -> None:
    assert {name.split()[0] for name in all_calls()} == set(get_functions())


def _numeric_gradient(module: ModuleOp, values: dict[str, Array], name: str, at: tuple[int, ...]) -> float:
    losses: list[float] = []
    for sign in (1, -1):
        moved = {**values, name: values[name].copy()}
        moved[name][at] += sign * STEP
        losses += execute(module, moved, double=True).losses
    return (losses[0] - losses[1]) / (2 * STEP)


@pytest.mark.parametrize("name", [name for name in all_calls() if name not in STOPPED])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_gradient_equals_central_differences(name: str, data: st.DataObject) -> None:
    call = all_calls()[name](data)
    net = build(call)
    values = random_values(call, net, seed=data.draw(st.integers(0, 1000)))
    params = {a.name for a in arguments_of(the_function(net.module)) if a.kind is ArgumentKind.PARAM}
    if not net.has_loss or not params:
        assert execute(net.module, values, double=True).outputs
        return
    step = net.module.clone()
    AutodiffPass().apply(Context(), step)
    step.verify()
    gradients = execute(step, values, double=True).gradients
    assert set(gradients) == params
    scale = max(float(np.abs(g).max()) for g in gradients.values())
    for param, gradient in gradients.items():
        places = list(np.ndindex(gradient.shape))
        for at in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
            numeric = _numeric_gradient(net.module, values, param, at)
            assert gradient[at] == pytest.approx(numeric, rel=1e-6, abs=2e-8 * max(scale, 1.0)), (param, at)
