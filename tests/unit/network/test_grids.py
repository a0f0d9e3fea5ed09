"""Torus and mesh: closed forms against messages step by step and link by link, bounds, parts, and descriptions."""

from fractions import Fraction
from itertools import combinations, permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.interconnect.algorithm import algorithm_of
from npuc.compiler.analysis.interconnect.chunks.cost import chunked_cost, chunks_by
from npuc.compiler.analysis.interconnect.collectives import COLLECTIVES, Collective, collective_cost, messages_cost
from npuc.compiler.analysis.interconnect.grid import crowding_of
from npuc.compiler.analysis.interconnect.topology import (
    CommunicationGroup,
    Interconnect,
    Kind,
    MeshPlacement,
    NetworkLevel,
    near_equal,
)
from npuc.compiler.core.errors import CapacityError
from tests.grid_walk import GridWalk, members_count, walk_grid_gather, walk_grid_messages, walk_grid_scatter

numbers = st.fractions(min_value=Fraction(1, 7), max_value=9, max_denominator=7)
KINDS: tuple[Kind, ...] = ("torus", "mesh")
kinds = st.sampled_from(KINDS)


def grid(kind: Kind, *sizes: int, rate: Fraction | int = 1, latency: Fraction | int = 0) -> NetworkLevel:
    return NetworkLevel(kind, prod(sizes), Fraction(rate), Fraction(latency), Fraction(2), sizes=sizes)


@st.composite
def levels(draw: st.DrawFn, sizes: tuple[int, ...]) -> NetworkLevel:
    return grid(draw(kinds), *sizes, rate=draw(numbers), latency=draw(numbers | st.just(Fraction(0))))


FACTORS = ((2,), (3,), (4,), (2, 2), (6,), (2, 3), (3, 2))


@st.composite
def parts(draw: st.DrawFn, most: int = 3) -> tuple[MeshPlacement, list[int]]:
    """A mesh whose levels are dimensions of one torus or mesh or factors of them, and levels that form one group."""
    factors = draw(st.lists(st.sampled_from(FACTORS), min_size=1, max_size=most))
    placement = Interconnect((draw(levels(tuple(map(prod, factors)))),)).place([n for own in factors for n in own])
    over = sorted(draw(st.sets(st.sampled_from(range(len(placement.groups))), min_size=1)))
    while len(placement.along(over)) > 1:
        over.pop()
    return placement, over


@st.composite
def equal_parts(draw: st.DrawFn) -> tuple[MeshPlacement, list[int]]:
    """The same factor of each of some dimensions of one torus or mesh."""
    own, place = draw(st.sampled_from((((2,), 0), ((3,), 0), ((4,), 0), ((2, 2), 0), ((2, 2), 1), ((2, 3), 0))))
    count = draw(st.integers(1, 3 if prod(own) < 4 else 2))
    placement = Interconnect((draw(levels((prod(own),) * count)),)).place(own * count)
    some = draw(st.sets(st.sampled_from(range(count)), min_size=1))
    return placement, [n * len(own) + place for n in sorted(some)]


def the_group(placement: MeshPlacement, over: list[int]) -> CommunicationGroup:
    (group,) = placement.along(over)
    return group


@given(equal_parts(), numbers)
def test_sums_and_gathers_are_the_steps_of_their_algorithms(
    given_one: tuple[MeshPlacement, list[int]], part: Fraction
) -> None:
    placement, over = given_one
    group = the_group(placement, over)
    keys = [tuple(key) for key in np.ndindex(*(part.size for part in group.parts))]
    own = {key: {to: 7 * n + m * m for m, to in enumerate(keys)} for n, key in enumerate(keys)}
    walk, found = walk_grid_scatter(group, part, own)
    sums = {to: sum(own[key][to] for key in keys) for to in keys}
    for held in found:
        assert all(len(bundle) == 1 for bundle in held.values())
        assert {key: value for bundle in held.values() for key, value in bundle.items()} == sums
    gather, whole = walk_grid_gather(group, part)
    assert all(bundle.keys() == set(keys) for held in whole for bundle in held.values())
    devices = members_count(group)
    took: dict[Collective, tuple[Fraction, list[GridWalk]]] = {
        "reduce_scatter": (part * group.size, [walk]),
        "all_gather": (part, [gather]),
        "all_reduce": (part * group.size, [walk, gather]),
    }
    for kind, (size, walks) in took.items():
        cost = collective_cost(kind, size, placement, over)
        assert cost.seconds == sum(one.seconds for one in walks)
        assert cost.sent * devices == sum(one.sent for one in walks)
        assert cost.picojoules == 2 * sum(one.carried for one in walks) / devices


