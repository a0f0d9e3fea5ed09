"""Passes of products over chunks of mantissas: counts, cycles beside elements that take chunks, what reports say."""

from collections.abc import Mapping, Sequence
from itertools import product
from random import Random
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from npuc.compiler import compile_source
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.report import Report
from npuc.compiler.report.sections import PassFacts
from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.npu.attrs import shared_nest
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.widths import in_passes
from tests.schedules import gemm

Matrix: TypeAlias = npt.NDArray[np.int64]
LAYER = """
builtin.module {{
  func.func @step(%x: tensor<64x96x{a}>, %w: tensor<96x32x{w}>, %g: tensor<64x32x{g}>)
      -> (tensor<64x32xf32>, tensor<64x96xf32>, tensor<96x32xf32>) {{
    %y = npu.contract (m = 64, n = 32, k = 96) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
      {{layer = "fc", role = "forward"}} : (tensor<64x96x{a}>, tensor<96x32x{w}>) -> tensor<64x32xf32>
    %dx = npu.contract (m = 64, n = 32, k = 96) ins(dY = %g[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
      {{layer = "fc", role = "dx"}} : (tensor<64x32x{g}>, tensor<96x32x{w}>) -> tensor<64x96xf32>
    %dw = npu.contract (m = 64, n = 32, k = 96) ins(X = %x[m, k], dY = %g[m, n]) outs(dW[k, n]) do(dW += X * dY)
      {{layer = "fc", role = "dw"}} : (tensor<64x96x{a}>, tensor<64x32x{g}>) -> tensor<96x32xf32>
    func.return %y, %dx, %dw : tensor<64x32xf32>, tensor<64x96xf32>, tensor<96x32xf32>
  }}
}}
"""
MACHINE: dict[str, Any] = {
    "clock_mhz": 500,
    "array.rows": 8,
    "array.cols": 8,
    "array.mantissa_bits": 2,
    "memory.spm_kib": 256,
    "dram.gb_per_s": 10_000,
    "vector.lanes": 8,
    "compute.tflops": 0.064,
    "memory.cache_mib": 1,
    "energy.mac_pj": 1.0,
    "energy.spm_pj_per_byte": 0.0,
    "energy.dram_pj_per_byte": 0.0,
    "maestro.num_pes": 64,
    "maestro.noc_bw": 1 << 20,
    "maestro.noc_hop_latency": 1,
}


def bfp(mantissa: int) -> str:
    return str(BlockFloatType(mantissa, 16, 3))


def scored(types: Sequence[str], backend: str = "cycle", overrides: Mapping[str, Any] | None = None) -> Report:
    """A layer's step with these element types of weights, activations and gradients."""
    w, a, g = types
    source = LAYER.format(w=w, a=a, g=g)
    return compile_source(source, "mlir", backend=backend, hardware={**MACHINE, **(overrides or {})})


def passes(report: Report) -> list[int]:
    facts = [PassFacts.found_in(row) for row in report.ops]
    return [each for one in facts if one is not None for each in one.product_passes]


def chunks(value: int, bits: int, count: int) -> list[int]:
    return [value >> bits * place & (1 << bits) - 1 for place in range(count)]


def worked(x: Matrix, w: Matrix, bits: int, counts: tuple[int, int]) -> tuple[Matrix, int]:
    """
    An array of elements that keep sums, cycle by cycle: X comes from the left and W from above, chunk by chunk.

    Returns the sums, and the cycles until the last element is done.
    """
    (m, k), n = x.shape, w.shape[1]
    pairs = list(product(range(counts[0]), range(counts[1])))
    left = [[chunks(int(x[i, s]), bits, counts[0])[p] for s in range(k) for p, _ in pairs] for i in range(m)]
    above = [[chunks(int(w[s, j]), bits, counts[1])[q] for s in range(k) for _, q in pairs] for j in range(n)]
    shifts = [bits * (p + q) for _ in range(k) for p, q in pairs]
    sums, done, cycle = np.zeros((m, n), np.int64), 0, 0
    right: list[list[tuple[int, int] | None]] = [[None] * n for _ in range(m)]
    down: list[list[int]] = [[0] * n for _ in range(m)]
    while done < m * n * len(shifts):
        before, over = [row.copy() for row in right], [row.copy() for row in down]
        for i, j in product(range(m), range(n)):
            step = cycle - i
            enters = (left[i][step], step) if 0 <= step < len(shifts) else None
            right[i][j] = own = before[i][j - 1] if j else enters
            if own is None:
                continue
            value, number = own
            down[i][j] = other = over[i - 1][j] if i else above[j][number]
            sums[i, j] += value * other << shifts[number]
            done += 1
        cycle += 1
    return sums, cycle


