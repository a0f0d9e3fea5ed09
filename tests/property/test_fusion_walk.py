"""What the backend says that groups move, against a walk of all their micro-batches, element by element."""

from hypothesis import event, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.pattern_rewriter import PatternRewriter

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler.analysis.fusion.slices import body_of
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.report import OpRow
from npuc.compiler.transforms.fuse_layers import FuseLayersPass
from npuc.dialects.npu import GroupOp
from npuc.frontends.source import text_source
from npuc.hardware import Hardware
from tests.fusion_walk import Counts, is_costed, walk_group


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A chain of layers on images or rows, with branches that join again, with a loss or without."""
    batch = draw(st.sampled_from((4, 5, 6, 7)))
    lines: list[str] = []
    images = draw(st.booleans())
    width = draw(st.integers(1, 6))
    lines.append(f"input x: f32[batch, {f'{width}, 4, 4' if images else width}]")
    value, before = "x", "x"
    shared = width
    for number in range(draw(st.integers(2, 4))):
        kind = draw(st.sampled_from(("wide", "relu", "add", "wide")))
        name = f"v{number}"
        if kind == "wide":
            width = draw(st.sampled_from((shared, draw(st.integers(1, 8)))))
            kernel = draw(st.sampled_from(("1", "3, padding=1")))
            layer = f"conv2d({value}, {width}, kernel={kernel})" if images else f"linear({value}, {width})"
            before = value if width == shared else name
            lines.append(f"{name} = {layer}")
        else:
            other = f"relu({value})" if kind == "relu" or before == name else f"{value} + relu({value})"
            lines.append(f"{name} = {other}")
        value = name
        shared = width
    if draw(st.booleans()):
        lines.append(f"input t: f32[batch, {f'{width}, 4, 4' if images else width}]")
        lines.append(f"loss mse({value}, t)")
    else:
        lines.append(f"output y = {value}")
    return f"network net(batch={batch}) {{\n" + "\n".join(lines) + "\n}"


def fused(text: str, kib: float, wide_sums: bool) -> tuple[ModuleOp, Hardware]:
    """A program with groups, for a small machine."""
    training = "loss" in text
    keywords: CompileKeywords = {
        "hardware": "igo-small",
        "overrides": {
            "array.rows": 2,
            "array.cols": 2,
            "memory.spm_kib": kib,
            "array.accumulator_bits": 32 if wide_sums else 16,
        },
        "pipeline": f"{'autodiff,' if training else ''}lower-to-npu,schedule{{objective=traffic}}",
        "inference": not training,
    }
    source = text_source(text, "dsl", "f.dsl")
    module, machine = lowered_module(source, CycleBackend(), keywords, None, [])
    FuseLayersPass(objective="traffic", rows="off").apply(Context(), module)
    return module, machine


def with_ragged(module: ModuleOp, size: int) -> None:
    """Let groups run by so many samples at a time where they run by more."""
    for group in [op for op in module.walk() if isinstance(op, GroupOp)]:
        if group.micro_attr.value.data > size:
            properties = dict(group.properties) | {"micro": IntegerAttr(size, i64)}
            new = GroupOp.create(
                operands=group.operands,
                result_types=group.result_types,
                properties=properties,
                regions=[body_of(group, size)],
            )
            PatternRewriter(group).replace(group, new)
    module.verify()


@settings(max_examples=30)
@given(
    text=programs(),
    kib=st.sampled_from((0.25, 0.5, 1, 4)),
    ragged=st.sampled_from((None, None, 2, 3, 4)),
    wide_sums=st.booleans(),
)
def test_groups_move_what_a_walk_moves(text: str, kib: float, ragged: int | None, wide_sums: bool) -> None:
    try:
        module, machine = fused(text, kib, wide_sums)
        if ragged is not None:
            with_ragged(module, ragged)
        rows = CycleBackend().score(module, machine).ops
    except CapacityError:
        return
    costed = [op for op in module.walk() if is_costed(op)]
    row_of = dict(zip(costed, rows, strict=True))
    for group in [op for op in module.walk() if isinstance(op, GroupOp)]:
        members = [op for op in group.body.block.ops if is_costed(op)]
        event(f"several micro-batches: {group.batches.count > 1}, ragged: {bool(group.batches.ragged)}")
        event(f"held: {bool(group.held)}, sums: {bool(group.held_sums())}")
        for op, counts in zip(members, walk_group(group), strict=True):
            check_row(row_of[op], counts, 2, 4 if wide_sums else 2)


def check_row(row: OpRow, counts: Counts, stored: int, sums: int) -> None:
    """That a row has the bytes of a walk, by tensor and in all."""
    more = sums - stored
    read = {name: stored * n + more * counts.resumed.get(name, 0) for name, n in counts.read.items()}
    write = {name: stored * n + more * counts.spilled.get(name, 0) for name, n in counts.write.items()}
    assert {name: t.read_bytes for name, t in row.tensors.items() if t.read_bytes} == read
    assert {name: t.write_bytes for name, t in row.tensors.items() if t.write_bytes} == write
    assert row.dram_read_bytes == sum(read.values())
    assert row.dram_write_bytes == sum(write.values())
