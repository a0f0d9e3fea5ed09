"""Operations that are known by their cost alone: priced by every backend, said to be assumed, and never run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npuc.compiler import compile_source, optimize_source, run_source
from npuc.compiler.core.errors import NpucError, SourceError
from npuc.compiler.driver.check import check_program
from npuc.compiler.explore.plot.metrics import metric_named
from npuc.compiler.explore.sweep.partial import Partial
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.compiler.report import OpRow, Report, report_from_json
from npuc.compiler.report.as_csv import total_names
from npuc.frontends.source import text_source

NET = """
network net(batch=8) {
  input x: f32[batch, 16]
  labels y: i32[batch]
  w = param([16, 4])
  h = linear(x, 16)
  z = opaque("acme.fuse", [h, w], [[batch, 4]], macs=batch*64, vector=batch*4, batch=[0, -1, 0]ARGS)
  loss cross_entropy(z, y)
  optimizer sgd(lr=0.1)
}
"""
TEXT = NET.replace("ARGS", "")
BACKENDS = ("cycle", "roofline", "maestro", "hetero")


def rows_of(report: Report) -> list[OpRow]:
    return [row for row in report.ops if row.assumed is True]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_prices_it_and_says_that_it_is_assumed(backend: str) -> None:
    report = compile_source(TEXT, backend=backend)
    own = rows_of(report)
    assert [(row.name, row.phase, row.macs, row.vector_ops) for row in own] == [
        ("z", "forward", 512, 32),
        ("z", "dxdw", 1024, 64),
    ]
    assert all(row.seconds and row.native["operator"] == "acme.fuse" for row in own)
    assumed, totals = report.totals.assumed, report.totals
    assert assumed
    assert assumed.macs == 1536 / (totals.macs or 0)
    assert assumed.seconds == pytest.approx(sum(row.seconds or 0 for row in own) / (totals.seconds or 0))
    assert report_from_json(report.to_json()) == report
    assert '"assumed": true' in report.to_json()
    assert (
        '"assumed"'
        not in compile_source(
            TEXT.replace('opaque("acme.fuse", [h, w], [[batch, 4]],', "matmul(h, w) #"), backend=backend
        ).to_json()
    )


def test_its_cycles_are_those_of_a_full_array_or_of_the_channel() -> None:
    fast = {"array.rows": 4, "array.cols": 4, "array.cores": 1, "vector.lanes": 1, "dram.gb_per_s": 1e5}
    row = rows_of(compile_source(TEXT, backend="cycle", hardware="igo-small", overrides=fast))[0]
    assert row.compute_cycles == 512 // 16 + 32
    assert row.cycles == row.compute_cycles
    assert row.utilization == 512 / (16 * 64)
    slow = {**fast, "dram.gb_per_s": 0.001}
    bound = rows_of(compile_source(TEXT, backend="cycle", hardware="igo-small", overrides=slow))[0]
    assert bound.limit == "dram"
    assert bound.compute_cycles == row.compute_cycles
    width = 2
    assert bound.dram_read_bytes == width * (8 * 16 + 16 * 4)
    assert bound.dram_write_bytes == width * 8 * 4


@pytest.mark.parametrize(
    ("arguments", "macs", "vector"),
    [
        ("", 1024, 64),
        (", backward_macs=5", 5, 64),
        (", backward_vector=7", 1024, 7),
        (", backward_macs=0, backward_vector=0", 0, 0),
    ],
)
def test_its_backward_costs_what_is_stated(arguments: str, macs: int, vector: int) -> None:
    for backend in BACKENDS:
        report = compile_source(NET.replace("ARGS", arguments), backend=backend)
        backward = [row for row in rows_of(report) if row.phase != "forward"]
        assert [(row.macs, row.vector_ops) for row in backward] == [(macs, vector)], backend


def test_gradients_of_data_or_parameters_alone_cost_all_of_it() -> None:
    data = TEXT.replace("w = param([16, 4])", "w = frozen param([16, 4])")
    assert [(row.phase, row.macs) for row in rows_of(compile_source(data))] == [("forward", 512), ("dx", 1024)]
    weights = TEXT.replace("[h, w]", "[x, w]")
    assert [(row.phase, row.macs) for row in rows_of(compile_source(weights))] == [("forward", 512), ("dw", 1024)]


def test_without_work_it_has_an_operation_an_element_of_its_largest_tensor() -> None:
    text = TEXT.replace("macs=batch*64, vector=batch*4, ", "")
    assert [(row.macs, row.vector_ops) for row in rows_of(compile_source(text))] == [(0, 128), (0, 256)]


@pytest.mark.parametrize("backend", ["cycle", "roofline"])
def test_devices_split_its_batch_or_repeat_it(backend: str) -> None:
    shared = rows_of(compile_source(TEXT, backend=backend, devices=4, parallel="dp", opt_level=0))
    assert [row.macs for row in shared] == [128, 256]
    whole = rows_of(compile_source(TEXT.replace(", batch=[0, -1, 0]", ""), backend=backend, devices=4, parallel="dp"))
    assert [row.macs for row in whole] == [512, 1024]


@pytest.mark.parametrize(("precision", "recompute"), [("bf16", None), ("mixed", None), (None, "full")])
def test_it_goes_through_passes(precision: str | None, recompute: str | None) -> None:
    report = compile_source(TEXT, backend="cycle", precision=precision, recompute=recompute)
    assert sum(row.macs or 0 for row in rows_of(report)) >= 1536


def test_lowered_as_well_as_forward_the_roofline_prices_it() -> None:
    rows = rows_of(compile_source(TEXT, backend="roofline", pipeline="autodiff,lower-to-npu"))
    assert [row.macs for row in rows] == [512, 1024]


def test_a_run_and_a_check_refuse_it_before_anything_is_computed() -> None:
    two = TEXT.replace("loss cross", 'u = opaque("acme.other", [z], [[batch, 4]])\n  loss cross').replace(
        "_entropy(z", "_entropy(u"
    )
    with pytest.raises(SourceError, match=r"only the cost of 'acme.fuse', 'acme.other' is known") as caught:
        run_source(two)
    assert caught.value.location is not None
    with pytest.raises(SourceError, match=r"only the cost of 'acme.fuse', 'acme.other' is known"):
        check_program(text_source(two, "dsl", "net.dsl"), {})


UNITS = {"name": "a", "kind": "dense", "pes": 4, "buffer_kib": 1}
LARGER = {"name": "b", "kind": "dense", "pes": 8, "buffer_kib": 1}
SPARSE = {"name": "c", "kind": "row-wise", "pes": 64, "buffer_kib": 1}


def test_of_several_units_the_largest_dense_one_has_its_macs() -> None:
    sets = {"units": [UNITS, LARGER, SPARSE], "vector.lanes": 4, "dram.gb_per_s": 1e6}
    own = rows_of(compile_source(TEXT, backend="hetero", overrides=sets))
    assert [(row.kind, row.cycles, row.limit) for row in own] == [
        ("matrix", 512 // 8 + 32 // 4, "compute"),
        ("matrix", 1024 // 8 + 64 // 4, "compute"),
    ]
    assert own[0].utilization == 512 / (76 * 72)


def test_units_for_sparse_operands_alone_do_not_take_its_macs() -> None:
    with pytest.raises(NpucError, match=r"no unit takes the MACs of 'acme.fuse'.*none is dense"):
        compile_source(TEXT, backend="hetero", overrides={"units": [SPARSE]})


def test_points_of_a_sweep_say_the_shares_that_are_assumed() -> None:
    (alone,) = rows_of(compile_source(TEXT, inference=True))
    found = Sweep(text_source(TEXT, "dsl", "net.dsl"), {"dram.gb_per_s": [1, 2]}, None, {"inference": True})
    for point in found.points():
        assert point.totals is not None
        assert point.totals.assumed
        row = point.row(found.grid.totals)
        assert row["assumed.macs"] == (alone.macs or 0) / (point.totals.macs or 0)
        assert [*row][-6:-1] == [name for name in row if name.startswith("assumed.")]
    without = TEXT.replace('opaque("acme.fuse", [h, w], [[batch, 4]],', "matmul(h, w) #")
    bare = Sweep(text_source(without, "dsl", "net.dsl"), {"O": [0, 2]}, None, {})
    assert not any(name.startswith("assumed.") for name in bare.grid.totals)


def ignore(point: SweepPoint) -> None:
    """A point that a file had is not looked at."""


def test_points_that_were_written_come_back_with_their_shares(tmp_path: Path) -> None:
    bare = TEXT.replace('opaque("acme.fuse", [h, w], [[batch, 4]],', 'matmul(h, w)  # opaque("acme.fuse"')
    for number, text in enumerate((TEXT, bare)):
        sweep = Sweep(text_source(text, "dsl", "net.dsl"), {"dram.gb_per_s": [1, 2]}, None, {})
        assert sweep.grid.assumed
        points, found, path = list(sweep.points()), list[SweepPoint](), str(tmp_path / f"{number}.csv")
        for keep in (ignore, found.append):
            with Partial(path, sweep.grid, "abc", keep) as file:
                for point in points[file.rows :]:
                    file.add(point)
        assert [point.totals for point in found] == [point.totals for point in points]


def test_a_share_is_drawn_in_percent() -> None:
    for name in total_names(assumed=True)[-5:]:
        metric = metric_named(name, [name])
        assert metric is not None
        assert metric.text(0.125) == "12.5 %"
        assert metric.title.startswith("assumed share of ")


def test_a_front_has_the_shares_that_are_assumed() -> None:
    found = optimize_source(TEXT, vary={"array.rows": [4, 8]}, goals=("assumed.macs",), hardware="igo-small")
    names, *lines = (line.split(",") for line in found.to_csv().splitlines())
    assert len(lines) == len(found.front) > 0
    rows = json.loads(found.to_json())["front"]
    for point, line, row in zip(found.front, lines, rows, strict=True):
        share = point.numbers["assumed.seconds"]
        assert 0 < share < 1
        assert float(line[names.index("assumed.seconds")]) == row["totals"]["assumed.seconds"] == share


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('opaque("f", [x], [])', "found an empty list, expected a shape for each result"),
        ('opaque("f", [x], [[2, 0]])', "found a size below 1"),
        ('opaque("f", [x], [[2]], ["f32", "f32"])', "found 2 types, expected one for each of 1 shapes"),
        ('opaque("f", [x], [[2]], ["f31"])', "found 'f31', expected one of f32"),
        ('opaque("f", [x], [2])', "shapes"),
        ('opaque("", [x], [[2]])', "operator is '', expected a name"),
        ('opaque("f", [x], [[2]], macs=0-1)', "macs is -1, expected 0 to"),
        ('opaque("f", [x], [[2]], batch=[0])', r"batch is \[0\], expected an axis for each"),
    ],
)
def test_wrong_arguments_are_refused(call: str, message: str) -> None:
    text = f"network n() {{ input x: f32[2, 3]\n z = {call}\n output z }}"
    with pytest.raises(SourceError, match=message):
        compile_source(text, inference=True)
