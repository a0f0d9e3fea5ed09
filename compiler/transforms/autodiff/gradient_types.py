"""
In which types gradients of parameters are while a training step is derived.

    %c = train.cast %w : (tensor<4x8xf32>) -> tensor<4x8xbf16>      %d = train.cast %dy : … -> tensor<8x8xf32>
    %y = dist.all_gather %c … addends : … -> tensor<8x8xbf16>  ->   %dw = dist.reduce_scatter %d : … -> tensor<4x8xf32>

Values move between devices in the type in which they are read, gradients of parameters in the type that these have, in
which they are summed: each is cast before it moves, once. So it goes back through the movement and through views with
another type than the value's, and the cast of the parameter leaves it as it is. This is what PyTorch's
`DistributedDataParallel` does under autocast, which reduces the gradients that the optimizer reads.

Under autocast a value is cast for each use, all but a parameter, whose cast is cached: gradients of the uses are cast
and added in the value's own type. One cast is enough for the values (`each_use` on it says so).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.analysis.nest.elements import element_bytes
from npuc.compiler.layers.base import Emit
from npuc.dialects.distributed.collective import DistOp
from npuc.dialects.provenance import Role, derive
from npuc.dialects.tensors import is_float, shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.shape import ReshapeOp, TransposeOp

_IN_ANY_TYPE = (CastOp, DistOp, ReshapeOp, TransposeOp)
"""Operations whose gradient may have another type than their result."""


@dataclass(frozen=True)
class Own:
    """The element type of the parameters of which alone a value is computed, and the cast from it, if there is one."""

    element: Attribute
    bytes: int
    cast: CastOp | None = None


def own_types(
    forward: Iterable[Operation], trained: Iterable[SSAValue], fed: Callable[[SSAValue], bool]
) -> Mapping[SSAValue, Own]:
    """
    The types of the gradients of all that is computed from trained parameters and not from inputs (`fed`), where they
    move: of several parameters the widest.
    """
    found = {value: Own(tensor_type(value).element_type, element_bytes(value.type, None)) for value in trained}
    for op in forward:
        read = [found[value] for value in op.operands if value in found]
        if not read or any(map(fed, op.operands)):
            continue
        own = max(read, key=lambda one: one.bytes)
        if own.cast is None and isinstance(op, CastOp):
            own = Own(own.element, own.bytes, op)
        found.update((value, own) for value in op.results if is_float(value))
    return found


def in_type(g: SSAValue, element: Attribute, source: Operation, role: Role, emit: Emit[Any]) -> SSAValue:
    """A gradient in an element type, of which `source` is the operation that it is a gradient for."""
    if tensor_type(g).element_type == element:
        return g
    return emit(derive(source, CastOp(g, results=[tensor_of(element, shape_of(g))]), role=role)).out


def of_uses(value: SSAValue) -> tuple[Attribute | None, SSAValue]:
    """
    The element type in which the gradients of a value's uses are added (None: that of these), and what they are for.

        %c = train.cast %x each_use      each use has a cast of its own: the gradients are for %x
        %y = dist.copy %c                they are added for %y in the type of %x, if that is wider, and then moved
    """
    behind = value
    while isinstance(behind.owner, DistOp):
        behind = behind.owner.x
    cast = behind.owner
    if not isinstance(cast, CastOp) or cast.each_use is None:
        return None, value
    if behind is value:
        return tensor_type(cast.x).element_type, cast.x
    wider = element_bytes(cast.x.type, None) > element_bytes(value.type, None)
    return (tensor_type(cast.x).element_type if wider else None), value


def taken(op: TrainOp, grads: list[SSAValue | None], types: Mapping[SSAValue, Own], emit: Emit[Any]) -> list[Any]:
    """
    The gradients of results in the types in which an operation takes them; those of what is computed from parameters
    alone have their own.
    """
    found: list[SSAValue | None] = []
    for g, result in zip(grads, op.results, strict=True):
        own = types.get(result)
        if g is None:
            found.append(g)
        elif own is None:
            found.append(in_type(g, tensor_type(result).element_type, op, Role.DX, emit))
        elif isinstance(op, DistOp):
            narrow = element_bytes(g.type, None) != own.bytes
            found.append(in_type(g, own.element, own.cast or op, Role.DW, emit) if narrow else g)
        elif isinstance(op, _IN_ANY_TYPE):
            found.append(g)
        else:
            found.append(in_type(g, tensor_type(result).element_type, op, Role.DW, emit))
    return found
