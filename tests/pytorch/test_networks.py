"""Whole training steps against PyTorch: losses, gradients, and all that three steps update, in float64."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

from npuc.compiler import describe_file, describe_source, run_file, run_source
from npuc.compiler.interpreter.execute import Run
from tests.pytorch.networks import Network, Weights, networks

torch.set_num_threads(1)
STEPS = 3


def _data(network: Network, description: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Random inputs, within the limits of the integer ones."""
    random = np.random.default_rng(0)
    data: dict[str, Any] = {}
    for name, about in (description["inputs"] | description["labels"]).items():
        if name in network.inputs:
            data[name] = np.asarray(network.inputs[name])
        elif about["dtype"].startswith("i"):
            data[name] = random.integers(0, network.limits[name], about["shape"])
        else:
            data[name] = random.standard_normal(about["shape"])
    return data


def _ours(network: Network) -> tuple[Run, dict[str, Any], set[str]]:
    is_file = network.source.startswith("samples:")
    describe, run = (describe_file, run_file) if is_file else (describe_source, run_source)
    description = describe(network.source, defines=network.defines)
    data = _data(network, description)
    step = run(network.source, defines=network.defines, inputs=data, steps=STEPS, dtype="float64", seed=1)
    return step, data, set(description["stats"])


def _close(ours: Mapping[str, Any], theirs: Mapping[str, torch.Tensor], what: str, rel: float) -> None:
    """Equal to `rel` of the largest value of each array; the many values that are 0 but for rounding are no scale."""
    expected = {name: tensor.detach().numpy() for name, tensor in theirs.items()}
    largest = {name: float(np.abs(array).max()) for name, array in expected.items()}
    floor = 1e-3 * max(largest.values())
    for name, array in expected.items():
        atol = rel * max(largest[name], floor)
        np.testing.assert_allclose(ours[name], array, rtol=rel, atol=atol, err_msg=f"{what} {name}")


@pytest.mark.parametrize("name", networks())
def test_three_training_steps_equal_pytorch(name: str) -> None:
    network = networks()[name]
    run, data, stat_names = _ours(network)
    inputs = {n: torch.as_tensor(v, dtype=torch.int64 if v.dtype.kind in "iu" else None) for n, v in data.items()}
    params = {n: torch.tensor(np.asarray(v, np.float64), requires_grad=True) for n, v in run.params.items()}
    stats = {n: torch.full(run.updated[n].shape, float(n.endswith("_var")), dtype=torch.float64) for n in stat_names}
    optimizer = network.optimizer(list(params.values()))
    losses: list[float] = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = network.loss(Weights(params, stats), inputs)
        loss.backward()
        if step == 0:
            gradients = {n: p.grad for n, p in params.items() if p.grad is not None}
            assert run.gradients.keys() == gradients.keys()
            _close(run.gradients, gradients, "gradient of", 1e-9)
        optimizer.step()
        losses.append(loss.item())
    assert run.losses == pytest.approx(losses, rel=1e-8)
    _close(run.updated, {**params, **stats}, f"after {STEPS} steps:", 1e-8)
