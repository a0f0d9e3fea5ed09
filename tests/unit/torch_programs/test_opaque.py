"""Operators of exported programs without a meaning, and kernels of attention, which have one."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuc.compiler import compile_file, import_file
from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.compiler.report import OpRow, Report

DATA = Path(__file__).parents[2] / "oracle" / "data" / "torch"
CUSTOM, KERNELS = DATA / "custom.pt2", DATA / "kernels.pt2"
COSTS = """\
[ops."acme.fuse"]
inputs = ["b m d", "b n d"]
outputs = ["b m d"]
macs = "2*b*m*n*d*heads"
backward_macs = "7*b"
batch = "b"
"""


def rows_of(report: Report) -> list[OpRow]:
    return [row for row in report.ops if row.assumed is True]


def test_by_default_all_are_named_at_once_with_the_likely_fix() -> None:
    with pytest.raises(SourceErrors) as caught:
        compile_file(CUSTOM)
    text = str(caught.value)
    assert f"{CUSTOM}:3:1: error: unsupported operator acme.fuse.default" in text
    assert f"{CUSTOM}:4:1: error: unsupported operator acme.two.default" in text
    assert "--opaque prices it" in text


@pytest.mark.parametrize("name", ["acme.fuse", "acme.fuse.default"])
@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
def test_they_are_priced_by_formulas(tmp_path: Path, backend: str, name: str) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text(COSTS.replace("acme.fuse", name))
    report = compile_file(CUSTOM, defines={"x.0": 4}, backend=backend, opaque=True, opaque_costs=costs)
    fuse, two, *backward = rows_of(report)
    assert (fuse.macs, fuse.vector_ops, fuse.native["operator"]) == (2 * 4 * 8 * 8 * 16 * 2, 0, "acme.fuse")
    assert (two.macs, two.vector_ops) == (0, 4 * 8 * 16)
    assert {(row.native["operator"], row.macs, row.vector_ops) for row in backward} == {
        ("acme.fuse", 28, 0),
        ("acme.two", 0, 2 * 4 * 8 * 16),
    }


def test_the_text_of_an_import_is_the_same_program(tmp_path: Path) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text(COSTS)
    text = import_file(CUSTOM, opaque=True, opaque_costs=costs)
    assert "macs=4096 * batch" in text
    assert 'two, two_2 = opaque("acme.two"' in text


def test_a_wrong_axis_is_told_at_the_node(tmp_path: Path) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text(COSTS.replace('"b m d", "b n d"', '"b m d", "b d n"'))
    with pytest.raises(SourceError, match="input 1 is 'b d n' by its costs, in which 'd' is 8 here and 16") as caught:
        compile_file(CUSTOM, opaque=True, opaque_costs=costs)
    assert caught.value.location is not None
    assert caught.value.location.line == 3


def test_kernels_of_attention_are_the_blocks_that_they_are() -> None:
    text = import_file(KERNELS)
    assert text.count("= scaled_dot_product_attention(") == 4
    assert "causal=true" in text
    assert "mask=bias, causal=true, scale=0.5" in text
    report = compile_file(KERNELS, backend="roofline", opaque=True)
    assert not rows_of(report)
    assert "--opaque has no effect: each operator of the model has a meaning" in report.warnings


def test_operators_of_regions_have_formulas_that_ship() -> None:
    """A deformable convolution is a product with samples; regions without a number of samples have two an axis."""
    report = compile_file(DATA / "regions.pt2", backend="roofline", loss="mse", opaque=True)
    deformed, pooled = (row for row in rows_of(report) if row.phase == "forward")
    assert (deformed.macs, deformed.vector_ops) == (2 * 5 * 6 * 6 * 3 * 9, 4 * 2 * 3 * 9 * 6 * 6)
    assert (pooled.macs, pooled.vector_ops) == (0, 4 * 4 * 5 * 2 * 2 * 4)
    said = "\n".join(report.warnings)
    assert "torchvision.roi_align is priced, since what it means is not read here: found samples by the size" in said
    assert "the cost of torchvision.roi_align (node 5) is assumed, by formulas of known.toml" in said
    with pytest.raises(SourceError, match=r"unsupported operator torchvision\.deform_conv2d"):
        compile_file(DATA / "regions.pt2", backend="roofline", loss="mse")
