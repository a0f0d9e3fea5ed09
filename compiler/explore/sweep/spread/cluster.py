"""
Scores points on the workers of a Dask cluster, in batches: `npuc sweep … --dask ADDRESS|local`.

A batch is a task of the cluster. A worker that dies loses its batch to another one, which the scheduler sees to; a
batch whose workers died too often is handed out again here, some times. Points come back in order, whichever worker
was first, so that what is written is what one process writes, and a sweep that ends early continues from its file.

Each worker process reads the source once, and keeps what points share from batch to batch. It answers one batch at a
time, however many threads it has.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.score import version
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.points import Points
from npuc.compiler.explore.sweep.spread.processes import batches

LOCAL = "local"
"""In place of an address: a cluster on this machine, which ends with the sweep."""
AHEAD = 3
"""The batches in work and queued for each thread of the cluster."""
ATTEMPTS = 4
"""How often a batch is handed out; the scheduler tries each time some workers."""
SECONDS_TO_CONNECT = 30
"""How long the scheduler has to answer, and then a worker to be there."""


@dataclass(frozen=True)
class ScoringTask:
    """What workers need to score any points: the pickled scorer, its hash, and the version of npuc that made it."""

    scorer: bytes
    digest: str
    version: str


def score_on_cluster(points: Points, indices: range, address: str, jobs: int | None) -> Iterator[SweepPoint]:
    """
    The points of those numbers, in order, by the workers of the cluster at an address, or by `jobs` processes of a
    cluster of its own where that is `local`. Raises the exception of a point, and `UsageError` where there is no
    cluster, or no package to speak to it.
    """
    own = pickle.dumps(Points(points.source, points.grid, points.backend, points.options))
    task = ScoringTask(own, hashlib.sha256(own).hexdigest(), version())
    with _connected(address, jobs) as client:
        yield from _Batches(client, task, address).score(points, indices)


class _Batches:
    """The batches of a sweep on a cluster."""

    def __init__(self, client: Any, task: ScoringTask, address: str):
        self._client, self._task, self._address = client, task, address
        self._distributed = _package()

    def score(self, points: Points, indices: range) -> Iterator[SweepPoint]:
        """The points, in order; a limited number of batches is out at a time."""
        out = deque[tuple[range, Any]]()
        try:
            for batch in batches(points, indices, self._threads):
                out.append((batch, self._submit(batch)))
                if len(out) >= AHEAD * self._threads:
                    yield from self._answer(*out.popleft())
            while out:
                yield from self._answer(*out.popleft())
        finally:
            self._client.cancel([future for _, future in out])

    @property
    def _threads(self) -> int:
        """The threads of all workers that there are now; more may come and go."""
        return max(1, sum(self._client.nthreads().values()))

    def _submit(self, batch: range) -> Any:
        return self._client.submit(score_batch, self._task, batch, pure=False)

    def _answer(self, batch: range, future: Any) -> list[SweepPoint]:
        for left in reversed(range(ATTEMPTS)):
            try:
                return future.result()
            except self._distributed.KilledWorker:
                if not left:
                    raise UsageError(
                        f"the workers at {self._address} died while they scored points {batch.start:,} to "
                        f"{batch.stop - 1:,}, each time",
                        hint="out of memory? the log of a worker says why",
                    ) from None
                future = self._submit(batch)
            except (self._distributed.client.FutureCancelledError, OSError):
                raise UsageError(
                    f"the scheduler at {self._address} is gone", hint="with --csv FILE the same command continues"
                ) from None
        raise AssertionError("the last attempt returns or raises")


_lock = Lock()
_scorers: dict[str, Points] = {}


def score_batch(task: ScoringTask, indices: range) -> list[SweepPoint]:
    """The points of those numbers, in a worker. Raises `UsageError` where it has another npuc."""
    with _lock:
        if version() != task.version:
            raise UsageError(
                f"a worker of the cluster has npuc {version()}, the sweep is one of npuc {task.version}",
                hint="install the same version on all machines",
            )
        if task.digest not in _scorers:
            _scorers.clear()
            _scorers[task.digest] = pickle.loads(task.scorer)
        return _scorers[task.digest].score_all(indices)


@contextmanager
def _connected(address: str, jobs: int | None) -> Generator[Any]:
    """A client of the cluster, which has a worker. A local cluster ends with it."""
    distributed = _package()
    connect = partial(distributed.Client, set_as_default=False, timeout=SECONDS_TO_CONNECT)
    if address == LOCAL:
        count = jobs or os.cpu_count() or 1
        with (
            distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
            ) as cluster,
            connect(cluster) as client,
        ):
            yield client
        return
    try:
        client = connect(address)
    except (OSError, ValueError, TimeoutError) as e:
        raise UsageError(
            f"no Dask scheduler answers at {address}: {e}", hint="--dask tcp://HOST:8786, or --dask local"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
        except TimeoutError:
            raise UsageError(
                f"the scheduler at {address} has no worker",
                hint=f"on each machine: dask worker {address} --nthreads 1",
            ) from None
        yield client


def _package() -> Any:
    """Dask's package for clusters. Raises `UsageError` where it is not installed."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise UsageError("--dask needs Dask, which is not installed", hint='pip install "npuc[dask]"') from None
