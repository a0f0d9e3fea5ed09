"""Rows of vector work and moves, and which operations have a row."""

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.hardware import Hardware

Parse = Callable[[str], ModuleOp]
Machine = Callable[..., Hardware]

NET = """
func.func @net(%x: tensor<6x8xf32>, %i: tensor<6xi64>) -> (tensor<48xf32>, tensor<6x8xf32>, tensor<6x4xf32>) {
  %y = npu.vector relu(%x) ops 96 {layer = "relu1"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %z = npu.vector mul(%y, %y) ops 48 {layer = "square", role = "dx"}
    : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = npu.move slice(%z) <{starts = array<i64: 0, 0>}> reads [24] {layer = "cut"}
    : (tensor<6x8xf32>) -> tensor<6x4xf32>
  %v = npu.view reshape(%z) {layer = "flat"} : (tensor<6x8xf32>) -> tensor<48xf32>
  func.return %v, %z, %s : tensor<48xf32>, tensor<6x8xf32>, tensor<6x4xf32>
}"""


def test_rows(parse: Parse, hardware: Machine) -> None:
    """Views have none; an operand that stands twice is read once; a move reads what it says."""
    relu, square, cut = CycleBackend().score(parse(NET), hardware()).ops
    assert [(r.index, r.name, r.kind, r.phase) for r in (relu, square, cut)] == [
        (0, "relu1", "vector", "forward"),
        (1, "square", "vector", "dx"),
        (2, "cut", "data", "forward"),
    ]
    assert (relu.dram_read_bytes, relu.dram_write_bytes, relu.vector_ops, relu.macs) == (192, 192, 96, 0)
    assert (square.dram_read_bytes, square.dram_write_bytes) == (192, 192)
    assert (cut.dram_read_bytes, cut.dram_write_bytes, cut.vector_ops) == (96, 96, 0)
    assert (relu.cycles, relu.compute_cycles, relu.limit) == (96, 12, "dram")
    assert (cut.cycles, cut.compute_cycles) == (48, 0)
    assert relu.native["work"] == "relu"


def test_lanes_and_buffers(parse: Parse, hardware: Machine) -> None:
    module = parse(NET)
    slow = CycleBackend().score(module, hardware(vector__lanes=1, dram__gb_per_s=8.0)).ops[0]
    assert (slow.cycles, slow.limit) == (96, "compute")
    serial = CycleBackend().score(module, hardware(memory__double_buffer=False)).ops[0]
    assert (serial.cycles, serial.stall_cycles) == (96 + 12, 96)


def test_totals_add_up(parse: Parse, hardware: Machine) -> None:
    report = CycleBackend().score(parse(NET), hardware())
    assert report.totals.cycles == 96 + 96 + 48
    assert report.totals.seconds_by_kind["data"] == 48e-9
    assert report.totals.macs == 0


def test_unsupported(parse: Parse) -> None:
    text = "func.func @f() { func.call @f() : () -> ()  func.return }"
    reasons = [CycleBackend().supports(op) for op in parse(text).walk()]
    assert sum(r is not None for r in reasons) == 1
    assert any(r is not None and "npu level" in r for r in reasons)
