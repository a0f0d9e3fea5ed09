"""Rows of vector work on the blocks of its producer, by hand; what is refused."""

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.report import OpRow
from npuc.compiler.report.text.quantities import time_text
from npuc.compiler.report.text.summary.fused import fused_text
from npuc.hardware import Hardware

Parse = Callable[[str], ModuleOp]
Machine = Callable[..., Hardware]
T = "tensor<8x4xf32>"


def step(
    schedule: str, *, mark: str = "fused", more: str = "", result: str = "%w1, %v1", types: str = f"{T}, {T}"
) -> str:
    return f"""
    func.func @step(%x: tensor<8x8xf32>, %dy: {T}, %w: {T}, %v: {T}) -> ({types}) {{
      %dw = npu.contract (m = 8, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
        {schedule} {{layer = "fc", role = "dw"}} : (tensor<8x8xf32>, {T}) -> {T}
      %w1, %v1 = npu.vector sgd(%w, %dw, %v) <{{lr = 1.0 : f64, momentum = 0.5 : f64}}> ops 128 {mark}
        {{layer = "w", role = "update"}} : ({T}, {T}, {T}) -> ({T}, {T})
      {more}
      func.return {result} : {types}
    }}"""


def rows(parse: Parse, hardware: Machine, text: str, **more: object) -> list[OpRow]:
    return CycleBackend().score(parse(text), hardware(memory__element_bytes=2, **more)).ops


def test_the_gradient_is_neither_written_nor_read(parse: Parse, hardware: Machine) -> None:
    """Four bytes a cycle, eight lanes; dW has 32 elements of 2 bytes, in two blocks of 16 (k : 4)."""
    apart = rows(parse, hardware, step("loops [k : 4]", mark=""))
    dw, update = rows(parse, hardware, step("loops [k : 4]"))
    assert apart[0].tensors["dW"].write_bytes == 64
    assert dw.tensors["dW"].write_bytes == 0
    assert (dw.dram_write_bytes, dw.dram_read_bytes) == (0, apart[0].dram_read_bytes)
    # W and v are read and written: four times 64 bytes, not five.
    assert {name: (t.read_bytes, t.write_bytes) for name, t in update.tensors.items()} == {
        "in0": (64, 0),
        "in2": (64, 0),
        "out0": (0, 64),
        "out1": (0, 64),
    }
    assert (update.native["fused"], update.native["work"]) == ("dW", "sgd")
    assert (update.native["alone_bytes"], update.native["alone_cycles"]) == (320, 80)


def test_time_is_that_of_the_pipeline_with_the_bytes_and_work_of_both(parse: Parse, hardware: Machine) -> None:
    """
    Without the update: loads of 128 (X 4 columns 64, dY 64) and 64 bytes, two tiles of 4 x 4 x 8, 6 to fill and drain.

    With it a block of 16 elements brings 8 bytes an element and 16 x 4 / 8 = 8 cycles of vector work, as many as the
    next tile takes: the first one's 128 bytes move with the second load, the second one's at the end, beside its work.
    """
    dw, update = rows(parse, hardware, step("loops [k : 4]"))
    assert dw.cycles == 32 + 16 + 8 + 6
    both = 32 + (64 + 128) // 4 + 8 + 6 + 128 // 4
    assert (dw.cycles or 0) + (update.cycles or 0) == both
    assert (update.compute_cycles, update.native["vector_cycles"]) == (16, 16)


def test_blocks_of_weight_and_state_take_room(parse: Parse, hardware: Machine) -> None:
    alone = rows(parse, hardware, step("loops [k : 4]", mark=""))[0]
    dw = rows(parse, hardware, step("loops [k : 4]"))[0]
    assert (dw.spm_bytes or 0) - (alone.spm_bytes or 0) == 2 * 16 * 2
    rows(parse, hardware, step("loops [k : 4]", mark=""), memory__spm_kib=0.375)
    with pytest.raises(CapacityError, match="layer fc and what is fused with it take 256 bytes of SPM"):
        rows(parse, hardware, step("loops [k : 4]"), memory__spm_kib=0.375)


def test_what_others_use_is_stored(parse: Parse, hardware: Machine) -> None:
    text = step("loops [k : 4]", result="%w1, %v1, %dw", types=f"{T}, {T}, {T}")
    dw, update = rows(parse, hardware, text)
    assert dw.tensors["dW"].write_bytes == 64
    assert update.dram_read_bytes == 128


