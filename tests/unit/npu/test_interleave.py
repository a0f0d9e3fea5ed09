"""`npu.interleave` and what is not the business of a contraction: bodies, blocks held together, selection, budgets."""

from dataclasses import replace

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from npuc.compiler import compile_source
from npuc.compiler.analysis.timing.interleave import tensor_names
from npuc.compiler.core.errors import CapacityError, SourceError, UsageError
from npuc.compiler.core.selection import keep_layers
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.compiler.transforms.set_target import SetTargetPass
from npuc.dialects.npu import ContractOp, InterleaveOp, StreamsOp
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from npuc.dialects.npu.shared import RoundRobin, joint_footprint, shared_blocks
from npuc.frontends.mlir import make_context

TEXT = """
func.func @f(%dy: tensor<24x16xf32>, %w: tensor<20x16xf32>, %x: tensor<24x20xf32>)
    -> (tensor<24x20xf32>, tensor<20x16xf32>) {{
  %r = npu.vector relu(%x) ops 480 {{layer = "relu"}} : (tensor<24x20xf32>) -> tensor<24x20xf32>
  %dx, %dw = npu.interleave {spm}{{
    %a = npu.contract (m = 24, n = 16, k = 20) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W) {first}
      {{layer = "fc", role = "dx"}} : (tensor<24x16xf32>, tensor<20x16xf32>) -> tensor<24x20xf32>
    %b = npu.contract (m = 24, n = 16, k = 20) ins(X = %r[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY) {last}
      {{layer = "fc", role = "dw"}} : (tensor<24x20xf32>, tensor<24x16xf32>) -> tensor<20x16xf32>
    npu.yield %a, %b : tensor<24x20xf32>, tensor<20x16xf32>
  }} {{layer = "fc", role = "dxdw"}} : (tensor<24x20xf32>, tensor<20x16xf32>)
  func.return %dx, %dw : tensor<24x20xf32>, tensor<20x16xf32>
}}"""


def text_of(first: str = "", last: str = "", spm: str = "") -> str:
    return TEXT.format(first=first, last=last, spm=spm)


def parse(first: str = "", last: str = "", spm: str = "") -> ModuleOp:
    module = Parser(make_context(), text_of(first, last, spm)).parse_module()
    module.verify()
    return module


def interleave_of(module: ModuleOp) -> InterleaveOp:
    return next(op for op in module.walk() if isinstance(op, InterleaveOp))


def test_a_body_without_yield() -> None:
    with pytest.raises(VerifyException, match=r"its body must end with npu.yield"):
        InterleaveOp(Region(Block())).verify_()
    with pytest.raises(VerifyException, match=r"each stream must end with npu.yield"):
        StreamsOp([Region(Block()), Region(Block())]).verify_()


def test_a_broken_promise_is_located() -> None:
    with pytest.raises(SourceError) as caught:
        compile_source(text_of("loops [m : 8]", "loops [m : 8]", "spm 400 bytes "), format="mlir")
    assert "blocks take 4864 bytes" in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.line == 5


def plain(name: str, dims: str, sizes: dict[str, int]) -> Tensor:
    return Tensor(name, tuple(sizes[d] for d in dims), tuple(Axis(((d, 1),)) for d in dims))


def product(sizes: dict[str, int]) -> Nest:
    ins = plain("X", "mk", sizes), plain("W", "kn", sizes)
    return Nest(tuple(sizes.items()), ins, (plain("Y", "mn", sizes),), (None,), (Statement("Y", "X", "W"),))


def window(kernel: int) -> Nest:
    """Y[y] += X[2 y + r] * W[r]: with a kernel of 1 only every second element of X is reached."""
    sizes = {"y": 4, "r": kernel}
    image = Tensor("X", (8,), (Axis((("y", 2), ("r", 1))),))
    ins = image, plain("W", "r", sizes)
    return Nest(tuple(sizes.items()), ins, (plain("Y", "y", sizes),), (None,), (Statement("Y", "X", "W"),))