@pytest.mark.parametrize("seed", range(6))
def test_cycles_are_those_of_elements_that_take_chunks(seed: int) -> None:
    """The closed form of one fold, and its product."""
    r = Random(seed)
    m, n, k, bits = r.randint(1, 4), r.randint(1, 4), r.randint(1, 5), r.randint(1, 3)
    mantissas = r.randint(1, 6), r.randint(1, 6)
    x = np.array([[r.randrange(1 << mantissas[0]) for _ in range(k)] for _ in range(m)])
    w = np.array([[r.randrange(1 << mantissas[1]) for _ in range(n)] for _ in range(k)])
    counts = -(-mantissas[0] // bits), -(-mantissas[1] // bits)
    sums, cycles = worked(x, w, bits, counts)
    assert np.array_equal(sums, x @ w)
    nest = in_passes(gemm(m, n, k), mantissas, bits)
    assert nest.statements[0].passes == counts[0] * counts[1]
    assert compute(nest, Schedule(), Array(m, n, "os")).cycles == cycles


@pytest.mark.parametrize(
    ("mantissas", "count"), [((2, 2, 2), 3), ((2, 2, 4), 5), ((4, 4, 2), 8), ((4, 2, 4), 8), ((4, 4, 4), 12)]
)
def test_passes_of_a_step_are_those_of_fast(mantissas: tuple[int, int, int], count: int) -> None:
    types = [bfp(m) for m in mantissas]
    for backend in ("cycle", "roofline", "maestro"):
        assert sum(passes(scored(types, backend))) == count, backend


def test_low_precision_is_four_times_as_fast() -> None:
    low, high = (scored([bfp(m)] * 3) for m in (2, 4))
    assert [streamed(row) for row in high.ops] == [4 * streamed(row) for row in low.ops]
    assert all(row.limit == "compute" for row in (*low.ops, *high.ops))
    energies = [sum(row.energy_j or 0.0 for row in report.ops) for report in (low, high)]
    assert energies[1] == pytest.approx(4 * energies[0])
    slow, fast = (scored([bfp(m)] * 3, "roofline").totals.seconds for m in (4, 2))
    assert slow is not None
    assert fast is not None
    assert slow / fast == pytest.approx(4.0)
    free = [[row.compute_cycles or 0 for row in scored([bfp(m)] * 3, "maestro").ops] for m in (2, 4)]
    assert all(1 < more / less <= 4 for less, more in zip(*free, strict=True))


def streamed(row: Any) -> int:
    return row.compute_cycles - row.native["fill_drain_cycles"]


def test_wide_floats_have_a_price() -> None:
    assert passes(scored(["f32"] * 3)) == [144] * 3
    assert passes(scored(["bf16", "f8E4M3FN", "f8E5M2"])) == [8, 8, 4]


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
def test_without_the_key_all_products_take_one_pass(backend: str) -> None:
    machine = {key: value for key, value in MACHINE.items() if key != "array.mantissa_bits"}
    low, high = (
        compile_source(LAYER.format(w=t, a=t, g=t), "mlir", backend=backend, hardware=machine) for t in (bfp(2), bfp(4))
    )
    assert passes(low) == passes(high) == []
    assert [row.compute_cycles for row in low.ops] == [row.compute_cycles for row in high.ops]


def test_utilization_counts_passes() -> None:
    for backend in ("cycle", "roofline", "maestro"):
        for row in scored([bfp(2), bfp(4), bfp(4)], backend).ops:
            facts = PassFacts.found_in(row)
            assert facts is not None
            assert row.macs == 64 * 96 * 32 * len(facts.product_passes)
            assert facts.mac_passes == 64 * 96 * 32 * sum(facts.product_passes)
            assert row.utilization is not None
            assert 0 < row.utilization <= 1


def test_narrow_types_keep_their_bytes_beside_one_width_of_floats() -> None:
    report = scored([bfp(4), "f8E5M2", "f32"], overrides={"memory.element_bytes": 2})
    forward, backward = report.ops
    assert forward.tensors["W"].read_bytes == -(-96 * 32 * 83 // (16 * 8))
    assert forward.tensors["X"].read_bytes == 64 * 96
    assert backward.tensors["dY"].read_bytes == 64 * 32 * 2


def test_the_text_of_a_program_has_no_passes() -> None:
    """They follow from its types and the machine that it is compiled for."""
    nest = in_passes(gemm(2, 2, 2), (4, 2), 2)
    assert nest.statements[0].passes == 2
    assert shared_nest(nest).data == gemm(2, 2, 2)