def test_a_second_operation_reads_nothing_of_the_first(parse: Parse, hardware: Machine) -> None:
    more = f'%n = npu.vector add(%w1, %x8) ops 32 fused {{layer = "n"}} : ({T}, tensor<4xf32>) -> {T}'
    text = step("loops [k : 4]", more=more, result="%n, %v1").replace("%v: ", "%x8: tensor<4xf32>, %v: ")
    _, update, add = rows(parse, hardware, text)
    assert {name: (t.read_bytes, t.write_bytes) for name, t in update.tensors.items()} == {
        "in0": (64, 0),
        "in2": (64, 0),
        "out1": (0, 64),
    }
    assert {name: (t.read_bytes, t.write_bytes) for name, t in add.tensors.items()} == {"in1": (8, 0), "out0": (0, 64)}


def test_each_core_finishes_blocks_of_its_own(parse: Parse, hardware: Machine) -> None:
    """
    Two cores with 4 of 8 rows of dW each, 4 bytes a cycle of their own.

    A core loads 128 bytes, its tile takes 4 x 4 x 8 on a 4 x 4 array, then 16 x 4 / 8 = 8 cycles of vector work go
    beside the transfer of 128 bytes of blocks.
    """
    dw, update = rows(parse, hardware, step("loops [cores k : 4]"), array__cores=2)
    assert (dw.native["core_cycles"], dw.native["core_write_bytes"]) == ([32 + 8 + 6] * 2, [0, 0])
    assert (dw.cycles or 0) + (update.cycles or 0) == 32 + 8 + 6 + 128 // 4
    assert (update.dram_read_bytes, update.dram_write_bytes) == (128, 128)


@pytest.mark.parametrize(("multicast", "read"), [(False, 16), (True, 8)])
def test_each_core_reads_a_smaller_operand(parse: Parse, hardware: Machine, multicast: bool, read: int) -> None:
    more = f'%n = npu.vector add(%w1, %x8) ops 32 fused {{layer = "n"}} : ({T}, tensor<4xf32>) -> {T}'
    text = step("loops [cores k : 4]", more=more, result="%n, %v1").replace("%v: ", "%x8: tensor<4xf32>, %v: ")
    _, update, add = rows(parse, hardware, text, array__cores=2, array__multicast=multicast)
    assert add.tensors["in1"].read_bytes == read
    without = rows(parse, hardware, step("loops [cores k : 4]"), array__cores=2, array__multicast=multicast)
    assert (add.cycles or 0) + (update.cycles or 0) - (without[1].cycles or 0) == read // 8


def test_a_sum_over_cores_is_not_finished(parse: Parse) -> None:
    with pytest.raises(VerifyException, match="the loop over m comes back to blocks of dW that have left"):
        parse(step("loops [cores m : 4]")).verify()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("memory.policy", "lru", "memory.policy 'lru' has no price"),
        ("array.dataflow", "in-place", "arrays that keep a tile between operations have no price"),
    ],
)
def test_machines_without_a_price(parse: Parse, hardware: Machine, key: str, value: object, message: str) -> None:
    with pytest.raises(UsageError, match=message) as e:
        CycleBackend().score(parse(step("loops [k : 4]")), hardware(**{key: value}))
    assert e.value.hint == "leave out the pass fuse-vector"


def test_the_table_says_what_is_saved() -> None:
    text = "network n(batch=8) { input x: f32[batch, 64]; labels y: i32[batch];\n"
    text += "h = relu(linear(x, 32)); loss cross_entropy(linear(h, 8), y); optimizer sgd(lr=0.1, momentum=0.9) }"
    plain = compile_source(text, hardware="igo-large")
    assert fused_text(plain) is None
    report = compile_source(text, hardware="igo-large", pipeline="autodiff,lower-to-npu,schedule,fuse-vector")
    # Each output is neither written nor read back: Y and dX of 8 x 32, dW of 64 x 32 and of 32 x 8, 2 bytes each.
    line = fused_text(report)
    assert line is not None
    assert line.startswith("4 operations run as epilogues: ")
    assert 2 * 2 * (8 * 32 + 8 * 32 + 64 * 32 + 32 * 8) == 11 * 1024
    assert ": 11.00 KiB and " in line
    apart = compile_source(text, hardware="igo-large", pipeline="autodiff,lower-to-npu,schedule").totals.seconds
    assert f" and {time_text((apart or 0) - (report.totals.seconds or 0))} less than unfused" in line
