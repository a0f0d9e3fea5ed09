"""
Networks in JAX beside the same ones in the language.

    vision.py      perceptron, convolutions in both layouts, residual networks, a transformer of patches
    sequence.py    blocks of GPT and LLaMA, an LSTM
    costs.py       what the two cost, and the table of both

JAX is optional: a test that takes a network of these asks `pytest.importorskip("jax")` first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.jax_programs import JaxProgram


@dataclass(frozen=True)
class Beside:
    """A network in JAX, and its text in the language with sgd of 0.1."""

    program: Callable[[], JaxProgram]
    text: str