@given(parts())
def test_no_mixture_of_orders_loads_the_busiest_link_less(given_one: tuple[MeshPlacement, list[int]]) -> None:
    """
    A game of orders against dimensions: weights of dimensions under which no order does better prove the bound, and
    orders that answer ever new weights come as near to it as one likes.
    """
    placement, over = given_one
    group = the_group(placement, over)
    orders = list(permutations(range(len(group.parts))))
    busy = [[Fraction(0)] * len(orders) for _ in group.parts]
    for column, order in enumerate(orders):
        left = Fraction(1)
        for one in order:
            size = group.parts[one].size
            busy[one][column] = crowding_of(group.parts[one]) * left * (size - 1) / size
            left /= size
    transfer = algorithm_of(group).scatter(group)
    value = transfer.crowding * (1 - Fraction(1, group.size)) / len(group.level.dimensions)
    proofs: list[Fraction] = []
    for some in (
        some for count in range(len(group.parts)) for some in combinations(range(len(group.parts)), count + 1)
    ):
        rate = sum(Fraction(1, crowding_of(group.parts[one])) for one in some)
        weights = {one: Fraction(1, crowding_of(group.parts[one])) / rate for one in some}
        proofs.append(
            min(sum((weights[one] * busy[one][column] for one in some), Fraction(0)) for column in range(len(orders)))
        )
    assert value == max(proofs)
    costs, mixed = np.array(busy, np.float64), np.zeros(len(group.parts))
    for _ in range(1000):
        weights = np.exp(0.1 * mixed / costs.max())
        mixed += costs[:, np.argmin(weights @ costs)]
    assert mixed.max() / 1000 <= 1.03 * float(value)


@given(parts())
def test_no_collective_beats_the_links_of_a_corner_or_of_a_cut(given_one: tuple[MeshPlacement, list[int]]) -> None:
    """What a device sends goes over its own links; what halves send each other over the links between them."""
    placement, over = given_one
    group = the_group(placement, over)
    level, dimensions = group.level, len(group.level.dimensions)
    link = level.bytes_per_s / (2 * dimensions)
    rate = sum((link * (2 if part.closed else 1) for part in group.parts), Fraction(0))
    waits = {kind: collective_cost(kind, 0, placement, over).seconds for kind in COLLECTIVES}
    seconds = {kind: collective_cost(kind, 1, placement, over).seconds - waits[kind] for kind in COLLECTIVES}
    assert seconds["reduce_scatter"] >= (1 - Fraction(1, group.size)) / rate
    for part in group.parts:
        half = part.size // 2
        across = Fraction(half * (part.size - half), part.size)  # of the bytes of a device, for each line of them
        assert seconds["all_to_all"] >= across / (link * (2 if part.closed else 1)) * part.stride


@given(parts(2), numbers)
def test_all_to_alls_are_messages_by_dimension_order(
    given_one: tuple[MeshPlacement, list[int]], part: Fraction
) -> None:
    placement, over = given_one
    group = the_group(placement, over)
    walk = walk_grid_messages(group, part, list(permutations(range(group.size), 2)))
    cost = collective_cost("all_to_all", part * group.size, placement, over)
    assert_is_walk(cost.seconds, cost.sent, cost.picojoules, walk, members_count(group))


