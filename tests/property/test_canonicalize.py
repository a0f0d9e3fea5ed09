"""
Programs with needless work: `canonicalize` keeps every value and gradient, before autodiff and after, and makes no step
of a level of -O dearer.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import SSAValue

from npuc.compiler import compile_source
from npuc.compiler.driver.check import run_results
from npuc.compiler.layers.base import Array
from npuc.compiler.report import Report
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.canonicalize import CanonicalizePass
from npuc.compiler.transforms.canonicalize.compositions import keeps_values
from npuc.dialects.tensors import shape_of
from tests.networks import Net, dot_loss, integer_data

Step = Callable[[Net, SSAValue, st.DataObject], SSAValue]


def _axis(x: SSAValue, data: st.DataObject) -> int:
    return data.draw(st.integers(0, len(shape_of(x)) - 1))


def _permuted(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    for _ in range(2):
        x = net.call("transpose", x, data.draw(st.permutations(range(len(shape_of(x))))))
    return x


def _reshaped(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    shape = shape_of(x)
    flat = net.call("reshape", x, [shape[0] * shape[1], *shape[2:]])
    return net.call("reshape", flat, data.draw(st.sampled_from([shape, (shape[1], shape[0], *shape[2:])])))


def _limited(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    function = data.draw(st.sampled_from(["relu", "abs"]))
    return net.call(function, net.call(function, x))


def _clipped(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    for _ in range(2):
        high = data.draw(st.integers(1, 2))
        x = net.call("clip", x, -high, high)
    return x


def _turned(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    axes = [_axis(x, data) for _ in range(2)]
    return net.call("flip", net.call("flip", x, axes[0]), axes[1])


def _rolled(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("roll", x, data.draw(st.integers(-1, 1)), _axis(x, data))


def _chosen(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    other = data.draw(st.sampled_from([x, net.call("relu", x)]))
    return net.call(data.draw(st.sampled_from(["max", "min"])), x, other)


def _where(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("where", net.call("greater", x, 0), x, data.draw(st.sampled_from([x, net.call("abs", x)])))


def _parted(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    axis = _axis(x, data)
    parts = list(net.call_all("split", x, [1, shape_of(x)[axis] - 1], axis)) if shape_of(x)[axis] > 1 else [x]
    if data.draw(st.booleans()):
        parts.reverse()
    whole = net.call("concat", parts, axis)
    return net.call("concat", list(net.call_all("split", whole, [shape_of(p)[axis] for p in parts], axis)), axis)


def _unbound(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    for _ in range(2):
        axis, other = _axis(x, data), _axis(x, data)
        x = net.call("stack", list(net.call_all("unbind", x, axis)), other)
    return x


def _sliced(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    axis = _axis(x, data)
    for _ in range(2):
        last = min(1, shape_of(x)[axis] - 1)
        x = net.call("slice", x, axis, data.draw(st.integers(0, last)), step=data.draw(st.integers(1, 2)))
    return x


def _cast(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    return net.call("cast", net.call("cast", x, data.draw(st.sampled_from(["f32", "f64"]))), "f64")


def _scaled(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    for _ in range(2):
        x = net.call("mul", x, data.draw(st.sampled_from([1, -1, 2])))
    return x


def _constant(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    ones = net.call("full", list(shape_of(x)), 2.0, dtype="f64")
    return net.call("add", x, net.call("mul", ones, net.call("relu", ones)))


def _twice(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    function = data.draw(st.sampled_from(["relu", "abs"]))
    return net.call("add", net.call(function, x), net.call(function, x))


def _unread(net: Net, x: SSAValue, data: st.DataObject) -> SSAValue:
    net.call("relu", net.call("abs", x))
    return x


STEPS: tuple[Step, ...] = (
    *(
        _permuted,
        _reshaped,
        _limited,
        _clipped,
        _turned,
        _rolled,
        _chosen,
        _where,
        _parted,
        _unbound,
        _sliced,
        _cast,
        _scaled,
    ),
    *(_constant, _twice, _unread),
)


@st.composite
def networks(draw: st.DrawFn, first: Step) -> ModuleOp:
    """A product, whose weight gets a gradient through a step and perhaps some others of those above."""
    data = draw(st.data())
    net = Net()
    sizes = draw(st.tuples(st.integers(1, 3), st.integers(2, 7), st.integers(2, 3)))
    x = net.call("matmul", net.input("x", sizes[0], sizes[1], 2), net.param("w", 2, sizes[2]))
    for step in (first, *draw(st.lists(st.sampled_from(STEPS), max_size=3))):
        x = step(net, x, data)
    return net.finish(dot_loss(net, x))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@settings(max_examples=25)
@given(draws=st.data(), seed=st.integers(0, 99))
def test_every_value_and_gradient_stays(step: Step, draws: st.DataObject, seed: int) -> None:
    module = draws.draw(networks(step))
    data = integer_data(module, seed)
    whole, early = module.clone(), module.clone()
    forward = run_results(module, data)
    AutodiffPass().apply(Context(), whole)
    expected = run_results(whole, data)

    CanonicalizePass().apply(Context(), early)
    early.verify()
    assert_same(forward, run_results(early, data))
    AutodiffPass().apply(Context(), early)
    late = whole.clone()
    for program in (early, late):
        CanonicalizePass().apply(Context(), program)
        program.verify()
        assert_same(expected, run_results(program, data))
        text = str(program)
        CanonicalizePass().apply(Context(), program)
        assert str(program) == text, "a canonical program stays as it is"
    assert _count(early) <= _count(whole)
    assert _count(late) <= _count(whole)


MACHINE = {
    "name": "small",
    "clock_mhz": 1000,
    "array.rows": 4,
    "array.cols": 4,
    "array.dataflow": "os",
    "memory.spm_kib": 2,
    "dram.gb_per_s": 1.0,
    "vector.lanes": 4,
    "energy.mac_pj": 0.2,
    "energy.spm_pj_per_byte": 1.0,
    "energy.dram_pj_per_byte": 20.0,
}
PASSES = {
    1: "autodiff,lower-to-npu,interleave{mode=zip},schedule",
    2: "autodiff,lower-to-npu,interleave{mode=zip},rearrange{rule=published},schedule",
    3: "autodiff,lower-to-npu,interleave{mode=best},schedule",
}


@settings(max_examples=60)
@given(draws=st.data(), level=st.sampled_from(sorted(PASSES)))
def test_no_level_costs_more_with_it(draws: st.DataObject, level: int) -> None:
    text = str(draws.draw(networks(draws.draw(st.sampled_from(STEPS)))))
    plain = compile_source(text, "mlir", hardware=MACHINE, pipeline=PASSES[level])
    whole = compile_source(text, "mlir", hardware=MACHINE, pipeline=f"canonicalize,{PASSES[level]}")
    taken = compile_source(text, "mlir", hardware=MACHINE, opt_level=level)
    assert all(new <= old * (1 + 1e-12) for old, new in zip(costs(plain), costs(taken), strict=True))
    if taken.pipeline.startswith("canonicalize"):
        assert costs(taken) == costs(whole)
    else:
        assert costs(taken) == costs(plain)


def costs(report: Report) -> list[float]:
    """Time, traffic, energy and memory of a step."""
    totals = report.totals
    moved = (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0)
    return [totals.cycles or 0, moved, totals.energy_j or 0.0, totals.peak_bytes or 0]


def assert_same(before: Mapping[str, Array], after: Mapping[str, Array]) -> None:
    """To the bit, also where equal operands of a maximum have halves of a gradient."""
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array, err_msg=name)


def _count(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())


def test_element_types_that_keep_every_value_of_others() -> None:
    """bf16 has the exponents of f32 and f16 more digits, so neither keeps the other's values."""
    types = {"f16": f16, "bf16": bf16, "f32": f32, "f64": f64, "i1": i1, "i32": i32, "i64": i64}
    kept = {name: {into for into, wide in types.items() if keeps_values(own, wide)} for name, own in types.items()}
    assert kept == {
        "f16": {"f16", "f32", "f64"},
        "bf16": {"bf16", "f32", "f64"},
        "f32": {"f32", "f64"},
        "f64": {"f64"},
        "i1": {*types},
        "i32": {"i32", "i64", "f64"},
        "i64": {"i64"},
    }
