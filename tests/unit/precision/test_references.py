"""Training steps in mixed precision against what PyTorch's autocast computed, without PyTorch."""

import numpy as np
import pytest

from npuc.compiler.interpreter.numbers import round_to_bfloat16
from npuc.compiler.layers.base import Array
from npuc.compiler.run import run_source
from tests.mixed_references import Reference, references

REFERENCES = references()


def test_the_networks_are_those_of_the_readme() -> None:
    assert set(REFERENCES) == {"mlp", "convolutions", "attention", "tied", "recurrent"}


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=REFERENCES)
def test_a_step_is_that_of_autocast(reference: Reference) -> None:
    run = run_source(reference.source, inputs=reference.values, precision="mixed")
    assert run.loss == pytest.approx(reference.loss, rel=2.0**-9)
    assert run.outputs.keys() == reference.outputs.keys()
    for name, theirs in reference.outputs.items():
        ours = np.asarray(run.outputs[name], np.float64)
        assert (ours == round_to_bfloat16(np.asarray(ours, np.float32))).all() == (reference.types[name] == "bfloat16")
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= unit(theirs), name
        assert np.abs(ours - theirs).mean() <= unit(theirs) / 32, name
    assert run.gradients.keys() == reference.gradients.keys()
    for name, theirs in reference.gradients.items():
        error = np.linalg.norm(run.gradients[name] - theirs) / max(np.linalg.norm(theirs), quiet(reference))
        assert error <= 2.0**-6, name


@pytest.mark.parametrize("name", REFERENCES)
def test_a_step_in_f32_is_another(name: str) -> None:
    reference = REFERENCES[name]
    run = run_source(reference.source, inputs=reference.values, precision="f32")
    assert any(
        np.abs(run.outputs[output] - theirs).mean() > unit(theirs) / 32 for output, theirs in reference.outputs.items()
    )


def unit(values: Array) -> float:
    """One unit in the last place of bf16 of the largest value: an earlier rounding may fall on the other side."""
    return float(2.0 ** (np.floor(np.log2(np.abs(values).max())) - 7))


def quiet(reference: Reference) -> float:
    """A sixteenth of the largest gradient's norm: smaller ones, such as the bias of keys, are mostly rounding."""
    return max(float(np.linalg.norm(g)) for g in reference.gradients.values()) / 16