@given(parts(), numbers, st.data())
def test_messages_take_what_their_links_take(
    given_one: tuple[MeshPlacement, list[int]], size: Fraction, data: st.DataObject
) -> None:
    placement, over = given_one
    place = over[-1]
    group = the_group(placement, [place])
    places = st.permutations(range(group.size))
    count = data.draw(st.integers(1, group.size))
    source, target = data.draw(places)[:count], data.draw(places)[:count]
    pairs = [pair for pair in zip(source, target, strict=True) if pair[0] != pair[1]]
    cost = messages_cost(size, placement, place, source, target)
    if pairs:
        walk = walk_grid_messages(group, size, pairs)
        assert_is_walk(cost.seconds, cost.sent, cost.picojoules, walk, members_count(group))
    else:
        assert cost.seconds == 0


@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), kinds, numbers, numbers, st.data())
def test_messages_over_several_dimensions(
    sizes: list[int], kind: Kind, rate: Fraction, latency: Fraction, data: st.DataObject
) -> None:
    """A level of the mesh that is a whole torus or mesh: messages turn where one dimension ends."""
    placement = Interconnect((grid(kind, *sizes, rate=rate, latency=latency),)).place([prod(sizes)])
    target = data.draw(st.permutations(range(prod(sizes))))
    pairs = [pair for pair in enumerate(target) if pair[0] != pair[1]]
    cost = messages_cost(1, placement, 0, range(prod(sizes)), target)
    if pairs:
        walk = walk_grid_messages(the_group(placement, [0]), Fraction(1), pairs)
        assert_is_walk(cost.seconds, cost.sent, cost.picojoules, walk, prod(sizes))


def assert_is_walk(
    seconds: Fraction, sent: Fraction, picojoules: Fraction | None, walk: GridWalk, devices: int
) -> None:
    assert seconds == walk.seconds
    assert sent * devices == walk.sent
    assert picojoules == 2 * walk.carried / devices


# by hand


@pytest.mark.parametrize("sizes", [(8,), (4, 4), (4, 8), (2, 3, 5), (4, 4, 4), (2, 2, 16)])
def test_a_torus_sends_at_its_whole_rate_and_a_mesh_at_half(sizes: tuple[int, ...]) -> None:
    """2 S (1 - 1/P) at the rate of a device, and a latency for each step of each dimension."""
    size, count = Fraction(64), prod(sizes)
    for kind, times in zip(KINDS, (1, 2), strict=True):
        placement = Interconnect((grid(kind, *sizes, rate=5, latency=3),)).place([count])
        cost = collective_cost("all_reduce", size, placement, [0])
        assert cost.sent == 2 * size * (1 - Fraction(1, count))
        assert cost.seconds == times * cost.sent / 5 + 2 * 3 * sum(one - 1 for one in sizes)


def test_a_torus_of_one_dimension_is_a_ring() -> None:
    for mesh in ([8], [2, 4], [4, 2], [2, 2, 2]):
        ring = Interconnect((NetworkLevel("ring", 8, Fraction(3), Fraction(5), Fraction(2)),)).place(mesh)
        torus = Interconnect((grid("torus", 8, rate=3, latency=5),)).place(mesh)
        for kind in COLLECTIVES:
            one, other = (collective_cost(kind, 7, placement, range(len(mesh))) for placement in (ring, torus))
            assert one == other


def test_a_cut_of_a_torus_is_what_an_all_to_all_takes() -> None:
    """Of a torus of 4 x 4 x 8 the longest dimension: n p S / (4 B), 3 x 8 / 4 of a device's bytes; a mesh twice."""
    for kind, times in zip(KINDS, (6, 12), strict=True):
        placement = Interconnect((grid(kind, 4, 4, 8),)).place([128])
        assert collective_cost("all_to_all", 1, placement, [0]).seconds == times


@pytest.mark.parametrize(
    ("mesh", "over", "seconds"),
    [
        ([4, 4, 4], [0], Fraction(9, 4)),  # one dimension of three: 3/4 at a third of the rate
        ([4, 4, 4], [0, 2], Fraction(45, 32)),  # two, also where the one between them has no part
        ([16, 4], [0], Fraction(45, 32)),
        ([4, 4, 4], [0, 1, 2], Fraction(63, 64)),
        ([2, 32], [0], 3 * 2 * Fraction(1, 2)),  # devices across a ring: two pairs share each link
        ([8, 8], [1], Fraction(3 * 7 * 2, 3 * 8)),  # a ring of four and a line of two, which takes what it can
    ],
)
def test_parts_of_a_torus_use_the_links_of_their_dimensions(
    mesh: list[int], over: list[int], seconds: Fraction
) -> None:
    placement = Interconnect((grid("torus", 4, 4, 4),)).place(mesh)
    assert collective_cost("reduce_scatter", 1, placement, over).seconds == seconds


