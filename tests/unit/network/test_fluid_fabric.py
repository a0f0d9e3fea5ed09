"""The fabric of the fluid model: ports, buffers, routes."""

import numpy as np
import pytest

from npuc.compiler.analysis.interconnect.fluid.fabric import ClosFabric
from npuc.compiler.analysis.interconnect.fluid.pauses import PauseControl, waiting_ring
from npuc.compiler.analysis.interconnect.fluid.routes import clos_routes, named_routes
from npuc.compiler.core.errors import UsageError

FABRIC = ClosFabric(leaves=4, hosts=8, spines=8)
HOSTS = np.arange(32)


def test_each_port_has_a_number_of_its_own() -> None:
    ports = [
        *range(32),
        *(FABRIC.up(leaf, spine) for leaf in range(4) for spine in range(8)),
        *(FABRIC.down(spine, leaf) for spine in range(8) for leaf in range(4)),
        *(FABRIC.to_host(host) for host in range(32)),
    ]
    assert ports == list(range(FABRIC.nowhere))
    assert FABRIC.port_name(9) == "host 9 -> leaf 1"
    assert FABRIC.port_name(FABRIC.up(3, 5)) == "leaf 3 -> spine 5"
    assert FABRIC.port_name(FABRIC.down(5, 3)) == "spine 5 -> leaf 3"
    assert FABRIC.port_name(FABRIC.to_host(31)) == "leaf 3 -> host 31"


def test_a_buffer_is_headroom_and_what_is_below_x_off() -> None:
    """By hand: 12.5 bytes a nanosecond for twice the delay and the response, and two packets."""
    assert FABRIC.headroom == 3000 * 25 // 2 + 2000
    assert FABRIC.x_off == 500_000 - 39_500
    assert FABRIC.x_on == FABRIC.x_off - 2000
    assert FABRIC.base_rtt_ns == 8000
    assert ClosFabric(1, 4, 1).base_rtt_ns == 4000
    assert ClosFabric(2, 2, 2, bytes_per_s=1, delay_ns=1, response_ns=1).headroom == 2001


@pytest.mark.parametrize("name", ["leaves", "hosts", "spines", "bytes_per_s", "delay_ns", "buffer", "mtu"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None])
def test_what_is_no_size_is_named(name: str, value: object) -> None:
    sizes: dict[str, object] = {"leaves": 2, "hosts": 2, "spines": 2, name: value}
    with pytest.raises(UsageError, match=rf"fabric\.{name}: found {value!r}, expected a whole number from 1"):
        ClosFabric(**sizes)  # pyright: ignore[reportArgumentType]


def test_a_buffer_without_room_says_how_much_is_needed() -> None:
    with pytest.raises(UsageError) as e:
        ClosFabric(2, 2, 2, buffer=41_500)
    assert "at least 41,501" in str(e.value.hint)
    assert ClosFabric(2, 2, 2, buffer=41_501).x_on == 1


def test_routes_within_a_leaf_and_over_a_spine() -> None:
    routes = clos_routes(FABRIC, np.array([0, 0]), np.array([1, 30]), "destination")
    none = FABRIC.nowhere
    assert routes.ports.T.tolist() == [
        [none, none, FABRIC.to_host(1)],
        [FABRIC.up(0, 6), FABRIC.down(6, 3), FABRIC.to_host(30)],
    ]
    assert routes.first.tolist() == [2, 0]
    assert routes.links.tolist() == [2, 4]
    assert routes.ingress().T.tolist() == [[none, none, 0], [0, FABRIC.up(0, 6), FABRIC.down(6, 3)]]


@pytest.mark.parametrize("step", [*range(1, 32)])
def test_routes_by_destination_share_no_link_in_shifts_and_exchanges(step: int) -> None:
    for target in ((HOSTS + step) % 32, HOSTS ^ step):
        ports = clos_routes(FABRIC, HOSTS, target, "destination").ports
        used = ports[ports != FABRIC.nowhere]
        assert len(set(used.tolist())) == len(used)


