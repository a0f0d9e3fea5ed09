"""Training steps in mixed precision against what PyTorch's autocast computed, without PyTorch."""

import numpy as np
import pytest

from npuc.compiler.driver.run import run_source
from npuc.compiler.interpreter.numbers import round_to_bfloat16
from npuc.compiler.layers.base import Array
from tests.mixed_references import Reference, references

pytestmark = pytest.mark.oracle

REFERENCES = references()


def test_the_networks_are_those_of_the_readme() -> None:
    assert set(REFERENCES) == {"mlp", "convolutions", "attention", "tied", "recurrent", "shared"}


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


def test_gradients_of_several_uses_are_added_in_the_types_of_autocast() -> None:
    """
    All sums of products are exact here. A value of f32 that products read has its gradients added in f32, one of bf16
    that is read in f32 in bf16, to the bit.

    The gradients of a weight, whose cast is cached, are added in bf16. A product is added to what came before it in
    one, and rounded with it once: PyTorch rounds it by itself before that.
    """
    reference = REFERENCES["shared"]
    run = run_source(reference.source, inputs=reference.values, precision="mixed")
    assert run.loss == reference.loss
    assert all(np.array_equal(run.outputs[name], theirs) for name, theirs in reference.outputs.items())
    for name in ("scale", "a.weight", "b.weight", "c.weight"):
        assert np.array_equal(run.gradients[name], reference.gradients[name]), name
    products = products_of(reference)
    ours = theirs = np.zeros(())
    for product in products[::-1]:
        ours, theirs = rounded(ours + product), rounded(theirs + rounded(product))
    assert np.array_equal(run.gradients["tied"], ours)
    assert np.array_equal(reference.gradients["tied"], theirs)
    assert not np.array_equal(rounded(sum(map(rounded, products), np.zeros(()))), theirs)


def rounded(values: Array) -> Array:
    return round_to_bfloat16(np.asarray(values, np.float32)).astype(np.float64)


def products_of(reference: Reference) -> list[Array]:
    """What each of the three products with tied weights adds to their gradient, exactly."""
    given = reference.values
    read = rounded(given["x"] * given["scale"])
    before = [rounded(read @ given[f"{name}.weight"]) for name in "abc"]
    y = reference.outputs["y"]
    dy = np.zeros(())
    for part in ((y > 0), given["v"], given["u"]):
        dy = rounded(dy + rounded(given["target"] * part))
    return [one.T @ dy for one in before]


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
