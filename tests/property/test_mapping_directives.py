"""Directives in cluster form, many at once: as one by one, and what they compute is each point once."""

from collections import Counter
from random import Random

import numpy as np

from npuc.backends.maestro import evaluate, mapping_arrays
from npuc.compiler.analysis.mapping.batch.arrays import LevelArrays, Mappings, read_levels
from npuc.compiler.analysis.mapping.batch.build import mapping_of
from npuc.compiler.analysis.mapping.convert import to_clusters
from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.exact.arrays import LevelTiles
from npuc.compiler.analysis.mapping.exact.directives import cluster_levels
from npuc.dialects.mapping import Cluster, ClusterLevel, Clusters, Map, Mapping, Problem, TileLoop
from npuc.dialects.mapping.problem import SLIDES
from npuc.dialects.npu.mapped import Layout, layout_of
from tests.mapping_batches import draw_batch, draw_layer
from tests.mappings import nest_of


def one_by_one(mapping: Mapping, num_pes: int) -> Clusters | None:
    """The cluster form in the layer's own names, None where there is none."""
    nest = nest_of(mapping.problem)
    layout = layout_of(nest, mapping.problem)
    assert isinstance(layout, Layout)
    names = {own[0]: dim for dim, own in layout.dims if own}
    found = to_clusters(mapping, nest, num_pes)
    if not isinstance(found, Clusters):
        return None
    levels = [(lev.fanout, [TileLoop(names[x.dim], x.temporal, x.spatial) for x in lev.loops]) for lev in found.levels]
    return Clusters(tuple(ClusterLevel(fanout, tuple(loops)) for fanout, loops in levels))


def at_once(problem: Problem, tiles: list[LevelTiles], levels: list[LevelArrays], row: int) -> Clusters:
    """One of many mappings in cluster form, without the loops that do nothing."""
    given, found = {dim: problem.outputs(dim) for dim in problem.named}, list[ClusterLevel]()
    for tile, level in zip(tiles, levels, strict=True):
        loops = [
            TileLoop(problem.named[i], int(tile.temporal[i, row]), int(tile.spatial[i, row]))
            for i in map(int, tile.order[:, row])
        ]
        loops = [loop for loop in loops if loop.spatial < given[loop.dim]]
        given |= {loop.dim: loop.spatial for loop in loops}
        found.append(ClusterLevel(int(level.width[row]), tuple(loops)))
    return Clusters(tuple(found))


def cut_again(mapping: Mapping) -> bool:
    """Whether a level says nothing of a dimension with gaps between windows, which MAESTRO cuts a second time."""
    problem = mapping.problem
    gaps = {dim for dim, window in SLIDES.items() if problem.slides and problem.stride[dim] > problem.sizes[window]}
    return any(gaps - {one.dim for one in level} for level in mapping.levels[1:])


def test_the_cluster_form_is_that_of_each_by_itself() -> None:
    r, counts = Random(1), Counter[str]()
    for _ in range(150):
        problem, levels = draw_layer(r, big=r.choice((3, 6, 12))), r.randint(1, 3)
        mappings = draw_batch(r, problem, 12, levels)
        num_pes = int(np.median(mappings.cluster.prod(axis=1, dtype=np.int64))) * r.randint(1, 4)
        with np.errstate(all="raise"):
            resolved, good = read_levels(problem, mappings, num_pes)
            tiles, once = cluster_levels(problem, mappings, resolved)
        hardware = {"maestro.num_pes": num_pes, "maestro.mode": "exact"}
        accepted = ~np.isnan(evaluate(problem, mappings, hardware)["runtime_cycles"])
        for row in range(len(mappings)):
            mapping = mapping_of(problem, mappings, row)
            wanted = one_by_one(mapping, num_pes)
            if cut_again(mapping):
                counts["cut again"] += 1
                continue
            counts["refused" if wanted is None else "accepted"] += 1
            assert accepted[row] == (wanted is not None), mapping
            if wanted is not None:
                assert (good & once)[row]
                assert at_once(problem, tiles, resolved, row) == wanted
    assert min(counts.values()) > 100, counts


def test_where_windows_leave_gaps_the_written_number_of_outputs_stays() -> None:
    """Tiles of 3 outputs above stay tiles of 3 inside a level that says nothing of them; MAESTRO makes them of 1."""
    problem = Problem("CONV", (("K", 4), ("C", 2), ("R", 1), ("S", 1), ("Y", 1), ("X", 16)), (("X", 3),))
    mapping = Mapping(problem, (Map("X", 7, 9), Map("K", 2, 2, True), Cluster(2), Map("K", 1, 1, True)))
    assert cut_again(mapping)
    arrays = Mappings(
        dim=np.array([[[problem.named.index("X"), problem.named.index("K")], [problem.named.index("K"), -1]]]),
        size=np.array([[[7, 2], [1, 1]]]),
        offset=np.array([[[9, 2], [1, 1]]]),
        spatial=np.array([[[False, True], [True, False]]]),
        cluster=np.array([[2]]),
    )
    resolved, _ = read_levels(problem, arrays, 4)
    tiles, once = cluster_levels(problem, arrays, resolved)
    assert once.tolist() == [True]
    outer, inner = at_once(problem, tiles, resolved, 0).levels
    assert outer.loops == (TileLoop("X", 3, 3), TileLoop("K", 4, 2))
    assert inner.loops == (TileLoop("K", 2, 1),)
    assert coverage(mapping, 4) == ()
    assert TileLoop("X", 1, 1) in (one_by_one(mapping, 4) or Clusters(())).levels[1].loops


def test_taps_and_rows_that_go_along_together_need_one_fold() -> None:
    """Three taps on clusters of three or four, each with its row; on two, other rows would meet the third tap."""
    problem = Problem("CONV", (("K", 2), ("C", 2), ("R", 3), ("S", 1), ("Y", 6), ("X", 4)))
    rows = (Map("Y", 3, 1, True), Map("X", 1, 1))
    for width in (2, 3, 4):
        mapping = Mapping(problem, (*rows, Cluster(width), Map("Y", 1, 1, True), Map("R", 1, 1, True)))
        table = evaluate(problem, mapping_arrays([mapping]), {"maestro.num_pes": 12, "maestro.mode": "exact"})
        assert (table["num_macs"] == problem.macs).all() == (width > 2)
        assert (one_by_one(mapping, 12) is not None) == (width > 2)
