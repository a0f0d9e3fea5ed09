"""The engine: points in order, what is varied, what is wrong before the first point, and what one point costs."""

import multiprocessing
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler import SweepPoint, compile_source, sweep_file, sweep_source
from npuc.compiler.core.errors import CapacityError, Location, SourceError, SourceErrors, UsageError
from npuc.compiler.explore.sweep.axes import read_vary
from npuc.compiler.explore.sweep.grid import Axis, Grid
from tests.unit.sweep.conftest import NET


def sweep(vary: Any, **options: Any) -> list[SweepPoint]:
    return list(sweep_source(NET, vary=vary, **options))


def test_points_are_what_compile_says_of_each() -> None:
    vary = {"memory.spm_kib": "1,64", "batch": [2, 4], "opt_level": [0, 3], "dram.gb_per_s": "75:150:75"}
    points = sweep(vary)
    combinations = list(product([1, 64], [2, 4], [0, 3], [75, 150]))
    assert [tuple(point.values.values()) for point in points] == combinations
    assert [point.index for point in points] == list(range(16))
    for point, (spm, batch, level, rate) in zip(points, combinations, strict=True):
        report = compile_source(
            NET,
            overrides={"memory.spm_kib": spm, "dram.gb_per_s": rate},
            defines={"batch": batch},
            opt_level=level,
        )
        assert point.totals == report.totals


def test_several_backends_are_varied_last() -> None:
    points = sweep({"batch": [1, 2]}, backend=["cycle", "cycle"])
    assert [point.values for point in points] == [
        {"batch": batch, "backend": name} for batch, name in product([1, 2], ["cycle", "cycle"])
    ]


def test_options_are_varied() -> None:
    points = sweep({"hw": ["igo-large", "igo-small"], "O": "0:1:1", "objective": "time,traffic"})
    assert len(points) == 8
    assert all(point.totals is not None for point in points)
    report = compile_source(NET, hardware="igo-small", opt_level=1, objective="traffic")
    assert points[-1].totals == report.totals
    assert points[-1].values == {"hw": "igo-small", "O": 1, "objective": "traffic"}


def test_a_row_has_the_keys_then_all_totals_then_the_error() -> None:
    (point,) = sweep({"memory.spm_kib": [64]})
    row = point.row()
    assert list(row)[:3] == ["memory.spm_kib", "cycles", "seconds"]
    assert list(row)[-2:] == ["tops_per_mm2", "error"]
    assert point.totals is not None
    assert row["seconds_by_kind.matrix"] == point.totals.seconds_by_kind["matrix"]


def test_a_point_that_does_not_fit_does_not_lose_the_rest() -> None:
    bad, good = sweep({"memory.spm_kib": [0.004, 64]})
    assert bad.totals is None
    assert bad.error is not None
    assert "the smallest tiles need" in bad.error
    assert "\n" not in bad.error
    assert good.totals is not None
    assert list(bad.row()) == list(good.row())


def test_parameters_that_make_no_program_are_a_failed_point() -> None:
    zero, one = sweep({"batch": [0, 1]})
    assert zero.error is not None
    assert one.totals is not None


def test_a_wrong_program_stops_at_once() -> None:
    text = NET.replace("relu(", "reluu(")
    for vary in ({"memory.spm_kib": [1, 2]}, {"batch": [1, 2]}):
        with pytest.raises(SourceError, match="reluu"):
            list(sweep_source(text, vary=vary))


def test_wrong_usage_in_a_point_stops_at_once_and_says_where() -> None:
    points = sweep_source(NET, vary={"array.dataflow": ["ws", "os"]}, overrides={"array.overlap": "base"})
    assert next(points).totals is not None
    with pytest.raises(UsageError, match=r"array\.dataflow=os: array\.overlap applies only"):
        next(points)


@pytest.mark.parametrize(
    ("vary", "options", "message", "hint"),
    [
        ({}, {}, "there is nothing to vary", "for example"),
        ({"memory.spm_kb": [1]}, {}, "unknown hardware key 'memory.spm_kb'", "did you mean 'memory.spm_kib'?"),
        ({"spm_kib": [1]}, {}, "unknown key 'spm_kib'", "did you mean 'memory.spm_kib'?"),
        ({"bacth": [1]}, {}, "unknown key 'bacth'", "did you mean 'batch'?"),
        ({"zzz": [1]}, {}, "unknown key 'zzz'", "parameters of the network (batch, hidden, rate)"),
        ({"batch": []}, {}, "there are no values", None),
        ({"batch": "four"}, {}, 'found string "four", expected an integer', None),
        ({"batch": "1:2:0.5"}, {}, "--vary batch: network parameter 'batch': found float 1.0", None),
        ({"hidden": [1, 2, "x"]}, {}, "--vary hidden: network parameter 'hidden'", None),
        ({"array.rows": "0:8:4"}, {}, "expected an integer from 1 to 65,536, got 0", "rows of processing"),
        ({"array.rows": "many"}, {}, "got the string 'many'", "rows of processing"),
        ({"array.dataflow": "os,wss"}, {}, "got 'wss'", None),
        ({"network.groups": "a"}, {}, "a list of tables cannot be varied", "--vary hw=A.toml,B.toml"),
        ({"network.levels": [[{"kind": "ring", "size": 4, "gb_per_s": 1.0}]]}, {}, "a list of tables cannot", "A.yml"),
        ({"network.levels": [3]}, {}, "expected a list of tables with kind", "levels of the interconnect"),
        ({"O": "0:4:1"}, {}, "unknown optimisation level 4", None),
        ({"objective": "tmie"}, {}, "unknown objective 'tmie'", "did you mean 'time'?"),
        ({"backend": "cylce"}, {}, "unknown backend 'cylce'", "did you mean 'cycle'?"),
        ({"hw": "igo-larg"}, {}, "unknown hardware 'igo-larg'", "did you mean 'igo-large'?"),
        ({"hw": [3]}, {}, "expected the name of a preset or a file", None),
        ({"O": "0", "opt_level": "1"}, {}, "the key is varied twice, also as O", None),
        ({"O": "0"}, {"opt_level": 1}, "-O says what it is", "leave out -O"),
        ({"O": "0"}, {"pipeline": "autodiff"}, "-p replaces the passes of -O", None),
        ({"batch": "1"}, {"defines": {"batch": 2}}, "-D batch says what it is", None),
        ({"array.rows": "1"}, {"overrides": {"array.rows": 2}}, "--set array.rows says what it is", None),
        ({"hw": "a100"}, {"hardware": "igo-large"}, "--hw says what it is", None),
        ({"maestro.mapping": "rs"}, {"mapping": "nlr"}, "--mapping says what it is", "leave out --mapping"),
        ({"backend": "cycle"}, {"backend": "cycle"}, "-b says what it is", None),
        ({"objective": "time"}, {"objective": "time"}, "--objective says what it is", None),
        ({"batch": "1:400:1", "hidden": "1:400:1"}, {}, "160,000 points, the most is 100,000", "fewer values"),
        ({"batch": "1"}, {"print_after": "all"}, "does not show the IR", None),
        ({"batch": "1"}, {"jobs": 0}, "found 0 jobs", None),
        ({"batch": "1"}, {"backend": "cylce"}, "unknown backend 'cylce'", None),
    ],
)
def test_wrong_usage_is_said_before_any_point(
    vary: dict[str, Any], options: dict[str, Any], message: str, hint: str | None
) -> None:
    with pytest.raises(UsageError) as caught:
        sweep_source(NET, vary=vary, **options)  # not iterated
    assert message in caught.value.message
    if hint is not None:
        assert hint in (caught.value.hint or "")


