"""Costs of collectives: closed forms against steps on links, bytes whatever the order of levels, published times."""

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.interconnect.collectives import (
    COLLECTIVES,
    Collective,
    Cost,
    collective_cost,
    messages_cost,
)
from npuc.compiler.analysis.interconnect.topology import (
    GRIDS,
    KINDS,
    CommunicationGroup,
    Interconnect,
    Kind,
    MeshPlacement,
    NetworkLevel,
)
from npuc.compiler.analysis.sharding.cost.collective_traffic import gathered, reduced, sent, shared
from npuc.dialects.distributed import Route
from npuc.hardware import load_hardware
from npuc.hardware.network import network_of
from tests.network_walk import Walk, walk_exchange, walk_gather, walk_messages, walk_scatter

numbers = st.fractions(min_value=Fraction(1, 7), max_value=9, max_denominator=7)
STEPPED: list[Kind] = [kind for kind in KINDS if kind not in GRIDS]
"""Kinds whose steps are walked here; those of a torus and mesh are walked in `test_grids`."""
LATENCY, RATE, ENERGY = Fraction(3, 1000), Fraction(7, 2), Fraction(5, 3)


@st.composite
def levels(draw: st.DrawFn, size: int, kind: Kind | None = None) -> NetworkLevel:
    """A level of that many devices."""
    kinds: list[Kind] = [k for k in STEPPED if k != "pair" or size == 2]
    chosen: Kind = draw(st.sampled_from(kinds)) if kind is None else kind
    return NetworkLevel(chosen, size, draw(numbers), draw(numbers | st.just(Fraction(0))), draw(numbers))


@st.composite
def parts(draw: st.DrawFn, doubling: bool = False) -> tuple[MeshPlacement, int]:
    """
    A mesh on one level of a network, and a level of that mesh.

    With `doubling` it has 2, 4 or 8 devices on a switch, as the steps of halving and doubling need.
    """
    kind = draw(st.sampled_from(STEPPED))
    size = draw(st.sampled_from([2, 4, 8] if doubling and kind == "switch" else [2, 3, 4, 5, 6, 8]))
    mesh = [2] if kind == "pair" else [n for n in (draw(st.integers(1, 3)), size, draw(st.integers(1, 3))) if n > 1]
    return Interconnect((draw(levels(prod(mesh), kind)),)).place(mesh), mesh.index(size) if kind != "pair" else 0


def the_group(placement: MeshPlacement, place: int) -> CommunicationGroup:
    (group,) = placement.along([place])
    return group


def assert_is_walk(cost: Cost, walks: Sequence[Walk], devices: int) -> None:
    """Time, bytes and energy of all devices are those of the steps."""
    assert cost.seconds == sum(walk.seconds for walk in walks)
    assert cost.sent * devices == sum(walk.sent for walk in walks)
    (energy,) = {walk.level.pj_per_byte for walk in walks}
    assert cost.picojoules is not None
    assert energy is not None
    assert cost.picojoules * devices == energy * sum(walk.carried for walk in walks)


@given(parts(doubling=True), numbers, st.data())
def test_sums_and_gathers_are_the_steps_of_their_algorithms(
    given_part: tuple[MeshPlacement, int], part: Fraction, data: st.DataObject
) -> None:
    placement, place = given_part
    group = the_group(placement, place)
    size = group.size
    held = [{key: data.draw(st.integers(-9, 9)) for key in range(size)} for _ in range(size)]
    scattered, sums = walk_scatter(group, part, held)
    gathered, whole = walk_gather(group, part, sums)
    assert whole == [{key: sum(parts[key] for parts in held) for key in range(size)}] * size
    assert_is_walk(collective_cost("reduce_scatter", part * size, placement, [place]), [scattered], placement.devices)
    assert_is_walk(collective_cost("all_gather", part, placement, [place]), [gathered], placement.devices)
    both = collective_cost("all_reduce", part * size, placement, [place])
    assert_is_walk(both, [scattered, gathered], placement.devices)


@given(parts(), numbers)
def test_exchange_is_the_steps_of_its_algorithm(given_part: tuple[MeshPlacement, int], part: Fraction) -> None:
    placement, place = given_part
    group = the_group(placement, place)
    cost = collective_cost("all_to_all", part * group.size, placement, [place])
    assert_is_walk(cost, [walk_exchange(group, part)], placement.devices)


