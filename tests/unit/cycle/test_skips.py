"""Products of zeros that an array skips: shares of products and time, what rows and warnings say of them."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_source
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import compute, cycles_lower_bound
from npuc.compiler.analysis.machine.skipping import PLACES, Skipping, Skips, shares
from npuc.compiler.analysis.machine.stationary import carried_passes, time_passes
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import Report
from npuc.compiler.report.sparse import SparseFacts
from npuc.dialects.npu.attrs import shared_nest
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.products import Factors, SparseFactor
from tests.schedules import gemm
from tests.unit.cycle.test_mantissa_passes import LAYER, MACHINE, bfp

RS = {f"array__{name}_words": 64 for name in ("ifmap", "filter", "psum")} | {
    f"array__{name}_port": 4 for name in ("ifmap", "filter", "psum")
}
SMALL = LAYER.replace("64", "16").replace("32x", "8x").replace("n = 32", "n = 8").replace("96", "24")
"""The layer with smaller products, of 16 x 24 x 8."""
SCHEMES: tuple[Skips, ...] = get_args(Skips)
DENSITIES = st.fractions(Fraction(1, 200), 1, max_denominator=400)


def sparse(density: str, form: str = "bitmap", element: str = "f32") -> str:
    return f"!npu.sparse<{element}, {density}, {form}>"


def scored(w: str, a: str = "f32", g: str = "f32", backend: str = "cycle", **keys: Any) -> Report:
    """A layer's step with these element types of weights, activations and gradients."""
    machine = {key: value for key, value in MACHINE.items() if key != "array.mantissa_bits"}
    source = SMALL.format(w=w, a=a, g=g)
    return compile_source(source, "mlir", backend=backend, hardware={**machine, **_dotted(keys)})


def _dotted(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("__", "."): value for key, value in keys.items()}


def facts(report: Report) -> list[SparseFacts | None]:
    return [SparseFacts.found_in(row) for row in report.ops]


def with_factors(nest: Nest, *factors: SparseFactor | None) -> Nest:
    from dataclasses import replace

    left, right = factors
    return replace(nest, statements=tuple(replace(s, factors=(left, right)) for s in nest.statements))


def factors_of(left: Fraction, right: Fraction, pattern: tuple[int, int] | None = None) -> Factors:
    a, b = (None if one == 1 else SparseFactor(one, pattern) for one in (left, right))
    return a, b


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=25, deadline=None)
@given(left=DENSITIES, right=DENSITIES, less=DENSITIES, balance=st.booleans())
def test_shares_are_bounded_and_fall_with_density(
    scheme: Skips, left: Fraction, right: Fraction, less: Fraction, balance: bool
) -> None:
    """Never below the products that are there, never above all, and fewer products never take longer."""
    own = Skipping(scheme, columns=8, slice=64, balance=balance)
    found = shares(factors_of(left, right, (2, 4)), 1, own)
    assert left * right <= found.carried <= found.time <= 1
    lower = shares(factors_of(left * less, right, (2, 4)), 1, own)
    assert lower.time <= found.time
    assert lower.carried <= found.carried
    assert (
        shares((None, None), 1, own)
        == shares(factors_of(Fraction(1), Fraction(1)), 0, own)
        == shares((None, None), None, Skipping())
    )


def test_schemes_of_two_densities() -> None:
    a, b = Fraction(1, 2), Fraction(1, 4)
    whole, half, quarter = Fraction(1), a, b
    expected: dict[Skips, tuple[Fraction, Fraction]] = {
        "none": (whole, whole),
        "gated": (a * b, whole),
        "weights": (quarter, quarter),
        "both": (a * b, a * b),
        "structured": (whole, whole),
    }
    for scheme, (carried, time) in expected.items():
        found = shares(factors_of(a, b), 0, Skipping(scheme))
        assert (found.carried, found.time) == (carried, time), scheme
    nm = (SparseFactor(half, (2, 4)), SparseFactor(quarter, (1, 4)))
    for number, share in ((0, half), (1, quarter), (None, whole)):
        found = shares(nm, number, Skipping("structured"))
        assert (found.carried, found.time) == (share, share)


