"""
What devices do together, on random meshes: its meaning, its derivative, and the elements that it moves.

A tensor is cut at random levels on random axes; the operation under test changes one of them. Values are small
integers, so that all is exact.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from npuc.compiler.analysis.sharding.cost.collective_traffic import exchanged
from npuc.compiler.interpreter.collectives import Wire, exchange
from npuc.compiler.interpreter.devices import assemble, shard
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array, params_of
from npuc.dialects.distributed import (
    MESH,
    AddendOp,
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    CopyOp,
    DistOp,
    Mesh,
    MeshAttr,
    OnceOp,
    PlaceOp,
    ReduceScatterOp,
    SendReceiveOp,
    Sharding,
    SliceOp,
    levels_of,
    on_mesh,
)
from npuc.dialects.tensors import shape_of, tensor_of
from npuc.dialects.train.base import Param, TrainOp, ints

QUICK = settings(max_examples=30)
MESHES = (
    st.lists(st.integers(2, 4), min_size=1, max_size=4)
    .map(lambda sizes: Mesh(tuple(sizes)))
    .filter(lambda mesh: mesh.devices <= 24)
)


@dataclass(frozen=True)
class Case:
    """An operation in a function, the spread of a tensor of `shape` before and after it, and random numbers."""

    mesh: Mesh
    shape: tuple[int, ...]
    before: Sharding
    after: Sharding
    op: DistOp
    random: np.random.Generator

    def integers(self, *shape: int) -> Array:
        return self.random.integers(-4, 5, shape).astype(np.float64)

    def whole(self) -> Array:
        return self.integers(*self.shape)

    def addends(self, sharding: Sharding) -> list[Array]:
        """Values that differ from device to device, as large as a device's part."""
        local = sharding.local_shape(self.mesh, self.shape)
        return [self.integers(*local) for _ in range(self.mesh.devices)]

    @property
    def parts(self) -> int:
        return self.mesh.parts(levels_of(self.op))


def _in_function(mesh: Mesh, kind: type[DistOp], shape: tuple[int, ...], params: dict[str, Param]) -> DistOp:
    block = Block(arg_types=[tensor_of(f64, shape)])
    op = on_mesh(kind, mesh, block.args[0], **params)
    block.add_op(op)
    FuncOp("f", FunctionType.from_lists([block.args[0].type], []), Region(block)).attributes[MESH] = MeshAttr(mesh)
    op.verify_()
    return op


