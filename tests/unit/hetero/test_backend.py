"""The backend hetero: rows against the analyses, never below the best unit, stages, formats, and every error."""

import re
from fractions import Fraction
from math import ceil, fsum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.hetero.rows import UnitFacts
from npuc.backends.registry import get_backend
from npuc.compiler import compile_source, run_source
from npuc.compiler.analysis.hetero.contractions import product_of
from npuc.compiler.analysis.hetero.tiles import best_split
from npuc.compiler.core.errors import NpucError, SourceError, UsageError
from npuc.compiler.interpreter.on_units import totals_by_unit
from npuc.compiler.report import OpRow, Report
from npuc.compiler.report.sparse import SparseFacts
from npuc.dialects.npu import ContractOp
from npuc.hardware import load_hardware
from npuc.hardware.units import machine_of_units
from tests.unit.hetero.test_assign import CONV, LOWERED, UNITS
from tests.unit.precision.test_sparsify import NET, read

PASSES = "autodiff,lower-to-npu"
SMALL: dict[str, Any] = {
    "name": "small",
    "clock_mhz": 1000,
    "dram.gb_per_s": 100,
    "energy.mac_pj": 1.0,
    "energy.spm_pj_per_byte": 2.0,
    "energy.dram_pj_per_byte": 40.0,
    "units": [
        {"name": "a", "kind": "dense", "pes": 4, "buffer_kib": 8},
        {"name": "b", "kind": "row-wise", "pes": 4, "buffer_kib": 8},
        {"name": "c", "kind": "dense-sparse", "pes": 8, "buffer_kib": 8},
    ],
}


def scored(text: str, **options: Any) -> Report:
    options.setdefault("hardware", SMALL)
    return compile_source(text, backend="hetero", **options)


def products(report: Report) -> list[OpRow]:
    return [row for row in report.ops if row.kind == "matrix"]


def facts(row: OpRow) -> UnitFacts:
    found = UnitFacts.found_in(row)
    assert found is not None
    return found


def test_rows_are_the_best_splits_of_the_products() -> None:
    machine = machine_of_units(load_hardware(SMALL))
    report = scored(NET, density="weights=0.25", hardware=SMALL, precision="f32")
    module = read(NET, f'{PASSES},sparsify{{rules="weights=0.25"}}')
    contracts = [op for op in module.walk() if isinstance(op, ContractOp)]
    assert len(contracts) == len(products(report)) == 5
    for op, row in zip(contracts, products(report), strict=True):
        split = best_split(machine, product_of(op))
        assert row.seconds == split.seconds
        assert row.cycles == ceil(split.seconds * 1e9)
        assert (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) == pytest.approx(split.dram_bytes, abs=2)
        assert facts(row).unit_sizes == [*split.sizes]
        assert facts(row).unit_axis == split.axis
        assert row.macs == op.nest.points
        assert 0 < (row.utilization or 0) <= 1
        assert all(0 < share <= 1 + 1e-9 for share in facts(row).unit_utilization)
    assert report.totals.seconds == pytest.approx(fsum(row.seconds or 0 for row in report.ops))


def test_the_work_of_a_row_is_what_units_carry_out() -> None:
    """One unit of dense x sparse does the products of nonzeros, a quarter of all."""
    unit = {"name": "eie", "kind": "dense-sparse", "pes": 4, "buffer_kib": 1024}
    report = scored(NET, density="weights=0.25", hardware={**SMALL, "units": [unit]})
    row = products(report)[0]
    sparse = SparseFacts.found_in(row)
    assert sparse is not None
    assert (sparse.carried_macs, sparse.carried_passes) == (4 * 48 * 32 / 4, 4 * 48 * 32 / 4)
    assert facts(row).unit_cycles == [4 * 48 * 32 / 4 / 4]
    assert facts(row).unit_products == [4 * 48 * 32 / 4]


@pytest.mark.parametrize("network", [NET, CONV])
@pytest.mark.parametrize("mode", ["split", "assign", "best"])
def test_a_network_is_never_slower_than_on_the_best_unit(network: str, mode: str) -> None:
    passes = f'{PASSES},sparsify{{rules="weights=0.25; activations=0.5"}}'
    whole = scored(network, pipeline=f"{passes},assign-units{{mode={mode}}}")
    together = fsum(row.seconds or 0 for row in products(whole))
    for unit in SMALL["units"]:
        alone = scored(network, pipeline=passes, hardware={**SMALL, "units": [unit]})
        assert together <= fsum(row.seconds or 0 for row in products(alone)) * (1 + 1e-9)
    default = scored(network, pipeline=passes)
    if mode == "split":
        assert together == pytest.approx(fsum(row.seconds or 0 for row in products(default)), rel=1e-12)
    if mode == "best":
        assert together <= fsum(row.seconds or 0 for row in products(default)) * (1 + 1e-9)


