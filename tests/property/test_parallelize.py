"""Programs of many devices: results as of one device, and what moves as the model says, for any plan."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.options import Options
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import random_data
from npuc.compiler.driver.read import read_program
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.interpreter.execute import Run, execute, the_function
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import differentiate
from npuc.frontends.source import text_source
from tests.networks import integer_data
from tests.sharded_networks import (
    ATTENTION,
    BLOCK,
    GATES,
    IMAGES,
    MESHES,
    PICKS,
    SUMS,
    TABLES,
    WORDS,
    bytes_modelled,
    bytes_moved,
    modelled,
    precisions,
    spread_by,
    whole_networks,
)


def values(run: Run) -> dict[str, Array]:
    """All that a step computes, by name."""
    return {
        "loss": np.asarray(run.loss),
        **{f"out/{name}": value for name, value in run.outputs.items()},
        **{f"grad/{name}": value for name, value in run.gradients.items()},
        **{f"new/{name}": value for name, value in run.updated.items()},
    }


def moved(run: Run, levels: int) -> list[object]:
    assert run.traffic is not None
    return [run.traffic.of_level(level) for level in range(levels)]


@settings(max_examples=60)
@given(module=whole_networks(), sizes=st.sampled_from(MESHES), plan=st.data(), seed=st.integers(0, 99))
def test_any_plan_computes_what_one_device_does_to_the_bit(
    module: ModuleOp, sizes: tuple[int, ...], plan: st.DataObject, seed: int
) -> None:
    plan.draw(precisions(module))
    one = module.clone()
    differentiate(the_function(one))
    data = integer_data(one, seed)
    network, flows, patterns = spread_by(module, plan, sizes)
    alone, together = execute(one, data, double=True), execute(module, data, double=True)
    outcome = compare(values(alone), values(together))
    assert outcome.equal, outcome
    # states that are no integers, too: their updates go element by element
    before, after = values(alone), values(together)
    assert all(np.array_equal(before[name], after[name], equal_nan=True) for name in before)
    assert moved(together, len(sizes)) == modelled(flows, patterns, sizes)
    assert bytes_moved(module) == bytes_modelled(network, flows, patterns, sizes)


@pytest.mark.parametrize(
    "text",
    [ATTENTION, IMAGES, WORDS, PICKS, BLOCK, SUMS, GATES, TABLES],
    ids=["attention", "images", "words", "picks", "block", "sums", "gates", "tables"],
)
@settings(max_examples=12)
@given(sizes=st.sampled_from(MESHES), plan=st.data(), seed=st.integers(0, 99))
def test_any_plan_of_a_network_with_norms_losses_and_tables(
    text: str, sizes: tuple[int, ...], plan: st.DataObject, seed: int
) -> None:
    source = text_source(text, "dsl", "net.dsl")
    module = read_program(source, Options(), SourceTexts({source.filename: source.text}), [])
    plan.draw(precisions(module))
    one = module.clone()
    differentiate(the_function(one))
    data = random_data(one, seed)
    network, flows, patterns = spread_by(module, plan, sizes)
    alone, together = execute(one, data, double=True), execute(module, data, double=True)
    outcome = compare(values(alone), values(together))
    assert outcome.equal, outcome
    assert moved(together, len(sizes)) == modelled(flows, patterns, sizes)
    assert bytes_moved(module) == bytes_modelled(network, flows, patterns, sizes)
