"""What vector work reads twice: equal to the best of all walks over its elements, and to the rows of whole steps."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.cycle.backend import CycleBackend, cycle_machine
from npuc.compiler import Report, compile_source
from npuc.compiler.analysis.timing.vector_traffic import streamed
from npuc.compiler.report import OpRow
from npuc.dialects.npu import VectorOp
from npuc.hardware import load_hardware
from tests.unit.cycle.conftest import SMALL, parse_module

Group = dict[int, list[int]]
"""The elements of each operand that belong to a group, by the operand's number."""


def walk(
    groups: list[Group], twice: set[int], beside: dict[int, int], width: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """
    Bytes read, and the most bytes of SPM that are taken, of each way to run through the groups, element by element.

    Either group by group, of which some operands stay between its passes, with all operands that every group uses; or
    first all groups once and then all groups again, one element at a time of all groups.
    """
    for stay in (set(some) for count in range(len(twice) + 1) for some in combinations(sorted(twice), count)):
        read = sum(size * width[number] for number, size in beside.items())
        most, spm = read, set[tuple[int, int]]()
        for group in groups:
            for number in sorted(twice):
                for element in group[number]:
                    read += width[number]
                    spm |= {(number, element)} if number in stay else set()
            most = max(most, sum(width[number] for number, _ in spm) + sum(beside[n] * width[n] for n in beside))
            for number, elements in group.items():
                for element in elements:
                    read += 0 if (number, element) in spm else width[number]
                    spm.discard((number, element))
        yield read, most
    first = sum(width[number] for group in groups for number in twice for _ in group[number])
    second = sum(width[number] for group in groups for number, elements in group.items() for _ in elements)
    yield first + second + sum(size * width[number] for number, size in beside.items()), 0


@st.composite
def works(draw: st.DrawFn) -> tuple[str, list[Group], set[int], dict[int, int], Sequence[int]]:
    """A program of one operation; its operands by group, those read twice, the sizes of those of all groups, widths."""
    groups, size = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    roles = [*draw(st.lists(st.sampled_from(("twice", "once", "beside")), max_size=3)), "twice"]
    wide = draw(st.lists(st.sampled_from((2, 4)), min_size=len(roles), max_size=len(roles)))
    elements = [groups * size if role == "twice" else draw(st.integers(1, 6)) for role in roles]
    numbers = {role: [n for n, own in enumerate(roles) if own == role] for role in ("twice", "once", "beside")}
    each: list[Group] = [
        {n: list(range(g * size, (g + 1) * size)) for n in numbers["twice"]}
        | {n: list(range(elements[n] * g // groups, elements[n] * (g + 1) // groups)) for n in numbers["once"]}
        for g in range(groups)
    ]
    types = [f"tensor<{count}x{'f32' if width == 4 else 'bf16'}>" for count, width in zip(elements, wide, strict=True)]
    beside = f" beside {numbers['beside']}" if numbers["beside"] else ""
    arguments = [f"%a{n}" for n in range(len(roles))]
    text = (
        f"func.func @f({', '.join(f'{a}: {t}' for a, t in zip(arguments, types, strict=True))}) {{\n"
        f"  %y = npu.vector softmax({', '.join(arguments)}) ops 1 again {numbers['twice']} groups {groups}{beside}\n"
        f"    : ({', '.join(types)}) -> tensor<4xf32>\n  func.return\n}}"
    )
    return text, each, set(numbers["twice"]), {n: elements[n] for n in numbers["beside"]}, wide


@settings(max_examples=200)
@given(works(), st.integers(0, 260), st.booleans())
def test_reads_are_the_least_of_all_walks_that_fit(work: Any, room: int, double: bool) -> None:
    text, groups, twice, beside, width = work
    module = parse_module(text, verified=False)  # any number of operands, of any sizes
    keys = {"memory.spm_kib": max(room, 1) * (2 if double else 1) / 1024, "memory.double_buffer": double}
    machine = cycle_machine(load_hardware(SMALL, keys))
    (op,) = [op for op in module.walk() if isinstance(op, VectorOp)]
    found = streamed(op, machine)
    ways = list(walk(groups, twice, beside, width))
    assert sum(found.reads.values()) == min(read for read, most in ways if most <= machine.spm_bytes)
    once = min(read for read, _ in ways)
    assert sum(found.reread.values()) == sum(found.reads.values()) - once
    assert (sum(found.reread.values()) == 0) == (found.group <= machine.spm_bytes)
    (row,) = CycleBackend().score(module, load_hardware(SMALL, keys)).ops
    assert row.dram_read_bytes == sum(found.reads.values())
    assert row.lower_bound_bytes == (row.dram_read_bytes or 0) + 16


NETS: dict[str, tuple[tuple[int, ...], str, int]] = {
    "batch": ((4, 8, 6, 6), "batch_norm(x)", 1),
    "batch, not scaled": ((4, 8, 6, 6), "batch_norm(x, affine=false)", 1),
    "group": ((4, 8, 6, 6), "group_norm(x, 2)", 8),
    "instance": ((4, 8, 6, 6), "instance_norm(x)", 32),
    "layer": ((4, 6, 32), "layer_norm(x, axes=2)", 4),
    "rows": ((4, 6, 32), "layer_norm(x)", 24),
    "rms": ((4, 6, 32), "rms_norm(x, axes=2)", 4),
    "softmax": ((4, 6, 32), "softmax(x)", 24),
    "softmax along the middle": ((4, 6, 32), "softmax(x, axis=1)", 4),
    "log softmax": ((4, 6, 32), "log_softmax(x)", 24),
}
"""Shape, call, and the number of groups."""


def step(name: str, kib: float, pipeline: str | None = None) -> Report:
    shape, call, _ = NETS[name]
    text = f"""network net() {{
      input z: f32[{", ".join(map(str, shape))}]
      x = relu(z) + param([{", ".join(map(str, shape))}])
      h = {call}
      loss mean(h * z)
      optimizer sgd(lr=0.1)
    }}"""
    overrides = {"memory.spm_kib": kib, "memory.element_bytes": 2}
    return compile_source(text, hardware="igo-small", overrides=overrides, pipeline=pipeline)


def moved(row: OpRow) -> int:
    return (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)


@pytest.mark.parametrize("name", NETS)
def test_a_normalisation_moves_its_tensor_three_times_where_a_group_does_not_fit(name: str) -> None:
    """Read for the statistics, read for the result, written; twice where one group stays in scratchpad."""
    shape, _, groups = NETS[name]
    tensor, parameters = 2 * prod(shape), 2 * prod(shape)  # of all that is beside it no more than the tensor
    enough = (tensor // groups + parameters) * 2 / 1024  # half of the scratchpad may be used
    whole, short = step(name, enough), step(name, (tensor // groups - 1) * 2 / 1024)
    (held,), (again,) = (
        [row for row in report.ops if row.name == "h" and row.phase == "forward"] for report in (whole, short)
    )
    assert again.tensors["in0"].read_bytes == 2 * tensor == 2 * held.tensors["in0"].read_bytes
    assert again.tensors["out0"].write_bytes == tensor
    assert moved(again) - moved(held) == tensor == again.native["read_twice_bytes"]
    assert again.native["read_twice"] == ["in0"]
    assert again.lower_bound_bytes == moved(again)
    assert "read_twice" not in held.native
    for report in (whole, short):
        assert report.totals.dram_read_bytes == sum(row.repeat * (row.dram_read_bytes or 0) for row in report.ops)
        assert report.totals.lower_bound_bytes == sum(row.repeat * (row.lower_bound_bytes or 0) for row in report.ops)
        for row in report.ops:
            assert (row.dram_read_bytes, row.dram_write_bytes) == (
                sum(t.read_bytes for t in row.tensors.values()),
                sum(t.write_bytes for t in row.tensors.values()),
            )


@pytest.mark.parametrize("name", ["group", "instance", "layer", "rms", "softmax", "batch, not scaled"])
def test_a_gradient_reads_both_twice_where_a_group_does_not_fit(name: str) -> None:
    """dX needs sums over a group of dy and x; of one that fits alone only the other comes again."""
    shape, _, groups = NETS[name]
    tensor = 2 * prod(shape)
    found: list[list[int]] = []
    for room in (tensor // groups - 1, tensor // groups + 2 * prod(shape[1:])):
        (row,) = [row for row in step(name, room * 2 / 1024).ops if row.name == "h" and row.phase == "dx"]
        found.append([row.tensors[operand].read_bytes for operand in ("in0", "in1")])
    assert found[0] == [2 * tensor, 2 * tensor]
    assert sum(found[1]) < 4 * tensor


@pytest.mark.parametrize("norm", ["layer_norm(g, axes=3)", "rms_norm(g, axes=3)"])
def test_a_single_group_needs_its_scale_and_shift_in_the_second_pass_alone(norm: str) -> None:
    """So x alone has to stay; of two groups, scale and shift too, since both use them."""
    shape, element = (6, 5, 7), 2
    tensor = element * prod(shape)
    for batch, room in ((1, tensor), (2, tensor)):
        sizes = ", ".join(map(str, (batch, *shape)))
        text = f"network n() {{\n  input x: f32[{sizes}]\n  g = tanh(x)\n  output h = {norm}\n}}\n"
        overrides = {"memory.spm_kib": room * 2 / 1024, "memory.element_bytes": element}
        report = compile_source(text, hardware="igo-small", overrides=overrides, inference=True)
        (row,) = [row for row in report.ops if row.name == "h"]
        assert row.tensors["in0"].read_bytes == batch * batch * tensor
        assert row.native.get("read_twice") == (None if batch == 1 else ["in0"])


def test_batch_norm_s_gradient_takes_the_sums_of_its_parameters() -> None:
    """So dy and x are read once for all sums and once for dX."""
    report = step("batch", 1.0)
    backward = [row for row in report.ops if row.name == "h" and row.phase in ("dx", "dw")]
    assert [row.native["work"] for row in backward] == ["batch_norm_dw", "batch_norm_dx_from_sums"]
    tensor = 2 * prod(NETS["batch"][0])
    for row in backward:
        assert [row.tensors[name].read_bytes for name in ("in0", "in1")] == [tensor, tensor]


PASSING = """func.func @f(%x: tensor<8x8xf32>, %y: tensor<64xf32>) -> (tensor<8x8xf32>, tensor<64xf32>) {
  %a = npu.vector relu(%y) ops 64 OUT : (tensor<64xf32>) -> tensor<64xf32>
  %h = npu.vector softmax(%x) <{axis = -1 : i64}> ops 1 again [0] groups 1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = npu.vector relu(%a) ops 64 IN : (tensor<64xf32>) -> tensor<64xf32>
  func.return %h, %b : tensor<8x8xf32>, tensor<64xf32>
}"""
FOUND = """func.func @f(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %a = npu.vector relu(%x) ops 64 OUT : (tensor<64xf32>) -> tensor<64xf32>
  %h = npu.vector softmax_grad(%a, %y) <{axis = -1 : i64}> ops 1 again [0, 1] groups 1 IN
    : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %h : tensor<64xf32>
}"""


@pytest.mark.parametrize(
    ("text", "stays", "kib", "read"),
    [
        (PASSING, False, 0.75, 256),
        # 256 bytes of 512 or 384 are another's
        (PASSING, True, 1.0, 256),
        (PASSING, True, 0.75, 512),
        (FOUND, False, 1.0, 512),
        # one of the two stays, whichever
        (FOUND, False, 0.75, 768),
        # what is there is not read, and the other finds room beside it or not
        (FOUND, True, 1.0, 256),
        (FOUND, True, 0.75, 512),
    ],
)
def test_what_stays_is_not_read_and_takes_the_room_of_a_group(text: str, stays: bool, kib: float, read: int) -> None:
    for mark, said in (("OUT", "resident(out out0)"), ("IN", "resident(in in0)")):
        text = text.replace(mark, said if stays else "")
    row = CycleBackend().score(parse_module(text), load_hardware(SMALL, {"memory.spm_kib": kib})).ops[1]
    assert row.dram_read_bytes == read


def test_keep_resident_and_the_report_price_alike() -> None:
    """The rows of the step are what the pass weighed: never more than without it, and what stays is not read again."""
    tensor = 2 * prod(NETS["batch"][0])
    for share in (0.5, 1.5, 3.0, 6.0):
        kib = 2 * share * tensor / 1024
        plain, kept = (
            step("batch", kib, pipeline=f"autodiff,lower-to-npu,schedule{more}") for more in ("", ",keep-resident")
        )
        assert (kept.totals.cycles or 0) <= (plain.totals.cycles or 0)
        for row in kept.ops:
            names = row.native.get("resident_in")
            twice = row.native.get("read_twice")
            assert not {*(names if isinstance(names, list) else [])} & {*(twice if isinstance(twice, list) else [])}
