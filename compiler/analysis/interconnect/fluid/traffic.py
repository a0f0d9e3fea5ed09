"""
What is sent: flows that each have a start and a size, or a collective in which hosts go from step to step.

A traffic has as many flows at once as columns. It begins flows when their time has come or what they need is there;
times are in steps of the engine, and their fractions say when within a step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from npuc.compiler.analysis.interconnect.fluid.fabric import ClosFabric
from npuc.compiler.analysis.interconnect.fluid.routes import Bools, Floats, FlowRoutes, Ints, Routing, clos_routes
from npuc.compiler.core.errors import UsageError

Algorithm = Literal["ring", "halving-doubling", "pairwise"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)


@dataclass(frozen=True)
class Starts:
    """
    Flows that begin in a step: their columns, bytes, and when within the step; the ports [hop, flow] and hosts that
    they go to where these are others than before, and else None.
    """

    columns: Ints
    sizes: Floats
    offsets: Floats
    routes: FlowRoutes | None = None


class Traffic(ABC):
    """Flows over time; `routes` are those of the first ones."""

    routes: FlowRoutes

    @property
    def flows(self) -> int:
        """How many flows there are at once."""
        return len(self.routes.source)

    @abstractmethod
    def begin(self, step: int, finished: Floats) -> Starts | None:
        """
        The flows that begin in this step; `finished` says when the flow of each column was delivered, in steps, and is
        infinite while it was not. A flow that begins is not finished.
        """

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether no more flows begin."""


class FlowTraffic(Traffic):
    """
    Flows with routes, sizes in bytes, and starts in nanoseconds.

    Raises `UsageError` for sizes and starts that are none.
    """

    def __init__(self, routes: FlowRoutes, sizes: Floats, starts_ns: Floats, step_ns: int) -> None:
        if not (np.isfinite(sizes).all() and (sizes > 0).all()):
            raise UsageError("a flow has more than 0 bytes, and not infinitely many")
        if not (np.isfinite(starts_ns).all() and (starts_ns >= 0).all()):
            raise UsageError("a flow begins at a time from 0 on")
        self.routes = routes
        self._sizes = sizes
        self._at = starts_ns / step_ns
        self._left: Bools = np.ones(len(sizes), np.bool_)

    def begin(self, step: int, finished: Floats) -> Starts | None:
        due = self._left & (self._at < step + 1)
        if not due.any():
            return None
        self._left &= ~due
        columns = np.nonzero(due)[0]
        return Starts(columns, self._sizes[columns], self._at[columns] - step)

    @property
    def done(self) -> bool:
        return not self._left.any()


@dataclass(frozen=True)
class CollectivePlan:
    """
    A collective of so many hosts by steps: in step s, host i sends `sizes[s]` bytes to `target(s)[i]`, once what it
    sent and received in the step before is there.
    """

    hosts: int
    sizes: tuple[float, ...]
    target: Callable[[int], Ints]

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.sizes)


def collective_plan(algorithm: Algorithm, hosts: int, size: int) -> CollectivePlan:
    """
    An all-reduce of `size` bytes a host by a ring or by halving and doubling, the nearest first; or an all-to-all of
    `size` bytes a host, with one other host at a time.

    Raises `UsageError` for fewer than two hosts, and where halving and doubling finds no power of two.
    """
    if hosts < 2 or size < 1:
        raise UsageError(f"a collective has two hosts or more and a byte or more, not {hosts} and {size}")
    own = np.arange(hosts, dtype=np.int64)
    if algorithm == "ring":
        after = (own + 1) % hosts
        return CollectivePlan(hosts, (size / hosts,) * (2 * hosts - 2), lambda step: after)
    if algorithm == "pairwise":
        return CollectivePlan(hosts, (size / hosts,) * (hosts - 1), lambda step: (own + step + 1) % hosts)
    levels = hosts.bit_length() - 1
    if hosts != 1 << levels:
        raise UsageError(f"halving and doubling is for a power of two of hosts, not {hosts:,}")
    order = [*range(levels), *reversed(range(levels))]
    return CollectivePlan(hosts, tuple(size / 2 ** (one + 1) for one in order), lambda step: own ^ (1 << order[step]))


class CollectiveTraffic(Traffic):
    """The flows of a collective over a fabric, a column for each host. Raises `UsageError` where hosts are missing."""

    def __init__(self, fabric: ClosFabric, plan: CollectivePlan, routing: Routing, seed: int = 0) -> None:
        if plan.hosts > fabric.all_hosts:
            raise UsageError(f"the collective has {plan.hosts:,} hosts, the fabric {fabric.all_hosts:,}")
        self._fabric, self._plan, self._seed = fabric, plan, seed
        self._routing: Routing = routing
        self.routes = self._routes(0)
        self._step: Ints = np.full(plan.hosts, -1, np.int64)
        self._source: Ints = np.argsort(plan.target(0))

    def _routes(self, step: int) -> FlowRoutes:
        own = np.arange(self._plan.hosts, dtype=np.int64)
        return clos_routes(self._fabric, own, self._plan.target(step), self._routing, self._seed)

    @property
    def done(self) -> bool:
        return bool((self._step == self._plan.steps - 1).all())

    def begin(self, step: int, finished: Floats) -> Starts | None:
        own = np.isfinite(finished)
        if step == 0:
            ready: Bools = np.ones(len(own), np.bool_)
            ends = np.zeros(len(own))
        else:
            # a source that has gone on has delivered its part before
            ahead = self._step[self._source] > self._step
            ready = own & (ahead | ((self._step[self._source] == self._step) & own[self._source]))
            ready &= self._step < self._plan.steps - 1
            ends = np.where(ready, finished, 0.0)
            ends = np.where(ready & ~ahead, np.maximum(ends, finished[self._source]), ends)
        columns = np.nonzero(ready)[0]
        if not len(columns):
            return None
        self._step[columns] += 1
        return self._started(step, columns, ends[columns])

    def _started(self, step: int, columns: Ints, ends: Floats) -> Starts:
        now = self._step[columns]
        sizes = np.array(self._plan.sizes)[now]
        ports, target = self.routes.ports.copy(), self.routes.target.copy()
        for one in np.unique(now).tolist():
            here = columns[now == one]
            routes = self._routes(one)
            ports[:, here], target[here] = routes.ports[:, here], routes.target[here]
            self._source[here] = np.argsort(self._plan.target(one))[here]
        changed = bool((target != self.routes.target).any())
        self.routes = FlowRoutes(ports, self.routes.source, target, self._fabric.nowhere)
        return Starts(columns, sizes, np.maximum(ends - step, 0.0), self.routes if changed else None)
