"""The pass assign-units: what it writes, what it leaves, what is refused; parts run, and compute the same."""

from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from npuc.backends.registry import get_backend
from npuc.compiler import compile_source, run_source
from npuc.compiler.analysis.hetero.contractions import boxes_of, product_of
from npuc.compiler.analysis.hetero.described import stamp_units, units_in_text, units_of
from npuc.compiler.core.errors import NpucError, UsageError
from npuc.compiler.core.stages import remarks_to
from npuc.compiler.driver.check import check_program
from npuc.compiler.transforms.assign_units import AssignUnitsPass
from npuc.dialects.npu import ContractOp, UnitsAttr
from npuc.dialects.npu.units import Assignment, UnitAxis, UnitPart
from npuc.dialects.npu.units.assignment import size_of
from npuc.dialects.provenance import layer_of
from npuc.frontends.mlir import make_context
from npuc.frontends.source import text_source
from npuc.hardware import load_hardware
from npuc.hardware.units import machine_of_units
from tests.unit.precision.test_sparsify import NET, read

UNITS = "a dense 4 8; b row-wise 4 8; c dense-sparse 8 8"
TARGET = "set-target{rows=4 cols=4 spm-bytes=4096 clock-mhz=1000 gb-per-s=100 lanes=4}"
LOWERED = f"{TARGET},autodiff,lower-to-npu"
CONV = """
network conv(batch=2) {
  input  x: f32[batch, 4, 6, 6]
  labels y: i32[batch]
  h = relu(conv2d(x, 6, 3, stride=2, padding=1))
  g = relu(conv2d(h, 6, 3, groups=3, padding=1))
  loss cross_entropy(linear(flatten(g), 4), y)
  optimizer sgd(lr=0.1)
}
"""


def contracts(text: str, passes: str) -> list[ContractOp]:
    return [op for op in read(text, passes).walk() if isinstance(op, ContractOp)]


def units_text(op: ContractOp) -> str:
    return "none" if op.units_attr is None else str(op.units_attr.data)


CONTRACTS = contracts(CONV, LOWERED)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(CONTRACTS), st.sampled_from(["batch", "m", "n", "k"]), st.data())
def test_boxes_have_each_point_once(op: ContractOp, axis: UnitAxis, data: st.DataObject) -> None:
    size = size_of(op.nest, axis)
    cuts = sorted(data.draw(st.sets(st.integers(1, size - 1), max_size=3))) if size > 1 else []
    sizes = [high - low for low, high in zip([0, *cuts], [*cuts, size], strict=True)]
    parts = tuple(UnitPart(f"u{number}", part) for number, part in enumerate(sizes))
    found = boxes_of(op.nest, Assignment(axis, parts))
    others = op.nest.points // size
    seen = np.zeros([extent for _, extent in op.nest.dims], dtype=int)
    for part, boxes in zip(parts, found, strict=True):
        assert sum(prod(high - low for low, high in box.values()) for box in boxes) == part.size * others
        for box in boxes:
            seen[tuple(slice(*box[dim]) for dim, _ in op.nest.dims)] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("axis", ["batch", "m", "n", "k"])
