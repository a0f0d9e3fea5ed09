"""Queues of the fluid model against a queue of batches, one by one."""

from collections import deque

import numpy as np
import pytest

from npuc.compiler.analysis.interconnect.fluid.queues import KEPT, PortQueues, Wires
from npuc.compiler.analysis.interconnect.fluid.routes import FlowRoutes

PORTS = 3
ROUTES = FlowRoutes(np.array([[0, 1, 1, 2, 0], [1, 2, 0, 3, 3]]), np.arange(5), np.arange(5), PORTS)


def one_by_one(arrivals: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """What leaves [step, hop, flow]: each port sends its batches in order, mixed within a batch."""
    lines: list[deque[np.ndarray]] = [deque() for _ in range(PORTS)]
    found = np.zeros_like(arrivals)
    for step, came in enumerate(arrivals):
        for port, line in enumerate(lines):
            line.append(np.where(ROUTES.ports == port, came, 0.0))
            left = capacity[step, port]
            while line:
                total = line[0].sum()
                if total > left:
                    found[step] += line[0] * left / total
                    line[0] = line[0] * (1 - left / total)
                    break
                left -= total
                found[step] += line.popleft()
    return found


@pytest.mark.parametrize("seed", range(12))
def test_batches_leave_in_their_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    steps = 60
    arrivals = random.exponential(1.0, (steps, *ROUTES.ports.shape)) * (random.random(ROUTES.ports.shape) < 0.7)
    arrivals[:, ROUTES.ports == PORTS] = 0
    arrivals[steps // 2 :] *= 0.6
    capacity = np.full((steps, PORTS + 1), 2.2)
    capacity *= random.random(capacity.shape) < 0.8
    expected = one_by_one(arrivals, capacity)
    queues = PortQueues(ROUTES)
    for step in range(steps):
        before = queues.backlog + arrivals[step]
        out, waiting = queues.serve(arrivals[step].copy(), capacity[step])
        assert waiting[:PORTS] == pytest.approx(np.bincount(ROUTES.ports.ravel(), before.ravel(), 4)[:PORTS])
        assert out == pytest.approx(expected[step], abs=1e-9)
        assert queues.backlog == pytest.approx(before - out, abs=1e-9)


def test_a_port_that_is_paused_for_long_mixes_only_what_is_old() -> None:
    queues = PortQueues(ROUTES)
    came = np.zeros(ROUTES.ports.shape)
    for step in range(2 * KEPT):
        came[:] = 0
        came[(0, 0) if step < KEPT else (0, 4)] = 1.0
        queues.serve(came.copy(), np.zeros(PORTS + 1))
    came[:] = 0
    out = [queues.serve(came.copy(), np.full(PORTS + 1, 1.0))[0] for _ in range(2 * KEPT)]
    assert out[0][0, 0] == pytest.approx(1.0, abs=0.01)
    assert out[0][0, 4] < 0.01
    assert sum(one[0, 0] for one in out[:KEPT]) > 1.5 * sum(one[0, 4] for one in out[:KEPT])
    assert sum(one.sum() for one in out) == pytest.approx(2 * KEPT)
    assert queues.backlog.sum() == pytest.approx(0, abs=1e-9)


def test_a_flow_that_moves_leaves_nothing_behind() -> None:
    queues = PortQueues(ROUTES)
    came = np.zeros(ROUTES.ports.shape)
    came[0, 0] = 1.0
    queues.serve(came, np.full(PORTS + 1, 5.0))
    queues.route(np.array([0]), np.array([[1], [0]]))
    came = np.zeros(ROUTES.ports.shape)
    came[0, 1] = 3.0
    out, _ = queues.serve(came, np.full(PORTS + 1, 2.0))
    assert out.sum() == out[0, 1] == pytest.approx(2.0)


def test_wires_take_their_time() -> None:
    wires = Wires((2, 2), 3)
    first = np.array([0, 1])
    seen: list[tuple[float, float]] = []
    for step in range(8):
        ports, hosts = wires.arrive()
        seen.append((ports.sum(), hosts.sum()))
        sent = np.array([1.0, 2.0]) if step == 0 else np.zeros(2)
        wires.leave(sent, first, ports)
        assert wires.carried.sum() + sum(hosts for _, hosts in seen) == pytest.approx(3.0)
    assert seen == [(0, 0)] * 3 + [(3, 0)] + [(0, 0)] * 2 + [(1, 2)] + [(0, 0)]
