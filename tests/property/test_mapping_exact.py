"""Exact mode against a machine that walks every step, and what must hold of any mapping."""

from dataclasses import replace
from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest

from npuc.compiler.analysis.mapping.columns import COLUMNS
from npuc.compiler.analysis.mapping.exact.arrays import Floats, cluster_arrays
from npuc.compiler.analysis.mapping.exact.columns import evaluate_exact, run_exact
from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction, TensorAxis, contraction_of
from npuc.compiler.analysis.mapping.exact.refetch import refetched
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.dialects.mapping import ClusterLevel, Clusters, Role, TileLoop
from tests.mapping_batches import draw_layer
from tests.mapping_walk import cells, run, streamed

NAMES: dict[Role, str] = {"I": "input", "W": "filter", "O": "output"}


def draw_work(r: Random, most: int = 300) -> Contraction:
    """A contraction of a few points: a layer, also with its tensors in other roles as in dX and dW, also dilated."""
    work = contraction_of(draw_layer(r, big=5))
    while work.macs > most:
        work = contraction_of(draw_layer(r, big=5))
    tensors = list(work.tensors)
    if r.random() < 0.5:
        r.shuffle(tensors)
    if r.random() < 0.3:
        tensors = [tuple(_dilated(axis) for axis in axes) for axes in tensors]
    return Contraction(work.dims, tuple(tensors))


def _dilated(axis: TensorAxis) -> TensorAxis:
    return TensorAxis((axis.terms[0], (axis.terms[1][0], 2))) if len(axis.terms) == 2 else axis


def draw_clusters(r: Random, work: Contraction, levels: int, most: int = 12) -> Clusters:
    """A mapping whose levels spread any number of dimensions, with last tiles and last parts that are smaller."""
    given, found = dict(work.dims), list[ClusterLevel]()
    for _ in range(levels):
        loops, fanout = list[TileLoop](), 1
        for dim in r.sample(work.names, r.randint(1, len(work.names))):
            temporal = spatial = r.randint(1, given[dim])
            if r.random() < 0.4:
                spatial = r.choice((r.randint(1, temporal), max(1, temporal - 1)))
            loop = TileLoop(dim, temporal, spatial)
            if fanout * loop.parts > most:
                loop = TileLoop(dim, temporal, temporal)
            loops.append(loop)
            fanout *= loop.parts
            given[dim] = loop.spatial
        found.append(ClusterLevel(fanout + r.randint(0, 1), tuple(loops)))
    return Clusters(tuple(found))


def draw_array(r: Random) -> PeArray:
    return PeArray(50, r.randint(1, 9), r.randint(0, 3), r.choice((1, 3, 1000)), r.randint(1, 3))


