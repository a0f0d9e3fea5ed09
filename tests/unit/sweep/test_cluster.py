"""A sweep on a Dask cluster has the rows of one process, whatever dies meanwhile."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.sweep import sweep_source
from npuc.compiler.explore.sweep.points import Points
from npuc.compiler.explore.sweep.spread import cluster
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import text_source
from tests.unit.sweep.conftest import NET

COUNT = 40
VARY = {"memory.spm_kib": f"1:{COUNT}:1"}
ARGUMENTS = ["sweep", "net.dsl", "--vary", f"memory.spm_kib=1:{COUNT}:1", "-O1", "-q", "--csv"]


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """Two workers, which begin anew when they die."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
    ) as found:
        yield found


def rows(points: Iterator[Any]) -> list[dict[str, Any]]:
    return [point.row() for point in points]


def test_rows_are_those_of_one_process(workers: Any) -> None:
    vary = {"batch": "1,2,4", "memory.spm_kib": "0.004,1,2", "backend": "cycle,roofline,maestro"}
    assert rows(sweep_source(NET, vary=vary, dask=workers.scheduler_address)) == rows(sweep_source(NET, vary=vary))


def test_workers_that_are_killed_lose_nothing(workers: Any) -> None:
    chosen, ended, killed = random.Random(3), Event(), list[int]()

    def kill() -> None:
        while not ended.wait(chosen.uniform(0.1, 0.6)) and len(killed) < 2:
            pid = chosen.choice([nanny.pid for nanny in workers.workers.values()])
            if pid:  # it is about to begin anew
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = Thread(target=kill)
    killer.start()
    try:
        found = rows(sweep_source(NET, vary=VARY, dask=workers.scheduler_address))
    finally:
        ended.set()
        killer.join()
    assert killed
    assert found == rows(sweep_source(NET, vary=VARY))


def test_a_killed_client_continues(workers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at once, without a chance to say so, several times; each point is in the file once."""
    monkeypatch.chdir(tmp_path)
    Path("net.dsl").write_text(NET)
    code = "from npuc.compiler.cli import main; main()"
    partial, chosen = Path("rows.csv.partial"), random.Random(5)
    dask = ["--dask", workers.scheduler_address]
    for _ in range(2):
        before = partial.read_bytes().count(b"\n") if partial.exists() else 2
        with subprocess.Popen([sys.executable, "-c", code, *ARGUMENTS, "rows.csv", *dask]) as process:
            while process.poll() is None and not (
                partial.exists() and partial.read_bytes().count(b"\n") > before + chosen.randint(1, 10)
            ):
                time.sleep(0.01)
            process.kill()
    for target, options in (("rows.csv", dask), ("alone.csv", [])):
        subprocess.run([sys.executable, "-c", code, *ARGUMENTS, target, *options], check=True, stdout=subprocess.PIPE)
    assert Path("rows.csv").read_bytes() == Path("alone.csv").read_bytes()


def test_errors_of_workers_are_raised(workers: Any) -> None:
    options: dict[str, Any] = {"overrides": {"array.overlap": "base"}}
    with pytest.raises(UsageError, match=r"array\.dataflow=os, batch=1"):
        rows(
            sweep_source(
                NET, vary={"array.dataflow": "ws,os", "batch": "1:4:1"}, dask=workers.scheduler_address, **options
            )
        )


def test_an_address_without_scheduler_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 0.3)
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9") as caught:
        rows(sweep_source(NET, vary=VARY, dask="tcp://127.0.0.1:9"))
    assert caught.value.hint == "--dask tcp://HOST:8786, or --dask local"


def test_a_scheduler_without_workers_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 2)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs="CRITICAL") as empty,
        pytest.raises(UsageError, match="has no worker") as caught,
    ):
        rows(sweep_source(NET, vary=VARY, dask=empty.scheduler_address))
    assert caught.value.hint is not None
    assert "dask worker tcp://" in caught.value.hint


def test_jobs_are_of_this_machine() -> None:
    with pytest.raises(UsageError, match="--jobs is of this machine"):
        sweep_source(NET, vary=VARY, dask="tcp://127.0.0.1:9", jobs=2)


def test_dask_has_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="needs Dask") as caught:
        rows(sweep_source(NET, vary=VARY, dask="local"))
    assert caught.value.hint == 'pip install "npuc[dask]"'


def task(version: str) -> cluster.ScoringTask:
    found: Points = Sweep(text_source(NET, "dsl", "net.dsl"), VARY, None, {}).scorer
    return cluster.ScoringTask(pickle.dumps(found), "digest", version)


def test_a_worker_with_another_npuc_says_so() -> None:
    with pytest.raises(
        UsageError, match=r"a worker of the cluster has npuc .*, the sweep is one of npuc 0\.0"
    ) as caught:
        cluster.score_batch(task("0.0"), range(2))
    assert caught.value.hint == "install the same version on all machines"


class Killed(Exception):
    """What a client says of a task whose workers all died."""


class Deaths:
    """A client on whose cluster the first so many tasks kill their workers."""

    def __init__(self, count: int):
        self.left, self.cancelled = count, 0

    def nthreads(self) -> dict[str, int]:
        return {"one": 1}

    def submit(self, score: Any, *arguments: Any, pure: bool) -> Any:
        assert not pure
        return SimpleNamespace(result=lambda: self.result(score, *arguments))

    def result(self, score: Any, *arguments: Any) -> Any:
        if self.left:
            self.left -= 1
            raise Killed
        return score(*arguments)

    def cancel(self, futures: list[Any]) -> None:
        self.cancelled += len(futures)


@pytest.mark.parametrize("count", [cluster.ATTEMPTS - 1, cluster.ATTEMPTS])
def test_a_batch_is_handed_out_some_times(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = SimpleNamespace(KilledWorker=Killed, client=SimpleNamespace(FutureCancelledError=KeyError))
    monkeypatch.setitem(sys.modules, "distributed", errors)
    client = Deaths(count)

    def connected(address: str, jobs: int | None) -> Any:
        class Context:
            def __enter__(self) -> Deaths:
                return client

            def __exit__(self, *raised: object) -> None: ...

        return Context()

    monkeypatch.setattr(cluster, "_connected", connected)
    found = sweep_source(NET, vary={"memory.spm_kib": "1:9:1"}, dask="tcp://there")
    if count < cluster.ATTEMPTS:
        assert rows(found) == rows(sweep_source(NET, vary={"memory.spm_kib": "1:9:1"}))
        assert client.cancelled == 0
        return
    with pytest.raises(UsageError, match="died while they scored points 0 to 0, each time"):
        rows(found)
    assert client.cancelled == cluster.AHEAD - 1
