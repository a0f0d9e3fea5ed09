"""Certificates of rows and layers, by numbers worked out by hand."""

import json

import pytest

from npuc.backends.cycle.certificates import certificate_of
from npuc.compiler import Report, compile_source
from npuc.compiler.report import LayerCertificate, report_from_json

MLP = """
network net(batch=16) {
  input x: f32[batch, 24]
  h = linear(x, 32, bias=false)
  y = linear(h, 8, bias=false)
  loss sum(y ** 2)
  optimizer sgd(lr=0.1)
}
"""
X, W, Y = 2 * 16 * 32, 2 * 32 * 8, 2 * 16 * 8
"""Bytes of the tensors of layer y."""
FRONT = "autodiff,lower-to-npu"
SEQUENTIAL = f"{FRONT},schedule{{objective=traffic}}"


def report(text: str = MLP, pipeline: str = SEQUENTIAL, spm_kib: float = 64, **keys: object) -> Report:
    overrides: dict[str, object] = {"memory.spm_kib": spm_kib, **{key.replace("__", "."): v for key, v in keys.items()}}
    return compile_source(text, hardware="igo-small", filename="net.dsl", pipeline=pipeline, overrides=overrides)


def layer(found: Report, name: str) -> LayerCertificate:
    assert found.certificates is not None
    return next(one for one in found.certificates if one.layer == name)


def test_products_one_after_another_are_measured_by_what_any_program_moves() -> None:
    """Each of dX and dW is optimal by itself; both together read dY once more than they have to."""
    found = report()
    rows = [row for row in found.ops if row.kind == "matrix" and row.name == "y"]
    assert [row.phase for row in rows] == ["forward", "dx", "dw"]
    assert [row.native["optimal"] for row in rows] == [True] * 3
    assert [row.native["compulsory_bytes"] for row in rows] == [X + W + Y] * 3
    certificate = layer(found, "y")
    forward, pair = certificate.products
    assert (forward.phase, forward.rows, forward.optimal) == ("forward", [rows[0].index], True)
    assert (pair.phase, pair.rows, pair.optimal) == ("dxdw", [rows[1].index, rows[2].index], False)
    assert (pair.bound_bytes, pair.reached_bytes, pair.gap_bytes) == (2 * X + 2 * W + Y, 2 * (X + W + Y), Y)
    assert (certificate.gap_bytes, certificate.optimal) == (Y, False)
    assert certificate.gap == Y / (3 * X + 3 * W + 2 * Y)


@pytest.mark.parametrize("mode", ["fused", "zip"])
def test_one_nest_and_nests_in_turn_reach_it(mode: str) -> None:
    found = report(pipeline=f"{FRONT},interleave{{mode={mode}}},schedule{{objective=traffic}}")
    certificate = layer(found, "y")
    assert (certificate.bound_bytes, certificate.gap_bytes, certificate.gap) == (3 * X + 3 * W + 2 * Y, 0, 0.0)
    assert certificate.optimal


def test_a_layer_with_one_gradient_is_that_product_alone() -> None:
    """The first layer of a network has no dX."""
    assert [(one.phase, len(one.rows)) for one in layer(report(), "h").products] == [("forward", 1), ("dw", 1)]


def test_a_small_memory_makes_the_capacity_bound_the_larger() -> None:
    found = report(spm_kib=0.25)
    row = next(row for row in found.ops if row.kind == "matrix" and row.name == "h")
    one = certificate_of(row)
    assert one.compulsory == 2 * (16 * 24 + 24 * 32 + 16 * 32)
    # 2 X / sqrt(S) + S for X = M N K with words of two bytes, sums of four, in 128 bytes, nearly; less 2 M N.
    least = 2 * 16 * 24 * 32 * (2 * 2 * 4) ** 0.5 / 128**0.5 + 128 - 2 * 16 * 32
    assert abs(one.capacity - least) < 128 / 12 + 1
    assert one.compulsory < one.capacity < one.reached
    assert row.lower_bound_bytes == one.capacity
    assert (row.native["gap_bytes"], row.native["optimal"]) == (one.reached - one.capacity, False)
    assert row.native["gap"] == one.gap / one.capacity


def test_what_fused_work_saves_is_not_asked_for() -> None:
    """dW is not written, and neither its row nor its layer says that it had to be."""
    found = report(pipeline=f"{FRONT},interleave,schedule,fuse-vector{{what=updates}}")
    row = next(row for row in found.ops if row.phase == "dxdw")
    assert row.native["not_stored_bytes"] == W
    assert row.native["compulsory_bytes"] == 2 * X + W + Y
    pair = layer(found, "y").products[1]
    assert (pair.bound_bytes, pair.optimal) == (2 * X + W + Y, True)
    pair = layer(report(pipeline=f"{SEQUENTIAL},fuse-vector{{what=updates}}"), "y").products[1]
    assert (pair.bound_bytes, pair.reached_bytes) == (2 * X + W + Y, 2 * X + W + 2 * Y)


