"""Random chains of residual pairs: gradients are those of stored activations, memory does not grow with depth."""

from collections.abc import Mapping

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from npuc.compiler.analysis.memory.liveness import memory_of_module
from npuc.compiler.driver.check import initial_data, random_data, run_results
from npuc.compiler.interpreter.compare import compare_within
from npuc.compiler.transforms.recompute import WITHIN, RecomputePass
from npuc.dialects.provenance import is_recomputed
from npuc.frontends.dsl.values import Value
from tests.property.test_passes import check_provenance, check_round_trip
from tests.reversible import PAIRS, step_of

REVERSIBLE = RecomputePass("reversible")
AMPLIFYING: Mapping[str, Value] = {
    **{"batch": 2, "width": 1, "depth": 1, "layers": 3, "form": "revnet"},
    **{"norm": True, "joined": False, "images": True, "swapped": False},
}
"""What a normalisation is of is normalised again, so that the gradient of its weight is next to nothing, 1e-11."""


@st.composite
def pairs(draw: st.DrawFn) -> dict[str, Value]:
    return {
        "batch": draw(st.integers(2, 4)),
        "width": draw(st.integers(1, 4)),
        "depth": draw(st.integers(1, 5)),
        "layers": draw(st.integers(1, 3)),
        "form": draw(st.sampled_from(["revnet", "camel"])),
        "norm": draw(st.booleans()),
        "joined": draw(st.booleans()),
        "images": draw(st.booleans()),
        "swapped": draw(st.booleans()),
    }


@given(pairs(), st.integers(0, 3))
@example(dict(AMPLIFYING), 1)
@settings(max_examples=20)
def test_results_are_those_of_stored_activations(sizes: dict[str, Value], seed: int) -> None:
    module = step_of(PAIRS, "autodiff", **sizes)
    data = initial_data(module, random_data(module, seed), seed)
    before, kept = run_results(module, data), memory_of_module(module)
    REVERSIBLE.apply(Context(), module)
    module.verify()
    check_provenance(module)
    check_round_trip(module)
    assert any(map(is_recomputed, module.walk()))
    assert kept is not None
    found = compare_within(before, run_results(module, data), WITHIN)
    assert found.equal, (found.name, found.error)


@given(pairs())
@settings(max_examples=8)
def test_kept_values_do_not_depend_on_depth(sizes: dict[str, Value]) -> None:
    def kept(depth: int) -> int:
        memory = memory_of_module(step_of(PAIRS, "autodiff,recompute{policy=reversible}", **{**sizes, "depth": depth}))
        assert memory is not None
        return memory.kept_bytes

    assert kept(2) == kept(4) == kept(7)


def test_the_comparison_sees_a_difference_of_more() -> None:
    before = {"loss": np.array([1.0, 1e-3])}
    assert compare_within(before, {"loss": np.array([1.0, 1e-3 + 0.9e-10])}, WITHIN).equal
    found = compare_within(before, {"loss": np.array([1.0, 1e-3 + 1.1e-10])}, WITHIN)
    assert (found.equal, found.name) == (False, "loss")
    assert not compare_within(before, {}, WITHIN).equal
    assert not compare_within(before, {"loss": np.array([np.nan, 1e-3])}, WITHIN).equal
