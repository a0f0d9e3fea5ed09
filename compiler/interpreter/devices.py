"""
Execution of a function on the devices of its mesh, in lockstep: each operation runs on all devices before the next.

Each device has an interpreter with its values; operations outside the dist dialect run in it as on a single device.
Arguments and results are global tensors: arguments are sharded on entry, and results assembled at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.interpreter import Interpreter
from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.compiler.core.errors import Location, SourceError
from npuc.compiler.core.verify import location_of
from npuc.compiler.interpreter.collectives import Arrays, Wire, exchange, exchange_bucket
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.layers.base import Array
from npuc.dialects.distributed import (
    AllGatherOp,
    CopyOp,
    DistOp,
    Mesh,
    OnceOp,
    Sharding,
    SliceOp,
    argument_sharding,
    argument_shardings,
    bucket_of,
    buckets_of,
    levels_of,
    result_shardings,
)
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.signature import result_names


@dataclass(frozen=True)
class Exchanged:
    """
    The elements that devices read from others in one operation at one of its levels.

    `elements` counts one direction: half of what all devices read, which between two devices is what one of them reads.
    A bucket is one operation, its last member.
    """

    op: str
    layer: str
    role: Role
    level: int
    elements: Fraction


@dataclass(frozen=True)
class Traffic:
    """The elements that devices read from others in one run: a row per operation and level, in program order."""

    rows: tuple[Exchanged, ...] = ()

    @property
    def total(self) -> Fraction:
        """The elements of all operations and levels."""
        return sum((row.elements for row in self.rows), Fraction(0))

    def of_level(self, level: int) -> Fraction:
        """The elements of all operations at one level."""
        return sum((row.elements for row in self.rows if row.level == level), Fraction(0))


@dataclass(frozen=True)
class Outcome:
    """The results of a function on a mesh as global tensors, and the traffic between devices."""

    results: tuple[Array, ...]
    traffic: Traffic


def shard(mesh: Mesh, sharding: Sharding, array: Array) -> list[Array]:
    """The shard of each device of a global tensor, whose sharding has no addends."""
    return [array[np.ix_(*sharding.positions(mesh, array.shape, device))] for device in range(mesh.devices)]


def assemble(
    mesh: Mesh, sharding: Sharding, arrays: Arrays, name: str = "value", location: Location | None = None
) -> Array:
    """
    The global tensor from the part or the addend of each device.

    Raises `SourceError` with `name` and two devices where a replicated tensor differs between them.
    """
    shape = sharding.global_shape(mesh, arrays[0].shape)
    whole = np.zeros(shape, arrays[0].dtype)
    first: dict[tuple[int, ...], int] = {}
    for device, array in enumerate(arrays):
        coordinates = mesh.coordinates(device)
        place = tuple(coordinates[level] for level in sorted((*sharding.cuts, *sharding.partial)))
        earlier = first.setdefault(place, device)
        if earlier == device:
            index = np.ix_(*sharding.positions(mesh, shape, device))
            whole[index] = whole[index] + array if sharding.partial else array
        elif not compare({"": arrays[earlier]}, {"": array}).equal:
            raise SourceError(
                f"'{name}' differs between the devices {earlier} and {device}, expected the same on both",
                location=location,
                hint="a sum over devices is missing, or dist.sharding is wrong",
            )
    return whole


def run_on_devices(
    func: FuncOp, mesh: Mesh, values: Arrays, interpreters: Sequence[Interpreter], numbers: Numbers
) -> Outcome:
    """
    Run a function on values of all its arguments, with an interpreter for each device.

    Raises `SourceError` where a replicated result differs between devices.
    """
    block = func.body.block
    for argument, sharding, value in zip(block.args, argument_shardings(func), values, strict=True):
        for interpreter, part in zip(interpreters, shard(mesh, sharding, value), strict=True):
            interpreter.set_values([(argument, part)])
    rows: list[Exchanged] = []
    closing = {members[-1]: members for members in buckets_of(func).values()}
    for op in block.ops:
        if isinstance(op, DistOp):
            members = closing.get(op, (op,) if bucket_of(op) is None else ())
            rows += _together(members, mesh, interpreters, numbers) if members else []
        elif not isinstance(op, ReturnOp):
            for interpreter in interpreters:
                _alone(op, interpreter)
    assert isinstance(block.last_op, ReturnOp)
    returned = zip(block.last_op.operands, result_shardings(func), result_names(func), strict=True)
    results = [
        assemble(mesh, sharding, _values(value, interpreters), name, location_of(func))
        for value, sharding, name in returned
    ]
    return Outcome(tuple(results), Traffic(tuple(rows)))


def _values(value: SSAValue, interpreters: Sequence[Interpreter]) -> list[Any]:
    """A value on every device."""
    return [interpreter.get_values((value,))[0] for interpreter in interpreters]


def _alone(op: Operation, interpreter: Interpreter) -> None:
    """Run an operation on one device."""
    results = interpreter.run_op(op, interpreter.get_values(op.operands))
    interpreter.set_values(zip(op.results, results, strict=True))


def _together(
    members: Sequence[DistOp], mesh: Mesh, interpreters: Sequence[Interpreter], numbers: Numbers
) -> list[Exchanged]:
    """Run an operation, or all of a bucket, on all devices; returns the elements moved at each of its levels."""
    wire, last = Wire(), members[-1]
    operands = [numbers.operands(tuple(_values(op.x, interpreters))) for op in members]
    with np.errstate(all="ignore"):
        if len(members) == 1:
            found = [exchange(last, mesh, operands[0], wire)]
        else:
            found = exchange_bucket(members, mesh, operands, wire)
    for op, arrays in zip(members, found, strict=True):
        for interpreter, array in zip(interpreters, arrays, strict=True):
            interpreter.set_values(zip(op.results, numbers.results(op, (array,)), strict=True))
    return [
        Exchanged(last.name, layer_of(last), role_of(last), level, Fraction(wire.read.get(level, 0), 2))
        for level in levels_of(last)
    ]


def sharding_of(func: FuncOp, value: SSAValue) -> Sharding | None:
    """The sharding of an argument, or of a slice, gather or copy of one; None for a computed value."""
    if isinstance(value, BlockArgument):
        return argument_sharding(func, value.index)
    op = value.owner
    if not isinstance(op, SliceOp | AllGatherOp | CopyOp | OnceOp):
        return None
    before = sharding_of(func, op.x)
    if before is None or isinstance(op, CopyOp | OnceOp):
        return before
    (level,) = levels_of(op)
    return before.with_cut(op.axis.value.data, level) if isinstance(op, SliceOp) else before.without(level)
