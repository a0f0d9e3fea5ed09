"""Mappings that the arrays of the backend cycle follow: which, by which schedule, and how near the two models are."""

import re
from collections.abc import Mapping

import pytest

from npuc.compiler import compile_source
from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.mapping.followed import followed_schedule
from npuc.compiler.analysis.mapping.systolic import systolic_clusters
from npuc.compiler.core.errors import CapacityError, NpucError, SourceError, UsageError
from npuc.compiler.report import Report
from npuc.dialects.mapping import ClusterLevel, Clusters, TileLoop
from npuc.dialects.npu.nest import Loop
from tests.schedules import fused, gemm

ARRAY = Array(4, 8)


def clusters(*levels: str) -> Clusters:
    """Levels as they are written: `32 [m : 4 / 1, k : 1]`."""
    found: list[ClusterLevel] = []
    for text in levels:
        fanout, _, rest = text.partition(" ")
        loops: list[TileLoop] = []
        for dim, step, tile in re.findall(r"(\w+) : (\d+)(?: / (\d+))?", rest):
            loops.append(TileLoop(dim, int(step), int(tile or step)))
        found.append(ClusterLevel(int(fanout), tuple(loops)))
    return Clusters(tuple(found))


FOLDS = "32 [m : 4 / 1, n : 8 / 1, k : 1]"


@pytest.mark.parametrize(
    ("levels", "loops"),
    [
        ((FOLDS,), [("m", 4), ("n", 8)]),
        (("32 [n : 8 / 1, m : 4 / 1, k : 1]",), [("n", 8), ("m", 4)]),
        (("1 [k : 5, n : 16, m : 8]", FOLDS), [("k", 5), ("n", 16), ("m", 8)]),
        (("1 [n : 16]", FOLDS), [("n", 16)]),
        (("1 [n : 24]", FOLDS), []),
        ((FOLDS, "1 []"), [("m", 4), ("n", 8)]),
    ],
)
def test_what_is_followed(levels: tuple[str, ...], loops: list[tuple[str, int]]) -> None:
    found = followed_schedule(clusters(*levels), gemm(16, 24, 20), ARRAY)
    assert not isinstance(found, str), found
    assert found.loops == tuple(Loop(dim, step) for dim, step in loops)
    assert not list(found.problems(gemm(16, 24, 20)))


@pytest.mark.parametrize("dataflow", ["os", "ws", "is", "in-place"])
def test_the_own_mapping_of_each_dataflow_is_followed(dataflow: Dataflow) -> None:
    """And that of no other one."""
    sizes = {"m": 16, "n": 24, "k": 20}
    arrays = {name: Array(4, 8, name) for name in ("os", "ws", "is", "in-place")}
    mapping = systolic_clusters(arrays[dataflow], sizes)
    nest = gemm(*sizes.values())
    followed = [name for name, array in arrays.items() if not isinstance(followed_schedule(mapping, nest, array), str)]
    assert followed == [dataflow]


REFUSED: dict[tuple[str, ...], str] = {
    ("32 [n : 8 / 1, m : 4 / 1, k : 2]",): "has 2 of k in a step, which the array streams one by one",
    ("32 [m : 8 / 2, n : 8 / 1, k : 1]",): "gives a processing element 2 of m, and the array has one over its rows",
    ("32 [m : 2 / 1, n : 8 / 1, k : 1]",): "spreads 2 of m, and a fold has 4 over the array's rows",
    ("32 [m : 4 / 1, k : 1, n : 8 / 1]",): "has n innermost, and the array streams k in each fold",
    ("2 [m : 8 / 4]", FOLDS): "spreads m over clusters, and the machine has one array",
    ("1 [m : 6]", FOLDS): "has tiles of 6 of m, which are no whole folds of 4",
    ("1 [m : 8]", "1 [n : 16]", FOLDS): "has 3 levels, and the machine two: the scratchpad and the array",
}