def walked(work: Contraction, mapping: Clusters, array: PeArray) -> dict[str, float]:
    """The columns from a walk; L2 holds two tiles of a step, L1 two of a processing element."""
    seen, first = run(work, mapping, array), {loop.dim: loop.temporal for loop in mapping.levels[0].loops}
    step = {dim: (0, first.get(dim, size)) for dim, size in work.dims}
    whole = {role: len(cells(work, role, {dim: (0, size) for dim, size in work.dims})) for role in ROLES}
    moved = [max(sum(b.values()), out) for b, out in zip(seen.brought, seen.left, strict=False)]
    found: dict[str, float] = {"num_macs": seen.macs}
    found["runtime_cycles"] = sum(
        max(delay, -(-volume // array.offchip_bw)) for delay, volume in zip(seen.delay, moved, strict=True)
    )
    for role, name in NAMES.items():
        found[f"{name}_l2_size_req"] = 2 * len(cells(work, role, step))
        found[f"{name}_l1_size_req"] = 2 * seen.largest[role]
        found[f"{name}_l2_write"], found[f"{name}_l1_read"] = whole[role], seen.macs
        found[f"{name}_l2_read"] = sum(brought[role] for brought in seen.brought)
        found[f"{name}_l1_write"] = seen.macs if role == "O" else seen.received[role]
    found["output_l2_write"], found["output_l2_read"] = sum(seen.left), found["output_l2_read"] + whole["O"]
    needs = [volume / busy for volume, busy in zip(moved, seen.compute, strict=True)]
    found["noc_bw_req_peak"] = found["offchip_bw_req"] = max(needs)
    found["noc_bw_req_avg"] = sum(needs) / len(needs)
    for name, cycles in (("ingress", seen.into), ("egress", seen.out), ("compute", seen.compute)):
        found[f"{name}_delay_min"], found[f"{name}_delay_max"] = min(cycles), max(cycles)
        found[f"{name}_delay_avg"] = sum(cycles) / len(cycles)
    found["avg_utilized_pes"] = sum(seen.active) / len(seen.active)
    found["throughput_macs_per_cycle"] = seen.macs / found["runtime_cycles"]
    found["arithmetic_intensity"] = seen.macs / (found["input_l2_read"] + found["filter_l2_read"])
    return found | _derived(found)


def _derived(found: dict[str, float]) -> dict[str, float]:
    """Sizes and energies of all tensors together."""
    sizes = {f"l{n}_size_req": sum(found[f"{name}_l{n}_size_req"] for name in NAMES.values()) for n in (1, 2)}
    l1, l2 = (sum(found[f"{t}_l{n}_{way}"] for t in NAMES.values() for way in ("read", "write")) for n in (1, 2))
    energy = 18.61 * l2 + 1.68 * l1 + found["num_macs"]
    return {**sizes, "energy_total_mac_units": energy, "energy_nj_csv": 0.00023 * energy}


def exact(work: Contraction, mappings: list[Clusters], array: PeArray) -> dict[str, Floats]:
    with np.errstate(all="raise"):
        return evaluate_exact(work, cluster_arrays(work, mappings), array)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_every_column_is_that_of_a_walk(levels: int) -> None:
    r = Random(levels)
    for _ in range(40):
        work, array = draw_work(r), draw_array(r)
        mappings = [draw_clusters(r, work, levels) for _ in range(3)]
        found = exact(work, mappings, array)
        assert tuple(found) == COLUMNS
        for number, mapping in enumerate(mappings):
            assert not list(mapping.problems(dict(work.dims)))
            wanted = walked(work, mapping, array)
            assert set(wanted) == set(COLUMNS) - {"area_csv", "power_csv"}
            mine = {name: float(found[name][number]) for name in wanted}
            assert mine == pytest.approx(wanted, rel=1e-12), (work, mapping, array)


def test_more_bandwidth_is_never_slower_and_work_takes_its_time() -> None:
    r = Random(9)
    for _ in range(60):
        work, array = draw_work(r, 10**6), draw_array(r)
        mappings = [draw_clusters(r, work, r.randint(1, 3), 64)]
        found = exact(work, mappings, array)
        assert found["num_macs"] == work.macs
        lanes = prod(level.parts for level in mappings[0].levels) * array.lanes
        assert found["runtime_cycles"] >= -(-work.macs // lanes)
        for more in (
            replace(array, noc_bw=array.noc_bw + r.randint(1, 20)),
            replace(array, offchip_bw=array.offchip_bw + r.randint(1, 20)),
            replace(array, lanes=array.lanes + 1),
        ):
            assert exact(work, mappings, more)["runtime_cycles"] <= found["runtime_cycles"]
        later = replace(array, noc_latency=array.noc_latency + 1)
        assert exact(work, mappings, later)["runtime_cycles"] >= found["runtime_cycles"]


def least_transfers(work: Contraction, mapping: Clusters, array: PeArray, l1_size: int) -> tuple[int, bool]:
    """The cycles of transfers for the best choice of tensors that sub-clusters keep; whether they can keep all."""
    seen, (again, out) = run(work, mapping, array), streamed(work, mapping, array)
    once = {role: sum(brought[role] for brought in seen.brought) for role in ROLES}
    part = {dim: (0, size) for dim, size in work.dims}
    part |= {loop.dim: (0, loop.spatial) for loop in mapping.levels[0].loops}
    room = l1_size * prod(level.fanout for level in mapping.levels[1:])
    size = {role: 2 * len(cells(work, role, part)) for role in ROLES}
    found: list[int] = []
    for kept in product((False, True), repeat=len(ROLES)):
        stays = {role for role, own in zip(ROLES, kept, strict=True) if own}
        if sum(size[role] for role in stays) > room:
            continue
        into = sum(once[role] if role in stays else again[role] for role in ROLES)
        found.append(-(-max(into, sum(seen.left) if "O" in stays else out) // array.noc_bw))
    more = {role for role in ROLES if again[role] > once[role] or (role == "O" and out > sum(seen.left))}
    return max(min(found), -(-sum(seen.left) // array.offchip_bw)), sum(size[role] for role in more) <= room


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_what_clusters_bring_again_is_that_of_a_walk(levels: int) -> None:
    r = Random(10 + levels)
    kept = 0
    for _ in range(40):
        work, array, l1_size = draw_work(r), draw_array(r), r.choice((6, 20, 100))
        mapping = draw_clusters(r, work, levels)
        arrays = cluster_arrays(work, [mapping])
        inside = np.array([prod(level.fanout for level in mapping.levels[1:])])
        found = refetched(work, arrays, run_exact(work, arrays, array), array, inside, l1_size)
        wanted = least_transfers(work, mapping, array, l1_size)
        assert (int(found.network[0]), bool(found.buffered[0])) == wanted, (work, mapping, array)
        kept += wanted[1]
    assert levels == 1 or 0 < kept < 40
    assert levels > 1 or kept == 40