@pytest.mark.parametrize("text", [NET, CONV])
def test_parts_along_each_axis_compute_the_same(text: str, axis: UnitAxis) -> None:
    """Units written by hand: each axis of each product is cut in three, in the middle of its dimensions."""
    module = read(text, LOWERED)
    before = run_source(str(module), "mlir", dtype="float64", seed=3)
    cut = 0
    for op in module.walk():
        if isinstance(op, ContractOp):
            size = size_of(op.nest, axis)
            sizes = [part for part in (size // 3, size // 2, size - size // 3 - size // 2) if part]
            parts = tuple(UnitPart(f"u{number}", part) for number, part in enumerate(sizes))
            op.units_attr = UnitsAttr(Assignment(axis, parts))
            cut += len(parts) > 1
    module.verify()
    after = run_source(str(module), "mlir", dtype="float64", seed=3)
    assert cut or (axis == "batch" and text == NET)
    assert after.loss == pytest.approx(before.loss, rel=1e-12)
    for name, value in before.updated.items():
        np.testing.assert_allclose(after.updated[name], value, rtol=1e-9, atol=1e-12)


def test_a_part_that_is_left_out_is_missed() -> None:
    """The parts are what runs: without the verifier a sum that lacks one is another number."""
    module = read(NET, LOWERED)
    op = next(op for op in module.walk() if isinstance(op, ContractOp))
    op.units_attr = UnitsAttr(Assignment("k", (UnitPart("a", size_of(op.nest, "k") - 1),)))
    with pytest.raises(VerifyException, match="parts cover 31 of k, which is 32"):
        op.verify()
    whole = {dim: (0, size) for dim, size in op.nest.dims}
    (boxes,) = boxes_of(op.nest, op.units_attr.data)
    assert [*boxes] != [whole]


@pytest.mark.parametrize("mode", ["split", "assign", "best"])
def test_a_pass_on_a_sparse_network_computes_the_same(mode: str) -> None:
    passes = f'autodiff,lower-to-npu,sparsify{{rules="weights=0.25"}},assign-units{{mode={mode}}}'
    done = check_program(text_source(CONV, "dsl", "<string>"), {"pipeline": passes, "hardware": "aespa"})
    assert (done[-1].step.partition("{")[0], done[-1].changed) == ("assign-units", True)
    assert done[-1].comparison.equal


def test_products_of_convolutions_say_what_is_stored() -> None:
    """dX of a convolution is folded, X is unfolded; a group of channels is a batch."""
    forward = next(op for op in CONTRACTS if op.nest.outs[0].name == "Y")
    product = product_of(forward)
    assert (product.batch, product.m, product.n, product.k) == (1, 2 * 3 * 3, 6, 4 * 3 * 3)
    assert product.stored == (Fraction(2 * 4 * 6 * 6, 18 * 36), 1, 1)
    assert {product_of(op).batch for op in CONTRACTS} == {1, 3}


def test_csr_is_csc_where_the_product_reads_the_transpose() -> None:
    found = contracts(NET, f'{LOWERED},sparsify{{rules="weights=0.25 csr; activations=0.5 csc"}}')
    seen = {(op.nest.outs[0].name, product_of(op).a_format, product_of(op).b_format) for op in found}
    assert seen == {("Y", "csc", "csr"), ("dX", None, "csc"), ("dW", "csr", None)}


def test_bitmaps_and_dense_operands_have_no_format_of_units() -> None:
    (first, *_) = contracts(NET, f'{LOWERED},sparsify{{rules="weights=0.25"}}')
    product = product_of(first)
    assert (product.a_format, product.b_format, product.a, product.b) == (None, None, 1, Fraction(1, 4))


def test_formats_that_no_unit_takes_are_refused_before_anything_is_shared() -> None:
    passes = f'{LOWERED},sparsify{{rules="weights=0.25 csr"}},assign-units{{units="a dense 4 8"}}'
    with pytest.raises(UsageError, match=r"h.linear: no unit takes operands in any x csr") as error:
        read(NET, passes)
    assert error.value.hint == "'a' takes dense x dense"
    assert error.value.exit_code == 2


def test_only_names_layers_and_what_has_units_keeps_them() -> None:
    own = f'{LOWERED},assign-units{{only=g units="{UNITS}"}}'
    found = contracts(NET, own)
    assert all((op.units_attr is not None) == (layer_of(op) == "g") for op in found)
    again = contracts(NET, f'{own},assign-units{{mode=assign units="{UNITS}"}}')
    kept = [units_text(op) for op in found if op.units_attr is not None]
    assert [units_text(op) for op in again if layer_of(op) == "g"] == kept
    assert all(op.units_attr is not None for op in again)


def test_what_stays_as_it_is_is_told() -> None:
    told: list[str] = []
    with remarks_to(told.append):
        found = contracts(NET, f'{LOWERED},schedule,assign-units{{mode=assign tiles=4 units="{UNITS}"}}')
    assert all(op.units_attr is None for op in found)
    assert any("5 contractions stay as they are" in one for one in told)
    assert any("has nothing to do: no product is left" in one for one in told)
    told.clear()
    with remarks_to(told.append):
        contracts(NET, f'{LOWERED},assign-units{{mode=assign tiles=4 units="{UNITS}"}}')
    assert told == ["pass 'assign-units': tiles=4 has no effect: mode=assign gives whole products to units"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "deal"}, "mode is 'deal', expected split, assign, best"),
        ({"objective": "traffic"}, "objective is 'traffic', expected time, energy, edp"),
        ({"tiles": 0}, "tiles is 0, expected 1 to 1,024"),
        ({"units": "a dense 4"}, "units: 'a dense 4': expected a name, a kind, elements and KiB"),
        ({"units": "a dens 4 8"}, "units: 'a' has the kind 'dens': did you mean 'dense'"),
        ({"units": "a dense x 8"}, "units: 'a' has x elements and 8 KiB, expected whole numbers above 0"),
        ({"units": "a dense 4 8; a outer 4 8"}, "units: 'a' is named twice"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AssignUnitsPass(**options)


def test_a_machine_is_needed() -> None:
    with pytest.raises(UsageError, match="the module does not say the units of its machine"):
        AssignUnitsPass().apply(Context(), read(NET, LOWERED))
    with pytest.raises(UsageError, match="does not say the clock and bandwidth of its units"):
        AssignUnitsPass(units=UNITS).apply(Context(), read(NET, "autodiff,lower-to-npu"))
    with pytest.raises(UsageError, match="objective=energy needs the energies of units and DRAM"):
        AssignUnitsPass(units=UNITS, objective="energy").apply(Context(), read(NET, LOWERED))
    with pytest.raises(UsageError, match="hardware 'igo-small' has no units"):
        compile_source(NET, hardware="igo-small", pipeline="autodiff,lower-to-npu,assign-units")


@pytest.mark.parametrize(
    ("attr", "message"),
    [
        ("n [a : 3, b : 4]", "units: parts cover 7 of n, which is 8"),
        ("n [a : 4, a : 4]", "units: unit 'a' is named twice"),
        ("n [a : 0, b : 8]", "units: the part of unit 'a' is 0, expected at least 1"),
        ("[a : 2, b : 2]", "units: 2 units share no axis, expected one unit, or one of batch, m, n, k"),
        ("[a : 3]", "units: parts cover 3 of m, which is 4"),
        ("[a : 4] stage -1", "units: stage is -1, expected at least 0"),
        ("n [a : 4, z : 4]", "units: the machine has no unit 'z', it has a, b"),
    ],
)
def test_units_that_are_wrong(attr: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        verify(f"units = #npu.units<{attr}>")


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ("loops [n : 4] {units = #npu.units<[a : 4]>}", "no schedule beside them"),
        (
            "{mapping = #mapping.clusters<1 [n : 8, k : 32, m : 4]>, units = #npu.units<[a : 4]>}",
            "no mapping beside them",
        ),
    ],
)
def test_units_beside_what_says_how_a_product_runs(beside: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        verify_text(beside)


def test_units_of_several_statements_are_refused() -> None:
    module = read(NET, f"{LOWERED},interleave{{mode=fused}}")
    op = next(op for op in module.walk() if isinstance(op, ContractOp) and len(op.nest.statements) == 2)
    op.units_attr = UnitsAttr(Assignment(None, (UnitPart("a", 4),)))
    with pytest.raises(VerifyException, match="units share one product, the contraction has 2 statements"):
        op.verify()


def test_another_attribute_is_no_units() -> None:
    with pytest.raises(Exception, match=r"units is 3 : i64, expected #npu.units"):
        verify("units = 3")


def verify(attributes: str) -> None:
    verify_text(f"{{{attributes}}}")


def verify_text(tail: str) -> None:
    text = f"""
    builtin.module attributes {{npu.units = {{units = [{{name = "a"}}, {{name = "b"}}]}}}} {{
      func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x8xf32>) -> tensor<4x8xf32> {{
        %y = npu.contract (m = 4, n = 8, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {tail}
          : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
        func.return %y : tensor<4x8xf32>
      }}
    }}"""
    Parser(make_context(), text).parse_module().verify()


@pytest.mark.parametrize(
    "step",
    [
        "lower-tiles",
        "interleave",
        "map{mapping=rs num-pes=4}",
        'sparsify{rules="weights=0.5"}',
        "quantize{to=bfp-low}",
        'nm-recipe{pattern="2:4"}',
        "partition{rule=best}",
        "fuse-vector",
    ],
)
def test_passes_that_know_one_array_refuse_units(step: str) -> None:
    with pytest.raises(NpucError, match=r"shared over units"):
        read(NET, f'{LOWERED},assign-units{{units="{UNITS}"}},{step}')


def test_schedule_and_forms_leave_units_alone() -> None:
    shared = f'{LOWERED},assign-units{{units="{UNITS}"}}'
    for step in ("schedule", "contraction-form{form=native}"):
        assert all(op.units_attr is not None for op in contracts(NET, f"{shared},{step}"))


@pytest.mark.parametrize("backend", ["cycle", "maestro", "roofline"])
def test_backends_of_one_array_refuse_units(backend: str) -> None:
    module = read(NET, f'{LOWERED},assign-units{{units="{UNITS}"}}')
    (op, *_) = (op for op in module.walk() if isinstance(op, ContractOp))
    model = get_backend(backend)
    reason = "it is shared over units of several kinds, which only the backend hetero knows"
    assert (model.lowered() or model).supports(op) == reason
    with pytest.raises(NpucError, match="shared over units"):
        compile_source(str(module), "mlir", backend=[backend, "cycle"] if backend == "roofline" else backend)


def test_a_machine_in_a_module_is_the_machine() -> None:
    module = read(NET, LOWERED)
    machine = machine_of_units(load_hardware("aespa"))
    assert units_of(module) is None
    stamp_units(module, machine)
    again = Parser(make_context(), str(module)).parse_module()
    assert units_of(again) == machine
    assert [unit.pes for unit in units_in_text(UNITS)] == [4, 4, 8]


@pytest.mark.parametrize("attr", ["3", "{units = []}", '{units = [{name = "a", kind = "systolic"}]}'])
def test_a_wrong_machine_in_a_module(attr: str) -> None:
    module = Parser(make_context(), f"builtin.module attributes {{npu.units = {attr}}} {{}}").parse_module()
    with pytest.raises(UsageError, match=r"npu\.units is"):
        units_of(module)
