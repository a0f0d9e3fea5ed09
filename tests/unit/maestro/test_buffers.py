"""What the machine's buffers and its memory are to the backend maestro, and that the best mappings keep within them."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from npuc.backends.maestro import evaluate
from npuc.backends.maestro.machine import OFFCHIP_BW, array_of, mapped_machine
from npuc.backends.registry import get_backend
from npuc.compiler import compile_source
from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction, contraction_of_statement
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.mapping.best import Objective
from npuc.compiler.explore.mapping.result import Settings
from npuc.compiler.explore.mapping.search import Search
from npuc.dialects.mapping import Clusters
from npuc.dialects.npu import ContractOp
from npuc.frontends.source import open_source
from npuc.hardware import load_hardware

KIB = 1024
MACHINES = {
    "nvdla": (2048, 6, 512 * KIB, Fraction(32)),
    "eyeriss": (168, 12 + 224 + 24, 108 * KIB // 2, Fraction(6, 5)),
    "tpu-v1": (256 * 256, 2 + 2 + 4096 * 256 // 65536, 24 * KIB * KIB, Fraction(340, 7)),
    "maestro-example": (256, 100, 3000, Fraction(50)),
}
"""Processing elements, elements in the buffer of each and in the shared one, elements a cycle off chip."""
SUMS = {"nvdla": 4, "eyeriss": 1, "tpu-v1": 1, "maestro-example": 1}
"""
Elements of the shared buffer that a partial sum takes: 32 bits among bytes, 16 among 16 bits; one where the buffer is
written in elements.
"""
NET = """network net(batch = 2) {
  input x: f32[batch, 8, 12, 12]
  y = conv2d(x, 16, kernel=3)
  output y
  loss mean(y)
  optimizer sgd(lr=0.1)
}
"""


@pytest.mark.parametrize("name", MACHINES)
def test_presets_have_their_published_sizes(name: str) -> None:
    machine = mapped_machine(load_hardware(name))
    array = machine.array
    offchip = Fraction(array.offchip_bw, array.offchip_cycles)
    assert (array.num_pes, machine.l1_size, machine.l2_size, offchip) == MACHINES[name]
    rows, cols = (machine.hardware.get(f"array.{key}", int) for key in ("rows", "cols"))
    assert rows is None or cols is None or rows * cols == array.num_pes


def best_mappings(network: str, preset: str, objective: Objective) -> Iterator[tuple[ContractOp, Clusters]]:
    keys: CompileKeywords = {"hardware": preset}
    module, hardware = lowered_module(open_source(network), get_backend("maestro"), keys, lambda text: None, [])
    settings = Settings(objective, "random", 60, 0, 2, 1, "divisors")
    found = Search(module, hardware, settings)
    result = found.run("net", "net.dsl", lambda count: None).result
    assert all(one.fits for one in result.found)
    for op in found.contracts:
        attr = op.mapping_attr
        assert attr is not None
        assert isinstance(attr.data, Clusters)
        yield op, attr.data


def two_tiles(work: Contraction, sizes: dict[str, int], sums: int = 1) -> int:
    """Two tiles of each tensor, by the values that its indices take; a partial sum takes so many elements."""
    counts = (
        (sums if r == "O" else 1)
        * prod(
            len({sum(v) for v in product(*(range(0, c * sizes[d], c) for d, c in axis.terms))}) for axis in work.axes(r)
        )
        for r in ROLES
    )
    return 2 * sum(counts)


@pytest.mark.parametrize(
    ("network", "preset", "objective"),
    [
        *(("samples:mobilenet_v2", name, "time") for name in ("nvdla", "eyeriss", "tpu-v1")),
        ("samples:transformer", "nvdla", "edp"),
        ("samples:lenet", "maestro-example", "energy"),
        ("samples:vgg_a", "eyeriss", "energy"),
    ],
)
def test_best_mappings_fit_into_the_machine(network: str, preset: str, objective: Objective) -> None:
    pes, l1, l2, _ = MACHINES[preset]
    for op, mapping in best_mappings(network, preset, objective):
        assert mapping.processing_elements <= pes
        for statement in op.nest.statements:
            work = contraction_of_statement(op.nest, statement)
            sizes, first = dict(op.nest.dims), dict(op.nest.dims)
            first |= {loop.dim: loop.temporal for loop in mapping.levels[0].loops}
            for level in mapping.levels:
                sizes |= {loop.dim: loop.spatial for loop in level.loops}
            assert two_tiles(work, first, SUMS[preset]) <= l2
            assert two_tiles(work, sizes) <= l1


def test_the_shared_buffer_is_the_scratchpad_in_elements_of_the_contraction() -> None:
    keys = {"maestro.num_pes": 64, "memory.spm_kib": 0.5}
    report = compile_source(NET, backend="maestro", hardware=keys)
    assert report.totals.cycles
    need = [row.native["l2_size_req"] for row in report.ops if row.kind == "matrix"]
    forward = next(row for row in report.ops if row.phase == "forward" and row.kind == "matrix")
    largest, outputs = forward.native["l2_size_req"], forward.native["output_l2_size_req"]
    assert isinstance(largest, int)
    assert isinstance(outputs, int)
    assert all(isinstance(size, int) and size > 128 for size in need)
    (told,) = [text for text in report.warnings if "more than" in text]
    assert told.startswith(f"y needs {largest:,} elements of 128")
    assert told.endswith("its mapping needs more than memory.spm_kib, which a search (npuc map) never takes")
    for size in (largest, largest - 1):
        for more in (
            # a partial sum has four bytes, or two in accumulators of 16 bits, but in mode parity
            {"memory.element_bytes": 1, "memory.spm_kib": (size + 3 * outputs) / KIB},
            {"memory.element_bytes": 2, "memory.spm_kib": (2 * size + 2 * outputs + 1) / KIB},
            {"memory.element_bytes": 2, "memory.spm_kib": (2 * size + 1) / KIB, "array.accumulator_bits": 16},
            {"memory.spm_kib": (4 * size + 3) / KIB},
            {"maestro.l2_size": size, "memory.element_bytes": 1},
        ):
            told = compile_source(NET, backend="maestro", hardware=keys | more, inference=True).warnings
            key = "maestro.l2_size" if "maestro.l2_size" in more else "memory.spm_kib"
            assert any(f"more than {key}," in text for text in told) == (size < largest), more


def test_bandwidth_off_chip_is_that_of_the_memory() -> None:
    bare = {"maestro.num_pes": 4, "dram.gb_per_s": 0.7}
    assert array_of(load_hardware(bare)).offchip_bw == OFFCHIP_BW
    full = load_hardware(bare | {"clock_mhz": 100, "memory.element_bytes": 2})
    assert (array_of(full).offchip_bw, array_of(full).offchip_cycles) == (7, 2)
    assert (array_of(full, 4).offchip_bw, array_of(full, 4).offchip_cycles) == (7, 4)
    assert array_of(load_hardware({**full.values, "maestro.offchip_bw": 9})).offchip_bw == 9


@pytest.mark.parametrize("mode", ["exact", "parity"])
def test_a_bandwidth_that_is_not_whole_lies_between_its_neighbours(mode: str) -> None:
    problem = {"type": "GEMM", "dims": {"M": 8, "N": 8, "K": 8}}
    ones = np.ones((1, 1, 3), int)
    spatial = np.array([[[True, False, False]]])
    whole = {"dim": [[[0, 1, 2]]], "size": ones, "offset": ones, "spatial": spatial, "cluster": np.ones((1, 0), int)}

    def cycles(**keys: int) -> float:
        machine = {"maestro.num_pes": 4, "maestro.noc_bw": 100, "maestro.mode": mode}
        memory = {"clock_mhz": 1000, "memory.element_bytes": 1, "dram.gb_per_s": 1.5}
        written = {f"maestro.{key}": value for key, value in keys.items()}
        return float(evaluate(problem, whole, {**machine, **memory, **written})["runtime_cycles"][0])

    slow, between, fast = cycles(offchip_bw=1), cycles(), cycles(offchip_bw=2)
    assert slow >= between >= fast
    assert slow > fast
    assert between == slow if mode == "parity" else slow > between > fast


@pytest.mark.parametrize(("mode", "elements"), [("exact", 4), ("parity", 1)])
def test_mode_parity_counts_an_element_for_a_partial_sum(mode: str, elements: int) -> None:
    keys: CompileKeywords = {"hardware": "nvdla", "overrides": {"maestro.mode": mode}}
    module, hardware = lowered_module(open_source("samples:lenet"), get_backend("maestro"), keys, lambda text: None, [])
    ops = [op for op in module.walk() if isinstance(op, ContractOp)]
    assert ops
    assert {mapped_machine(hardware).for_contraction(op).sum_size for op in ops} == {elements}
