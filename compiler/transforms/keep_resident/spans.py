"""The spans over which values may be resident, and helpers on the operations at their ends."""

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import location_of
from npuc.compiler.layers import get_layer
from npuc.compiler.transforms.shared_units import refuse_units
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.resident import HasResidency, SameMemory
from npuc.dialects.outside import operation_of_kind
from npuc.dialects.provenance import layer_of

Supported = ContractOp | VectorOp


@frozen
class Access:
    """An operation that defines or reads a value, and the name that the tensor has there."""

    op: Supported
    name: str
    defines: bool = False


@frozen
class Span:
    """A value that is resident from one of its accesses to the next."""

    value: SSAValue
    number: int
    """The index of the first of the two among the accesses of the value."""


SpanFilter = Callable[[Access, Access], bool]
Spans = frozenset[Span]


def is_elementwise(op: VectorOp) -> bool:
    kind = operation_of_kind(op.kind)
    return kind is not None and get_layer(kind).elementwise


def uses_through_views(value: SSAValue) -> Iterator[tuple[Operation, int]]:
    """The operations that read the memory of a value, through views too, with the operand's number."""
    for use in value.uses:
        if isinstance(use.operation, SameMemory):
            yield from uses_through_views(use.operation.results[0])
        else:
            yield use.operation, use.index


def refuse_residents(module: ModuleOp, name: str) -> None:
    """Raise, at its place, for resident tensors or units, which the pass of that name does not support."""
    refuse_units(module, name)
    for op in module.walk():
        if isinstance(op, HasResidency) and op.resident.names:
            raise UsageError(
                f"{name}: {op.resident} of layer {layer_of(op)}: the pass does not support resident values",
                location=location_of(op),
                hint=f"leave out the pass keep-resident, or run it after {name}",
            )
