"""
The element types of the gradients of parameters while a training step is derived.

    %c = train.cast %w : (tensor<4x8xf32>) -> tensor<4x8xbf16>      %d = train.cast %dy : … -> tensor<8x8xf32>
    %y = dist.all_gather %c … addends : … -> tensor<8x8xbf16>  ->   %dw = dist.reduce_scatter %d : … -> tensor<4x8xf32>

Values move between devices in the type in which they are read; gradients of parameters move and are summed in the
parameters' type, to which they are cast once, before they move. Such a gradient passes collectives and views backwards
in another type than the value has, and the cast of the parameter leaves it as it is. PyTorch's
`DistributedDataParallel` does so under autocast: it reduces the gradients that the optimizer reads.

Autocast casts a value for each use, except a parameter, whose cast is cached: the gradients of the uses are cast and
added in the type of the uncast value. The IR has one cast for all uses (with `each_use`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.analysis.nest.elements import element_bytes
from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers.base import Emit
from npuc.dialects.distributed import DistOp
from npuc.dialects.provenance import Role, derive
from npuc.dialects.tensors import is_float, shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.shape import ReshapeOp, TransposeOp

_IN_ANY_TYPE = (CastOp, DistOp, ReshapeOp, TransposeOp)
"""Operations whose gradient may have another type than their result."""


@frozen
class GradientType:
    """The element type of the parameters that alone determine a value, its bytes, and their cast, if any."""

    element: Attribute
    bytes: int
    cast: CastOp | None = None


def gradient_types(
    forward: Iterable[Operation], trained: Iterable[SSAValue], fed: Callable[[SSAValue], bool]
) -> Mapping[SSAValue, GradientType]:
    """
    The types in which the gradients of values move that depend on trained parameters and not on inputs (`fed`).

    With several parameters it is the widest of their types.
    """
    found = {value: GradientType(tensor_type(value).element_type, element_bytes(value.type, None)) for value in trained}
    for op in forward:
        read = [found[value] for value in op.operands if value in found]
        if not read or any(map(fed, op.operands)):
            continue
        own = max(read, key=lambda one: one.bytes)
        if own.cast is None and isinstance(op, CastOp):
            own = GradientType(own.element, own.bytes, op)
        found.update((value, own) for value in op.results if is_float(value))
    return found


def cast_to(g: SSAValue, element: Attribute, source: Operation, role: Role, emit: Emit[Any]) -> SSAValue:
    """A gradient cast to an element type, if it has another; `source` is the operation that it is a gradient for."""
    if tensor_type(g).element_type == element:
        return g
    return emit(derive(source, CastOp(g, results=[tensor_of(element, shape_of(g))]), role=role)).out


def summation_type(value: SSAValue) -> tuple[Attribute | None, SSAValue]:
    """
    The element type in which the gradients of a value's uses are added (None: their own), and the value they are for.

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


def cast_gradients(
    op: TrainOp, grads: list[SSAValue | None], types: Mapping[SSAValue, GradientType], emit: Emit[Any]
) -> list[Any]:
    """
    The gradients of an operation's results, cast to the types that its derivative expects.

    Gradients of values that depend on parameters alone have the types of `gradient_types`.
    """
    found: list[SSAValue | None] = []
    for g, result in zip(grads, op.results, strict=True):
        own = types.get(result)
        if g is None:
            found.append(g)
        elif own is None:
            found.append(cast_to(g, tensor_type(result).element_type, op, Role.DX, emit))
        elif isinstance(op, DistOp):
            narrow = element_bytes(g.type, None) != own.bytes
            found.append(cast_to(g, own.element, own.cast or op, Role.DW, emit) if narrow else g)
        elif isinstance(op, _IN_ANY_TYPE):
            found.append(g)
        else:
            found.append(cast_to(g, tensor_type(result).element_type, op, Role.DW, emit))
    return found
