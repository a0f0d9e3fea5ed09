"""
Operations of the `dist` dialect that change a value's sharding, or its gradient's, and move nothing: their derivatives.

`collective.py` says what gradients of sharded values are.
"""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.layers.base import Emit, Gradients, Kind, params_of
from npuc.compiler.layers.collective import CollectiveLayer, transposed
from npuc.dialects.distributed import AddendOp, AllGatherOp, AllReduceOp, CopyOp, OnceOp, PlaceOp, SliceOp


class KeepPartLayer(CollectiveLayer[SliceOp]):
    """Each device keeps its shard of a replicated value."""

    op = SliceOp

    def vjp(self, op: SliceOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        kind = AllGatherOp if op.addends is None else PlaceOp
        return transposed(kind, op, grads, emit, **{k: v for k, v in params_of(op).items() if k != "addends"})


class CopyLayer(CollectiveLayer[CopyOp]):
    """A replicated value, read by split work: the same memory."""

    op = CopyOp
    kind = Kind.VIEW

    def vjp(self, op: CopyOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        return transposed(AllReduceOp, op, grads, emit, **params_of(op))


class OnceLayer(CollectiveLayer[OnceOp]):
    """A replicated value whose gradient is kept as addends, read by work that is not split: the same memory."""

    op = OnceOp
    kind = Kind.VIEW

    def vjp(self, op: OnceOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        return transposed(AddendOp, op, grads, emit, **params_of(op))


class AddendLayer(CollectiveLayer[AddendOp]):
    """A replicated value as addends."""

    op = AddendOp

    def vjp(self, op: AddendOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        return list(grads)


class PlacePartLayer(CollectiveLayer[PlaceOp]):
    """A shard as an addend of the whole value."""

    op = PlaceOp

    def vjp(self, op: PlaceOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        return transposed(SliceOp, op, grads, emit, **params_of(op))


LAYERS = (
    KeepPartLayer(),
    CopyLayer(),
    OnceLayer(),
    AddendLayer(),
    PlacePartLayer(),
)
