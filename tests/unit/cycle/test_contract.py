"""Rows of contractions: the numbers of a small product by hand, and what the report says of it."""

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.backends.registry import get_backend
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.report import OpRow, Partition, TensorBytes
from npuc.hardware import Hardware

Parse = Callable[[str], ModuleOp]
Machine = Callable[..., Hardware]


def product(schedule: str, role: str = "") -> str:
    """A 4 x 4 x 40 product of half floats."""
    return f"""
    func.func @net(%x: tensor<4x40xf16>, %w: tensor<40x4xf16>) -> tensor<4x4xf16> {{
      %y = npu.contract (m = 4, n = 4, k = 40) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
        {schedule} {{layer = "fc1"{role}}} : (tensor<4x40xf16>, tensor<40x4xf16>) -> tensor<4x4xf16>
      func.return %y : tensor<4x4xf16>
    }}"""


def row(module: ModuleOp, hardware: Hardware) -> OpRow:
    (only,) = CycleBackend().score(module, hardware).ops
    return only


def test_by_hand(parse: Parse, hardware: Machine) -> None:
    """Ten tiles: 64 bytes in 16 cycles each, 4 cycles of compute, 6 of fill and drain, 32 bytes out in 8."""
    found = row(parse(product("loops [k : 4] spm 512 bytes")), hardware())
    assert (found.name, found.op, found.phase, found.kind) == ("fc1", "npu.contract", "forward", "matrix")
    assert (found.batch, found.m, found.n, found.k, found.macs) == (1, 4, 4, 40, 640)
    assert (found.cycles, found.compute_cycles, found.stall_cycles) == (10 * 16 + 4 + 6 + 8, 46, 178 - 46)
    assert found.seconds == 178e-9
    assert found.utilization == 640 / (16 * 178)
    assert found.tensors == {"X": TensorBytes(320, 0), "W": TensorBytes(320, 0), "Y": TensorBytes(0, 32)}
    assert (found.dram_read_bytes, found.dram_write_bytes) == (640, 32)
    assert (found.spm_bytes, found.limit) == (32 + 32 + 64, "dram")
    assert (found.lower_bound_bytes, found.lower_bound_seconds) == (672, 168e-9)
    assert found.energy_j is None
    assert found.loc is None or found.loc.startswith("net.mlir:")


def test_native_columns(parse: Parse, hardware: Machine) -> None:
    """The array reads both operands once and writes its 16 sums when all tiles are added; the DMA fills and empties."""
    native = row(parse(product("loops [k : 4] spm 512 bytes")), hardware()).native
    assert native == {
        "tiles": 10,
        "folds": 10,
        "groups": 1,
        "edge_cycles": 0,
        "fill_drain_cycles": 6,
        "transfer_cycles": 168,
        "first_load_bytes": 64,
        "spm_read_bytes": 640 + 32,
        "spm_write_bytes": 64 + 640,
        "compulsory_bytes": 672,
        "capacity_bound_bytes": 529,
        "reached_bytes": 672,
        "gap_bytes": 0,
        "gap": 0.0,
        "optimal": True,
    }


def test_energy(parse: Parse, hardware: Machine) -> None:
    prices = {"energy__mac_pj": 2.0, "energy__spm_pj_per_byte": 0.5, "energy__dram_pj_per_byte": 10.0}
    found = row(parse(product("loops [k : 4] spm 512 bytes")), hardware(**prices))
    assert found.energy_j == pytest.approx(1e-12 * (640 * 2.0 + (672 + 704) * 0.5 + 672 * 10.0), rel=1e-12)
    del prices["energy__mac_pj"]
    assert row(parse(product("loops [k : 4]")), hardware(**prices)).energy_j is None


def test_element_bytes_win_over_the_type(parse: Parse, hardware: Machine) -> None:
    found = row(parse(product("loops [k : 4]")), hardware(memory__element_bytes=1))
    assert (found.dram_read_bytes, found.dram_write_bytes, found.spm_bytes) == (320, 16, 16 + 16 + 64)


def test_limits(parse: Parse, hardware: Machine) -> None:
    module = parse(product("loops [k : 4]"))
    assert row(module, hardware(dram__gb_per_s=400.0)).limit == "compute"
    serial = row(module, hardware(dram__gb_per_s=12.0, memory__double_buffer=False))
    assert (serial.limit, serial.cycles) == ("latency", 56 + 46)


def test_schedule_of_the_report(parse: Parse, hardware: Machine) -> None:
    schedule = row(parse(product("loops [k : 20, n : 2, k : 4] keep(X = 1)")), hardware()).schedule
    assert schedule is not None
    assert schedule.order == ["n", "k"]
    assert schedule.tile == {"m": 4, "n": 2, "k": 4}
    assert schedule.keep == {"X": 1}
    assert schedule.partition == Partition("k", 2, "time")


def test_forward_sizes_in_every_phase(parse: Parse, hardware: Machine) -> None:
    """dX of a convolution: sizes of the forward product, 2 x 4 x 4 positions, 8 features, 3 x 9 inputs."""
    text = """
    func.func @net(%dy: tensor<2x8x4x4xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<2x3x8x8xf32> {
      %dx = npu.contract (b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3)
        ins(dY = %dy[b, o, y, x], W = %w[o, i, r, s]) outs(dX[b, i, y * 2 + r - 1, x * 2 + s - 1]) do(dX += dY * W)
        loops [b : 1] {layer = "c", role = "dx"} : (tensor<2x8x4x4xf32>, tensor<8x3x3x3xf32>) -> tensor<2x3x8x8xf32>
      func.return %dx : tensor<2x3x8x8xf32>
    }"""
    found = row(parse(text), hardware(memory__spm_kib=64))
    assert (found.phase, found.batch, found.m, found.n, found.k) == ("dx", 1, 32, 8, 27)
    assert found.tensors["dX"] == TensorBytes(0, 4 * 384)


def test_no_schedule(parse: Parse, hardware: Machine) -> None:
    with pytest.raises(UsageError, match="layer fc1 has no schedule") as error:
        row(parse(product("")), hardware())
    assert error.value.hint is not None
    assert "pass 'schedule'" in error.value.hint


@pytest.mark.parametrize("schedule", ["loops [k : 4] spm 516 bytes", "loops [m : 1] keep(X = 1)"])
def test_too_large_for_the_memory(parse: Parse, hardware: Machine, schedule: str) -> None:
    """A promise above the memory, and blocks above it without a promise; both exit with 3."""
    small = hardware() if "spm" in schedule else hardware(memory__spm_kib=0.75)
    with pytest.raises(CapacityError, match="bytes of SPM, a schedule may use"):
        row(parse(product(schedule)), small)


def test_registered() -> None:
    backend = get_backend("cycle")
    assert isinstance(backend, CycleBackend)
    assert backend.level == "npu"
