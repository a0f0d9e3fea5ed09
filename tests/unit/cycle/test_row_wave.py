"""A pass of a row-stationary array cycle by cycle, beside its elements."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.cycle.explain.filling import IDLE, OTHER, WAITS, WORKS
from npuc.backends.cycle.explain.pass_filling import Steps
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.machine.row_wave import first_pass
from npuc.dialects.npu.nest import Schedule
from tests.unit.cycle.row_elements import Array as Elements
from tests.unit.cycle.row_elements import Element, Job, Values
from tests.unit.cycle.test_row_stationary import (
    NAMES,
    Sizes,
    arrays,
    convolution,
    elements_of,
    values,
)

Strides = tuple[tuple[int, int], tuple[int, int]]
sides = st.integers(1, 5)
sizes_of = st.fixed_dictionaries(dict.fromkeys(NAMES, sides))
strides = st.tuples(*(st.tuples(st.integers(1, 3), st.integers(1, 3)) for _ in range(2)))


class FirstPass(Exception):
    """The first pass is over."""


class Noted(Elements):
    """Elements that note what each has to do in a step, and stop after the first pass."""

    def start(self) -> None:
        self.own: list[dict[tuple[int, int], int]] = []

    def _pass(self, *given: Any, **named: Any) -> None:
        super()._pass(*given, **named)
        raise FirstPass

    def _step(
        self, job: Job, out: Values, elements: dict[tuple[int, int], tuple[Element, int, int, int, int]], n: int, x: int
    ) -> int:
        self.own.append({place: len(element.weights) for place, (element, *_) in elements.items()})
        return super()._step(job, out, elements, n, x)


@settings(max_examples=80, deadline=None)
@given(sizes_of, strides, arrays(), st.integers(0, 99))
def test_the_closed_form_is_what_elements_do(sizes: Sizes, steps: Strides, array: Array, seed: int) -> None:
    nest, r = convolution("forward", sizes, steps), Random(seed)
    job = Job(
        values(r, *nest.tensors["X"].shape), values(r, *nest.tensors["W"].shape), (sizes["y"], sizes["x"]), *steps
    )
    plain = elements_of(array, nest)
    noted = Noted(plain.size, plain.memory, plain.mapping)
    noted.start()
    with pytest.raises(FirstPass):
        noted.run(job)
    found = first_pass(nest, nest.statements[0], configured(nest, Schedule(), array), nest.sizes)
    assert found.steps == len(noted.own)
    assert found.starts(found.steps)[-1] + found.after == noted.cycles
    assert found.steps * found.compute == noted.steady
    assert found.macs == sum(sum(step.values()) for step in noted.own)
    shown = Steps("Y", array.rows, array.cols, "", found, 1)
    starts = found.starts(found.steps)
    own = noted.own[0]
    assert found.sets.elements == len(own)
    for cycle in range(shown.end):
        step = max((n for n in range(found.steps) if starts[n] <= cycle), default=None)
        at_work = [0, 0]
        for row in range(array.rows):
            for col in range(array.cols):
                state = shown.state(row, col, cycle)
                if (row, col) not in own:
                    assert state == IDLE
                    continue
                works = step is not None and cycle - starts[step] < own[row, col]
                at_work[state == OTHER] += works
                assert (state in (WORKS, OTHER)) == works
                assert works or state == WAITS
        assert shown.busy(cycle) == tuple(at_work)
    cycles = [cycle for _, cycle in shown.moments]
    assert cycles == sorted(set(cycles))
    assert len(cycles) <= 5
    assert all(0 <= cycle < max(shown.end, 1) for cycle in cycles)