@given(parts(), numbers, st.data())
def test_messages_take_what_their_links_take(
    given_part: tuple[MeshPlacement, int], size: Fraction, data: st.DataObject
) -> None:
    placement, place = given_part
    group = the_group(placement, place)
    places = st.permutations(range(group.size))
    count = data.draw(st.integers(1, group.size))
    source, target = data.draw(places)[:count], data.draw(places)[:count]
    cost = messages_cost(size, placement, place, source, target)
    pairs = [pair for pair in zip(source, target, strict=True) if pair[0] != pair[1]]
    if pairs:
        assert_is_walk(cost, [walk_messages(group, size, pairs)], placement.devices)
    else:
        assert (cost.seconds, cost.sent, cost.picojoules) == (0, 0, 0)


# several levels


@st.composite
def placements(draw: st.DrawFn) -> MeshPlacement:
    """A network of several levels, each level one of the mesh or two."""
    mesh = draw(st.lists(st.lists(st.integers(2, 4), min_size=1, max_size=2), min_size=1, max_size=3))
    network = Interconnect(tuple(draw(levels(prod(sizes))) for sizes in mesh))
    return network.place([size for sizes in mesh for size in sizes])


@given(placements(), numbers, st.data())
def test_bytes_do_not_depend_on_kinds_and_order(placement: MeshPlacement, size: Fraction, data: st.DataObject) -> None:
    """The byte invariant: S (1 - 1/P), twice that for an all-reduce, however the levels are divided."""
    over = data.draw(st.sets(st.sampled_from(range(len(placement.groups))), min_size=1))
    count = prod(placement.groups[level].size for level in over)
    bytes_of = {kind: collective_cost(kind, size, placement, over).sent for kind in COLLECTIVES}
    assert bytes_of["reduce_scatter"] == size * (1 - Fraction(1, count))
    assert bytes_of["all_reduce"] == 2 * size * (1 - Fraction(1, count))
    assert bytes_of["all_gather"] == size * (count - 1)


@given(placements(), numbers, st.sampled_from(COLLECTIVES))
def test_a_collective_is_its_stages(placement: MeshPlacement, size: Fraction, kind: Collective) -> None:
    cost = collective_cost(kind, size, placement, range(len(placement.groups)))
    assert cost.seconds == sum(stage.seconds for stage in cost.stages)
    assert sum(cost.sent_by_level().values()) == cost.sent
    assert set(cost.sent_by_level()) == {group.number for group in placement.groups}
    order = [stage.level for stage in cost.stages]
    inward = sorted(set(order))
    assert (
        order
        == {
            "reduce_scatter": inward[::-1],
            "all_gather": inward,
            "all_reduce": inward[::-1] + inward,
            "all_to_all": inward[::-1],
        }[kind]
    )


@given(placements(), numbers)
def test_no_all_reduce_beats_all_bandwidth_together(placement: MeshPlacement, size: Fraction) -> None:
    cost = collective_cost("all_reduce", size, placement, range(len(placement.groups)))
    rates = sum(level.bytes_per_s for level in placement.network.levels)
    assert cost.seconds >= 2 * size * (1 - Fraction(1, placement.devices)) / rates


@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.integers(1, 60), st.data())
def test_bytes_are_what_devices_read_from_each_other(mesh: list[int], local: int, data: st.DataObject) -> None:
    """Of elements of one byte, a level of the network for each of the mesh; counts of reading are of one direction."""
    placement = Interconnect(tuple(data.draw(levels(size)) for size in mesh)).place(mesh)
    devices = placement.devices
    one = data.draw(st.sampled_from(range(len(mesh))))
    over = sorted(data.draw(st.sets(st.sampled_from(range(len(mesh))), min_size=1)))
    source, target = (data.draw(st.permutations(range(mesh[one]))) for _ in range(2))
    messages = sum(s != t for s, t in zip(source, target, strict=True))

    def read(cost: Cost) -> dict[int, Fraction]:
        return {level: count * devices / 2 for level, count in cost.sent_by_level().items()}

    assert read(collective_cost("all_gather", local, placement, [one])) == {one: gathered(devices, local, mesh[one])}
    for kind in ("all_to_all", "reduce_scatter"):
        assert read(collective_cost(kind, local, placement, [one])) == {one: shared(devices, local, mesh[one])}
    expected = {one: sent(devices, local, mesh[one], messages)} if messages else {}
    assert read(messages_cost(local, placement, one, source, target)) == expected
    amounts = reduced(devices, local, mesh, [Route.and_back(over[::-1])])
    assert read(collective_cost("all_reduce", local, placement, over)) == amounts