def test_levels_of_a_mesh_on_a_torus() -> None:
    placement = Interconnect((grid("torus", 4, 4, 4),)).place([2, 2, 2, 2, 2, 2])
    extents = [dict(group.extents) for group in placement.groups]
    assert extents == [{(0, dimension): 2} for dimension in (0, 0, 1, 1, 2, 2)]
    assert [group.parts[0].stride for group in placement.groups] == [2, 1, 2, 1, 2, 1]
    assert len(placement.along([0, 2, 4])) == 1
    assert len(placement.along([0, 1, 3, 5])) == 1
    # a run begins within: of one dimension only what is side by side goes together
    assert placement.runs([5, 4, 3, 2, 1, 0]) == ((5, 4, 3, 2, 1, 0),)
    assert placement.runs([0, 2, 4]) == ((0,), (2,), (4,))
    half = Interconnect((grid("torus", 4, 4, 4),)).place([8])
    assert [(part.dimension, part.size, part.closed) for part in half.groups[0].parts] == [(2, 4, True), (1, 2, False)]


@pytest.mark.parametrize(("sizes", "mesh"), [((4, 6), [6, 4]), ((3, 4), [4, 3]), ((4, 6), [4, 2, 3, 1])])
def test_a_mesh_is_made_of_dimensions_and_their_factors(sizes: tuple[int, ...], mesh: list[int]) -> None:
    network = Interconnect((grid("torus", *sizes),))
    if mesh[-1] == 1:
        assert network.place(mesh[:-1]).devices == 24
        return
    with pytest.raises(CapacityError) as e:
        network.place(mesh)
    assert f"found torus {sizes[0]} x {sizes[1]}" in str(e.value)


def test_other_sizes_are_as_near_to_equal_as_can_be() -> None:
    assert [near_equal(size, 3) for size in (64, 128, 24, 7, 2, 1024)] == [
        (4, 4, 4), (8, 4, 4), (4, 3, 2), (7,), (2,), (16, 8, 8)
    ]  # fmt: skip
    assert near_equal(36, 1) == (36,)
    assert grid("mesh", 4, 4).resized(32) == grid("mesh", 8, 4)
    assert NetworkLevel("pair", 2, Fraction(1)).resized(4) is None
    for size in range(2, 200):
        found = near_equal(size, 3)
        assert prod(found) == size
        assert max(found) == min(
            max(a, b, size // (a * b)) for a, b in combinations(range(1, size + 1), 2) if size % (a * b) == 0
        ) or max(found) <= round(size ** (1 / 3))


@pytest.mark.parametrize(("sizes", "above"), [((4, 4), 0.01), ((4, 8), 0.01), ((4, 4, 8), 0.02), ((2, 3, 5), 0.02)])
def test_pieces_in_orders_of_their_own_come_near_to_it(sizes: tuple[int, ...], above: float) -> None:
    """Rings with the links of a torus, where each of many chunks goes over them in the order that balances loads."""
    rings = [NetworkLevel("ring", size, Fraction(1, len(sizes))) for size in sizes]
    over = tuple(range(len(sizes)))
    placement = Interconnect(tuple(rings)).place(sizes)
    chunks = chunks_by("themis-scf", "all_reduce", 1, placement, over, 512, "overlap").chunks
    pieces = chunked_cost("all_reduce", 1, placement, over, chunks, "overlap").seconds
    torus = Interconnect((grid("torus", *sizes),)).place(sizes)
    whole = collective_cost("all_reduce", 1, torus, over).seconds
    assert whole == 2 * (1 - Fraction(1, prod(sizes)))
    assert whole <= pieces <= whole * Fraction(1 + above)
