"""Derivatives against central differences, in float64."""

import numpy as np
import pytest
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass

STEP = 1e-5


def numeric_gradient(module: ModuleOp, values: dict[str, Array], name: str, at: tuple[int, ...]) -> float:
    """The slope of the loss of a forward function along one element of an argument."""
    losses: list[float] = []
    for sign in (1, -1):
        moved = {**values, name: values[name].copy()}
        moved[name][at] += sign * STEP
        losses += execute(module, moved, double=True).losses
    return (losses[0] - losses[1]) / (2 * STEP)


def assert_gradients(module: ModuleOp, values: dict[str, Array], params: set[str], data: st.DataObject) -> None:
    """Check the gradients of a forward function's parameters, which are `params`, at some of their elements."""
    step = module.clone()
    AutodiffPass().apply(Context(), step)
    step.verify()
    gradients = execute(step, values, double=True).gradients
    assert set(gradients) == params
    scale = max(float(np.abs(g).max()) for g in gradients.values())
    for param, gradient in gradients.items():
        places = list(np.ndindex(gradient.shape))
        for at in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
            numeric = numeric_gradient(module, values, param, at)
            assert gradient[at] == pytest.approx(numeric, rel=1e-6, abs=2e-8 * max(scale, 1.0)), (param, at)
