"""Whole training steps against PyTorch: losses, gradients, and all that three steps change, in float64."""

import pytest
import torch

from tests.pytorch.judge import judge_steps
from tests.pytorch.networks import networks
from tests.steps import largest_error, quiet, run_steps

torch.set_num_threads(1)


@pytest.mark.parametrize("name", networks())
def test_three_training_steps_equal_pytorch(name: str) -> None:
    network = networks()[name]
    ours = run_steps(network.task)
    theirs = judge_steps(network, ours)
    error, worst = largest_error(ours.gradients, theirs.gradients)
    assert error <= 1e-9, f"gradient of {worst}"
    assert ours.run.losses == pytest.approx(theirs.losses, rel=1e-8, abs=1e-12)
    error, worst = largest_error(ours.changes, theirs.changes, quiet(theirs.gradients))
    assert error <= 1e-8, f"change of {worst}"
    error, worst = largest_error(ours.stats, theirs.stats)
    assert error <= 1e-8, worst
