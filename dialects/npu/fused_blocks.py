"""
The blocks in scratchpad of vector work that is fused into a contraction.

    %w1, %v1 = npu.vector sgd(%w, %dw, %v) ops 96 fused      blocks of %w and %v; %w1 and %v1 overwrite them
"""

from collections.abc import Collection, Iterable, Sequence
from math import prod
from typing import Generic, TypeVar

from xdsl.ir import Operation, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.npu.epilogue import block_elements
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.widths import Widths, whole_bytes
from npuc.dialects.tensors import shape_of

OpT = TypeVar("OpT", bound=Operation, covariant=True)


@frozen
class FusedWork(Generic[OpT]):
    """A fused operation with the output of the contraction whose blocks it works on."""

    op: OpT
    output: str
    outside: tuple[SSAValue, ...]
    """The other operands, each once, that no earlier operation on this output has loaded: those that come from DRAM."""


def is_stored(value: SSAValue, inside: Collection[Operation]) -> bool:
    """Whether a value is used outside these fused operations, so that it must go to DRAM."""
    return any(use.operation not in inside for use in value.uses)


def fused_places(contract: ContractOp, fused: Sequence[FusedWork[Operation]]) -> dict[SSAValue, SSAValue | None]:
    """
    The value whose block each result of fused operations overwrites; None for a result with a block of its own.

    A block is free for a result of its type from the last operation on that uses it. The output's block and those of
    results are free only if nothing else uses them: they are being stored otherwise.
    """
    inside = {f.op for f in fused}
    places: dict[SSAValue, SSAValue | None] = {}
    for name in {f.output: None for f in fused}:
        own = [f for f in fused if f.output == name]
        output = contract.result_of(name)
        last = {v: number for number, f in enumerate(own) for v in (*f.op.results, *f.op.operands)}
        free: list[SSAValue] = []
        for number, f in enumerate(own):
            ending = [v for v in dict.fromkeys(f.op.operands) if last[v] == number]
            ending.sort(key=lambda v: v is output)
            free += [v for v in ending if v in _others(own) or not is_stored(v, inside)]
            for result in f.op.results:
                place = next((v for v in free if v.type == result.type), None)
                free = [v for v in free if v is not place]
                places[result] = place
            free += [v for v in f.op.results if last[v] == number and not is_stored(v, inside)]
    return places


def _others(fused: Sequence[FusedWork[Operation]]) -> set[SSAValue]:
    return {v for f in fused for v in f.outside}


def fused_room(
    contract: ContractOp, schedule: Schedule, fused: Sequence[FusedWork[Operation]]
) -> list[tuple[SSAValue, int]]:
    """
    The values that fused operations hold in SPM beside the blocks of their contraction, with the elements of each.

    A block of each other operand of the output's shape (all of a smaller one), and of each result that overwrites no
    other block (`fused_places`).
    """
    places = fused_places(contract, fused)
    held: list[tuple[SSAValue, int]] = []
    for f in fused:
        shape = shape_of(contract.result_of(f.output))
        block = block_elements(contract.nest, schedule, f.output)
        held += [(v, block if shape_of(v) == shape else prod(shape_of(v))) for v in f.outside]
        held += [(v, block) for v in f.op.results if places[v] is None]
    return held


def fused_bytes(held: Iterable[tuple[SSAValue, int]], widths: Widths) -> int:
    """The bytes of values of which so many elements are held."""
    return sum(whole_bytes(count * widths.element_bits(value.type)) for value, count in held)
