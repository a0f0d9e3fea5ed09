"""The contraction operation in Python: construction, access by name, shared attributes, footprints."""

import pytest
from xdsl.dialects.builtin import TensorType, bf16, f32, f64
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu import BlockType, ContractOp, NestAttr, ScheduleAttr
from npuc.dialects.npu.footprint import block_sizes, footprint, positions
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor, start_axes


def plain(*dims: str) -> tuple[Axis, ...]:
    return tuple(Axis(((d, 1),)) for d in dims)


X = Tensor("X", (6, 8), plain("m", "k"))
W = Tensor("W", (8, 4), plain("k", "n"))
DY = Tensor("dY", (6, 4), plain("m", "n"))
NEST = Nest(
    (("m", 6), ("n", 4), ("k", 8)),
    (DY, W, X),
    (Tensor("dX", (6, 8), X.axes), Tensor("dW", (8, 4), W.axes)),
    (Tensor("dX0", (8,), plain("k")), None),
    (Statement("dX", "dY", "W"), Statement("dW", "X", "dY")),
)
SCHEDULE = Schedule((Loop("m", 2), Loop("k", 2), Loop("n", 2)), (("dY", 2), ("W", 3), ("dW", 3)))


def build(schedule: Schedule | ScheduleAttr | None = None) -> ContractOp:
    block = Block(arg_types=[TensorType(f32, t.shape) for t in (DY, W, X, Tensor("dX0", (8,), ()))])
    return ContractOp(block.args, NEST, [f32, bf16], schedule)


def test_operands_and_results_are_found_by_name() -> None:
    op = build()
    op.verify()
    assert op.named_operands()["X"] is op.operands[2]
    assert op.result_of("dW") is op.results[1]
    assert [r.type for r in op.results] == [TensorType(f32, (6, 8)), TensorType(bf16, (8, 4))]


def test_the_schedule_without_loops_is_one() -> None:
    op = build(Schedule())
    assert op.schedule_attr is not None
    assert build(None).schedule == op.schedule == Schedule()
    op.schedule = SCHEDULE
    assert op.schedule == SCHEDULE
    op.schedule = Schedule()
    assert op.schedule_attr is not None
    op.schedule = None
    assert "schedule" not in op.properties


def test_attributes_are_shared_not_copied() -> None:
    attr = ScheduleAttr(SCHEDULE)
    op = build(attr)
    assert op.schedule_attr is attr
    again = ContractOp(op.operands, op.nest_attr, f64, attr)
    assert again.nest_attr is op.nest_attr


def test_the_problems_of_a_nest_are_found_once() -> None:
    attr = NestAttr(Nest((("m", 6), ("n", 4)), NEST.ins, NEST.outs, NEST.starts, NEST.statements))
    assert attr.problems[0] == "unknown dimension 'k', the nest has m, n"
    assert attr.problems is attr.problems


def test_footprint_of_the_documented_schedule() -> None:
    assert footprint(NEST, SCHEDULE) == {"dY": 8, "W": 32, "X": 4, "dX": 4, "dW": 32, "dX0": 2}
    assert block_sizes(NEST, SCHEDULE, "dY") == {"m": 2, "n": 4, "k": 8}


def test_footprint_counts_distinct_positions_within_the_tensor() -> None:
    image = Tensor("X", (9, 16), (Axis((("y", 2), ("r", 3)), -2), Axis((("x", 2),))))
    nest = Nest(
        (("y", 4), ("r", 3), ("x", 8)),
        (image, Tensor("W", (3,), plain("r"))),
        (Tensor("Y", (4, 8), plain("y", "x")),),
        (None,),
        (Statement("Y", "X", "W"),),
    )
    reached = {2 * y + 3 * r for y in range(2) for r in range(3)}
    assert footprint(nest, Schedule((Loop("y", 2),)))["X"] == len(reached) * 8
    assert footprint(nest, Schedule())["X"] == 9 * 8


@pytest.mark.parametrize("steps", [(), ((1, 1),), ((3, 5),), ((2, 4), (3, 3)), ((1, 7), (5, 2), (2, 3)), ((2, 0),)])
def test_positions_are_all_sums(steps: tuple[tuple[int, int], ...]) -> None:
    sums = {0}
    for coefficient, extent in steps:
        sums = {s + coefficient * i for s in sums for i in range(extent)}
    assert {p for p in range(200) if positions(steps) >> p & 1} == sums


def test_axes_of_a_start_follow_axes_of_its_output() -> None:
    out = Tensor("Y", (2, 8, 8), (*plain("b"), Axis((("y", 2), ("r", 1)), -1), Axis((), 3)))
    assert start_axes(out, Tensor("Y0", (8, 2), (out.axes[2], out.axes[0]))) == (2, 0)
    assert start_axes(out, Tensor("Y0", (7,), (out.axes[1],))) is None
    assert start_axes(out, Tensor("Y0", (2, 2), (out.axes[0], out.axes[0]))) is None


def test_a_block_of_negative_size_is_refused() -> None:
    with pytest.raises(VerifyException, match="must not be negative"):
        BlockType([2, -1], f32)
