"""Blocks in several memories at the level of tiles: the contraction's numbers, and counts of the closed forms."""

from dataclasses import replace
from io import StringIO
from typing import TypeAlias

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.dialects.scf import Scf
from xdsl.parser import Parser
from xdsl.printer import Printer

from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.traffic import traffic
from npuc.compiler.interpreter.counter import TrafficCounter
from npuc.dialects.npu import NPU
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import LevelKeep
from tests.property.test_tiles import SETTINGS, Case, cases, lowered, module_of, run

Draw: TypeAlias = st.DrawFn


@st.composite
def outer_cases(draw: Draw) -> Case:
    """A nest whose schedule keeps blocks in one or two memories outside of SPM."""
    case = draw(cases())
    schedule = replace(case.schedule, loops=tuple(replace(loop, cores=False) for loop in case.schedule.loops))
    depths = {name: schedule.keep_depth(name) for name in case.nest.tensors}
    outer: list[LevelKeep] = []
    for name in ("L2", "L3")[: draw(st.integers(1, 2))]:
        kept = {t: draw(st.integers(depth, len(schedule.loops))) for t, depth in depths.items() if draw(st.booleans())}
        outer.append(LevelKeep(name, tuple(kept.items())))
        depths |= kept
    return replace(case, schedule=replace(schedule, outer=tuple(outer)))


@SETTINGS
@given(outer_cases())
def test_each_memory_moves_and_holds_what_the_schedule_says(case: Case) -> None:
    counter = TrafficCounter()
    for found, expected in zip(run(lowered(case), case, counter), run(module_of(case), case), strict=True):
        np.testing.assert_array_equal(found, expected)
    nest, names = case.nest, [one.level for one in case.schedule.outer]
    *inner, last = zip(("SPM", *names), case.schedule.at_levels(names), strict=True)
    moved = {place.tensor: (m.read, m.write) for place, m in counter.moved.items()}
    assert moved == {name: (t.read, t.write) for name, t in traffic(nest, last[1]).items()}
    starts = {start.name for start in nest.starts if start is not None}
    for name, schedule in inner:
        moved = {place.tensor: (m.read, m.write) for place, m in counter.inner.get(name, {}).items()}
        for tensor, t in traffic(nest, schedule).items():
            # elements that no statement touches are moved at the end, in DRAM
            missed = nest.tensors[tensor].elements - touched(nest.tensors[tensor], nest.sizes)
            read, write = moved.get(tensor, (0, 0))
            assert read == t.read - missed * (tensor in starts)
            assert write == (t.write - missed if t.write else 0)
    assert counter.peak <= sum(footprint(nest, inner[0][1]).values())
    for name, schedule in [*inner[1:], last]:
        assert counter.outer_peak[name] <= sum(footprint(nest, schedule).values())


@settings(SETTINGS, max_examples=20)
@given(outer_cases())
def test_the_text_is_read_back(case: Case) -> None:
    context = Context()
    for dialect in (Builtin, Func, Scf, Arith, NPU):
        context.load_dialect(dialect)
    module = lowered(case)
    for generic in (False, True):
        text = StringIO()
        Printer(text, print_generic_format=generic).print_op(module)
        assert Parser(context, text.getvalue()).parse_module().is_structurally_equivalent(module)
