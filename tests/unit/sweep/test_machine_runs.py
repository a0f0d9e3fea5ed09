"""Runs of machines on one program: each point is what `compile` says of it, however it is asked for."""

from collections.abc import Mapping
from typing import Any

import pytest

from npuc.compiler import compile_source, sweep_source
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import text_source
from tests.unit.sweep.conftest import NET

MAPPED = {
    "maestro.num_pes": [4, 16],
    "maestro.mapping": ["kcp_ws", "yxp_os"],
    "maestro.mode": ["exact", "parity"],
    "maestro.noc_bw": [1, 8],
}
CACHED = {
    "dram.gb_per_s": [1, 100],
    "memory.cache_mib": [0.0001, 0.0004, 0.01],
    "compute.tflops": [0.001, 1],
    "roofline.overlap": [True, False],
}


@pytest.mark.parametrize(("backend", "vary"), [("maestro", MAPPED), ("roofline", CACHED)])
def test_points_are_what_compile_says(backend: str, vary: Mapping[str, Any]) -> None:
    points = list(sweep_source(NET, vary=vary, backend=backend))
    assert len({str(point.totals) for point in points}) > len(points) // 3
    for point in points:
        if point.error is None:
            report = compile_source(NET, backend=backend, overrides=dict(point.values))
            assert report.totals == point.totals
            assert point.messages == tuple(f"warning: {one}" for one in report.warnings)
        else:
            with pytest.raises(Exception, match=r"needs|does not fit"):
                compile_source(NET, backend=backend, overrides=dict(point.values))
    sweep = Sweep(text_source(NET, "dsl", "<string>"), vary, backend, {})
    assert list(sweep_source(NET, vary=vary, backend=backend, jobs=2)) == points
    mixed = [*range(1, len(points), 2), *range(0, len(points), 2)]
    assert list(sweep.scorer.score_some(mixed)) == [points[number] for number in mixed]


@pytest.mark.parametrize("options", [{"mapping": "yxp_os"}, {"inference": True}])
def test_options_hold_for_all_machines(options: Any) -> None:
    for point in sweep_source(NET, vary={"maestro.num_pes": [4, 16]}, backend="maestro", **options):
        report = compile_source(NET, backend="maestro", overrides=dict(point.values), **options)
        assert report.totals == point.totals


def test_what_is_wrong_with_one_machine_is_said_with_its_point() -> None:
    vary = {"maestro.num_pes": [4, 16], "maestro.mapping": ["kcp_ws", "none"]}
    with pytest.raises(UsageError):
        list(sweep_source(NET, vary=vary, backend="maestro"))
