"""More bits in a mantissa are never cheaper: in time and energy, in every backend, at the same schedule or mapping."""

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_source
from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.overlap import OVERLAPS
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.report import Report
from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.npu.nest import Nest
from npuc.dialects.npu.widths import PLAIN, in_passes
from tests.row_arrays import draw_row_array
from tests.schedules import gemm

SIZES = st.tuples(*[st.integers(1, 40)] * 3)
MANTISSAS = st.lists(st.integers(1, 24), min_size=2, max_size=2)
PRODUCT = """
func.func @f(%x: tensor<{m}x{k}x{a}>, %w: tensor<{k}x{n}x{b}>) -> tensor<{m}x{n}xf32> {{
  %y = npu.contract (m = {m}, n = {n}, k = {k}) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    : (tensor<{m}x{k}x{a}>, tensor<{k}x{n}x{b}>) -> tensor<{m}x{n}xf32>
  func.return %y : tensor<{m}x{n}xf32>
}}
"""
MACHINE: dict[str, Any] = {
    "clock_mhz": 1000,
    "array.rows": 4,
    "array.cols": 4,
    "memory.spm_kib": 16,
    "dram.gb_per_s": 2,
    "vector.lanes": 4,
    "compute.tflops": 0.032,
    "memory.cache_mib": 0.01,
    "maestro.num_pes": 16,
    "maestro.noc_bw": 4,
    "maestro.mapping": "ws",
}
ENERGY = Energy(1.0, 0.5, 5.0)


def counted(nest: Nest, mantissas: tuple[int, int], chunk: int) -> tuple[Nest, Bits]:
    """A product of blocks of these mantissas, and the widths of its tensors."""
    blocks = [PLAIN.element_bits(BlockFloatType(mantissa, 16, 3)) for mantissa in mantissas]
    return in_passes(nest, mantissas, chunk), Bits((*blocks, 32), (32,))


def draw_machine(r: Random) -> Machine:
    flow: Dataflow = r.choice(("os", "ws", "is", "in-place"))
    array = Array(r.randint(1, 6), r.randint(1, 6), flow, r.choice(("per-fold", "overlap")))
    if r.random() < 0.2:
        array = replace(array, dataflow="ws", overlap=r.choice(OVERLAPS), tile_m=r.randint(1, 8))
    elif r.random() < 0.2:
        array = draw_row_array(r)
    return Machine(array, r.choice([400, 4000]), Fraction(r.randint(1, 40), 4), 1000.0, 4, energy=ENERGY)


@settings(max_examples=60)
@given(SIZES, MANTISSAS, MANTISSAS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_more_bits_are_no_faster_at_the_same_schedule(
    sizes: tuple[int, int, int], one: list[int], other: list[int], chunk: int, r: Random
) -> None:
    """The array's cycles, the time with transfers, and the energy."""
    machine = draw_machine(r)
    low, high = (tuple(f(pair) for pair in zip(one, other, strict=True)) for f in (min, max))
    (narrow, few), (wide, many) = (counted(gemm(*sizes), (m[0], m[1]), chunk) for m in (low, high))
    schedule = best_schedule(wide, machine, "time", many)
    assert compute(narrow, schedule, machine.array).cycles <= compute(wide, schedule, machine.array).cycles
    assert pipeline(narrow, schedule, machine, few).time <= pipeline(wide, schedule, machine, many).time
    costs = [exact_cost(n, schedule, machine, "energy", w)[0] for n, w in ((narrow, few), (wide, many))]
    assert costs[0] <= costs[1] * (1 + 1e-12)


def compiled(sizes: tuple[int, int, int], mantissas: tuple[int, int], chunk: int, backend: str) -> Report:
    m, n, k = sizes
    a, b = (BlockFloatType(one, 16, 3) for one in mantissas)
    text = PRODUCT.format(m=m, n=n, k=k, a=a, b=b)
    machine = {**MACHINE, "array.mantissa_bits": chunk}
    return compile_source(text, "mlir", backend=backend, hardware=machine)


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
@settings(max_examples=8)
@example((16, 16, 16), [2, 2], [4, 4], 2)
@given(SIZES, MANTISSAS, MANTISSAS, st.integers(1, 4))
def test_more_bits_are_no_faster_in_any_backend(
    backend: str, sizes: tuple[int, int, int], one: list[int], other: list[int], chunk: int
) -> None:
    """Each with the schedule that it finds for its own bits."""
    low, high = (tuple(f(pair) for pair in zip(one, other, strict=True)) for f in (min, max))
    found = [compiled(sizes, (m[0], m[1]), chunk, backend).totals.seconds for m in (low, high)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0] <= found[1] * (1 + 1e-12)
