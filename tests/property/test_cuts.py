"""
The work of every operation in parts: put together, the parts' results are those of the whole.

An axis is read as digits, one a level of a mesh; each cut takes the digit of another level, the middle ones too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.ir import Block, SSAValue

from npuc.compiler.interpreter.compare import compare
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.interpreter.numbers import Numbers, holds_integers
from npuc.compiler.interpreter.train import evaluate
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array, Combine, Cut, rebuilt
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.tensors import Tensor, shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.embedding import EmbeddingOp
from npuc.dialects.train.opaque import KINDS
from npuc.dialects.train.signature import arguments_of
from tests.calls import COUNTED, all_calls
from tests.calls.values import build, random_values
from tests.cuts import CASES, Case
from tests.networks import integer_data

MESHES = [(2,), (3,), (4,), (2, 2), (2, 3), (3, 2), (4, 2), (2, 2, 2), (2, 3, 2)]
NUMBERS = Numbers(double=True)
Place = tuple[int, int]
"""A tensor of an operation, operands before results, and one of its axes."""
Gone = Mapping[Place, frozenset[int]]
"""The levels whose digit an axis has no more."""


def positions(size: int, mesh: Sequence[int], gone: frozenset[int], level: int, digit: int) -> Array:
    """The positions of an axis whose digit of a level is given."""
    left = [h for h in range(len(mesh)) if h not in gone]
    digits = np.arange(size).reshape(*(mesh[h] for h in left), -1)
    return np.take(digits, digit, axis=left.index(level)).reshape(-1)


def local(type: Tensor, axis: int | Combine | None, parts: int) -> Tensor:
    """The type of a part of a tensor."""
    return tensor_of(
        type.element_type, [size // parts if i == axis else size for i, size in enumerate(type.get_shape())]
    )


def part_of(op: TrainOp, cut: Cut, parts: int) -> TrainOp:
    """The operation of a part; what could be cut of the whole can be cut of it."""
    values = zip((*op.operands, *op.results), (*cut.operands, *cut.results), strict=True)
    types = [local(tensor_type(value), axis, parts) for value, axis in values]
    count = len(op.operands)
    new = rebuilt(op, Block(arg_types=types[:count]).args, types[count:], [(cut, parts)])
    new.verify_()
    assert list(new.result_types) == types[count:]
    left = get_layer(new).cuts(new)
    assert all(other in left for other in get_layer(op).cuts(op) if other.common(new) > 1)
    return new


def in_parts(
    op: TrainOp, arrays: Sequence[Array], mesh: Sequence[int], shares: Sequence[tuple[Cut, int]], gone: Gone
) -> tuple[Array, ...]:
    """The results of an operation whose work is shared by one cut a level."""
    if not shares:
        return evaluate(NUMBERS, op, arrays)
    (cut, level), *others = shares
    axes = [*cut.operands, *cut.results]
    cut_places = [(i, axis) for i, axis in enumerate(axes) if isinstance(axis, int)]
    now = {place: gone.get(place, frozenset()) for place in cut_places}
    new = part_of(op, cut, mesh[level])
    found: list[tuple[Array, ...]] = []
    for digit in range(mesh[level]):
        own = [
            array if axis is None else array.take(positions(array.shape[axis], mesh, now[i, axis], level, digit), axis)
            for i, (array, axis) in enumerate(zip(arrays, cut.operands, strict=True))
        ]
        then = {**gone, **{place: levels | {level} for place, levels in now.items()}}
        found.append(in_parts(new, own, mesh, others, then))
    results: list[Array] = []
    for number, (result, how) in enumerate(zip(op.results, cut.results, strict=True)):
        parts = [one[number] for one in found]
        if how is None:
            assert all(np.array_equal(part, parts[0], equal_nan=True) for part in parts)
            results.append(parts[0])
        elif isinstance(how, Combine):
            total = np.sum(parts, axis=0)
            results.append(total / len(parts) if how is Combine.MEAN else total)
        else:
            whole = np.empty(shape_of(result), dtype=parts[0].dtype)
            moved = np.moveaxis(whole, how, 0)
            for digit, part in enumerate(parts):
                place = now[len(op.operands) + number, how]
                moved[positions(whole.shape[how], mesh, place, level, digit)] = np.moveaxis(part, how, 0)
            results.append(whole)
    return tuple(results)


def check(op: TrainOp, arrays: Sequence[Array], data: st.DataObject) -> None:
    """Each cut of an operation alone and, if the mesh has another level, together with a second one."""
    cuts = get_layer(op).cuts(op)
    whole = evaluate(NUMBERS, op, arrays) if cuts else ()
    for cut in cuts:
        common = cut.common(op)
        fitting = [mesh for mesh in MESHES if common % prod(mesh) == 0]
        if not fitting:
            assert common >= 5
            continue
        mesh = data.draw(st.sampled_from(fitting))
        levels = data.draw(st.permutations(range(len(mesh))))
        shares = [(cut, levels[0])]
        if len(mesh) > 1:
            others = [other for other in cuts if other.common(op) % prod(mesh) == 0]
            shares.append((data.draw(st.sampled_from(others)), levels[1]))
        shared = in_parts(op, arrays, mesh, shares, {})
        # beside the operands, whose size says what is noise where terms cancel
        outcome = compare(named((*whole, *arrays)), named((*shared, *arrays)))
        assert outcome.equal, f"{op}\n{shares} of {mesh}: {outcome}"


def named(arrays: Sequence[Array]) -> dict[str, Array]:
    return {str(number): array for number, array in enumerate(arrays)}


@pytest.mark.parametrize("name", [name for name in all_calls() if name not in COUNTED])
@settings(max_examples=4)
@given(data=st.data())
def test_parts_of_calls_and_of_their_derivatives(name: str, data: st.DataObject) -> None:
    call = all_calls()[name](data)
    net = build(call)
    seed = data.draw(st.integers(0, 99))
    integers = not call.ranges and data.draw(st.booleans())
    values = integer_data(net.module, seed) | ({} if integers else random_values(call, net, seed))
    if net.has_loss:
        AutodiffPass().apply(Context(), net.module)
    func = the_function(net.module)
    known: dict[SSAValue, Array] = {
        func.body.block.args[a.index]: np.asarray(values[a.name]) for a in arguments_of(func)
    }
    for op in func.body.block.ops:
        if isinstance(op, TrainOp):
            arrays = [known[operand] for operand in op.operands]
            check(op, arrays, data)
            known |= dict(zip(op.results, evaluate(NUMBERS, op, arrays), strict=True))


# what is known by its cost alone has no values to compare
@pytest.mark.parametrize("case", [case for case in CASES if case.kind not in KINDS], ids=str)
@settings(max_examples=4)
@given(data=st.data())
def test_parts_of_listed_operations(case: Case, data: st.DataObject) -> None:
    op = case.build()
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    check(op, [_values(random, op, number, case.share) for number in range(len(op.operands))], data)


def _values(random: np.random.Generator, op: TrainOp, number: int, share: bool) -> Array:
    """Random values of an operand: integers, of a probability between 0 and 1."""
    type = tensor_type(op.operands[number])
    if isinstance(op, EmbeddingOp) and op.operands[number] is op.blocks:
        tables = np.array([[0, get_layer(op).index_limit(op, 0)]] * type.get_shape()[0])
        return tables if op.groups.value.data else np.arange(*type.get_shape())
    if holds_integers(type):
        values = random.integers(0, get_layer(op).index_limit(op, number) or 2, type.get_shape())
        return NUMBERS.hold(values, type.element_type)
    if share:
        return random.uniform(0.1, 0.9, type.get_shape())
    return random.integers(-3, 4, type.get_shape()).astype(np.float64)