@settings(deadline=None, max_examples=12)
@given(
    st.sampled_from([Fraction(1, 20), Fraction(1, 4), Fraction(1)]),
    st.sampled_from([0.5, 5.0, 500.0]),
    st.integers(1, 64),
)
def test_a_whole_network_under_random_machines(density: Fraction, rate: float, pes: int) -> None:
    units = [{**unit, "pes": pes + 3 * number} for number, unit in enumerate(SMALL["units"])]
    machine = {**SMALL, "dram.gb_per_s": rate, "units": units}
    rules = {"density": f"weights={density}"} if density != 1 else {}
    whole = scored(NET, hardware=machine, **rules)
    for unit in units:
        alone = scored(NET, hardware={**machine, "units": [unit]}, **rules)
        assert (whole.totals.seconds or 0) <= (alone.totals.seconds or 0) * (1 + 1e-9)


def test_products_of_a_stage_share_its_time() -> None:
    """dX and dW of a layer side by side: their rows add up to when the later one ends."""
    text = f"{PASSES},assign-units{{mode=assign}}"
    machine = {**SMALL, "dram.gb_per_s": 1e6, "units": [SMALL["units"][0], {**SMALL["units"][0], "name": "twin"}]}
    rows = products(scored(NET, pipeline=text, hardware=machine))
    staged = [row for row in rows if facts(row).unit_stage is not None]
    assert [(row.name, row.phase) for row in staged] == [("g", "dx"), ("g", "dw")]
    singles = [next(iter(facts(row).unit_cycles)) / 1e9 for row in staged]
    assert {unit for row in staged for unit in facts(row).units} == {"a", "twin"}
    assert fsum(row.seconds or 0 for row in staged) == pytest.approx(max(singles))


