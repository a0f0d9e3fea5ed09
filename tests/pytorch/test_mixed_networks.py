"""
Whole training steps in mixed precision against PyTorch's autocast.

PyTorch runs `torch.autocast("cpu")`; what CUDA's list computes in f32 and the CPU's does not, is cast by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from npuc.compiler.run import describe_source, run_source
from tests.pytorch.networks import Network, Weights, networks

torch.set_num_threads(1)

NETWORKS = ("mlp", "lenet", "text_cnn", "tied", "ncf", "lstm_classifier", "gru_classifier", "gpt2", "bert_base")
LIMITS = {"lstm_classifier": 2.0**-5}
"""PyTorch's cells on the CPU add the gradients of a weight step after step in bf16: 0.019 measured."""
QUIET = 1 / 16
"""Gradients whose norm is a smaller share of the largest one, such as that of the bias of keys, are mostly rounding."""
WIDE = frozenset(
    "exp log rsqrt reciprocal pow softplus sum prod cumsum softmax log_softmax layer_norm rms_norm group_norm norm "
    "cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy_with_logits "
    "interpolate logsumexp".split()
)
"""PyTorch's functions of CUDA's list of f32."""


class CudaLists(TorchFunctionMode):
    """Casts the operands of functions of the list to f32."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "").strip("_") in WIDE:
            args = tuple(_wide(a) for a in args)
            kwargs = {name: _wide(a) for name, a in (kwargs or {}).items()}
        return func(*args, **(kwargs or {}))


def _wide(value: Any) -> Any:
    is_short = isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16
    return value.float() if is_short else value


def _data(network: Network) -> dict[str, np.ndarray[Any, Any]]:
    task = network.task
    about = describe_source(task.text(), filename=task.filename, defines=task.defines)
    random = np.random.RandomState(0)
    data: dict[str, np.ndarray[Any, Any]] = {}
    for name, one in (about["inputs"] | about["labels"]).items():
        if name in task.inputs:
            data[name] = np.asarray(task.inputs[name])
        elif one["dtype"].startswith("i"):
            data[name] = random.randint(0, task.limits[name], one["shape"])
        else:
            data[name] = random.standard_normal(one["shape"]).astype(np.float32)
    return data


@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_in_mixed_precision_is_that_of_autocast(name: str) -> None:
    network = networks()[name]
    task, data = network.task, _data(network)
    run = run_source(task.text(), filename=task.filename, defines=task.defines, inputs=data, seed=1, precision="mixed")
    inputs = {n: torch.as_tensor(v, dtype=torch.int64 if v.dtype.kind in "iu" else None) for n, v in data.items()}
    start = {n: torch.tensor(np.asarray(v, np.float32)) for n, v in run.params.items()}
    params = {n: v.clone().requires_grad_(n not in network.frozen) for n, v in start.items()}
    names = [n for n in run.updated if n.endswith(("running_mean", "running_var"))]
    stats = {n: (torch.ones if n.endswith("_var") else torch.zeros)(run.updated[n].shape) for n in names}
    with torch.autocast("cpu", dtype=torch.bfloat16), CudaLists():
        loss = network.loss(Weights(params, stats), inputs)
    loss.backward()
    assert run.loss == pytest.approx(loss.item(), rel=2.0**-7)
    theirs = {n: p.grad.double().numpy() for n, p in params.items() if p.grad is not None}
    least = QUIET * max(float(np.linalg.norm(g)) for g in theirs.values())
    errors = {
        n: float(np.linalg.norm(np.asarray(run.gradients[n], np.float64) - g) / max(float(np.linalg.norm(g)), least))
        for n, g in theirs.items()
    }
    worst = max(errors, key=lambda n: errors[n])
    assert errors[worst] <= LIMITS.get(name, 2.0**-6), f"gradient of {worst}"
