"""What reports say of groups of layers: what a group moves at least, what moves once, and the table of groups."""

import io
from functools import cache
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console

from npuc.compiler import Report, compile_source
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.report.groups import LayerGroup, OnceFacts, layer_groups
from npuc.compiler.report.text.groups import SHOWN, print_groups
from tests.fused_networks import CHAIN, HARDWARE, STEP

STRIDED = """network strided(batch=8) {
  input x: f32[batch, 8, 16, 16]
  output y = relu(conv2d(x, 8, kernel=1, stride=4))
}
"""
APART = """network apart(batch=1) {
  input x: f32[batch, 4, HEIGHT, 16]
  a = relu(conv2d(x, 4, kernel=KERNEL, padding=PADDING))
  b = conv2d(a, 4, kernel=1, stride=STRIDE)
  output y = max_pool(relu(b), kernel=2, stride=2)
}
"""
BYTES = 2


@cache
def compiled(source: str, **options: Any) -> Report:
    keywords = {"hardware": "igo-small", "overrides": HARDWARE, "opt_level": 0, "fuse_layers": "dp", **options}
    keywords["inference"] = "loss" not in source
    return compile_source(source, **cast("CompileKeywords", keywords))


def groups(source: str, **options: Any) -> list[LayerGroup]:
    found = layer_groups(compiled(source, **options))
    assert found, "there is something to look at"
    return found


def test_a_chain_moves_its_input_its_result_and_its_weights_at_least() -> None:
    (group,) = groups(CHAIN)
    assert group.layers[-1] == "y"
    assert len(group.rows) == 5
    image, weights, biases = 8 * 8 * 8, 8 * 9, 8
    assert group.bound_bytes == BYTES * (3 * image + 8 * image + weights * (3 + 8 + 8) + 3 * biases)


def test_what_a_stride_skips_is_not_counted() -> None:
    (group,) = groups(STRIDED)
    assert group.bound_bytes == BYTES * (8 * 8 * 4 * 4 + 8 * 8 * 4 * 4 + 8 * 8 + 8)


@pytest.mark.parametrize("objective", ["time", "traffic"])
@pytest.mark.parametrize("source", [CHAIN, STRIDED, STEP])
def test_no_group_moves_less_than_its_bound(source: str, objective: str) -> None:
    report = compiled(source, objective=objective)
    for group in groups(source, objective=objective):
        assert group.bound_bytes is not None
        assert 0 < group.bound_bytes <= group.dram_bytes
        assert group.dram_bytes + (group.saved_bytes or 0) >= group.bound_bytes
        assert group.seconds == pytest.approx(group.cycles / (report.hardware["clock_mhz"] * 1e6))  # pyright: ignore


def test_held_operands_are_loaded_once() -> None:
    (group,) = groups(CHAIN)
    assert group.micro_batches > 1
    for row in group.rows:
        once = OnceFacts.found_in(row)
        if once is not None:
            assert row.kind == "matrix"
            assert once.loaded_once_bytes == row.tensors["W"].read_bytes
            assert once.load_cycles == once.once_cycles
    assert any(OnceFacts.found_in(row) is not None for row in group.rows)


def test_groups_are_the_same_in_a_report_that_was_read_back() -> None:
    report = compiled(STEP)
    assert layer_groups(msgspec.json.decode(report.to_json(), type=Report)) == layer_groups(report)


def walking(height: int, kernel: int, stride: int, spm_kib: float) -> list[LayerGroup]:
    """The groups of a network on so little SPM that they walk rows, of which strides and pooling leave some out."""
    text = APART.replace("HEIGHT", str(height)).replace("KERNEL", str(kernel)).replace("PADDING", str(kernel // 2))
    machine = {"array.rows": 4, "array.cols": 4, "memory.spm_kib": spm_kib}
    passes = "lower-to-npu,schedule{objective=traffic},fuse-layers{objective=traffic}"
    source = text.replace("STRIDE", str(stride))
    report = compile_source(source, hardware="igo-small", overrides=machine, inference=True, pipeline=passes)
    found = layer_groups(report)
    assert any(group.rows[0].native.get("bands") for group in found)
    return found


def test_rows_that_nothing_needs_are_not_in_the_bound() -> None:
    (group,) = walking(17, 1, 3, 1)
    rows = 6  # of 17: 0, 3, … 15
    assert group.bound_bytes == BYTES * (4 * rows * 16 + 2 * (4 * 4 + 4) + 4 * rows * 6)


@pytest.mark.parametrize(("height", "kernel", "stride", "spm_kib"), [(17, 3, 2, 1), (17, 1, 4, 3), (19, 1, 2, 2)])
def test_groups_that_leave_rows_out_move_no_less_than_their_bound(
    height: int, kernel: int, stride: int, spm_kib: float
) -> None:
    for group in walking(height, kernel, stride, spm_kib):
        moved = sum((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) for row in group.rows)
        assert group.bound_bytes is not None
        assert group.bound_bytes <= moved


def test_a_report_without_groups_has_no_table() -> None:
    report = compiled(CHAIN, fuse_layers="off")
    assert layer_groups(report) == []
    assert table(report) == ""


def table(report: Report, *, every: bool = False) -> str:
    text = io.StringIO()
    print_groups(report, Console(file=text, width=120, color_system=None), every=every)
    return text.getvalue()


def test_the_table_has_a_line_for_each_group() -> None:
    (group,) = groups(CHAIN)
    lines = table(compiled(CHAIN)).splitlines()
    (line,) = (line for line in lines if " to y" in line)
    assert line.split()[:4] == ["1", "a.conv2d", "to", "y"]
    assert f"{group.micro_batches} x {group.micro_batch}" in line
    assert any(line.split()[0:1] == ["total"] for line in lines)


def test_of_many_groups_those_that_save_most_are_shown() -> None:
    report = compiled(CHAIN)
    ops = [
        replace(row, native={**row.native, "group": number, **saved(row.native, number)})
        for number in range(1, SHOWN + 4)
        for row in report.ops
    ]
    many = replace(report, ops=ops)
    shown = [line.split()[0] for line in table(many).splitlines() if " to y" in line]
    assert shown == [str(number) for number in range(4, SHOWN + 4)]
    assert f"the {SHOWN} groups of {SHOWN + 3} that save most" in table(many)
    assert len([line for line in table(many, every=True).splitlines() if " to y" in line]) == SHOWN + 3


def saved(native: Any, number: int) -> dict[str, int]:
    return {"saved_cycles": number} if "saved_cycles" in native else {}
