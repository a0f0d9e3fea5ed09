"""A layer that runs several times costs what its runs cost when they are written out."""

from collections import Counter
from typing import Any

import pytest

from npuc.compiler import CapacityError, Report, SourceError, compile_source

HEADER = "layer,M,N,K,count,has_dX\n"
COUNTED = HEADER + "a,8,16,32,3,1\nb,8,8,16,1,1\nc,24,8,16,2,0\n"
WRITTEN = HEADER + "a,8,16,32,1,1\na1,8,16,32,1,1\na2,8,16,32,1,1\nb,8,8,16,1,1\nc,24,8,16,1,0\nc1,24,8,16,1,0\n"
SHARED = """func.func @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %b = train.matmul %a, %a {layer = "l", repeat = 3 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = train.relu %b {layer = "r"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %c : tensor<4x4xf32>
}"""


def scored(table: str, pipeline: str | None, keys: dict[str, Any]) -> Report:
    return compile_source(table, "csv", "t.csv", backend="roofline", pipeline=pipeline, overrides=keys)


@pytest.mark.parametrize("pipeline", [None, "lower-to-npu"])
@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"memory.cache_mib": 0.004},
        {"memory.cache_mib": 0.004, "roofline.policy": "lru", "roofline.prefetch": "none"},
        {"memory.cache_mib": 0.002, "roofline.profile": "thesis"},
    ],
)
def test_runs_are_those_written_out(pipeline: str | None, keys: dict[str, Any]) -> None:
    counted, written = scored(COUNTED, pipeline, keys), scored(WRITTEN, pipeline, keys)
    assert counted.totals == written.totals
    assert counted.native == written.native
    assert [(row.phase, row.seconds, row.dram_read_bytes, row.tensors) for row in counted.ops] == [
        (row.phase, row.seconds, row.dram_read_bytes, row.tensors) for row in written.ops
    ]
    assert Counter(row.name for row in counted.ops if row.phase == "forward") == {"a": 3, "b": 1, "c": 2}


def test_backends_beside_each_other_count_alike() -> None:
    machine = {"compute.tflops": 10.0, "memory.cache_mib": 1}
    for opt_level in (0, 3):
        cycle, roofline = compile_source(
            COUNTED,
            "csv",
            "t.csv",
            backend=["cycle", "roofline"],
            hardware="igo-large",
            overrides=machine,
            opt_level=opt_level,
        )
        assert cycle.totals.macs == roofline.totals.macs == 3 * (3 * 4096 + 1024) + 2 * 2 * 3072


@pytest.mark.parametrize("pipeline", [None, "lower-to-npu"])
def test_runs_that_share_a_value_with_other_operations_are_refused(pipeline: str | None) -> None:
    with pytest.raises(SourceError, match=r"it runs 3 times and shares a value with \S+, which runs 1 times"):
        compile_source(SHARED, "mlir", "f.mlir", backend="roofline", pipeline=pipeline)


def test_more_runs_than_a_program_may_have_operations_are_refused() -> None:
    with pytest.raises(CapacityError, match="layer 'a' run 2,000,000 times, expected at most 200,000"):
        scored(HEADER + "a,8,16,32,2000000,1\n", None, {})