@st.composite
def cases(draw: st.DrawFn, kind: type[DistOp]) -> Case:
    """An operation of a kind over random levels of a random mesh, on a tensor that other levels cut."""
    mesh = draw(MESHES)
    several = kind in (AllReduceOp, CopyOp, OnceOp, AddendOp)
    over = draw(
        st.lists(st.sampled_from(mesh.levels), min_size=1, max_size=4 if several else 1, unique=True).map(sorted)
    )
    before = Sharding.whole(2)
    for level in mesh.levels:
        axis = draw(st.sampled_from([None, 0, 1]))
        if axis is not None and level not in over:
            before = before.with_cut(axis, level)
    shape = tuple(mesh.devices * draw(st.integers(1, 2)) for _ in range(2))
    axis, after = draw(st.integers(0, 1)), before
    params: dict[str, Param] = {"over": tuple(over)}
    if kind in (SliceOp, ReduceScatterOp, AllGatherOp, PlaceOp):
        params |= {"axis": axis, "within": before.axes[axis]}
        if draw(st.booleans()):
            params["segments"] = (mesh.devices,) * (shape[axis] // mesh.devices)
            segments = tuple(
                (mesh.devices,) * (size // mesh.devices) if n == axis else () for n, size in enumerate(shape)
            )
            before, after = replace(before, segments=segments), replace(after, segments=segments)
        if kind in (AllGatherOp, PlaceOp):
            before = before.with_cut(axis, over[0])
            after = after.with_addends(over[0]) if kind is PlaceOp else after
        else:
            after = after.with_cut(axis, over[0])
    elif kind is AllToAllOp:
        params |= {"split": 1 - axis, "concat": axis}
        params |= {"split_within": before.axes[1 - axis], "concat_within": before.axes[axis]}
        before, after = before.with_cut(axis, over[0]), before.with_cut(1 - axis, over[0])
    elif kind is SendReceiveOp:
        parts = range(mesh.sizes[over[0]])
        count = draw(st.integers(0, len(parts)))
        params |= {name: tuple(draw(st.permutations(parts))[:count]) for name in ("source", "target")}
    if kind is AddendOp:
        for level in over:
            after = after.with_addends(level)
    if kind in (AllReduceOp, ReduceScatterOp):
        for level in over:
            before = before.with_addends(level)
    op = _in_function(mesh, kind, before.local_shape(mesh, shape), params)
    return Case(mesh, shape, before, after, op, np.random.default_rng(draw(st.integers(0, 1 << 32))))


def _run(case: Case, arrays: list[Array]) -> list[Array]:
    return exchange(case.op, case.mesh, arrays, Wire())


@pytest.mark.parametrize("kind", [SliceOp, AllGatherOp, AllToAllOp, CopyOp, OnceOp, AddendOp, PlaceOp])
@given(data=st.data())
@QUICK
def test_the_tensor_stays_and_only_its_spread_changes(kind: type[DistOp], data: st.DataObject) -> None:
    case = data.draw(cases(kind))
    tensor = case.whole()
    found = _run(case, shard(case.mesh, case.before, tensor))
    assert {array.shape for array in found} == {shape_of(case.op.out)}
    assert np.array_equal(assemble(case.mesh, case.after, found), tensor)


@pytest.mark.parametrize("kind", [AllReduceOp, ReduceScatterOp])
@given(data=st.data())
@QUICK
def test_addends_are_summed(kind: type[DistOp], data: st.DataObject) -> None:
    case = data.draw(cases(kind))
    addends = case.addends(case.before)
    # Devices that differ at a level which neither cuts nor sums have the same.
    known = sorted((*case.before.cuts, *case.before.partial))
    first: dict[tuple[int, ...], Array] = {}
    for device, addend in enumerate(addends):
        coordinates = case.mesh.coordinates(device)
        addends[device] = first.setdefault(tuple(coordinates[level] for level in known), addend)
    expected = assemble(case.mesh, case.before, addends)
    assert np.array_equal(assemble(case.mesh, case.after, _run(case, addends)), expected)


@given(case=cases(AllReduceOp))
@QUICK
def test_a_mean_is_the_sum_over_the_addends(case: Case) -> None:
    addends = case.addends(case.before)
    total = _run(case, addends)
    params: dict[str, Param] = {"over": levels_of(case.op), "mean": True}
    mean = _in_function(case.mesh, AllReduceOp, shape_of(case.op.x), params)
    for found, expected in zip(exchange(mean, case.mesh, addends, Wire()), total, strict=True):
        assert np.allclose(found * case.parts, expected, rtol=1e-15, atol=0)


@given(case=cases(SendReceiveOp))
@QUICK
def test_who_receives_has_what_was_sent_and_others_zeros(case: Case) -> None:
    arrays = case.addends(case.before)
    (level,) = levels_of(case.op)
    assert isinstance(case.op, SendReceiveOp)
    sender = dict(zip(ints(case.op.target), ints(case.op.source), strict=True))
    for device, found in enumerate(_run(case, arrays)):
        coordinates = list(case.mesh.coordinates(device))
        source = sender.get(coordinates[level])
        coordinates[level] = 0 if source is None else source
        expected = np.zeros_like(found) if source is None else arrays[case.mesh.device(coordinates)]
        assert np.array_equal(found, expected)


KINDS = [
    SliceOp,
    AllGatherOp,
    AllToAllOp,
    AllReduceOp,
    ReduceScatterOp,
    CopyOp,
    OnceOp,
    AddendOp,
    PlaceOp,
    SendReceiveOp,
]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@QUICK
def test_what_is_read_is_the_closed_form(kind: type[DistOp], data: st.DataObject) -> None:
    case, wire = data.draw(cases(kind)), Wire()
    exchange(case.op, case.mesh, case.addends(case.before), wire)
    assert {level: Fraction(wire.read.get(level, 0), 2) for level in levels_of(case.op)} == exchanged(case.op)
    assert wire.read.keys() <= set(levels_of(case.op))


@given(mesh=MESHES, size=st.integers(1, 40), data=st.data())
@QUICK
def test_an_all_reduce_reads_as_much_where_its_parts_are_unequal(mesh: Mesh, size: int, data: st.DataObject) -> None:
    over = data.draw(st.lists(st.sampled_from(mesh.levels), min_size=1, unique=True).map(sorted))
    op, wire = _in_function(mesh, AllReduceOp, (size,), {"over": tuple(over)}), Wire()
    arrays = [np.full(size, float(device)) for device in range(mesh.devices)]
    found = exchange(op, mesh, arrays, wire)
    assert {level: Fraction(wire.read.get(level, 0), 2) for level in over} == exchanged(op)
    parts = mesh.parts(over)
    assert sum(exchanged(op).values()) == Fraction(mesh.devices * size * (parts - 1), parts)
    assert sum(array[0] for array in found) == parts * sum(range(mesh.devices))


# ---- derivatives

ADDENDS, WHOLE = "addends", "whole"
SPACES: list[tuple[type[DistOp], dict[str, Param], str, str]] = [
    (SliceOp, {}, WHOLE, ADDENDS),
    (SliceOp, {"addends": True}, ADDENDS, ADDENDS),
    (PlaceOp, {}, ADDENDS, ADDENDS),
    (AllGatherOp, {}, ADDENDS, WHOLE),
    (AllGatherOp, {"addends": True}, ADDENDS, ADDENDS),
    (AllToAllOp, {}, ADDENDS, ADDENDS),
    (AllReduceOp, {}, ADDENDS, WHOLE),
    (AllReduceOp, {"mean": True}, ADDENDS, WHOLE),
    (ReduceScatterOp, {}, ADDENDS, ADDENDS),
    (CopyOp, {}, WHOLE, ADDENDS),
    (SendReceiveOp, {}, ADDENDS, ADDENDS),
]
"""
How values before and after an operation count: each device's by itself (a part, or an addend), or one for the group.
"""


def _values(case: Case, sharding: Sharding, space: str) -> list[Array]:
    """Random values on all devices, of a whole value the same on those that differ at the operation's levels."""
    found = case.addends(sharding)
    if space == ADDENDS:
        return found
    return _first(case, found)


def _first(case: Case, values: list[Array]) -> list[Array]:
    """For each device the value of the first device of its group."""
    over = levels_of(case.op)
    firsts = [[0 if n in over else c for n, c in enumerate(case.mesh.coordinates(d))] for d in range(len(values))]
    return [values[case.mesh.device(first)] for first in firsts]


def _product(case: Case, a: list[Array], b: list[Array], space: str) -> Fraction:
    total = Fraction(sum(float((x * y).sum()) for x, y in zip(a, b, strict=True)))
    return total / case.parts if space == WHOLE else total


def _gradient(case: Case, given: list[Array]) -> list[Array]:
    """The gradient of the operand for a gradient of the result."""
    grad = Block(arg_types=[case.op.out.type]).args[0]
    emitted: list[Operation] = []

    def emit(new: Any) -> Any:
        emitted.append(new)
        return new

    (result,) = get_layer(case.op).vjp(case.op, [grad], [True], emit)
    values: dict[SSAValue, list[Array]] = {grad: given}
    for op in emitted:
        arrays = values[op.operands[0]]
        if isinstance(op, DistOp):
            values[op.results[0]] = exchange(op, case.mesh, arrays, Wire())
        else:
            assert isinstance(op, TrainOp)
            values[op.results[0]] = [get_layer(op).evaluate(op, array)[0] for array in arrays]
    assert result is not None
    assert result.type == case.op.x.type
    return values[result]


@pytest.mark.parametrize(("kind", "more", "before", "after"), SPACES)
@given(data=st.data())
@QUICK
def test_the_gradient_is_the_transpose(
    kind: type[DistOp], more: dict[str, Param], before: str, after: str, data: st.DataObject
) -> None:
    case = data.draw(cases(kind))
    params = {**params_of(case.op), **more}
    case = replace(case, op=_in_function(case.mesh, kind, shape_of(case.op.x), params))
    x, dy = _values(case, case.before, before), _values(case, case.after, after)
    y, dx = _run(case, x), _gradient(case, dy)
    left, right = _product(case, y, dy, after), _product(case, x, dx, before)
    if "mean" in more:
        assert float(left) == pytest.approx(float(right), rel=1e-12, abs=1e-9)
    else:
        assert left == right
    if before == WHOLE:
        assert all(np.array_equal(*pair) for pair in zip(dx, _first(case, dx), strict=True))
