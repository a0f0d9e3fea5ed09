"""The same training steps in PyTorch."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch

from npuc.compiler.layers.base import Array
from tests.pytorch.networks import Network, Weights
from tests.steps import STEPS, Steps


@dataclass
class Judgement:
    """What PyTorch computed, as in `Steps`."""

    losses: list[float] = field(default_factory=list[float])
    gradients: dict[str, Array] = field(default_factory=dict[str, Array])
    changes: dict[str, Array] = field(default_factory=dict[str, Array])
    stats: dict[str, Array] = field(default_factory=dict[str, Array])


@contextmanager
def everything_in_double() -> Generator[None]:
    """Modules, and the scalars of optimizers, have the default type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@everything_in_double()
def judge_steps(network: Network, ours: Steps) -> Judgement:
    """Train with the weights and data that npuc started with."""
    inputs = {n: torch.as_tensor(v, dtype=torch.int64 if v.dtype.kind in "iu" else None) for n, v in ours.data.items()}
    start = {n: torch.tensor(np.asarray(v, np.float64)) for n, v in ours.run.params.items()}
    params = {n: v.clone().requires_grad_(n not in network.frozen) for n, v in start.items()}
    shapes = {n: array.shape for n, array in ours.stats.items()}
    stats = {n: torch.ones(shape) if n.endswith("_var") else torch.zeros(shape) for n, shape in shapes.items()}
    trained = [p for p in params.values() if p.requires_grad]
    optimizer = network.optimizer(trained)
    judgement = Judgement()
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = network.loss(Weights(params, stats), inputs)
        loss.backward()
        judgement.losses.append(loss.item())
        if step == 0:
            judgement.gradients = {n: p.grad.numpy().copy() for n, p in params.items() if p.grad is not None}
        optimizer.step()
    judgement.changes = {n: (p.detach() - start[n]).numpy() for n, p in params.items() if p.requires_grad}
    judgement.stats = {n: array.numpy() for n, array in stats.items()}
    return judgement
