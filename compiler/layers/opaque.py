"""
Operators that are known by their cost alone: what they compute is not, so that programs with them are priced, not run.

The work is what the operation says. It reads each operand and writes each result once; its derivative, one operation
for the gradients of all operands, reads the operands and the gradients of the results. Where nobody says what the
derivative takes, it is twice the work of the forward pass, as that of a product is: one product for each factor.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ELEMENT_TYPES, ArgumentError, Ints, OptInt, Values, element_type
from npuc.compiler.layers.base import Array, Combine, Cut, DataError, Emit, Gradients, Layer, Work
from npuc.dialects.tensors import Tensor, is_float, tensor_of, tensor_type
from npuc.dialects.train.base import Param, TrainOp, decode
from npuc.dialects.train.opaque import MAX_COUNT, OpaqueBase, OpaqueGradOp, OpaqueOp

BACKWARD = 2
"""The work of a derivative by that of the forward pass, where nobody says it."""
_COUNTS = ("macs", "vector", "grad_macs", "grad_vector")


def _unknown(op: OpaqueBase) -> DataError:
    return DataError(f"'{op.operator_name}' is known by its cost alone: it can be priced, not run")


def _count(op: TrainOp, name: str) -> int:
    found = decode(op.properties[name]) if name in op.properties else 0
    assert isinstance(found, int)
    return found


def _cuts(op: OpaqueBase, shared: Combine | None) -> list[Cut]:
    """The cut along the axis of the batch; results without that axis combine as `shared` says, or forbid it."""
    batch = op.batch_axes
    axes = [None if axis == -1 else axis for axis in batch]
    ins, outs = axes[: len(op.operands)], axes[len(op.operands) :]
    if not outs or (shared is None and None in outs) or all(axis is None for axis in ins):
        return []
    results = tuple(shared if axis is None else axis for axis in outs)
    cut = Cut(tuple(ins), results, divided=tuple(name for name in _COUNTS if _count(op, name)))
    return [cut] if cut.common(op) > 1 else []


class OpaqueLayer(Layer[OpaqueOp]):
    """The work that is written on it; one operation for all gradients."""

    op = OpaqueOp
    joint_gradients = True

    def evaluate(self, op: OpaqueOp, *arrays: Array) -> tuple[Array, ...]:
        raise _unknown(op)

    def vjp(self, op: OpaqueOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        of = tuple(number for number, need in enumerate(needs) if need and is_float(op.operands[number]))
        given = [number for number, grad in enumerate(grads) if grad is not None]
        if not of or not given:
            return [None] * len(op.operands)
        batch = op.batch_axes
        if batch:
            places = [len(op.operands) + number for number in given]
            batch = (*batch[: len(op.operands)], *(batch[place] for place in places), *(batch[number] for number in of))
        found = OpaqueGradOp(
            *op.operands,
            *(grad for grad in grads if grad is not None),
            results=[op.operands[number].type for number in of],
            operator=op.operator_name,
            macs=_count(op, "grad_macs"),
            vector=_count(op, "grad_vector"),
            batch=batch if batch and any(axis != -1 for axis in batch) else (),
            of=of,
        )
        gradients = dict(zip(of, emit(found).outs, strict=True))
        return [gradients.get(number) for number in range(len(op.operands))]

    def work(self, op: OpaqueOp) -> Work:
        return Work(macs=_count(op, "macs"), vector_ops=_count(op, "vector"))

    def cuts(self, op: OpaqueOp) -> Sequence[Cut]:
        return _cuts(op, None)


class OpaqueGradLayer(Layer[OpaqueGradOp]):
    """The work that is written on it; gradients of operands that parts share are sums of the parts'."""

    op = OpaqueGradOp

    def evaluate(self, op: OpaqueGradOp, *arrays: Array) -> tuple[Array, ...]:
        raise _unknown(op)

    def work(self, op: OpaqueGradOp) -> Work:
        return Work(macs=_count(op, "macs"), vector_ops=_count(op, "vector"))

    def cuts(self, op: OpaqueGradOp) -> Sequence[Cut]:
        return _cuts(op, Combine.SUM)


def opaque(
    b: GraphBuilder,
    operator: str,
    operands: Values,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[str] = (),
    macs: int = 0,
    vector: OptInt = None,
    backward_macs: OptInt = None,
    backward_vector: OptInt = None,
    batch: Ints = (),
) -> SSAValue | list[SSAValue]:
    """
    An operator that is known by its cost alone: results of `shapes`, and of `dtypes` (none: that of the first operand).

    It takes `macs` multiply-accumulates and `vector` elementary operations (none: one an element of its largest
    tensor), its derivative `backward_macs` and `backward_vector` (none: twice as many). It reads its operands and
    writes its results once. `batch` is for each operand, then for each result, the axis along which devices may split
    it, -1 for a tensor that all of them have. A program with it can be priced, not run.
    """
    types = _types(operands, shapes, dtypes)
    sizes = [prod(type.get_shape()) for type in (*map(tensor_type, operands), *types)]
    counts: dict[str, Param] = {"macs": macs, "vector": max(sizes, default=0) if vector is None else vector}
    given = {"macs": ("grad_macs", backward_macs), "vector": ("grad_vector", backward_vector)}
    for name, (own, count) in given.items():
        forward = counts[name]
        assert isinstance(forward, int)
        counts[own] = min(BACKWARD * forward, MAX_COUNT) if count is None else count
    kept: Mapping[str, Param] = {name: count for name, count in counts.items() if count != 0}
    made = b.emit(OpaqueOp(*operands, results=types, operator=operator, batch=tuple(batch), **kept))
    return made.outs[0] if len(made.outs) == 1 else list(made.outs)


def _types(operands: Values, shapes: Sequence[Sequence[int]], dtypes: Sequence[str]) -> list[Tensor]:
    """The types of the results."""
    if not shapes:
        raise ArgumentError("shapes", "found an empty list, expected a shape for each result")
    if dtypes and len(dtypes) != len(shapes):
        raise ArgumentError("dtypes", f"found {len(dtypes)} types, expected one for each of {len(shapes)} shapes")
    if any(size < 1 for shape in shapes for size in shape):
        raise ArgumentError("shapes", "found a size below 1, expected positive sizes")
    if dtypes:
        elements = [element_type("dtypes", name) for name in dtypes]
    else:
        elements = [tensor_type(operands[0]).element_type if operands else ELEMENT_TYPES["f32"]] * len(shapes)
    return [tensor_of(element, shape) for element, shape in zip(elements, shapes, strict=True)]


LAYERS = (OpaqueLayer(), OpaqueGradLayer())
FUNCTIONS = (opaque,)