# numbers by hand


def on(kind: Kind, size: int, mesh: Sequence[int]) -> MeshPlacement:
    return Interconnect((NetworkLevel(kind, size, RATE, LATENCY, ENERGY),)).place(mesh)


@pytest.mark.parametrize(
    ("kind", "size", "steps"), [("pair", 2, 1), ("ring", 5, 4), ("fc", 6, 1), ("switch", 8, 3), ("switch", 6, 3)]
)
def test_reduce_scatter_of_a_whole_level(kind: Kind, size: int, steps: int) -> None:
    """The formula of every kind: steps x latency + d (P - 1) / P / bandwidth."""
    cost = collective_cost("reduce_scatter", 60, on(kind, size, [size]), [0])
    assert cost.seconds == steps * LATENCY + Fraction(60 * (size - 1), size) / RATE


@pytest.mark.parametrize(
    ("mesh", "over", "bytes_per_link_pair"),
    [
        ([8], [0], Fraction(7, 8)),
        ([2, 2, 2], [0, 1, 2], Fraction(7, 8)),  # all three halves: the whole ring
        ([2, 2, 2], [2], Fraction(1, 2) * 2),  # neighbours: one of two links
        ([2, 2, 2], [0], Fraction(1, 2) * 4),  # opposite devices: four pairs on each link
        ([2, 2, 2], [1], Fraction(1, 2) * 2 * 2),  # two apart on an arc: two pairs on each link, one link of two
        ([2, 2, 2], [0, 2], Fraction(1, 2) * 2 + Fraction(1, 4) * 4),  # not neighbouring levels: one after the other
    ],
)
def test_parts_of_a_ring_of_eight(mesh: list[int], over: list[int], bytes_per_link_pair: Fraction) -> None:
    level = NetworkLevel("ring", 8, Fraction(1))
    assert collective_cost("reduce_scatter", 1, Interconnect((level,)).place(mesh), over).seconds == bytes_per_link_pair


def test_energy_counts_each_link() -> None:
    """A byte to the other side of a ring of four crosses two links; without energies there is none."""
    ring = on("ring", 4, [2, 2])
    assert collective_cost("all_gather", 1, ring, [1]).picojoules == ENERGY
    assert collective_cost("all_gather", 1, ring, [0]).picojoules == 2 * ENERGY
    silent = Interconnect((NetworkLevel("pair", 2, RATE), NetworkLevel("pair", 2, RATE, pj_per_byte=ENERGY))).place(
        [2, 2]
    )
    assert collective_cost("all_gather", 1, silent, [1]).picojoules == ENERGY
    assert collective_cost("all_gather", 1, silent, [0, 1]).picojoules is None


def test_one_chunk_of_the_example_of_themis() -> None:
    """
    Figure 5 of Rashidi et al.: 4 x 4 devices, the inner dimension twice as fast. In units of a reduce-scatter of the
    chunk on it, the stages are 1, 1/2, 1/2 and 1.
    """
    outer, inner = NetworkLevel("switch", 4, Fraction(1)), NetworkLevel("switch", 4, Fraction(2))
    placement = Interconnect((outer, inner)).place([4, 4])
    unit = collective_cost("reduce_scatter", 64, placement, [1]).seconds
    stages = collective_cost("all_reduce", 64, placement, [0, 1]).stages
    assert [stage.seconds / unit for stage in stages] == [1, Fraction(1, 2), Fraction(1, 2), 1]


def test_weights_of_sfc_in_the_tree_and_the_torus_of_hypar() -> None:
    """All accelerators sum 140,722,176 gradients of 4 bytes: 15/16 of them twice, at 0.2 GB/s in the tree."""
    size = 4 * 140_722_176
    tree = network_of(load_hardware("hypar16"), backend="test").place([2, 2, 2, 2])
    torus = network_of(load_hardware("hypar16-torus"), backend="test").place([2, 2, 2, 2])
    bytes_sent = Fraction(2 * size * 15, 16)
    assert collective_cost("all_reduce", size, tree, range(4)).seconds == bytes_sent / 200_000_000
    assert collective_cost("all_reduce", size, torus, range(4)).seconds == bytes_sent / 400_000_000
    by_level = collective_cost("all_reduce", size, tree, range(4)).sent_by_level()
    assert by_level == {3: size, 2: size // 2, 1: size // 4, 0: size // 8}
