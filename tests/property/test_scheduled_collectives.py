"""Collectives in chunks: any orders give the same sums and move the bytes that the model says; their times."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f64
from xdsl.ir import Block

from npuc.compiler.analysis.interconnect.chunks.cost import ChunkedCost, baseline_chunks, chunked_cost, chunks_by
from npuc.compiler.analysis.interconnect.chunks.events import LATENCIES, Latency
from npuc.compiler.analysis.interconnect.collectives import COLLECTIVES, collective_cost
from npuc.compiler.analysis.interconnect.topology import GRIDS, Interconnect, Kind, MeshPlacement, NetworkLevel
from npuc.compiler.analysis.sharding.cost.collective_traffic import exchanged
from npuc.compiler.core.options import CHUNK_POLICIES, ChunkPolicy
from npuc.compiler.interpreter.collectives import Wire, exchange
from npuc.compiler.layers.base import Array
from npuc.dialects.distributed import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    Chunks,
    ChunksAttr,
    DistOp,
    Mesh,
    ReduceScatterOp,
    Route,
    on_mesh,
)
from npuc.dialects.distributed.chunks import CHUNKS, ChunkQueue
from npuc.dialects.tensors import tensor_of

meshes = st.lists(st.integers(2, 4), min_size=1, max_size=3).map(lambda sizes: Mesh(tuple(sizes)))


@st.composite
def routes(draw: st.DrawFn, over: tuple[int, ...], *, returns: bool = True) -> Chunks:
    ways = st.permutations(over).map(tuple)
    found = [
        Route(there, draw(ways)) if returns else Route.and_back(there)
        for there in draw(st.lists(ways, min_size=1, max_size=5))
    ]
    return Chunks("fifo", tuple(found))


def moved(op: DistOp, mesh: Mesh, arrays: list[Array]) -> tuple[list[Array], dict[int, int]]:
    wire = Wire()
    return exchange(op, mesh, arrays, wire), wire.read


def integers(mesh: Mesh, *shape: int) -> list[Array]:
    """Integers on every device, whose sums are exact."""
    random = np.random.default_rng(mesh.devices)
    return [random.integers(-9, 10, shape).astype(np.float64) for _ in range(mesh.devices)]


@given(st.data(), meshes, st.integers(1, 60), st.booleans())
def test_sums_are_right_and_bytes_are_the_models_in_any_orders(
    data: st.DataObject, mesh: Mesh, size: int, mean: bool
) -> None:
    over = tuple(sorted(data.draw(st.sets(st.sampled_from(mesh.levels), min_size=1))))
    chunks = data.draw(routes(over))
    value = Block(arg_types=[tensor_of(f64, (size,))]).args[0]
    op = on_mesh(AllReduceOp, mesh, value, over=over, mean=mean)
    arrays = integers(mesh, size)
    plain, _ = moved(op, mesh, arrays)
    op.attributes[CHUNKS] = ChunksAttr(chunks)
    found, read = moved(op, mesh, arrays)
    for one, other in zip(plain, found, strict=True):
        assert np.array_equal(one, other)
    if not mean:
        assert sum(map(np.sum, plain)) == mesh.parts(over) * sum(map(np.sum, arrays))
    # elements are those of one direction, half of what all devices read
    assert {level: Fraction(read.get(level, 0), 2) for level in over} == exchanged(op, mesh)
    parts = mesh.parts(over)
    assert sum(read.values()) * parts == 2 * mesh.devices * size * (parts - 1)


@given(st.data(), meshes, st.integers(1, 3), st.sampled_from((AllGatherOp, AllToAllOp, ReduceScatterOp)))
def test_other_collectives_give_the_same_in_chunks(
    data: st.DataObject, mesh: Mesh, rows: int, kind: type[DistOp]
) -> None:
    level = data.draw(st.sampled_from(mesh.levels))
    where = {"split": 0, "concat": 1} if kind is AllToAllOp else {"axis": 0}
    shape = (rows * mesh.devices, 2 * mesh.devices)
    op = on_mesh(kind, mesh, Block(arg_types=[tensor_of(f64, shape)]).args[0], over=(level,), **where)
    arrays = integers(mesh, *shape)
    plain, before = moved(op, mesh, arrays)
    op.attributes[CHUNKS] = ChunksAttr(data.draw(routes((level,), returns=False)))
    found, read = moved(op, mesh, arrays)
    assert all(np.array_equal(one, other) for one, other in zip(plain, found, strict=True))
    assert read == before


fractions = st.builds(Fraction, st.integers(1, 12), st.integers(1, 5))


LINKS: tuple[Kind, ...] = ("ring", "fc", "switch", "torus", "mesh")
links = st.sampled_from(LINKS)


@st.composite
def placements(draw: st.DrawFn) -> MeshPlacement:
    """A network with a mesh whose levels are its own or factors of them."""
    levels: list[NetworkLevel] = []
    mesh: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        parts = draw(st.sampled_from(((2,), (4,), (6,), (2, 2), (3, 2), (2, 3), (2, 2, 2), (2, 3, 2))))
        kind = draw(links)
        sizes = draw(st.sampled_from(((prod(parts),), parts))) if kind in GRIDS else ()
        levels.append(NetworkLevel(kind, prod(parts), draw(fractions), draw(fractions), Fraction(1), sizes=sizes))
        mesh += parts
    return Interconnect(tuple(levels)).place(mesh)


latencies = st.sampled_from(LATENCIES)


@given(placements(), fractions, latencies, st.data())
def test_one_chunk_costs_what_the_whole_costs(
    placement: MeshPlacement, size: Fraction, latency: Latency, data: st.DataObject
) -> None:
    over = tuple(sorted(data.draw(st.sets(st.sampled_from(range(len(placement.groups))), min_size=1))))
    for kind in COLLECTIVES:
        whole = collective_cost(kind, size, placement, over)
        cost = chunked_cost(kind, size, placement, over, baseline_chunks(kind, over, 1), latency)
        assert cost.seconds == whole.seconds
        assert cost.sent == whole.sent
        assert cost.sent_by_level() == whole.sent_by_level()
        assert cost.picojoules == whole.picojoules


@given(placements(), fractions, latencies, st.integers(1, 5), st.sampled_from(CHUNK_POLICIES[:3]), st.data())
def test_bytes_are_the_same_in_chunks_and_no_time_is_below_the_bound(
    placement: MeshPlacement,
    size: Fraction,
    latency: Latency,
    count: int,
    policy: ChunkPolicy,
    data: st.DataObject,
) -> None:
    over = tuple(sorted(data.draw(st.sets(st.sampled_from(range(len(placement.groups))), min_size=1))))
    chunks = chunks_by(policy, "all_reduce", size, placement, over, count, latency).chunks
    assert not list(chunks.problems(over, returns=True))
    cost = chunked_cost("all_reduce", size, placement, over, chunks, latency)
    parts = prod(placement.groups[level].size for level in over)
    assert cost.sent == 2 * size * (1 - Fraction(1, parts))
    assert cost.seconds >= cost.bound_s
    assert max(use.end_s for use in cost.uses) <= cost.seconds
    for number in {use.level for use in cost.uses}:
        own = [use for use in cost.uses if use.level == number]
        assert all(one.end_s < other.begin_s for one, other in pairwise(own))


@given(placements(), st.integers(1, 2), st.data())
def test_devices_read_what_the_model_says_of_each_level(
    placement: MeshPlacement, times: int, data: st.DataObject
) -> None:
    """Elements of a byte, as many as divide evenly; a level of the mesh counts for that of the network under it."""
    assume(placement.devices <= 64)
    mesh = Mesh(tuple(group.size for group in placement.groups))
    over = tuple(sorted(data.draw(st.sets(st.sampled_from(mesh.levels), min_size=1))))
    chunks = data.draw(routes(over))
    size = len(chunks.routes) * mesh.parts(over) * times
    op = on_mesh(AllReduceOp, mesh, Block(arg_types=[tensor_of(f64, (size,))]).args[0], over=over, mean=False)
    op.attributes[CHUNKS] = ChunksAttr(chunks)
    _, read = moved(op, mesh, integers(mesh, size))
    found = Counter[int]()
    for level, count in read.items():
        found[placement.groups[level].number] += count
    cost = chunked_cost("all_reduce", size, placement, over, chunks, "serial")
    assert found == {level: sent * placement.devices for level, sent in cost.sent_by_level().items()}


@given(placements(), fractions, latencies, st.sampled_from(("fifo", "scf")), st.data())
def test_no_orders_at_all_are_below_the_bound(
    placement: MeshPlacement, size: Fraction, latency: Latency, queue: ChunkQueue, data: st.DataObject
) -> None:
    """Those of a program need not be of a policy: they may split levels that a policy crosses together."""
    over = tuple(sorted(data.draw(st.sets(st.sampled_from(range(len(placement.groups))), min_size=1, max_size=4))))
    for kind in COLLECTIVES[:3]:  # an all-to-all is over one level
        chunks = replace(data.draw(routes(over, returns=kind == "all_reduce")), queue=queue)
        cost = chunked_cost(kind, size, placement, over, chunks, latency)
        assert cost.seconds >= cost.bound_s
        assert cost.sent == collective_cost(kind, size, placement, over).sent


def test_parts_one_by_one_may_be_faster_than_together() -> None:
    """On an arc of a ring the message back goes all the way: three steps of three latencies, in parts one and two."""
    level = NetworkLevel("ring", 8, Fraction(1), Fraction(1))
    placement, size = Interconnect((level,)).place([2, 2, 2]), Fraction(1, 100)
    together, apart = (Chunks("fifo", (Route.and_back(there),)) for there in ((2, 1), (1, 2)))
    whole, parts = (
        chunked_cost("all_reduce", size, placement, (1, 2), chunks, "serial") for chunks in (together, apart)
    )
    assert (whole.seconds, parts.seconds) == (18 + 2 * 2 * size * Fraction(3, 4), 6 + 2 * size * (2 + Fraction(1, 2)))
    assert (whole.bound_s, parts.bound_s) == (whole.seconds, parts.seconds)


@given(placements(), fractions, latencies, st.integers(1, 2))
def test_the_best_schedule_is_the_one_that_is_written(
    placement: MeshPlacement, size: Fraction, latency: Latency, count: int
) -> None:
    """What the attribute says takes as long as what the search found: at most what any policy takes."""
    over = tuple(range(len(placement.groups)))

    def cost(policy: ChunkPolicy) -> ChunkedCost:
        chunks = chunks_by(policy, "all_reduce", size, placement, over, count, latency).chunks
        return chunked_cost("all_reduce", size, placement, over, chunks, latency)

    best = cost("exact")
    assert all(best.seconds <= cost(policy).seconds for policy in CHUNK_POLICIES[:3])
    assert best.seconds >= best.bound_s


def test_levels_of_the_mesh_on_one_level_of_the_network_share_its_links() -> None:
    """Over the first and last halving of a ring of 8, chunks that are at different levels of the mesh wait."""
    ring = NetworkLevel("ring", 8, Fraction(1))
    placement = Interconnect((ring,)).place([2, 2, 2])
    chunks = Chunks("fifo", (Route.and_back((2, 0)), Route.and_back((0, 2))))
    cost = chunked_cost("all_reduce", 8, placement, (0, 2), chunks, "overlap")
    (stage,) = cost.stages
    assert cost.seconds == stage.seconds
    assert [(use.begin_s, use.end_s) for use in cost.uses] == [(0, cost.seconds)]


def test_the_example_of_the_paper() -> None:
    """4 x 4 devices, the inner level twice as fast: 8 units by the baseline, 7 by Themis (figure 5)."""
    outer, inner = (NetworkLevel("switch", 4, Fraction(rate)) for rate in (1, 2))
    placement = Interconnect((outer, inner)).place([4, 4])
    unit = Fraction(3, 4) / 2  # a reduce-scatter of a chunk of one byte along the inner level
    expected = {"baseline": 8, "themis-fifo": 8, "themis-scf": 7, "exact": 7}
    for policy in CHUNK_POLICIES:
        found = chunks_by(policy, "all_reduce", 4, placement, (0, 1), 4, "overlap")
        cost = chunked_cost("all_reduce", 4, placement, (0, 1), found.chunks, "overlap")
        assert cost.seconds / unit == expected[policy]
    scf = chunks_by("themis-scf", "all_reduce", 4, placement, (0, 1), 4, "overlap").chunks
    assert [route.there for route in scf.routes] == [(1, 0), (0, 1), (1, 0), (1, 0)]


@pytest.mark.parametrize(
    ("over", "chunks", "problem"),
    [
        ((0, 1), Chunks("fifo", (Route.and_back((1,)),)), "crosses the levels [1], expected each of [0, 1] once"),
        ((0,), Chunks("fifo", ()), "0 chunks, expected 1 to 4,096"),
        ((0,), Chunks("listed", (Route.and_back((0,)),), (0, 1)), "name chunk 1, there are chunks 0 to 0"),
    ],
)
def test_chunks_that_do_not_fit(over: tuple[int, ...], chunks: Chunks, problem: str) -> None:
    (found,) = chunks.problems(over, returns=True)
    assert problem in found