def test_columns_wait_for_the_fullest() -> None:
    """The share of a pass, counted over all masks of small slices: exact but for rounding up."""
    size, columns, density = 3, 2, Fraction(1, 4)
    total = Fraction(0)
    for mask in product((0, 1), repeat=size * columns):
        ones = sum(mask)
        chance = density**ones * (1 - density) ** (size * columns - ones)
        total += chance * max(sum(mask[:size]), sum(mask[size:]))
    exact = total / size
    found = shares(factors_of(density, Fraction(1)), 1, Skipping("column-balance", columns, size))
    assert found.time == Fraction(ceil(exact * PLACES - Fraction(1, 10**9)), PLACES)
    assert found.carried == density
    paired = shares(factors_of(density, Fraction(1)), 1, Skipping("column-balance", 16, 256, balance=True))
    alone = shares(factors_of(density, Fraction(1)), 1, Skipping("column-balance", 16, 256))
    assert density < paired.time < alone.time


def test_window_is_that_of_a_walk_over_masks() -> None:
    """Lanes of a deep window on random masks, a pair at a time, beside the share that schedules use."""
    a, b, lanes, depth = Fraction(1, 2), Fraction(3, 4), 16, 3
    found = shares(factors_of(a, b), None, Skipping("window", lanes=lanes, lookahead=depth))
    random = np.random.default_rng(7)
    counts: list[float] = []
    for _ in range(12):
        pairs = (random.random((240, lanes)) < float(a)) & (random.random((240, lanes)) < float(b))
        # No lane reaches what is not in the window: a row needs a cycle for every `depth`, and each pair a lane.
        counts.append(max(pairs.sum() / lanes, 240 / depth) / 240)
    assert max(np.mean(counts), 1 / depth) <= float(found.time) < 0.75 * float(1 - (1 - a * b) / 4)
    assert found.carried == a * b


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_time_follows_the_share(data: st.DataObject) -> None:
    """Cycles of folds, streamed one by one, and the bounds of all schedules."""
    m, n, k = (data.draw(st.integers(1, 40)) for _ in range(3))
    left, right = data.draw(DENSITIES), data.draw(DENSITIES)
    dataflow = data.draw(st.sampled_from(("os", "ws", "is", "in-place")))
    array = Array(
        8, 8, dataflow, fill=data.draw(st.sampled_from(("per-fold", "overlap"))), edge_elements=None, skips="both"
    )
    nest = with_factors(gemm(m, n, k), *factors_of(left, right))
    dense = gemm(m, n, k)
    own, whole = compute(nest, Schedule(), array), compute(dense, Schedule(), array)
    place = {"os": (m, n, k), "ws": (k, n, m), "is": (k, m, n), "in-place": (n, k, m)}[dataflow]
    folds = -(-place[0] // 8) * -(-place[1] // 8)
    saved = place[2] - ceil(left * right * place[2])
    assert own.folds == whole.folds == folds
    assert own.cycles == whole.cycles - folds * saved
    assert cycles_lower_bound((nest,), array) <= own.cycles
    assert time_passes(nest, array) == carried_passes((nest,), array) == m * n * k * left * right


def test_dense_programs_are_as_before() -> None:
    plain = scored("f32")
    for scheme in ("gated", "window"):
        report = scored("f32", array__skips=scheme)
        assert report.ops == plain.ops
        assert facts(report) == [None, None]
    for row, other in zip(scored(sparse("1", "csr<32>"), array__skips="both").ops, plain.ops, strict=True):
        assert (row.compute_cycles, row.utilization) == (other.compute_cycles, other.utilization)


def streamed(row: Any) -> int:
    return row.compute_cycles - row.native["fill_drain_cycles"]


def test_rows_say_what_is_carried_out() -> None:
    """Forward and dX read the weights, dW does not: they run together in one row of two products."""
    plain, report = scored("f32"), scored(sparse("1/4"), array__skips="weights")
    forward, backward = facts(report)
    assert forward is not None
    assert backward is not None
    assert forward.operand_densities == [1.0, 0.25]
    assert forward.carried_macs == 16 * 8 * 24 // 4
    assert forward.time_share == 0.25
    assert 1 / 4 <= streamed(report.ops[0]) / streamed(plain.ops[0]) < 1 / 3
    assert backward.carried_macs == 16 * 8 * 24 * 5 // 4
    bits = 24 * 8 * 9
    assert (forward.sparse_bytes, forward.dense_bytes) == (bits // 8, 24 * 8 * 4)
    assert report.ops[0].macs == plain.ops[0].macs
    energy = [sum(row.energy_j or 0.0 for row in one.ops) for one in (report, plain)]
    assert energy[0] == pytest.approx(energy[1] / 2)


def test_gates_save_energy_alone() -> None:
    plain, report = scored(sparse("1/4")), scored(sparse("1/4"), array__skips="gated")
    assert [row.cycles for row in report.ops] == [row.cycles for row in plain.ops]
    energy = [sum(row.energy_j or 0.0 for row in one.ops) for one in (report, plain)]
    assert energy[0] == pytest.approx(energy[1] / 2)


def test_mantissas_and_zeros_multiply() -> None:
    """Passes of block floating point, of which a sparse operand takes a share."""
    machine: dict[str, Any] = {"array__mantissa_bits": 2, "array__skips": "both"}
    dense, report = (scored(w, bfp(4), bfp(4), **machine) for w in (bfp(4), sparse("1/4", element=bfp(4))))
    assert 1 / 4 <= streamed(report.ops[0]) / streamed(dense.ops[0]) < 1 / 3
    found = facts(report)[0]
    assert found is not None
    assert found.carried_passes == found.carried_macs * 4


def test_the_text_of_a_program_has_no_factors() -> None:
    """They follow from its types."""
    nest = with_factors(gemm(2, 2, 2), SparseFactor(Fraction(1, 2)), None)
    assert shared_nest(nest).data == gemm(2, 2, 2)


def test_the_stationary_pattern_alone_is_skipped() -> None:
    """2:4 weights where they stay in the array; streamed ones are multiplied as dense ones, which is said."""
    form = sparse("1/2", "nm<2, 4, 0>")
    plain = scored("f32", array__dataflow="ws")
    stays = scored(form, array__dataflow="ws", array__skips="structured")
    assert 1 / 2 <= streamed(stays.ops[0]) / streamed(plain.ops[0]) < 2 / 3
    streams = scored(form, array__dataflow="os", array__skips="structured")
    assert any("2 of 2 products are multiplied as dense ones" in text for text in streams.warnings)
    assert any("stationary N:M alone; they are of fc (forward" in text for text in streams.warnings)
    other = scored(sparse("1/2"), array__dataflow="ws", array__skips="structured")
    assert any("multiplied as dense ones" in text for text in other.warnings)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"array__skips": "both"}, "array.skips has no effect: no operand of a product is sparse"),
        ({"array__lanes": 8}, "array.lanes has no effect: array.skips is 'none', not 'window'"),
        ({"array__balance": True, "array__skips": "window"}, "array.balance has no effect: array.skips is 'window'"),
    ],
)
def test_keys_without_effect_say_so(keys: dict[str, Any], said: str) -> None:
    assert any(said in text for text in scored("f32", **keys).warnings)


