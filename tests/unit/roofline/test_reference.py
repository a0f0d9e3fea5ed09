"""The roofline backend against the reference data: bytes exactly, times to 0.1 %."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.roofline.backend import RooflineBackend
from npuc.compiler import compile_file
from npuc.compiler.report import Report
from npuc.frontends import read_source
from npuc.frontends.source import open_source
from npuc.hardware import load_hardware

pytestmark = pytest.mark.oracle

DATA = Path(__file__).parents[2] / "oracle" / "data" / "roofline"
MACHINES: dict[str, dict[str, Any]] = {
    "time_ms_2080ti": {},
    "time_ms_thr23.04": {"compute.tflops": 23.04},
    "time_ms_bw1555": {"dram.gb_per_s": 1555.0},
}
CURVES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "resnet50_prototype_flush": ("resnet50", {}, {"roofline.oversize": "flush"}),
    "resnet50_prototype_retain": ("resnet50", {}, {"roofline.oversize": "retain"}),
    "gnmt_prototype_flush": ("gnmt", {}, {"roofline.compat": "prototype"}),
}
THESIS: dict[str, Any] = {"roofline.profile": "thesis", "roofline.order": "listed"}


def reference(name: str) -> list[dict[str, str]]:
    lines = (DATA / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def module_of(sample: str, defines: dict[str, Any]) -> ModuleOp:
    source = open_source(f"samples:{sample}")
    return read_source(source.text, filename=source.filename, defines=defines)


def reports(module: ModuleOp, keys: dict[str, Any], capacities: list[int]) -> Iterator[Report]:
    machines = [load_hardware("rtx2080ti", THESIS | keys | {"memory.cache_mib": mib}) for mib in capacities]
    for report in RooflineBackend().score_many(module, machines):
        assert isinstance(report, Report)
        yield report


@pytest.mark.parametrize("name", CURVES)
def test_whole_curve(name: str) -> None:
    """Every capacity: bytes in and out, the time, and what follows from them; every 4th on two more machines."""
    sample, defines, keys = CURVES[name]
    module, rows = module_of(sample, defines), reference(name)
    for column, machine in MACHINES.items():
        if machine:  # moves the same
            rows = rows[::4]
        capacities = [int(row["capacity_MiB"]) for row in rows]
        for row, report in zip(rows, reports(module, keys | machine, capacities), strict=True):
            totals = report.totals
            assert totals.dram_read_bytes == int(row["in_bytes"])
            assert totals.dram_write_bytes == int(row["out_bytes"])
            assert totals.seconds == pytest.approx(float(row[column]) / 1e3, rel=1e-3)
            if not machine:
                assert totals.utilization == pytest.approx(float(row["compute_util"]), rel=1e-3, abs=1e-4)
                share = (totals.seconds_by_kind["vector"] or 0.0) / (totals.seconds or 1.0)
                assert share == pytest.approx(float(row["type2_share"]), abs=1e-3)
                assert report.native["average_gb_per_s"] == pytest.approx(float(row["avg_bw_GBps_616"]), rel=1e-3)


@pytest.mark.parametrize("mib", [24, 250, 1000])
def test_a_compilation_is_a_point_of_the_curve(mib: int) -> None:
    """The public function gives the same numbers, row by row."""
    (row,) = [row for row in reference("resnet50_prototype_flush") if int(row["capacity_MiB"]) == mib]
    report = compile_file(
        "samples:resnet50", backend="roofline", hardware="rtx2080ti", overrides=THESIS | {"memory.cache_mib": mib}
    )
    assert report.totals.dram_read_bytes == int(row["in_bytes"])
    assert report.totals.dram_write_bytes == int(row["out_bytes"])
    assert report.totals.seconds == pytest.approx(float(row["time_ms_2080ti"]) / 1e3, rel=1e-3)
    (again,) = reports(module_of("resnet50", {}), {}, [mib])
    known = {"peak_bytes": report.totals.peak_bytes, "memory": report.totals.memory}  # what the program alone says
    assert replace(again.totals, **known) == report.totals
    assert again.native == report.native
