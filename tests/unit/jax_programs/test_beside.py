"""What networks in JAX cost beside the same ones in the language: MACs and DRAM bytes, by phase, on every backend."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any

import pytest

from tests.jax_beside import Beside
from tests.jax_beside.costs import BACKENDS, products, report_of, total_bytes
from tests.jax_beside.sequence import SEQUENCE
from tests.jax_beside.vision import VISION
from tests.jax_programs import text_of

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
pytestmark = pytest.mark.heavy
NETWORKS = {**VISION, **SEQUENCE}
MOVED_OTHERWISE = {"llama", "lstm"}
"""Networks whose vector work the blocks of the language spell otherwise: halves of a head, gates of a cell."""


def forward_of(net: Beside) -> tuple[str, dict[str, Any]]:
    """The forward function of a network, and what makes the same step of it."""
    program = net.program()
    loss = {"loss": ("mse",)} if "loss mse" in net.text else {}
    return text_of(program.forward, (program.params, program.data[0])), {"optimizer": "sgd(lr=0.1)", **loss}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_forward_function_costs_what_the_language_s_network_does(name: str, backend: str) -> None:
    text, keywords = forward_of(NETWORKS[name])
    theirs = report_of(text, "jax", backend, **keywords)
    ours = report_of(NETWORKS[name].text, "dsl", backend)
    assert products(theirs) == products(ours)
    assert sum(macs for macs, _ in products(ours).values()) > 0
    if backend != "cycle" or name not in MOVED_OTHERWISE:
        assert total_bytes(theirs) == total_bytes(ours)


LESS_BETWEEN = {"llama", "lstm"}
"""Whole steps whose gradients of attention read fewer bytes, or whose gradients of gates are of other phases."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_matrix_work_of_a_whole_step_is_that_of_the_language_s_network(name: str, backend: str) -> None:
    theirs, ours = (
        products(one)
        for one in (
            report_of(text_of(*NETWORKS[name].program().step(optax.sgd(0.1))), "jax", backend),
            report_of(NETWORKS[name].text, "dsl", backend),
        )
    )
    assert theirs["forward"][0] == ours["forward"][0]
    assert sum(macs for macs, _ in theirs.values()) == sum(macs for macs, _ in ours.values())
    if backend == "cycle" and name not in LESS_BETWEEN:
        assert theirs == ours
