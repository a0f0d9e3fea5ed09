"""
Random contractions, alone and in turn, whose schedules are set by passes: the program before equals the program after
to the bit, with its contractions whole and as tiles.
"""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from npuc.compiler.transforms.keep import KeepPass
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.compiler.transforms.rearrange import RearrangePass
from npuc.compiler.transforms.tile import TilePass
from npuc.dialects.npu import ContractOp
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
    inner = len(op.schedule.loops) - op.schedule.spread
    names = draw(st.lists(st.sampled_from(sorted(op.nest.tensors)), unique=True, min_size=1))
    return KeepPass(",".join(f"{name}:{draw(st.integers(0, inner))}" for name in names), layer)


def order_pass(draw: Draw, op: ContractOp, layer: str) -> ModulePass:
    dims = draw(st.lists(st.sampled_from(sorted(op.nest.sizes)), unique=True, min_size=1))
    return RearrangePass(tuple(dims), only=layer)


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
        make = data.draw(st.sampled_from([tile_pass, keep_pass, order_pass]))
        op = contracts(module)[number]
        if make is tile_pass:
            op.schedule = type(op.schedule)(op.schedule.loops)
        if make is order_pass and op.schedule_attr is None:
            continue
        step = data.draw(st.composite(make)(op, f"stream{number}"))
        step.apply(Context(), module)
        module.verify()
    for found, right in zip(outcomes(module, seed), before, strict=True):
        np.testing.assert_array_equal(found, right)