def test_only_what_all_keep_whole_is_held_once() -> None:
    nest = product({"m": 6, "n": 4, "k": 8})
    rows, whole = Schedule((Loop("m", 2),)), Schedule((Loop("m", 2),), (("X", 1),))
    values = ((0, 1), (0, 2))
    assert shared_blocks(RoundRobin((nest, nest), (rows, rows), values)) == ()
    assert shared_blocks(RoundRobin((nest, nest), (whole, rows), values)) == ()
    together = RoundRobin((nest, nest), (whole, whole), values)
    assert shared_blocks(together) == (((0, "X"), (1, "X")),)
    first, second = joint_footprint(together)
    assert (first["X"], second["X"], second["W"]) == (48, 0, 32)
    # A third one that keeps a part has a block of its own; a loop of one trip changes nothing.
    once = Schedule((Loop("m", 6), Loop("n", 2)))
    three = RoundRobin((nest, nest, nest), (whole, rows, once), (*values, (0, 3)))
    assert shared_blocks(three) == (((0, "X"), (2, "X")),)
    # W is whole where only m is cut.
    both = RoundRobin((nest, nest), (rows, rows), ((0, 1), (2, 1)))
    assert shared_blocks(both) == (((0, "W"), (1, "W")),)


def test_windows_hold_the_same_only_if_they_reach_the_same() -> None:
    one, three, same = window(1), window(2), window(2)
    assert shared_blocks(RoundRobin((one, three), (Schedule(), Schedule()), ((0, 1), (0, 2)))) == ()
    assert shared_blocks(RoundRobin((three, same), (Schedule(), Schedule()), ((0, 1), (0, 2)))) != ()


def test_tensors_of_one_value_have_one_name() -> None:
    nest = product({"m": 6, "n": 4, "k": 8})
    together = RoundRobin((nest, nest), (Schedule(), Schedule()), ((0, 1), (0, 2)))
    assert tensor_names(together) == ({"X": "X", "W": "W", "Y": "Y"}, {"X": "X", "W": "W1", "Y": "Y1"})


TARGET = SetTargetPass(rows=4, cols=4, spm_bytes=4096, clock_mhz=1000, gb_per_s=4, lanes=8)


def scheduled(module: ModuleOp, target: SetTargetPass = TARGET, step: SchedulePass = SchedulePass()) -> InterleaveOp:
    target.apply(Context(), module)
    step.apply(Context(), module)
    module.verify()
    return interleave_of(module)


@pytest.mark.parametrize("objective", ["time", "traffic"])
@pytest.mark.parametrize("spm_bytes", [24, 60, 700, 4096, 16384])
def test_schedule_gives_all_of_them_one_budget(spm_bytes: int, objective: str) -> None:
    target = SetTargetPass(rows=4, cols=4, spm_bytes=spm_bytes, clock_mhz=1000, gb_per_s=4, lanes=8)
    op = scheduled(parse(), target, SchedulePass(objective))
    assert op.spm == spm_bytes
    assert all(contract.schedule_attr is not None for contract in op.contracts)
    assert 4 * sum(sum(own.values()) for own in joint_footprint(op.round_robin)) <= spm_bytes


def test_the_shared_input_is_held_whole_where_that_saves_traffic() -> None:
    op = scheduled(parse(), replace(TARGET, spm_bytes=5120), SchedulePass("traffic"))
    assert shared_blocks(op.round_robin) == (((0, "dY"), (1, "dY")),)


def test_a_schedule_that_is_set_stays() -> None:
    op = scheduled(parse("loops [m : 2, n : 4]"))
    assert op.contracts[0].schedule == Schedule((Loop("m", 2), Loop("n", 4)))
    assert op.contracts[1].schedule_attr is not None


def test_too_little_room_for_all_of_them() -> None:
    target = SetTargetPass(rows=4, cols=4, spm_bytes=20, clock_mhz=1000, gb_per_s=4, lanes=8)
    with pytest.raises(CapacityError, match="fc: the smallest tiles of 2 nests that run round-robin need 24 bytes"):
        scheduled(parse(), target)


def test_only_leaves_others_alone() -> None:
    op = scheduled(parse(), step=SchedulePass(only="other*"))
    assert all(contract.schedule_attr is None for contract in op.contracts)


LOOPS = "loops [m : 8, n : 8, k : 10] keep(dY = 3)"