def test_row_stationary_elements_only_rest() -> None:
    rs: dict[str, Any] = {"array__dataflow": "rs", "array__skips": "weights", **RS}
    report = scored(sparse("1/4"), **rs)
    assert any("only rest at zeros" in text for text in report.warnings)
    found = facts(report)[0]
    assert found is not None
    assert (found.time_share, found.carried_macs) == (1.0, 16 * 8 * 24 // 4)


def test_the_summary_says_what_is_saved() -> None:
    from npuc.compiler.report.text.summary.sparse import sparse_text

    text = sparse_text(scored(sparse("1/4"), array__skips="both"))
    assert text is not None
    assert "MACs carried out in 0.5 of the array's dense time" in text
    assert sparse_text(scored("f32")) is None


@pytest.mark.parametrize("scheme", ["gated", "weights", "column-balance", "window", "both"])
def test_the_roofline_counts_what_takes_time(scheme: str) -> None:
    """As many operations of the dense products as the array takes time for."""
    keys: dict[str, Any] = {"array__skips": scheme, "compute__tflops": 0.0001}
    plain, report = scored("f32", backend="roofline", **keys), scored(sparse("1/4"), backend="roofline", **keys)
    found = facts(report)[0]
    assert found is not None
    assert found == facts(scored(sparse("1/4"), array__skips=scheme))[0]
    seconds, dense = report.ops[0].seconds, plain.ops[0].seconds
    assert seconds is not None
    assert dense is not None
    assert seconds == pytest.approx(dense * found.time_share, rel=1e-3)


def test_the_roofline_needs_columns() -> None:
    with pytest.raises(UsageError, match=r"has no array\.cols"):
        compile_source(
            SMALL.format(w=sparse("1/4"), a="f32", g="f32"),
            "mlir",
            backend="roofline",
            hardware="rtx2080ti",
            overrides={"array.skips": "column-balance"},
        )
