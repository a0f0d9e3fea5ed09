"""A mapping that is wired into a machine: what it is of a contraction, alone and among many, by other ways to it."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.flexibility.axes import Supports
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.flexibility.find import FlexSearch
from npuc.compiler.explore.flexibility.machine import flexible_machine
from npuc.compiler.explore.flexibility.own import own_mapping, whole_of
from npuc.compiler.explore.flexibility.result import FlexSettings
from npuc.compiler.explore.flexibility.wired import ROLES, WiredMappings, capacity_of_roles, space_of_roles
from npuc.compiler.explore.mapping.best import Limits
from npuc.compiler.explore.mapping.genomes import Expression
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes
from npuc.compiler.explore.mapping.task import ExactTask
from npuc.frontends.source import text_source

NET = """\
network small(batch=4) {
  input x: f32[batch, 6, 11, 9]
  labels y: i32[batch]
  a = relu(conv2d(x, 8, 3, stride=2))
  b = relu(conv2d(a, 8, 3, padding=1, groups=8))
  c = relu(conv2d(b, 12, 1, groups=2))
  logits = linear(flatten(c), 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
VOLUMES = """\
network small(batch=2) {
  input x: f32[batch, 3, 4, 6, 5]
  output y = conv3d(x, 8, 3, padding=1)
}
"""
FIXED: Supports = ("fixed", "fixed", "fixed", "fixed")
WHOLE = 1 << 20


@cache
def tasks(elements: int = 24, l1: int = 64, kib: float = 4.0, net: str = NET) -> tuple[ExactTask, ...]:
    machine = {
        "name": "small",
        "memory": {"element_bytes": 2, "spm_kib": kib},
        "maestro": {"num_pes": elements, "noc_bw": 4, "l1_size": l1},
    }
    module, hardware = lowered_module(
        text_source(net, "dsl", "small.dsl"),
        get_backend("maestro"),
        {"hardware": machine, "inference": net == VOLUMES or None},
        print,
        [],
    )
    search = FlexSearch(module, hardware, flexible_machine(hardware), FlexSettings("time", 1, 0, None))
    assert sum(count for _, count in search.weighted) == len(search.contracts)
    return tuple(task for task, _ in search.weighted)


def drawn(count: int, seed: int) -> WiredMappings:
    space = space_of_roles(tasks(), 24)
    genomes = RandomGenomes(space, np.random.Generator(np.random.PCG64(seed))).draw(count)
    return WiredMappings.of(Expression(space, None).candidates(genomes))


@settings(max_examples=30)  # of five machines each
@given(st.integers(0, 1 << 30))
def test_many_are_mapped_as_each_of_them_alone(seed: int) -> None:
    wired = drawn(5, seed)
    for task in tasks():
        costs = task.costs(wired.candidates(task, FIXED))
        fits = Limits(task.capacity.l1, task.capacity.l2).fit(costs, "time")
        for number in np.flatnonzero(fits):
            own = wired.own(task, FIXED, "time", int(number))
            assert task.costs(own.candidates(whole_of(task))).row(0) == costs.row(int(number))


def test_a_role_of_two_dimensions_is_spread_over_both() -> None:
    """Rows of the filter and of the output, in three dimensions: the inner one comes first."""
    (task,) = tasks(8, WHOLE, float(WHOLE), VOLUMES)
    assert [task.space.names.index(name) for name in "zytr"] == [3, 4, 6, 7]
    for role, places, size, tile, wide in (
        ("Y", (4, 3), 1, [1, 1], [6, 1]),
        ("Y", (4, 3), 12, [6, 2], [6, 4]),
        ("R", (7, 6), 1, [1, 1], [3, 2]),
        ("R", (7, 6), 6, [3, 2], [3, 3]),
    ):
        sizes = np.ones((2, len(ROLES), 1))
        sizes[0, ROLES.index(role)] = size
        wired = WiredMappings(
            sizes,
            np.array([range(len(ROLES))] * 2)[:, :, None],
            np.array([[ROLES.index(role)], [-1]]),
            np.array([[8], [1]]),
        )
        own = wired.own(task, FIXED, "time")
        assert own.spread == (places, ())
        assert own.tiles[0, list(places)].tolist() == tile
        order = own.orders[0].tolist()
        assert order.index(places[0]) == order.index(places[1]) + 1
        assert own.candidates(whole_of(task)).levels[0].temporal[list(places), 0].tolist() == wide
        costs = task.costs(wired.candidates(task, FIXED)).row(0)
        assert task.costs(own.candidates(whole_of(task))).row(0) == costs


@given(st.integers(0, 1 << 30))
def test_a_contraction_has_the_tiles_of_its_roles(seed: int) -> None:
    """By role where each has one dimension: a tile, or the dimension where that is smaller, and loops in one order."""
    wired = drawn(3, seed)
    roles = {"b": "N", "o": "K", "i": "C", "y": "Y", "x": "X", "r": "R", "s": "S"}
    task = tasks(24, WHOLE, float(WHOLE))[0]  # the first convolution
    assert set(task.space.names) == set(roles)
    for number in range(len(wired)):
        own = wired.own(task, FIXED, "time", number)
        for level in range(2):
            given_tiles = whole_of(task)[:, 0] if level == 0 else own.tiles[0]
            wanted = [wired.tiles[level, ROLES.index(roles[name]), number] for name in task.space.names]
            assert own.tiles[level].tolist() == np.minimum(wanted, given_tiles).tolist()
            order = [roles[task.space.names[at]] for at in own.orders[level]]
            assert order == [ROLES[at] for at in wired.orders[level, :, number] if ROLES[at] in order]
            spread = wired.spread[level, number]
            expected = [name for name in order if spread >= 0 and name == ROLES[spread]]
            assert [roles[task.space.names[at]] for at in own.spread[level]] == expected
        assert own.shape == tuple(wired.shape[:, number])


def test_a_named_dataflow_is_a_wired_mapping() -> None:
    """kcp_ws with clusters of 64 of 128 elements, in roles, costs what its own template does."""
    one = dict.fromkeys(ROLES, WHOLE) | {"G": 1, "N": 1, "Y": 1, "X": 1}
    tiles = [[(one | {"K": 1, "C": 64})[name] for name in ROLES], [(one | {"K": 1, "C": 1})[name] for name in ROLES]]
    orders = [[ROLES.index(name) for name in order] for order in ("GKCRSNYX", "CYXRSGKN")]
    wired = WiredMappings(
        np.array(tiles, float)[:, :, None],
        np.array(orders)[:, :, None],
        np.array([[ROLES.index("K")], [ROLES.index("C")]]),
        np.array([[2], [64]]),
    )
    compared = 0
    for task in tasks(128, WHOLE, float(WHOLE)):
        if any(name.startswith("G") for name in task.space.names):
            continue
        own, named = wired.own(task, FIXED, "time"), own_mapping(task, "kcp_ws", FIXED, "time")
        costs = [task.costs(one.candidates(whole_of(task))).row(0) for one in (own, named)]
        if own.spread == named.spread:
            compared += 1
            assert costs[0] == costs[1]
    assert compared >= 5


def test_a_machine_without_room_for_any_tile_is_refused() -> None:
    with pytest.raises(CapacityError, match="cannot run its own dataflow"):
        drawn(1, 0).own(tasks(24, 1)[0], FIXED, "time")


def test_the_buffers_of_roles_are_those_of_a_convolution_of_stride_one() -> None:
    space = space_of_roles(tasks(), 24)
    capacity = capacity_of_roles(space, tasks()[0].capacity)
    sizes = {"G": 2, "N": 3, "K": 5, "C": 7, "Y": 11, "X": 13, "R": 3, "S": 5}
    need = capacity.need(np.array([[float(sizes[name])] for name in ROLES]), 2.0)
    inputs, weights, sums = 2 * 3 * 7 * 13 * 17, 2 * 5 * 7 * 15, 2 * 3 * 5 * 11 * 13
    assert need.tolist() == [2 * (inputs + weights + 2 * sums)]
    assert dict(space.dims)["K"] == 240  # of what is flattened, the product of its gradient
    assert all(rows * columns == 24 for rows, columns in space.fanouts)
