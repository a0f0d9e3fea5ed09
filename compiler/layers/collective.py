"""
Collective operations of the `dist` dialect as layers: their derivatives.

The gradient of a replicated value is replicated, that of a sharded value is sharded in the same way. Where split
work reads a replicated value (`dist.copy`, `dist.all_gather` with `addends`), each device has only an addend of the
gradient, and where addends are summed, each has the whole gradient. Other readers of such a value return addends too
(`dist.slice` with `addends`, `dist.once`), so that they are added before the sum over devices. The values of all
devices are one vector, on which each operation is linear: its gradient is the transpose, with replicated values
counted once.

One device alone cannot evaluate them: `npuc.compiler.interpreter.devices` runs them.
"""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.layers.base import Emit, Gradients, Kind, Layer, OpT, params_of
from npuc.dialects.distributed import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    DistOp,
    ReduceScatterOp,
    SendReceiveOp,
    SliceOp,
    levels_of,
)
from npuc.dialects.distributed.mesh import mesh_around
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import AffineOp
from npuc.dialects.train.base import Param


class CollectiveLayer(Layer[OpT]):
    """A collective of one operand; it counts as no work of a device."""

    kind = Kind.COMM


def transposed(
    kind: type[DistOp], op: DistOp, grads: Sequence[SSAValue | None], emit: Emit[Any], **params: Param
) -> Gradients:
    """The gradient of an operation's operand, as an operation of the given class."""
    (g,) = grads
    assert g is not None
    return [emit(kind(g, results=[tensor_of(tensor_type(g).element_type, shape_of(op.x))], **params)).out]


class AllGatherLayer(CollectiveLayer[AllGatherOp]):
    """Every device gets all shards."""

    op = AllGatherOp

    def vjp(
        self, op: AllGatherOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        kind = SliceOp if op.addends is None else ReduceScatterOp
        return transposed(kind, op, grads, emit, **params_of(op, kind))


class AllToAllLayer(CollectiveLayer[AllToAllOp]):
    """A value sharded along one axis becomes sharded along another."""

    op = AllToAllOp

    def vjp(
        self, op: AllToAllOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        given = params_of(op)
        back = {
            "split": given["concat"],
            "concat": given["split"],
            "split_within": given.get("concat_within", ()),
            "concat_within": given.get("split_within", ()),
            "split_segments": given.get("concat_segments", ()),
            "concat_segments": given.get("split_segments", ()),
        }
        return transposed(AllToAllOp, op, grads, emit, **{**given, **back})


class AllReduceLayer(CollectiveLayer[AllReduceOp]):
    """The sum, or the mean, of addends."""

    op = AllReduceOp

    def vjp(
        self, op: AllReduceOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        if op.mean is None or g is None:
            return [g]
        return [emit(AffineOp(g, scale=1 / mesh_around(op).parts(levels_of(op)))).out]


class ReduceScatterLayer(CollectiveLayer[ReduceScatterOp]):
    """Each device gets its shard of a sum of addends."""

    op = ReduceScatterOp

    def vjp(
        self, op: ReduceScatterOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        return transposed(AllGatherOp, op, grads, emit, **params_of(op))


class SendReceiveLayer(CollectiveLayer[SendReceiveOp]):
    """Values sent from some parts of a group to others."""

    op = SendReceiveOp

    def vjp(
        self, op: SendReceiveOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        given = params_of(op)
        back = {"source": given["target"], "target": given["source"]}
        return transposed(SendReceiveOp, op, grads, emit, **{**given, **back})


LAYERS = (
    AllGatherLayer(),
    AllToAllLayer(),
    AllReduceLayer(),
    ReduceScatterLayer(),
    SendReceiveLayer(),
)