def test_other_work_takes_the_time_of_its_bytes() -> None:
    row = next(row for row in scored(NET).ops if row.kind == "vector")
    moved = (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
    assert moved > 0
    assert row.seconds == moved / 100e9
    slow = next(row for row in scored(NET, overrides={"vector.lanes": 1}).ops if row.kind == "vector")
    assert slow.seconds == (slow.vector_ops or 0) / 1e9
    assert (row.limit, slow.limit) == ("dram", "compute")


def test_energy_is_there_where_all_prices_are() -> None:
    machine = {key: value for key, value in SMALL.items() if not key.startswith("energy.")}
    assert scored(NET, hardware=machine).totals.energy_j is None
    priced = scored(NET)
    assert priced.energy is not None
    known = [value for value in priced.energy.dynamic_j.values() if value is not None]
    assert fsum(known) == pytest.approx(priced.totals.energy_j)


def test_dense_units_read_what_a_convolution_stores() -> None:
    """All of a small convolution fits the buffer: its bytes are those of its tensors, not of unfolded ones."""
    unit = {"name": "tpu", "kind": "dense", "pes": 4, "buffer_kib": 1024}
    row = products(scored(CONV, hardware={**SMALL, "units": [unit]}, precision="f32"))[0]
    assert row.dram_read_bytes == 4 * (2 * 4 * 6 * 6 + 6 * 4 * 3 * 3)
    assert row.dram_write_bytes == 4 * 2 * 6 * 3 * 3


def test_counted_products_are_the_priced_ones() -> None:
    """Real masks, in the interpreter, part by part: within four standard deviations of what rows expect."""
    text = """
    network one(batch=48, width=40) {
      input x: f32[batch, width]
      input y: f32[batch, 32]
      loss mse(linear(x, 32), y)
      optimizer sgd(lr=0.1)
    }
    """
    random = np.random.default_rng(5)
    x = random.standard_normal((48, 40)) * (random.random((48, 40)) < 0.3)
    passes = f'{PASSES},sparsify{{rules="weights=0.2 uniform; activations=0.3"}},assign-units'
    machine = {**SMALL, "dram.gb_per_s": 1e6}
    report = scored(text, pipeline=passes, hardware=machine)
    run = run_source(
        text, pipeline=passes, hardware=machine, inputs={"x": x.astype(np.float32), "y": np.zeros((48, 32), np.float32)}
    )
    (step,) = run.unit_products
    rows = products(report)
    assert len(step) == len(rows)
    kinds = {unit["name"]: unit["kind"] for unit in SMALL["units"]}
    seen: set[str] = set()
    for row, counts in zip(rows, step.values(), strict=True):
        own = facts(row)
        for name, priced, deviation in zip(own.units, own.unit_products, own.unit_deviation, strict=True):
            count = counts[name]
            assert count.expected == pytest.approx(priced)
            assert count.variance**0.5 == pytest.approx(deviation)
            assert abs(count.counted - priced) <= 4 * deviation
            seen.add(kinds[name])
    assert len(seen) >= 2
    totals = totals_by_unit(step)
    assert sum(one.counted for one in totals.values()) == sum(
        one.counted for counts in step.values() for one in counts.values()
    )
    dense = sum(row.macs or 0 for row in rows)
    assert sum(one.counted for one in totals.values()) < dense


def test_warnings_say_what_is_assumed() -> None:
    told = scored(NET, density="weights=0.25").warnings
    assert any(one.startswith("all products are shared by units in the way that takes least time") for one in told)
    assert any("products read operands in formats of their units" in one for one in told)
    assert any("the machine has no vector.lanes" in one for one in told)
    some = scored(NET, pipeline=f"{PASSES},assign-units{{only=g}}").warnings
    assert any(one.startswith("2 of 5 products are shared") for one in some)
    every = scored(NET, pipeline=f"{PASSES},assign-units").warnings
    assert not any("no pass says their units" in one for one in every)
    both = scored(NET, pipeline=f"{PASSES},interleave{{mode=fused}}").warnings
    assert any("products that run together (1 times) are priced one statement after another" in one for one in both)
    target = "set-target{rows=4 cols=4 spm-bytes=4096 clock-mhz=1000 gb-per-s=100 lanes=4}"
    set_before = scored(NET, pipeline=f"{PASSES},{target},schedule").warnings
    assert any(one.startswith("schedules of 5 contractions have no effect") for one in set_before)
    quantised = scored(NET, pipeline=f"{PASSES},quantize{{to=fp8}}").warnings
    assert any("products with several types take the bytes of the widest" in one for one in quantised)


def test_statements_of_a_fused_nest_have_a_row_each() -> None:
    fused = scored(NET, pipeline=f"{PASSES},interleave{{mode=fused}}")
    plain = scored(NET, pipeline=PASSES)
    assert [row.native.get("statement") for row in products(fused)].count(None) == 3
    assert sum(row.macs or 0 for row in fused.ops) == sum(row.macs or 0 for row in plain.ops)
    assert fused.totals.seconds == pytest.approx(plain.totals.seconds)


def test_a_machine_without_units_is_refused() -> None:
    with pytest.raises(UsageError, match="hardware 'igo-small' has no units") as error:
        scored(NET, hardware="igo-small")
    assert error.value.exit_code == 2
    with pytest.raises(UsageError, match="a unit without a buffer keeps no sum"):
        scored(NET, hardware={**SMALL, "units": [{**SMALL["units"][0], "buffer_kib": 0}]})


def test_formats_that_no_unit_takes_are_refused_at_their_place() -> None:
    with pytest.raises(UsageError, match=r"h\.linear: no unit takes operands in any x csr") as error:
        scored(NET, density="weights=0.25 csr", hardware={**SMALL, "units": [SMALL["units"][0]]})
    assert (error.value.exit_code, error.value.hint) == (2, "'a' takes dense x dense")
    assert error.value.location is not None


def assigned(units: str) -> str:
    """A program whose first product runs on given units, and that does not say which there are."""
    module = read(NET, f'{LOWERED},sparsify{{rules="weights=0.25 csr"}},assign-units{{units="{UNITS}"}}')
    del module.attributes["npu.units"]
    return re.sub(r"#npu\.units<[^>]*>", f"#npu.units<{units}>", str(module), count=1)


def test_units_that_the_machine_lacks_are_refused() -> None:
    with pytest.raises(UsageError, match=r"h\.linear runs on unit 'z', which small does not have") as error:
        compile_source(assigned("[z : 4]"), "mlir", backend="hetero", hardware=SMALL)
    assert error.value.hint == "its units are a, b, c; assign-units for the same machine"


def test_units_that_do_not_take_the_formats_are_refused() -> None:
    with pytest.raises(UsageError, match=r"h\.linear: unit 'a' does not take operands in any x csr"):
        compile_source(assigned("[a : 4]"), "mlir", backend="hetero", hardware=SMALL)


def test_stages_with_dependences_are_refused() -> None:
    text = str(read(NET, f'{LOWERED},assign-units{{mode=assign units="{UNITS}"}}'))
    wrong = text.replace(" stage 2>", " stage 9>").replace("]>", "] stage 0>")
    with pytest.raises(SourceError, match="is of stage 0, and depends on a product of that stage or a later one"):
        compile_source(wrong, "mlir", backend="hetero", hardware=SMALL)


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("map{mapping=rs num-pes=4}", "it has a mapping, which this backend does not follow"),
        ("schedule,fuse-vector", "it finds or leaves values in one scratchpad"),
    ],
)
def test_what_is_of_one_array_is_refused(passes: str, message: str) -> None:
    with pytest.raises(NpucError, match=message):
        scored(NET, pipeline=f"{LOWERED},{passes}")


def test_the_machine_is_all_units_together() -> None:
    view = get_backend("hetero").machine_view(load_hardware(SMALL))
    assert view is not None
    assert (view.macs_per_cycle, view.memory_bytes, view.bytes_per_cycle) == (16, 3 * 8192, 100.0)