@pytest.mark.parametrize("levels", REFUSED)
def test_what_is_not_followed_says_why(levels: tuple[str, ...]) -> None:
    assert followed_schedule(clusters(*levels), gemm(16, 24, 20), ARRAY) == REFUSED[levels]


def test_machines_and_nests_that_follow_nothing() -> None:
    nest = gemm(16, 24, 20)
    said = followed_schedule(clusters(FOLDS), nest, Array(4, 8, "rs"))
    assert said == "is for an array that streams operands, and this one has rows of filters stationary"
    assert followed_schedule(clusters(FOLDS), nest, ARRAY, 2) == "is for one array, and this machine has 2"
    assert followed_schedule(clusters(FOLDS), fused(nest), ARRAY) == (
        "is for several products at once, of which the array computes one"
    )


def module(mapping: str, m: int = 1024, n: int = 1024, k: int = 4096) -> str:
    return (
        f"func.func @f(%x: tensor<{m}x{k}xbf16>, %w: tensor<{k}x{n}xbf16>) -> tensor<{m}x{n}xbf16> {{\n"
        f"  %y = npu.contract (m = {m}, n = {n}, k = {k}) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) "
        f"do(Y += X * W) {{mapping = #mapping.clusters<{mapping}>}} : (tensor<{m}x{k}xbf16>, tensor<{k}x{n}xbf16>)"
        f" -> tensor<{m}x{n}xbf16>\n  func.return %y : tensor<{m}x{n}xbf16>\n}}\n"
    )


ON_OS = "16384 [m : 128 / 1, n : 128 / 1, k : 1]"
FAST_DRAM = {"dram.gb_per_s": 600}


def scored(
    text: str, backend: str, overrides: Mapping[str, object] | None = None, pipeline: str | None = None
) -> Report:
    settings = FAST_DRAM if overrides is None else overrides
    return compile_source(text, "mlir", backend=backend, hardware="igo-large", overrides=settings, pipeline=pipeline)


@pytest.mark.parametrize(
    ("dataflow", "mapping"),
    [
        ("os", f"1 [m : 512, n : 256, k : 1024], {ON_OS}"),
        ("os", f"1 [n : 256, m : 512, k : 512], {ON_OS}"),
        ("ws", "1 [m : 512, n : 256, k : 512], 16384 [k : 128 / 1, n : 128 / 1, m : 1]"),
        ("is", "1 [m : 512, n : 512, k : 512], 16384 [k : 128 / 1, m : 128 / 1, n : 1]"),
    ],
)
def test_both_models_agree_on_full_arrays(dataflow: str, mapping: str) -> None:
    """One mapping of a product that fills the array, where neither model waits for memory for long: within a tenth."""
    overrides = {**FAST_DRAM, "dram.gb_per_s": 2000, "array.dataflow": dataflow}
    text = module(mapping)
    mapped, timed = scored(text, "maestro", overrides), scored(text, "cycle", overrides)
    steps = 1024 * 1024 * 4096 // 128**2
    assert mapped.totals.cycles is not None
    assert timed.totals.cycles is not None
    assert mapped.totals.cycles >= steps
    assert timed.totals.cycles >= steps
    assert timed.totals.cycles == pytest.approx(mapped.totals.cycles, rel=0.1)
    assert timed.totals.utilization == pytest.approx(mapped.totals.utilization, rel=0.1)


