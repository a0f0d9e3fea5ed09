"""Instructions of a register-fed array: closed forms against a simulation stage by stage, published ratios, rows."""

from random import Random

import pytest
from xdsl.context import Context

from npuc.compiler.analysis.machine.overlap import OVERLAPS, Overlap, stages
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.report import OpRow
from npuc.compiler.transforms.group_weights import GroupWeightsPass
from npuc.frontends.mlir import read_mlir
from npuc.hardware import load_hardware


def simulate(overlap: Overlap, rows: int, cols: int, tile_m: int, weights: list[int]) -> int:
    """Instructions one after another, each stage at its earliest; `weights` says which weights each one uses."""
    half = overlap.startswith("dm")
    load = -(-rows // 2) if half else rows
    second = load - 1
    fed = ended = drained = loaded = promoted = 0
    before: int | None = None
    for weight in weights:
        new = weight != before
        before = weight
        if overlap == "base":
            feed = drained + load
        elif overlap.endswith("wls"):
            if new:
                # The second register is free once the instruction that took its weights feeds.
                loaded = max(loaded, promoted) + load
            feed = max(fed, loaded)
            promoted = feed if new else promoted
        else:
            feed = ended + (load if new or overlap.endswith("pipe") else 0)
        fed = feed + tile_m
        ended = fed + second
        drained = ended + cols
    return drained


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("seed", range(10))
def test_closed_form_equals_stages(overlap: Overlap, seed: int) -> None:
    r = Random(seed)
    for _ in range(30):
        rows, cols, tile_m = r.randint(1, 40), r.randint(1, 40), r.randint(1, 40)
        groups = [r.randint(1, 6) for _ in range(r.randint(1, 12))]
        weights = [number for number, size in enumerate(groups) for _ in range(size)]
        assert stages(overlap, rows, cols, tile_m).stream(groups) == simulate(overlap, rows, cols, tile_m, weights)


TABLE = {
    1: (0.832, 0.832, 0.495, 0.495, 0.337, 0.1685),
    2: (0.832, 0.663, 0.495, 0.411, 0.169, 0.1685),
    4: (0.832, 0.579, 0.495, 0.369, 0.169, 0.1685),
}
ORDER: tuple[Overlap, ...] = ("pipe", "wlbp", "dm-pipe", "dm-wlbp", "db-wls", "dmdb-wls")


@pytest.mark.parametrize("reuse", TABLE)
def test_published_ratios(reuse: int) -> None:
    """Long streams on 32 x 16 with 16 rows an instruction, relative to no overlap; never below 16 of 95 cycles."""
    groups = [reuse] * (4096 // reuse)
    base = stages("base", 32, 16, 16).stream(groups)
    assert base == 95 * 4096
    ratios = {overlap: stages(overlap, 32, 16, 16).stream(groups) / base for overlap in ORDER}
    assert tuple(ratios.values()) == pytest.approx(TABLE[reuse], rel=0.005)
    assert ratios["pipe"] >= ratios["wlbp"] >= ratios["db-wls"] >= ratios["dmdb-wls"] >= 16 / 95
    assert ratios["dm-pipe"] >= ratios["dm-wlbp"] >= ratios["dmdb-wls"]


GEMM = """
func.func @gemm(%x: tensor<64x64xf32>, %w: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %y = npu.contract (m = 64, n = 32, k = 64) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [LOOPS] : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  func.return %y : tensor<64x32xf32>
}
"""


def row(overlap: str, loops: str, pipeline: str | None = None) -> OpRow:
    overrides: dict[str, object] = {
        "array.overlap": overlap,
        "array.dataflow": "ws",
        "array.rows": 32,
        "array.cols": 16,
    }
    if pipeline is not None:
        text = GEMM.replace("LOOPS", loops)
        return compile_source(text, format="mlir", hardware="igo-small", overrides=overrides, pipeline=pipeline).ops[0]
    return compile_source(GEMM.replace("LOOPS", loops), format="mlir", hardware="igo-small", overrides=overrides).ops[0]


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_rows_are_streams(overlap: Overlap) -> None:
    """4 tiles of weights and 4 of 16 rows: 16 instructions, in groups of 1 or, with m innermost, of 4."""
    form = stages(overlap, 32, 16, 16)
    for loops, groups in (("m : 16, n : 16, k : 32", [1] * 16), ("n : 16, k : 32, m : 16", [4] * 4)):
        found = row(overlap, loops)
        assert found.compute_cycles == form.stream(groups)
        assert found.native["instructions"] == 16
        assert found.native["weight_groups"] == len(groups)
        assert found.native["weight_reuse"] == groups[0]


@pytest.mark.parametrize("overlap", ["wlbp", "db-wls"])
def test_the_pass_groups_weights(overlap: Overlap) -> None:
    ordered = row(overlap, "m : 16, n : 16, k : 32", "group-weights")
    assert ordered.native["weight_reuse"] == 4
    assert ordered.compute_cycles == stages(overlap, 32, 16, 16).stream([4] * 4)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"array.overlap": "pipe"}, "array.overlap applies only to array.dataflow = 'ws'"),
        ({"array.tile_m": 8}, "array.tile_m applies only with array.overlap"),
        (
            {"array.overlap": "pipe", "array.dataflow": "ws", "array.fill": "per-fold"},
            "array.overlap contradicts array.fill = 'per-fold'",
        ),
        (
            {"array.overlap": "pipe", "array.dataflow": "ws", "cycle.compat": "scalesim3"},
            "cycle.compat = 'scalesim3' does not model array.overlap",
        ),
        ({"array.overlap": "rush", "array.dataflow": "ws"}, "array.overlap: expected 'base' or"),
    ],
)
def test_wrong_combinations(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_hardware("igo-small", overrides)


def test_the_pass_needs_a_machine() -> None:
    module = read_mlir(GEMM.replace("LOOPS", "m : 16, n : 16"), "f.mlir")
    with pytest.raises(SourceError, match=r"does not say its machine.* and group-weights depends on it") as raised:
        GroupWeightsPass().apply(Context(), module)
    assert raised.value.location is not None


def test_the_pass_leaves_other_layers() -> None:
    loops = "m : 16, n : 16, k : 32"
    assert row("wlbp", loops, 'group-weights{only="other*"}').native["weight_reuse"] == 1
