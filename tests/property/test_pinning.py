"""
Random contractions, alone and in turn, whose schedules are set by passes: the program before equals the program after
to the bit, with its contractions whole and as tiles.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from npuc.compiler.analysis.nest.traffic import TensorTraffic, traffic
from npuc.compiler.analysis.schedule.partition import EqualParts, Over, extent_of, partitioned
from npuc.compiler.transforms.keep import KeepPass
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.compiler.transforms.partition import PartitionPass
from npuc.compiler.transforms.rearrange import RearrangePass
from npuc.compiler.transforms.rearrange.loop_order import permuted
from npuc.compiler.transforms.schedule.pins import together_of
from npuc.compiler.transforms.tile import TilePass
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Loop, Nest, Schedule
from tests.property.conftest import gemm
from tests.property.test_interleaved_tiles import programs
from tests.property.test_interleaved_tiles import run as run_seeded
from tests.property.test_tiles import SETTINGS, Array, Draw, cases, module_of


def contracts(module: ModuleOp) -> list[ContractOp]:
    return [op for op in module.walk() if isinstance(op, ContractOp)]


@st.composite
def modules(draw: Draw) -> ModuleOp:
    """One contraction, or several in turn, each a layer of its own."""
    module = draw(programs()) if draw(st.booleans()) else module_of(draw(cases()))
    for number, op in enumerate(contracts(module)):
        op.attributes["layer"] = StringAttr(f"stream{number}")
    return module


def tile_pass(draw: Draw, op: ContractOp, layer: str) -> ModulePass:
    """Steps for some dimensions, each within what its innermost loop steps through."""
    extents = dict(op.nest.sizes)
    inner = {loop.dim: number for number, loop in enumerate(op.schedule.loops) if not loop.cores}
    for number, loop in enumerate(op.schedule.loops):
        if inner.get(loop.dim) != number:
            extents[loop.dim] = loop.step
    dims = draw(st.lists(st.sampled_from(sorted(extents)), unique=True, min_size=1))
    return TilePass(",".join(f"{dim}:{draw(st.integers(1, extents[dim]))}" for dim in dims), layer)


def keep_pass(draw: Draw, op: ContractOp, layer: str) -> ModulePass:
    inner = len(op.schedule.loops) - op.schedule.core_depth
    names = draw(st.lists(st.sampled_from(sorted(op.nest.tensors)), unique=True, min_size=1))
    return KeepPass(",".join(f"{name}:{draw(st.integers(0, inner))}" for name in names), layer)


def order_pass(draw: Draw, op: ContractOp, layer: str) -> ModulePass:
    dims = draw(st.lists(st.sampled_from(sorted(op.nest.sizes)), unique=True, min_size=1))
    return RearrangePass(tuple(dims), only=layer)


def partition_pass(draw: Draw, op: ContractOp, layer: str) -> ModulePass:
    """A cut that is possible in front of the loops, over time or, of a contraction alone, over cores."""
    over: Over = draw(st.sampled_from(["time", "time", "cores"])) if together_of(op) is None else "time"
    spread = {loop.dim for loop in op.schedule.loops if loop.cores}
    choices = [("", 1)]
    for dim in op.nest.sizes:
        extent = extent_of(op.nest, op.schedule, dim, over)
        inner = max((loop.step for loop in op.schedule.loops if loop.dim == dim and not loop.cores), default=1)
        if over == "time" or dim not in spread:
            choices += [(dim, n) for n in range(2, extent + 1) if extent % n == 0 and extent // n >= inner]
    dim, parts = draw(st.sampled_from(choices))
    return PartitionPass(dim or next(iter(op.nest.sizes)), parts, over, only=layer)


def outcomes(module: ModuleOp, seed: int) -> Sequence[Array]:
    """What a program computes; the same is required of its tiles."""
    found = run_seeded(module, seed)
    tiles = module.clone()
    LowerTilesPass().apply(Context(), tiles)
    tiles.verify()
    for one, other in zip(run_seeded(tiles, seed), found, strict=True):
        np.testing.assert_array_equal(one, other)
    return found


@SETTINGS
@given(st.data(), modules(), st.integers(0, 99))
def test_passes_that_set_schedules_keep_the_values(data: st.DataObject, module: ModuleOp, seed: int) -> None:
    before = run_seeded(module, seed)
    for op in contracts(module):  # Depths are as deep as the loops were: they go first.
        op.schedule = type(op.schedule)(op.schedule.loops)
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(contracts(module)) - 1))
        make = data.draw(st.sampled_from([tile_pass, keep_pass, order_pass, partition_pass]))
        op = contracts(module)[number]
        if make is tile_pass:
            op.schedule = type(op.schedule)(op.schedule.loops)
        if make in (order_pass, partition_pass) and op.schedule_attr is None:
            continue
        step = data.draw(st.composite(make)(op, f"stream{number}"))
        step.apply(Context(), module)
        module.verify()
    for found, right in zip(outcomes(module, seed), before, strict=True):
        np.testing.assert_array_equal(found, right)


def named_traffic(nest: Nest, schedule: Schedule) -> dict[str, TensorTraffic]:
    """
    The closed form of one loop nest over plain indices, each loop of so many trips: reads and writes are mult x |T|.

    `mult` is the product of the trips of the loops outside a tensor's block that do not index it, without those inside
    the last loop that changes the block. All loops of a dimension must divide each other.
    """
    found: dict[str, TensorTraffic] = {}
    for tensor in (*nest.ins, *nest.outs):
        extents, trips = dict(nest.sizes), list[tuple[str, int]]()
        for loop in schedule.loops[: len(schedule.loops) - schedule.keep_depth(tensor.name)]:
            trips.append((loop.dim, extents[loop.dim] // loop.step))
            assert extents[loop.dim] % loop.step == 0
            extents[loop.dim] = loop.step
        while trips and (trips[-1][0] not in tensor.dims or trips[-1][1] == 1):
            trips.pop()
        mult = prod(count for dim, count in trips if dim not in tensor.dims)
        if tensor in nest.outs:
            again = (mult - 1) * tensor.elements
            found[tensor.name] = TensorTraffic(again, again + tensor.elements, resumed=again, spilled=again)
        else:
            found[tensor.name] = TensorTraffic(mult * tensor.elements, 0)
    return found


def fused(m: int, n: int, k: int) -> Nest:
    """dX and dW of one product."""
    return gemm({"m": m, "n": n, "k": k}, "dxdw", (), "none")


@st.composite
def divided(draw: Draw) -> tuple[Nest, Schedule, EqualParts]:
    """A fused nest, a schedule whose steps divide, and a cut in front of it."""
    sizes: list[int] = []
    loops: list[Loop] = []
    cuts: list[EqualParts] = []
    for dim in "mnk":
        step, trips, parts = (draw(st.integers(1, 4)) for _ in range(3))
        sizes.append(step * trips * parts)
        loops.append(Loop(dim, step))
        cuts.append(EqualParts(dim, parts))
    order = draw(st.permutations(range(3)))
    nest = fused(*sizes)
    keep = tuple((name, draw(st.integers(0, 3))) for name in nest.tensors)
    return nest, Schedule(tuple(loops[n] for n in order), keep), draw(st.sampled_from(cuts))


@SETTINGS
@given(divided())
def test_a_cut_is_one_more_loop(case: tuple[Nest, Schedule, EqualParts]) -> None:
    nest, schedule, cut = case
    assert traffic(nest, schedule) == named_traffic(nest, schedule)
    part = nest.sizes[cut.dim] // cut.parts
    outer = replace(schedule, loops=(Loop(cut.dim, part), *schedule.loops))
    assert traffic(nest, partitioned(nest, schedule, cut)) == named_traffic(nest, outer)
    assert footprint(nest, partitioned(nest, schedule, cut)) == footprint(nest, outer)


MIRROR = {"Y": "Y", "W": "X", "X": "W", "dX": "dW", "dW": "dX"}


@SETTINGS
@given(divided())
def test_transposition_maps_dx_major_onto_dw_major(case: tuple[Nest, Schedule, EqualParts]) -> None:
    """Swapping M with N, X with W and dX with dW gives the same traffic, also of a cut nest."""
    nest, schedule, cut = case
    swap = {"m": "n", "n": "m", "k": "k"}
    mirrored = fused(nest.sizes["n"], nest.sizes["m"], nest.sizes["k"])

    def mirror(one: Schedule) -> Schedule:
        loops = tuple(Loop(swap[loop.dim], loop.step) for loop in one.loops)
        return Schedule(loops, tuple((MIRROR[name], depth) for name, depth in one.keep))

    orders = [permuted(nest, schedule, order) for order in ("mkn", "nkm")]
    assert mirror(orders[0]) == permuted(mirrored, mirror(schedule), "nkm")
    for one in (*orders, partitioned(nest, schedule, cut)):
        found = traffic(mirrored, mirror(one))
        assert {name: found[MIRROR[name]] for name in MIRROR} == traffic(nest, one)
