"""Groups that walk rows: traffic and work against a walk row by row, and what is refused."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler import Report, compile_source
from npuc.compiler.analysis.fusion.rows.bands import RowError, bands_of
from npuc.compiler.analysis.fusion.rows.maps import RowMap
from npuc.compiler.analysis.fusion.rows.program import group_bands, row_program
from npuc.compiler.analysis.machine.facts import TARGET, target_attr
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.compiler.report.sparse import GroupFacts
from npuc.compiler.transforms.fuse_layers import FuseLayersPass
from npuc.dialects.npu import GroupOp
from npuc.dialects.npu.groups.walk import RowWalk
from npuc.hardware import load_hardware, machine_target
from tests.unit.fusion.test_group import group_of, parsed, run

NETWORK = """network chain(batch=2) {
  input x: f32[batch, 2, 24, 12]
  a = relu(conv2d(x, 4, kernel=3, padding=1, bias=false))
  b = relu(conv2d(a, 4, kernel=[5, 3], padding=[2, 2, 1, 1], stride=[2, 1], bias=false))
  output y = max_pool(b, kernel=2)
}
"""
PASSES = "lower-to-npu,schedule,fuse-layers"


def compiled(options: str, spm: float = 6) -> Report:
    hardware = {"array.rows": 4, "array.cols": 4, "memory.spm_kib": spm, "precision": "f32"}
    return compile_source(
        NETWORK, hardware="igo-small", overrides=hardware, pipeline=f"{PASSES}{options}", inference=True
    )


@dataclass
class Layer:
    """A window over rows: kernel, stride, padding before, rows of the operand; the rows that are there."""

    kernel: int
    stride: int
    before: int
    height: int
    there: set[int] = field(default_factory=set[int])

    def needs(self, rows: set[int]) -> set[int]:
        every = {row * self.stride + r - self.before for row in rows for r in range(self.kernel)}
        return {row for row in every if 0 <= row < self.height}


@pytest.mark.parametrize("halo", ["keep", "recompute"])
def test_work_and_traffic_are_those_of_a_walk(halo: str) -> None:
    report = compiled(f"{{objective=traffic rows={halo}}}")
    facts = [one for row in report.ops if (one := GroupFacts.found_in(row)) is not None]
    assert len(facts) == len(report.ops) == 5
    assert (facts[0].halo, facts[0].band_rows) == (halo, facts[-1].band_rows)
    rows = facts[0].band_rows or 0
    assert facts[0].bands == -(-6 // rows) > 1
    # From the result to the input; rows of 12 columns, two samples.
    layers = [Layer(2, 2, 0, 12), Layer(5, 2, 2, 24), Layer(3, 1, 1, 24)]
    computed, loaded, read = [0, 0], 0, 0
    for start in range(0, 6, rows):
        needed = set(range(start, min(start + rows, 6)))
        for number, layer in enumerate(layers):
            needed = layer.needs(needed)
            read += len(needed) if number == 2 else 0
            if halo == "keep":
                needed, layer.there = needed - layer.there, layer.there | needed
            if number < 2:
                computed[number] += len(needed)
            else:
                loaded += len(needed)
    macs = [2 * 12 * computed[0] * 4 * 4 * 15, 2 * 12 * computed[1] * 4 * 2 * 9]
    assert [row.macs for row in report.ops if row.macs] == macs[::-1]
    first = next(row for row in report.ops if row.macs)
    # Rows of the input stay, too, or the first convolution reads some of them twice.
    found = first.tensors["X"].read_bytes
    assert found in (2 * 4 * 2 * 12 * loaded, 2 * 4 * 2 * 12 * read)
    weights = [row.tensors["W"].read_bytes for row in report.ops if row.macs]
    assert weights[0] % (4 * 4 * 2 * 9) == weights[1] % (4 * 4 * 4 * 15) == 0
    assert min(weights) > 0
    assert report.totals.dram_read_bytes == found + sum(weights)
    assert report.totals.dram_write_bytes == 2 * 4 * 4 * 6 * 6


def test_a_band_has_the_rows_that_it_needs() -> None:
    assert RowMap(2, 9, stride=2, before=1, span=3).needed((0, 2)) == (0, 4)
    assert RowMap(2, 9, stride=2, before=1, span=3).needed((3, 5)) == (5, 9)


GROUP = """
func.func @f(%x: tensor<1x1x6x4xf32>, %w: tensor<1x1x3x1xf32>) -> tensor<1x1x{h}x4xf32> {{
  %y = npu.group micro 1 of 1 rows {rows} of {h} axis 2 {halo} ins(%x[0], %w) outs([0]) {{
  ^bb0(%a : tensor<1x1x6x4xf32>, %v : tensor<1x1x3x1xf32>):
    %h = npu.vector {op}(%a){params} ops {ops}{out} : (tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
    %p = npu.contract (b = 1, o = 1, i = 1, y = {h}, x = 4, r = 3) ins(X = %h[b, i, y + r - {before}, x],
        W = %v[o, i, r, 0]) outs(Y[b, o, y, x]) do(Y += X * W) loops []{into}
        : (tensor<1x1x6x4xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x{h}x4xf32>
    npu.yield %p : tensor<1x1x{h}x4xf32>
  }} : (tensor<1x1x6x4xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x{h}x4xf32>
  func.return %y : tensor<1x1x{h}x4xf32>
}}
"""


def module_of(**changes: object) -> ModuleOp:
    values = {
        **{"h": 6, "rows": 2, "halo": "keep", "op": "relu", "params": "", "ops": 24, "before": 1},
        **{"out": " resident(out out0)", "into": " resident(in X)"},
    }
    return parsed(GROUP.format(**{**values, **changes}))


@pytest.mark.parametrize("halo", ["keep", "recompute"])
@pytest.mark.parametrize("rows", range(1, 7))
def test_a_group_by_hand(halo: str, rows: int) -> None:
    x, w = np.arange(-12.0, 12).reshape(1, 1, 6, 4), np.array([1.0, 2, -3]).reshape(1, 1, 3, 1)
    (y,) = run(module_of(halo=halo, rows=rows), x, w)
    h = np.pad(np.maximum(x, 0), [(0, 0), (0, 0), (1, 1), (0, 0)])
    assert np.array_equal(y, h[:, :, :6] + 2 * h[:, :, 1:7] - 3 * h[:, :, 2:])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"op": "softmax", "params": " <{axis = 2 : i64}>", "ops": 120, "out": "", "into": ""},
            "softmax is not row-wise along axis 2",
        ),
        ({"h": 9, "before": 3, "rows": 1}, "rows 0 to 1 of 'npu.contract' are of padding only"),
    ],
)
def test_what_is_not_row_wise_is_refused(changes: dict[str, object], message: str) -> None:
    group = group_of(module_of(**changes))
    with pytest.raises(SourceError, match=message):
        group_bands(group, row_program(group))


def test_results_of_overlapping_bands_are_refused() -> None:
    group = group_of(module_of(halo="recompute"))
    program = row_program(group)
    both = type(program)(program.steps, (next(iter(program.steps)).results[0], *program.results))
    with pytest.raises(RowError, match="only with halos that are kept"):
        bands_of(both, RowWalk(2, 6, 2, keep=False))


def scored(module: ModuleOp, spm: float) -> Report:
    changes = {"array.rows": 4, "array.cols": 4, "memory.spm_kib": spm, "precision": "f32"}
    hardware = load_hardware("igo-small", changes)
    module.attributes[TARGET] = target_attr(machine_target(hardware))
    return CycleBackend().score(module, hardware)


def test_a_group_by_hand_has_a_price() -> None:
    totals = scored(module_of(), 4).totals
    assert totals.macs == 6 * 4 * 3
    # Weights are read by each of three bands; the result is written once, the input read once.
    assert totals.dram_read_bytes == 4 * (24 + 3 * 3)
    assert totals.dram_write_bytes == 4 * 24
    twice = scored(module_of(halo="recompute"), 4).totals
    assert twice.dram_read_bytes == 4 * (4 * (3 + 4 + 3) + 3 * 3)


@pytest.mark.parametrize(
    ("changes", "spm", "error", "message"),
    [
        ({}, 0.125, CapacityError, "a band of rows: blocks take"),
        ({"into": ""}, 4, SourceError, "reads rows that stay, but does not find them resident"),
        ({"out": ""}, 4, CapacityError, "no operation before leaves it in SPM"),
    ],
)
def test_bands_that_cannot_run(changes: dict[str, object], spm: float, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        scored(module_of(**changes), spm)


def test_a_group_says_its_bands() -> None:
    assert isinstance(group_of(module_of()), GroupOp)
    walk = group_of(module_of()).row_walk
    assert walk is not None
    assert (walk.count, str(walk)) == (3, "rows 2 of 6 axis 2 keep")


def test_options() -> None:
    with pytest.raises(ValueError, match="rows is 'all', expected any, keep, recompute, off"):
        FuseLayersPass(rows="all")