def test_the_schedule_is_that_of_the_mapping_and_the_difference_is_told() -> None:
    report = scored(module(f"1 [n : 256, m : 512, k : 1024], {ON_OS}"), "cycle")
    (row,) = report.ops
    assert row.schedule is not None
    assert (row.schedule.order, row.schedule.tile) == (["n", "m", "k"], {"m": 512, "n": 256, "k": 1024})
    (told,) = (one for one in report.warnings if "follows its mapping" in one)
    numbers = [int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*", told)]
    assert numbers[1:3] == [262_144, row.cycles]
    assert sum(numbers[1:2] + numbers[3:5]) == row.cycles


RULES: dict[str, tuple[dict[str, object], ...]] = {
    "order 'K Y' at level 1 (rule 1)": ({"level": 1, "order": "K Y"},),
    "tiles 'C=all' at level 1 (rule 2)": ({"level": 2, "spread": "K Y"}, {"level": 1, "tiles": "C=all"}),
    "fanout 8192 at level 2 (rule 1)": ({"level": 2, "fanout": 8192}, {"utilization": 1.0}),
    "": ({"level": 1, "order": "Y K", "layers": "*"}, {"kind": "convolution", "spread": "none"}),
}


@pytest.mark.parametrize("breaks", RULES)
def test_what_a_followed_mapping_breaks_of_the_machines_rules_is_told(breaks: str) -> None:
    """As the backend maestro tells it, and without another number."""
    text = module(f"1 [m : 512, n : 256, k : 1024], {ON_OS}", m=1000)
    own = {**FAST_DRAM, "constraints.rules": list(RULES[breaks])}
    found = {backend: scored(text, backend, own) for backend in ("cycle", "maestro")}
    for report in found.values():
        told = [one.partition(": ")[2] for one in report.warnings if "constraints" in one]
        assert told == [f"its mapping breaks {breaks} of the machine's constraints"] * bool(breaks)
    assert found["cycle"].ops == scored(text, "cycle").ops


def test_one_level_is_a_fold_a_tile() -> None:
    (row,) = scored(module(ON_OS, 256, 512, 64), "cycle").ops
    assert row.schedule is not None
    assert (row.schedule.order, row.schedule.tile) == (["m", "n"], {"m": 128, "n": 128, "k": 64})


def test_refusals_come_before_anything_else() -> None:
    with pytest.raises(SourceError, match="its mapping spreads 64 of m, and a fold has 128 over the array's rows"):
        scored(module("16384 [m : 64 / 1, n : 128 / 1, k : 1]"), "cycle")
    with pytest.raises(CapacityError, match="the tiles of its mapping take 9,437,184 bytes of the scratchpad"):
        scored(module(f"1 [m : 512, n : 512], {ON_OS}"), "cycle")
    with pytest.raises(NpucError, match="its schedule is not what its mapping says"):
        scored(module(ON_OS, 256, 512, 64), "cycle", pipeline='tile{steps="m:64"}')


def test_no_pass_changes_what_a_mapping_says() -> None:
    """The level of -O, given or by default, is for programs without one."""
    text = module(ON_OS, 256, 512, 64)
    said = "-O2: its passes are left out, since mappings of the source say what runs"
    for level, told in ((None, []), (0, []), (2, [said])):
        report = compile_source(
            text, "mlir", backend="cycle", hardware="igo-large", overrides=FAST_DRAM, opt_level=level
        )
        assert report.pipeline == 'set-precision{to="bf16"},schedule'
        assert [one for one in report.warnings if one.startswith("-O")] == told
    with pytest.raises(UsageError, match="unknown optimisation level 9"):
        compile_source(text, "mlir", backend="cycle", hardware="igo-large", overrides=FAST_DRAM, opt_level=9)


def test_passes_that_map_and_schedule() -> None:
    """A mapping that passes write is followed, too, or refused."""
    text = module(ON_OS, 256, 512, 64).replace(f"{{mapping = #mapping.clusters<{ON_OS}>}} ", "")
    with pytest.raises(SourceError, match="its mapping spreads n over clusters, and the machine has one array"):
        scored(text, "cycle", pipeline="map{mapping=kcp_ws num-pes=16384}")


def test_simulators_of_folds_follow_none() -> None:
    overrides = {"cycle.compat": "scalesim3", "array.rows": 128, "array.cols": 128, "array.dataflow": "os"}
    with pytest.raises(SourceError, match="'scalesim3' follows no mapping"):
        compile_source(module(ON_OS, 256, 512, 64), "mlir", backend="cycle", hardware="scalesim", overrides=overrides)