def test_a_pool_is_empty_before_the_pair() -> None:
    """dW finds dY in the pool: its own row has to move less, both together what any program does."""
    found = report(pipeline=f'{FRONT},tile{{steps="k:16"}},schedule', memory__policy="lru")
    dx, dw = (row for row in found.ops if row.kind == "matrix" and row.name == "y" and row.phase != "forward")
    assert (dx.native["compulsory_bytes"], dw.native["compulsory_bytes"]) == (X + W + Y, X + W)
    pair = layer(found, "y").products[1]
    assert (pair.bound_bytes, pair.reached_bytes, pair.optimal) == (2 * X + 2 * W + Y, 2 * X + 2 * W + Y, True)


def test_one_value_that_is_both_operands_has_to_be_read_once() -> None:
    text = MLP.replace("y = linear(h, 8, bias=false)", "y = matmul(h, h, transpose_b=true)")
    found = report(text)
    row = next(row for row in found.ops if row.kind == "matrix" and row.name == "y" and row.phase == "forward")
    assert {name: t.read_bytes for name, t in row.tensors.items()} == {"X": X, "W": X, "Y": 0}
    assert (row.native["compulsory_bytes"], row.native["gap_bytes"]) == (X + 2 * 16 * 16, X)
    assert layer(found, "y").products[0].bound_bytes == X + 2 * 16 * 16


def test_transposes_through_memory_are_part_of_the_gap() -> None:
    found = report(array__dataflow="in-place", array__transpose="explicit")
    dx = next(row for row in found.ops if row.name == "y" and row.phase == "dx")
    assert dx.native["transpose_bytes"] == dx.native["gap_bytes"] == 2 * W
    assert dx.native["optimal"] is False


def test_gradients_that_add_up_are_certified_by_themselves() -> None:
    """dW of the second use of a weight starts from that of the first, whose layer it shares no dY with."""
    text = MLP.replace(
        "h = linear(x, 32, bias=false)", "w = param([24, 24])\n  h = linear(linear(x, weight=w), weight=w)"
    )
    text = text.replace("y = linear(h", "h = linear(h, 32, bias=false)\n  y = linear(h")
    found = report(text)
    assert found.certificates is not None
    assert all(one.gap_bytes >= 0 for certificate in found.certificates for one in certificate.products)
    assert sum(len(one.rows) for certificate in found.certificates for one in certificate.products) == sum(
        row.kind == "matrix" for row in found.ops
    )


def test_transfers_that_serve_several_cores_have_the_bound_of_one_memory() -> None:
    """Four cores with multicast move less than one core of their size has to."""
    table = "layer,M,N,K,count,has_dX\nfc,64,64,64,1,0\n"
    sizes = {"memory.spm_kib": 0.125}
    four = sizes | {"array.cores": 4, "array.multicast": True}
    rows = [
        compile_source(table, format="csv", hardware="igo-small", overrides=overrides, pipeline=SEQUENTIAL).ops[0]
        for overrides in (sizes, four)
    ]
    one, several = (certificate_of(row) for row in rows)
    assert several.bound < several.reached < one.bound < one.reached


def test_layers_that_run_several_times_count_as_often() -> None:
    table = "layer,M,N,K,count,has_dX\nfc,16,8,32,3,1\n"
    found = compile_source(
        table, format="csv", hardware="igo-small", overrides={"memory.spm_kib": 64}, pipeline=SEQUENTIAL
    )
    certificate = layer(found, "fc")
    assert [one.repeat for one in certificate.products] == [3, 3]
    assert (certificate.reached_bytes, certificate.gap_bytes) == (3 * 3 * (X + W + Y), 3 * Y)


def test_json_has_a_line_a_layer_and_reads_back() -> None:
    found = report()
    text = found.to_json()
    assert report_from_json(text) == found
    (line,) = [line for line in text.splitlines() if line.strip().startswith('{"layer": "y"')]
    assert json.loads(line.strip().rstrip(","))["products"][1]["optimal"] is False
    assert "native.gap_bytes" in found.to_csv().splitlines()[0]


def test_other_models_have_no_certificates() -> None:
    found = compile_source(MLP, hardware="scalesim", overrides={"cycle.compat": "scalesim3"})
    assert found.certificates is None
    assert json.loads(found.to_json())["certificates"] is None