def test_routes_by_hash_are_spread_evenly_and_differ_by_seed() -> None:
    pairs = [(source, target) for source in range(32) for target in range(32) if source // 8 != target // 8]
    source, target = np.array(pairs).T
    spines = [(clos_routes(FABRIC, source, target, "hash", seed).ports[0] - 32) % 8 for seed in (0, 1)]
    for one in spines:
        share = np.bincount(one, minlength=8) / len(pairs)
        assert abs(share - 1 / 8).max() < 0.03
    assert 0.8 < (spines[0] != spines[1]).mean() < 0.95


def test_a_route_is_named_switch_by_switch() -> None:
    routes = named_routes(
        FABRIC, [(0, [("leaf", 0), ("spine", 1), ("leaf", 1), ("spine", 2), ("leaf", 3)], 31), (0, [("leaf", 0)], 1)]
    )
    assert routes.ports[:, 0].tolist() == [
        FABRIC.up(0, 1), FABRIC.down(1, 1), FABRIC.up(1, 2), FABRIC.down(2, 3), FABRIC.to_host(31)
    ]  # fmt: skip
    assert routes.first.tolist() == [0, 4]
    for walk, error in (
        ([("leaf", 1)], "begins and ends at their leaf switches"),
        ([("leaf", 0), ("spine", 1)], "begins and ends at their leaf switches"),
        ([("leaf", 0), ("spine", 9), ("leaf", 3)], "no link from leaf 0 to spine 9"),
        ([("leaf", 0), ("leaf", 3)], "no link from leaf 0 to leaf 3"),
    ):
        with pytest.raises(UsageError, match=error):
            named_routes(FABRIC, [(0, walk, 31)])  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="not one of 32"):
        named_routes(FABRIC, [(32, [("leaf", 4)], 33)])
    with pytest.raises(UsageError, match="host 1 sends to itself"):
        named_routes(FABRIC, [(1, [("leaf", 0)], 1)])


def test_flows_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="not one of 32"):
        clos_routes(FABRIC, np.array([0]), np.array([32]))
    with pytest.raises(UsageError, match="host 3 sends to itself"):
        clos_routes(FABRIC, np.array([2, 3]), np.array([1, 3]))


@pytest.mark.parametrize(
    ("edges", "ring"),
    [
        ([(0, 1), (1, 2), (2, 0)], (0, 1, 2)),
        ([(3, 1), (1, 2), (2, 1)], (1, 2)),
        ([(0, 1), (1, 2), (0, 2)], ()),
        ([(0, 1), (2, 3), (1, 3)], ()),
        ([], ()),
    ],
)
def test_ports_that_wait_for_each_other(edges: list[tuple[int, int]], ring: tuple[int, ...]) -> None:
    ingress, ports = np.array(edges, int).reshape(-1, 2).T.reshape(2, 1, -1)
    assert waiting_ring(ports, ingress, np.ones(ports.shape), np.array([True] * 4 + [False]), 0) == ring
    assert waiting_ring(ports, ingress, np.zeros(ports.shape), np.array([True] * 4 + [False]), 0) == ()
    assert waiting_ring(ports, ingress, np.ones(ports.shape), np.zeros(5, bool), 0) == ()


@pytest.mark.parametrize(("x_on", "ring"), [(1, (0, 1)), (4, (0, 1)), (5, ())])
def test_a_ring_is_no_deadlock_where_enough_can_leave(x_on: int, ring: tuple[int, ...]) -> None:
    """Of port 0, five bytes wait for port 1 and nine for port 2, which sends; port 1 waits for port 0 alone."""
    ingress, ports = np.array([[0, 0, 1]]), np.array([[1, 2, 0]])
    paused = np.array([True, True, False, False])
    assert waiting_ring(ports, ingress, np.array([[5.0, 9.0, 20.0]]), paused, x_on) == ring


def test_a_sender_is_paused_at_x_off_and_goes_on_at_x_on_a_delay_later() -> None:
    """By hand: X_off 10, X_on 4, a link of two steps; the last place stands for no port."""
    control = PauseControl(2, 10, 4, 2)
    held = [9.0, 10.0, 12.0, 5.0, 4.0, 9.0, 10.0, 0.0, 0.0]
    paused = [bool(control.advance(np.array([one, 99.0]))[0]) for one in held]
    assert paused == [False, False, False, True, True, True, False, False, True]
    assert control.pauses.tolist() == [2, 0]
    assert control.peak.tolist() == [12.0, 0.0]
    assert not control.asked.any()
