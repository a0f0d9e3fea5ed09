"""Backends that score one program on many machines: what a sweep asks them, and what they may answer."""

import sys
from collections.abc import Iterator, Sequence
from typing import Literal, cast

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.backends.base import Backend
from npuc.backends.registry import Outside, get_backend
from npuc.compiler import compile_source, sweep_source
from npuc.compiler.core.errors import CapacityError, NpucError, SourceError, UsageError
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.compiler.report import OpRow, Report, make_report
from npuc.frontends.source import text_source
from npuc.hardware import Hardware, load_hardware
from tests.unit.sweep.conftest import NET

MACHINES = [load_hardware("igo-large", {"dram.gb_per_s": rate}) for rate in (1, 2, 3)]


class Alone:
    """A backend without `score_many`: the bandwidth is the time, 2 does not fit."""

    name = "alone"
    level: Literal["train", "npu"] = "train"

    def supports(self, op: Operation) -> str | None:
        return None

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        rate = hardware.require("dram.gb_per_s", float, backend=self.name)
        if rate == 2:
            raise CapacityError("two")
        return make_report(self.name, {}, [OpRow(index=0, name="a", op="b", seconds=rate)])


class RoundRobin(Alone):
    """The same, which answers `extra` reports more or less."""

    def __init__(self, extra: int = 0, wrong: object = None):
        self.extra, self.wrong = extra, wrong

    def score_many(self, module: ModuleOp, machines: Sequence[Hardware]) -> Iterator[object]:
        for machine in [*machines, *machines][: len(machines) + self.extra]:
            try:
                yield self.wrong or self.score(module, machine)
            except NpucError as error:
                yield error


@pytest.mark.parametrize("backend", [Alone(), RoundRobin()])
def test_reports_come_in_order_with_errors_in_their_place(backend: Alone) -> None:
    first, second, third = Outside(cast("Backend", backend)).score_many(ModuleOp([]), MACHINES)
    assert isinstance(first, Report)
    assert isinstance(third, Report)
    assert (first.totals.seconds, third.totals.seconds) == (1.0, 3.0)
    assert isinstance(second, CapacityError)


def test_reports_come_one_by_one() -> None:
    """A machine is not asked for before the report of the last one was taken."""
    asked: list[Hardware] = []

    class Streaming(Alone):
        def score(self, module: ModuleOp, hardware: Hardware) -> Report:
            asked.append(hardware)
            return super().score(module, hardware)

    reports = Outside(cast("Backend", Streaming())).score_many(ModuleOp([]), MACHINES)
    next(reports)
    assert asked == MACHINES[:1]


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        (RoundRobin(extra=-1), "returned 2 reports of 3 machines"),
        (RoundRobin(extra=1), "returned 4 reports of 3 machines"),
        (RoundRobin(wrong="a report"), "returned str, expected a Report"),
    ],
)
def test_wrong_answers_are_the_backends_fault(backend: RoundRobin, message: str) -> None:
    with pytest.raises(SourceError, match=f"backend 'alone' {message}"):
        list(Outside(cast("Backend", backend)).score_many(ModuleOp([]), MACHINES))


@pytest.mark.usefixtures("outside")
def test_failures_of_outside_backends_are_their_own() -> None:
    with pytest.raises(SourceError, match="backend 'tick' failed: AttributeError"):
        list(get_backend("tick").score_many(cast("ModuleOp", "no module"), MACHINES))


@pytest.mark.usefixtures("outside")
def test_a_run_of_machines_is_asked_for_at_once() -> None:
    vary = {"batch": [1, 2], "hw": ["rtx2080ti", "a100"], "dram.gb_per_s": "0.5,1,2"}
    points = list(sweep_source(NET, vary=vary, backend="many-tick"))
    calls: list[int] = sys.modules["tick"].ManyTickBackend.calls
    assert calls == [6, 6]
    calls.clear()
    alone = list(sweep_source(NET, vary={**vary, "dram.gb_per_s": "1,2"}, backend="tick"))
    assert [point.totals for point in points if point.error is None] == [point.totals for point in alone]
    assert [point.error for point in points if point.totals is None] == ["too slow"] * 4


@pytest.mark.usefixtures("outside")
def test_a_run_that_was_begun_is_ended() -> None:
    vary = {"dram.gb_per_s": "1:10:1"}
    points = list(Sweep(text_source(NET, "dsl", "<string>"), vary, "many-tick", {}).points(start=7))
    assert [point.values["dram.gb_per_s"] for point in points] == [8, 9, 10]
    calls: list[int] = sys.modules["tick"].ManyTickBackend.calls
    assert calls == [3]
    calls.clear()


@pytest.mark.usefixtures("outside")
def test_processes_share_a_run() -> None:
    vary = {"batch": [1, 2], "dram.gb_per_s": "1:10:1"}
    assert list(sweep_source(NET, vary=vary, backend="many-tick", jobs=2)) == list(
        sweep_source(NET, vary=vary, backend="many-tick")
    )
    sys.modules["tick"].ManyTickBackend.calls.clear()


@pytest.mark.usefixtures("outside")
def test_a_key_that_the_machine_lacks_stops_the_sweep() -> None:
    with pytest.raises(UsageError, match=r"memory\.cache_mib=1: hardware 'custom' has no dram\.gb_per_s"):
        list(sweep_source(NET, vary={"memory.cache_mib": [1, 2]}, backend="tick", hardware={"clock_mhz": 1}))


@pytest.mark.usefixtures("outside")
def test_totals_are_those_of_compile() -> None:
    """Also those that a backend does not say, for each machine of a run."""
    sizes = (1, 2, 4)
    points = list(sweep_source(NET, vary={"memory.element_bytes": sizes}, backend="tick"))
    reports = [compile_source(NET, backend="tick", overrides={"memory.element_bytes": size}) for size in sizes]
    assert [point.totals for point in points] == [report.totals for report in reports]
    assert points[0].totals is not None
    assert points[0].totals.peak_bytes
