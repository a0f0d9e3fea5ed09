"""Smoke: one tiny training step through every backend, in seconds. Where it fails, look here first."""

import json

import pytest

from npuc.backends.registry import built_in
from npuc.compiler.driver.compile import compile_source

NETWORK = """
network tiny(batch=4) {
  input  x: f32[batch, 8]
  labels y: i32[batch]
  h = relu(linear(x, 6))
  loss cross_entropy(linear(h, 3), y)
  optimizer sgd(lr=0.1)
}
"""
MACS = 4 * 8 * 6 * 2 + 4 * 6 * 3 * 3
"""Forward and weight gradient of both layers, and the gradient of the second one's input."""


@pytest.mark.parametrize("backend", built_in())
def test_a_training_step_is_costed(backend: str) -> None:
    report = compile_source(NETWORK, backend=backend)
    assert report.totals.macs == MACS
    assert json.loads(report.to_json())["backend"] == backend
