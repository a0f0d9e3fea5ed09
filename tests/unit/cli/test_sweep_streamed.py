"""`npuc sweep` of more points than are kept: rows go to the file, the best points are shown."""

from pathlib import Path

import pytest

from npuc.compiler.explore.sweep import values
from npuc.compiler.explore.sweep.sweep import Sweep
from tests.unit.cli.conftest import Npuc

RUN = ("-b", "roofline", "--vary", "dram.gb_per_s=100:400:100", "--vary", "memory.cache_mib=1,2")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than five points are too many to be kept."""
    monkeypatch.setattr(values, "MOST_POINTS", 5)


def test_rows_are_those_of_a_sweep_that_keeps_its_points(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of one that was stopped and continued, by two processes; the table has the best points alone."""
    shown = npuc("sweep", "net.dsl", *RUN, "--csv", "a.csv")
    assert shown.status == 0
    assert "8 points of dram.gb_per_s (4) x memory.cache_mib (2)" in shown.out
    assert "these points alone are the best" in " ".join(shown.out.split())
    assert "verdict   The least time is at dram.gb_per_s=400" in shown.out
    points = Sweep.points

    def interrupted(self: Sweep, start: int = 0, *, jobs: int = 1, dask: str | None = None):
        for number, point in enumerate(points(self, start, jobs=jobs, dask=dask)):
            if number == 3:
                raise KeyboardInterrupt
            yield point

    with monkeypatch.context() as patch:
        patch.setattr(Sweep, "points", interrupted)
        assert npuc("sweep", "net.dsl", *RUN, "--csv", "b.csv").status == 130
    again = npuc("sweep", "net.dsl", *RUN, "--csv", "b.csv", "-j", "2")
    assert "had 3 of 8 points and was continued" in again.err
    assert again.out == shown.out
    monkeypatch.setattr(values, "MOST_POINTS", 100)
    assert npuc("sweep", "net.dsl", *RUN, "--csv", "c.csv", "-q").status == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes() == Path("c.csv").read_bytes()


def test_points_that_do_not_fit_are_counted(npuc: Npuc) -> None:
    outcome = npuc(
        "sweep", "net.dsl", "--vary", "memory.spm_kib=0.002,0.003", "--vary", "batch=2,4,8", "--csv", "-", "-q"
    )
    assert (outcome.status, outcome.out.count("the smallest tiles")) == (3, 6)


@pytest.mark.parametrize("more", [("--json", "x.json"), ("--plot", "x.svg"), ("--rows", "all")])
def test_what_needs_all_points_is_refused(npuc: Npuc, more: tuple[str, str]) -> None:
    outcome = npuc("sweep", "net.dsl", *RUN, "--csv", "a.csv", *more)
    assert outcome.status == 2
    assert " needs all points, and of more than 5 only the best are kept" in outcome.err
    assert not Path("a.csv").exists()
