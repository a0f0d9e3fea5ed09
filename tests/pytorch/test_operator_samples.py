"""PyTorch's own samples of its operators, exported: each is computed as there, to 1e-9, or refused by a message."""

from __future__ import annotations

import random

import pytest
import torch

from tests.pytorch.opinfo import judged, operators, samples, verdicts

torch.set_num_threads(1)
SEED, OPERATORS, SAMPLES = 11, 160, 3
"""The chosen operators of the usual run, and how many samples of each."""
FINE = ("equal", "refused", "random", "not exported")
NAMES = [op.formatted_name for op in operators()]


def _chosen() -> list[str]:
    return sorted(random.Random(SEED).sample(NAMES, OPERATORS))


@pytest.mark.slow
@pytest.mark.parametrize("name", _chosen())
def test_some_samples_of_an_operator(name: str) -> None:
    (op,) = operators(name)
    known = list(samples(op))
    for sample in random.Random(name).sample(known, min(SAMPLES, len(known))):
        verdict = judged(sample)
        assert verdict.kind in FINE, f"{sample}: {verdict}"


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_all_samples_of_an_operator(name: str) -> None:
    (op,) = operators(name)
    for sample, verdict in verdicts(op):
        assert verdict.kind in FINE, f"{sample}: {verdict}"


def test_wrong_results_would_be_told() -> None:
    """A sample of one operator judged by another's values is wrong."""
    (op,) = operators("sin")
    sample = next(iter(samples(op)))
    assert judged(sample).kind == "equal"
    op.op, sine = torch.cos, op.op
    try:
        wrong = judged(sample, told=sine)
    finally:
        op.op = sine
    assert wrong.kind == "wrong"