def test_a_source_without_parameters_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        sweep_source("M,N,K\n1,2,3\n", "csv", vary={"qq": "1"})
    assert "a .csv source has no parameters" in (caught.value.hint or "")


def test_layer_tables_are_swept() -> None:
    points = list(sweep_source("M,N,K\n8,16,32\n", "csv", vary={"array.rows": "8,16"}))
    reports = [compile_source("M,N,K\n8,16,32\n", "csv", overrides={"array.rows": rows}) for rows in (8, 16)]
    assert [point.totals for point in points] == [report.totals for report in reports]


def test_files_are_swept(tmp_path: Path) -> None:
    (tmp_path / "net.dsl").write_text(NET)
    (point,) = sweep_file(tmp_path / "net.dsl", vary={"batch": "8"})
    assert point.totals == compile_source(NET, defines={"batch": 8}).totals


def test_processes_give_the_same_points_in_the_same_order() -> None:
    vary = {"memory.spm_kib": "0.004,1,64", "batch": "1:4:1"}
    points = sweep(vary, jobs=3)
    assert points == sweep(vary)
    assert [point.error is None for point in points] == [False] * 4 + [True] * 8


def test_errors_of_processes_are_raised() -> None:
    options: dict[str, Any] = {"overrides": {"array.overlap": "base"}}
    with pytest.raises(UsageError, match=r"array\.dataflow=os, batch=1"):
        sweep({"array.dataflow": "ws,os", "batch": "1:4:1"}, jobs=2, **options)
    text = NET.replace("relu(", "reluu(").replace("linear(h, 3)", "linearr(h, 3)")
    with pytest.raises(SourceErrors, match="reluu"):
        list(sweep_source(text, vary={"memory.spm_kib": [1, 2]}, jobs=2))


@pytest.mark.parametrize("taken", [0, 1])
def test_a_process_that_is_ended_from_outside_is_told_of(taken: int) -> None:
    before = set(multiprocessing.active_children())
    points = sweep_source(NET, vary={"memory.spm_kib": "1:60:1"}, jobs=2)
    for _ in range(1 + taken):
        next(points)
    first, *_ = sorted(set(multiprocessing.active_children()) - before, key=lambda process: process.pid or 0)
    first.kill()
    first.join()
    with pytest.raises(UsageError, match="ended from outside") as caught:
        list(points)
    assert caught.value.hint == "out of memory? try fewer --jobs"
    assert set(multiprocessing.active_children()) <= before


def test_errors_survive_pickling() -> None:
    place = Location("a.dsl", 1, 2)
    one = CapacityError("full", location=place, hint="less", source_line="x")
    both = SourceErrors([one, SourceError("wrong")])
    for error in (one, both):
        assert pickle.loads(pickle.dumps(error)).render() == error.render()


def test_a_grid_counts_its_last_axis_fastest() -> None:
    machine, network = Axis("a", "hardware", "a", (1, 2, 3)), Axis("b", "define", "b", ("x", "y"))
    grid = Grid((network, machine))
    assert (grid.count, grid.run) == (6, 3)
    assert [grid.values(n) for n in (0, 1, 3)] == [{"b": "x", "a": 1}, {"b": "x", "a": 2}, {"b": "y", "a": 1}]
    assert Grid((machine, network)).run == 1


def test_vary_items() -> None:
    assert read_vary(["a=1,2", " b = 1:2:1 "]) == {"a": "1,2", "b": "1:2:1"}
    for wrong in ("a", "a=", "=1"):
        with pytest.raises(UsageError, match=r"expected KEY=A,B,C or KEY=LO:HI:STEP"):
            read_vary([wrong])
    with pytest.raises(UsageError, match="the key is varied twice") as caught:
        read_vary(["a=1", "a=2"])
    assert caught.value.hint == "--vary a=1,2"
