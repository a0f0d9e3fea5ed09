"""Buckets of sums: what devices compute, what they read from each other, and what a verifier refuses."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType, IntegerAttr, f64, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.analysis.sharding.cost.collective_traffic import exchanged
from npuc.compiler.interpreter.collectives import Wire, exchange, exchange_bucket
from npuc.compiler.layers.base import Array
from npuc.dialects.distributed import (
    BUCKET,
    AllReduceOp,
    Chunks,
    ChunksAttr,
    CopyOp,
    DistOp,
    Mesh,
    ReduceScatterOp,
    Route,
    bucket_problems,
    buckets_of,
    moved_by,
    on_mesh,
)
from npuc.dialects.distributed.chunks import CHUNKS
from npuc.dialects.distributed.mesh import MESH, MeshAttr
from npuc.dialects.tensors import tensor_of
from tests.property.test_scheduled_collectives import meshes, routes


def in_bucket(op: DistOp, number: int) -> DistOp:
    op.attributes[BUCKET] = IntegerAttr(number, i64)
    return op


def function(mesh: Mesh, shapes: Sequence[tuple[int, ...]]) -> FuncOp:
    """A function of values of these shapes on each device, without operations."""
    types = [tensor_of(f64, shape) for shape in shapes]
    func = FuncOp("f", FunctionType.from_lists(types, []), Region(Block([ReturnOp()], arg_types=types)))
    func.attributes[MESH] = MeshAttr(mesh)
    return func


def add(func: FuncOp, op: DistOp) -> DistOp:
    last = func.body.block.last_op
    assert last is not None
    func.body.block.insert_op_before(op, last)
    return op


def values(mesh: Mesh, shapes: Sequence[tuple[int, ...]]) -> list[list[Array]]:
    """Of each shape integers on every device, whose sums are exact."""
    random = np.random.default_rng(mesh.devices)
    return [[random.integers(-9, 10, shape).astype(np.float64) for _ in range(mesh.devices)] for shape in shapes]


def alone(members: Sequence[DistOp], mesh: Mesh, operands: Sequence[list[Array]], wire: Wire) -> list[list[Array]]:
    return [exchange(op, mesh, own, wire) for op, own in zip(members, operands, strict=True)]


def same(one: list[list[Array]], other: list[list[Array]]) -> bool:
    both = zip(one, other, strict=True)
    return all(np.array_equal(a, b) for own, its in both for a, b in zip(own, its, strict=True))


def read_by(members: Sequence[DistOp], read: Mapping[int, int]) -> None:
    """The bytes of a bucket are counted at its last member, and are those of the model."""
    assert all(not any(exchanged(op).values()) for op in members[:-1])
    found = exchanged(members[-1])
    assert {level: Fraction(read.get(level, 0), 2) for level in found} == found


@given(st.data(), meshes, st.lists(st.integers(0, 30), min_size=1, max_size=5), st.booleans())
def test_an_all_reduce_of_a_bucket_gives_each_sum(
    data: st.DataObject, mesh: Mesh, sizes: list[int], mean: bool
) -> None:
    over = tuple(sorted(data.draw(st.sets(st.sampled_from(mesh.levels), min_size=1))))
    shapes = [(size, 2) for size in sizes]
    func = function(mesh, shapes)
    members = [
        in_bucket(add(func, on_mesh(AllReduceOp, mesh, v, over=over, mean=mean)), 3) for v in func.body.block.args
    ]
    operands, wire = values(mesh, shapes), Wire()
    plain = alone(members, mesh, operands, wire)
    gathered = Wire()
    assert same(exchange_bucket(members, mesh, operands, gathered), plain)
    assert gathered.read == wire.read
    read_by(members, gathered.read)
    members[-1].attributes[CHUNKS] = ChunksAttr(data.draw(routes(over)))
    in_chunks = Wire()
    assert same(exchange_bucket(members, mesh, operands, in_chunks), plain)
    read_by(members, in_chunks.read)
    assert not list(bucket_problems(func))
    assert list(moved_by(members[-1])) == members


@given(st.data(), meshes, st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_a_reduce_scatter_of_a_bucket_gives_each_its_part(data: st.DataObject, mesh: Mesh, rows: list[int]) -> None:
    level = data.draw(st.sampled_from(mesh.levels))
    axes = [data.draw(st.integers(0, 1)) for _ in rows]
    shapes = [(own * mesh.devices, 2)[:: 1 if axis == 0 else -1] for own, axis in zip(rows, axes, strict=True)]
    func = function(mesh, shapes)
    pairs = zip(func.body.block.args, axes, strict=True)
    members = [in_bucket(add(func, on_mesh(ReduceScatterOp, mesh, v, axis=a, over=(level,))), 1) for v, a in pairs]
    operands, wire, gathered = values(mesh, shapes), Wire(), Wire()
    assert same(exchange_bucket(members, mesh, operands, gathered), alone(members, mesh, operands, wire))
    assert gathered.read == wire.read
    read_by(members, gathered.read)
    assert not list(bucket_problems(func))


MESH_22 = Mesh((2, 2))


def problem(*ops: tuple[type[DistOp], int, int, dict[str, Any]]) -> str:
    """What is wrong with a function of such operations: their kind, operand, bucket (0: none) and parameters."""
    func = function(MESH_22, [(4, 4)] * 3)
    made: list[DistOp] = []
    for kind, operand, number, params in ops:
        x = func.body.block.args[operand] if operand >= 0 else made[operand].out
        op = add(func, on_mesh(kind, MESH_22, x, **params))
        made.append(in_bucket(op, number) if number else op)
    (found,) = bucket_problems(func)
    return found


@pytest.mark.parametrize(
    ("ops", "text"),
    [
        (
            [(AllReduceOp, 0, 1, {"over": (0,)}), (AllReduceOp, 1, 1, {"over": (1,)})],
            "bucket 1: dist.all_reduce and dist.all_reduce differ in levels: [0] and [1]",
        ),
        (
            [(AllReduceOp, 0, 2, {"over": (0,)}), (AllReduceOp, 1, 2, {"over": (0,), "mean": True})],
            "bucket 2: dist.all_reduce and dist.all_reduce differ in mean: False and True",
        ),
        (
            [(AllReduceOp, 0, 1, {"over": (0,)}), (ReduceScatterOp, 1, 1, {"axis": 0, "over": (0,)})],
            "bucket 1: dist.all_reduce and dist.reduce_scatter differ in operation: dist.all_reduce and "
            "dist.reduce_scatter",
        ),
        (
            [
                (AllReduceOp, 0, 1, {"over": (0,)}),
                (CopyOp, -1, 0, {"over": (0,)}),
                (AllReduceOp, 1, 1, {"over": (0,)}),
            ],
            "bucket 1: dist.copy reads a sum before the last member has run",
        ),
        (
            [(AllReduceOp, 0, 1, {"over": (0,)}), (AllReduceOp, -1, 1, {"over": (0,)})],
            "bucket 1: dist.all_reduce reads a sum before the last member has run",
        ),
    ],
)
def test_members_that_do_not_fit(ops: list[tuple[type[DistOp], int, int, dict[str, object]]], text: str) -> None:
    assert problem(*ops) == text


def test_elements_of_other_types_and_chunks_on_another_member_are_refused() -> None:
    func = function(MESH_22, [(4,), (4,)])
    members = [in_bucket(add(func, on_mesh(AllReduceOp, MESH_22, v, over=(0,))), 1) for v in func.body.block.args]
    members[0].attributes[CHUNKS] = ChunksAttr(Chunks("fifo", (Route.and_back((0,)),) * 2))
    (found,) = bucket_problems(func)
    assert found == "bucket 1: dist.all_reduce has dist.chunks, expected it on the last member, dist.all_reduce"
    assert list(buckets_of(func)) == [1]


def test_a_number_of_a_bucket_is_positive_and_of_a_sum() -> None:
    func = function(MESH_22, [(4,)])
    (value,) = func.body.block.args
    with pytest.raises(VerifyException, match=r"dist.bucket is 0 : i64, expected an integer from 1 on"):
        in_bucket(add(func, on_mesh(AllReduceOp, MESH_22, value, over=(0,))), 0).verify_()
    with pytest.raises(VerifyException, match=r"has dist.bucket, expected it on sums only"):
        in_bucket(add(func, on_mesh(CopyOp, MESH_22, value, over=(0,))), 1).verify_()