def test_the_row_of_a_report() -> None:
    row = compile_source(text_of(LOOPS, LOOPS), format="mlir", pipeline="").ops[1]
    assert (row.op, row.phase, row.name, row.kind) == ("npu.interleave", "dxdw", "fc", "matrix")
    assert row.macs == 2 * 24 * 16 * 20
    assert row.schedule is not None
    assert (row.schedule.program, row.schedule.order, row.schedule.keep) == ("zip", ["m", "n", "k"], {"dY": 3})
    assert row.native["streams"] == 2
    assert row.native["schedules"] == [LOOPS, LOOPS]
    assert row.native["tiles"] == 24
    size = 2
    assert row.tensors["dY"].read_bytes == 24 * 16 * size, "read once for both"
    assert row.tensors["W"].read_bytes == 20 * 16 * size * 3
    inputs, sums = 24 * 16 + 10 * 8 + 8 * 10, 8 * 10 + 10 * 8
    assert row.spm_bytes == inputs * size + sums * 4
    assert row.dram_read_bytes == sum(t.read_bytes for t in row.tensors.values())
    assert row.lower_bound_bytes == (24 * 16 + 2 * 20 * 16 + 2 * 24 * 20) * size


def test_a_fused_nest_says_so_in_the_report() -> None:
    text = "network n() { input x: f32[4, 5]\n h = linear(x, 6)\n y = linear(relu(h), 3)\n loss sum(y ** 2) }"
    for mode, program in (("zip", "zip"), ("fused", "fused")):
        pipeline = f"autodiff,lower-to-npu,interleave{{mode={mode}}},schedule"
        rows = compile_source(text, pipeline=pipeline).ops
        found = {(row.name, row.phase): row.schedule.program for row in rows if row.schedule is not None}
        assert found["y", "dxdw"] == program
        assert found["h", "forward"] == "sequential"


def test_contractions_without_a_schedule_get_one() -> None:
    assert compile_source(text_of(), format="mlir", pipeline="").ops[1].schedule is not None


def test_more_than_the_machine_has() -> None:
    for spm in ("", "spm 16000 bytes "):
        with pytest.raises(CapacityError) as caught:
            compile_source(
                text_of("loops [m : 8]", "loops [m : 8]", spm),
                format="mlir",
                pipeline="",
                overrides={"memory.spm_kib": 4},
            )
        assert caught.value.location is not None


def test_a_pool_of_tiles_serves_both() -> None:
    """memory.policy = lru: the tiles of dY that are still in the pool are not read again."""
    loops, other = "loops [m : 8, n : 8, k : 10]", "loops [n : 8, k : 10, m : 8]"
    kinds = {"memory.policy": "lru"}
    (_, large) = compile_source(text_of(loops, other), format="mlir", pipeline="", overrides=kinds).ops
    small = compile_source(
        text_of(loops, other), format="mlir", pipeline="", overrides=kinds | {"memory.spm_kib": 2, "array.rows": 4}
    ).ops[1]
    assert large.schedule is not None
    assert large.schedule.program == "zip"
    assert large.tensors["dY"].read_bytes == 24 * 16 * 2
    assert small.tensors["dY"].read_bytes > 24 * 16 * 2
    assert small.spm_bytes is not None
    assert small.spm_bytes <= 1024
    whole = text_of("loops [m : 24]", "loops [m : 24]")
    with pytest.raises(CapacityError, match="the contractions of layer fc that run round-robin"):
        compile_source(whole, format="mlir", pipeline="", overrides=kinds | {"memory.spm_kib": 1})


COMPAT = {"cycle.compat": "scalesim3"}


def test_scalesim_has_none() -> None:
    with pytest.raises(UsageError, match="SCALE-Sim has no contractions that run round-robin"):
        compile_source(text_of(LOOPS, LOOPS), format="mlir", pipeline="", hardware="scalesim", overrides=COMPAT)


def test_selection_knows_what_is_read_inside() -> None:
    module = parse()
    keep_layers(module, ["fc"])
    module.verify()
    assert [op.name for op in module.walk() if op.name.startswith("npu.")].count("npu.contract") == 2
    module = parse()
    keep_layers(module, ["relu"])
    module.verify()
    assert not [op for op in module.walk() if isinstance(op, ContractOp)]
