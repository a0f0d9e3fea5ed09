"""Cycles with each edge that matters are those with every edge, but for edges with which no fold waits."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.grid.array_work import EveryEdge, array_work, every_edge, searched_edges
from npuc.compiler.analysis.schedule.grid.edge_work import EdgeWork
from npuc.compiler.analysis.schedule.grid.places import Places
from npuc.compiler.analysis.schedule.grid.space import Grid, groups_of
from tests.schedules import fused, gemm


@settings(max_examples=60)
@given(
    st.tuples(*[st.integers(1, 40)] * 3),
    st.booleans(),
    st.sampled_from(("os", "ws", "is")),
    st.sampled_from([(4, 4), (3, 5), (8, 2)]),
    st.data(),
)
def test_rows_of_edges_are_those_of_all_edges(
    sizes: tuple[int, int, int], pair: bool, dataflow: Dataflow, sides: tuple[int, int], data: st.DataObject
) -> None:
    nest = fused(gemm(*sizes)) if pair else gemm(*sizes)
    array = Array(*sides, dataflow, edge_elements=1)
    groups = groups_of(nest, sides, fine=True)
    widths = Bits((8,) * len(nest.tensors), (32,) * len(nest.outs))
    work = array_work(nest, array, groups, widths, energy=False)
    shape = tuple(len(group.tilings) for group in groups)
    count = int(np.prod(shape))
    at: Grid = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=5)))
    orders = [(0, 1, 2), (2, 0, 1)]
    chosen = [data.draw(st.integers(0, 1)) for _ in at]

    def places(some: Grid) -> Places:
        return Places(some, shape, {})

    edges: EveryEdge = every_edge(nest, array, groups, work)
    found = edges.of(orders, np.array(chosen), at, places)
    every = np.array(
        [
            [
                float(np.broadcast_to(work.cycles + EdgeWork(nest, edge, groups).of(orders[order]), shape).ravel()[one])
                for one, order in zip(at, chosen, strict=True)
            ]
            for edge in searched_edges(array)
        ]
    )
    if not len(found):  # the same for all candidates
        assert (every == every[:, :1]).all()
        return
    assert len(found) <= len(every)
    assert (found == every[: len(found)]).all()
    assert (every[len(found) :] == found[-1]).all()
