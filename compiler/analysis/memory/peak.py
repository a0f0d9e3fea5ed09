"""
The peak memory of a step by kind: weights, gradients, optimizer states, activations, buffers.

    peak_by_kind(func, None)["weights"]

Every byte of the peak that `liveness.py` finds has one kind. The kind of an argument decides its own; the kind of any
other value follows from the operation that made it and from its readers.

- `weights`: parameters, and new values of them that are not written in place.
- `gradients`: gradients of parameters and their summands: all other results of operations of role `dw`.
- `optimizer`: optimizer states, and intermediate values of an update.
- `activations`: inputs, results of the forward pass, and their gradients.
- `buffers`: results of collectives, parameters and their gradients in another form (gathered, in a shorter type, not
  yet summed over devices), constants, running statistics.

A gradient that comes out of a collective is a gradient. A gradient is live from the operation that makes it to the
update that reads it, so all of them together only at the end of the backward pass: `gradient_bytes` is their sum.
"""

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.memory.liveness import (
    Memory,
    Tensors,
    TensorSizes,
    is_view,
    live_at,
    memory_of_tensors,
    shown_by,
    step_functions,
    tensors_of,
)
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import MEMORY_KINDS, MemoryKind
from npuc.dialects.distributed import DistOp
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of

_ARGUMENTS: dict[ArgumentKind, MemoryKind] = {
    ArgumentKind.PARAM: "weights",
    ArgumentKind.STATE: "optimizer",
    ArgumentKind.STAT: "buffers",
    ArgumentKind.INPUT: "activations",
}


@frozen
class Peak:
    """
    The memory of a step, and what of its peak is of which kind; all in bytes.

    `kinds` add up to `memory.peak_bytes`. `gradient_bytes` are the gradients that updates read, or that the step
    returns, all together, wherever the peak is.
    """

    memory: Memory
    kinds: dict[MemoryKind, int]
    gradient_bytes: int


def peak_of_module(module: ModuleOp, float_bytes: int | None) -> Peak | None:
    """The peak of the function of a module that takes most; None where none is at the `train` level."""
    found = [peak_of(func, float_bytes) for func in step_functions(module)]
    return max(found, key=lambda peak: peak.memory.peak_bytes, default=None)


def peak_of(func: FuncOp, float_bytes: int | None) -> Peak:
    """What is in memory at the peak of a function at the `train` level; `float_bytes` as for `element_bytes`."""
    tensors, sizes = tensors_of(func, float_bytes), TensorSizes(float_bytes)
    memory = memory_of_tensors(tensors)
    kinds = resident_kinds(func, tensors, sizes)
    roles = ValueKinds(func)
    makers = makers_of(tensors)
    for buffer, _ in live_at(tensors, memory.at):
        kinds[roles.kind_of(makers[buffer])] += tensors.sizes[buffer]
    return Peak(memory, kinds, sum(map(sizes.bytes_of, roles.gradients)))


def resident_kinds(func: FuncOp, tensors: Tensors, sizes: TensorSizes) -> dict[MemoryKind, int]:
    """The bytes of each kind that are live throughout: arguments and constants."""
    kinds: dict[MemoryKind, int] = dict.fromkeys(MEMORY_KINDS, 0)
    arguments = {a.index: a.kind for a in arguments_of(func)}
    for index, argument in enumerate(func.body.block.args):
        kinds[_ARGUMENTS[arguments.get(index, ArgumentKind.INPUT)]] += sizes.bytes_of(argument)
    kinds["buffers"] += tensors.resident - sum(kinds.values())  # the constants
    return kinds


def makers_of(tensors: Tensors) -> dict[int, SSAValue]:
    """The value of each buffer, the last one of those that are written in it."""
    return {tensors.buffer_of[v]: v for op in tensors.ops for v in op.results if v in tensors.buffer_of}


class ValueKinds:
    """The kinds of the values of a function."""

    def __init__(self, func: FuncOp):
        block = func.body.block
        ended = () if block.last_op is None else block.last_op.operands
        named = {a.index: a for a in arguments_of(func)}
        parameters = {block.args[i] for i, a in named.items() if a.kind is ArgumentKind.PARAM}
        self.parameters = _with_other_forms(parameters, block)
        self.updates: dict[SSAValue, MemoryKind] = {}
        returned: list[SSAValue] = []
        for result in results_of(func):
            value = ended[result.index]
            if result.updates is not None and result.updates in named:
                self.updates[value] = _ARGUMENTS[named[result.updates].kind]
            elif result.gradient is not None:
                returned.append(value)
        self.gradients = _shown([*returned, *_read_by_updates(block)])
        """The gradients of parameters, as updates read them or the function returns them; views left out."""

    def kind_of(self, value: SSAValue) -> MemoryKind:
        """What a value that an operation makes is for."""
        op = value.owner
        assert isinstance(op, Operation)
        if value in self.updates:
            return self.updates[value]
        if value in self.gradients:
            return "gradients"
        if isinstance(op, DistOp) or value in self.parameters:
            return "buffers"
        match role_of(op):
            case Role.UPDATE:
                return "optimizer"
            case Role.DW:
                return "buffers" if _only_in_other_forms(value) else "gradients"
            case _:
                return "activations"


def _with_other_forms(parameters: Iterable[SSAValue], block: Block) -> set[SSAValue]:
    """Parameters, and parameters in other forms: what the forward pass computes from nothing else."""
    found = set[SSAValue](parameters)
    for op in block.ops:
        if op.operands and role_of(op) is Role.FORWARD and all(value in found for value in op.operands):
            found.update(op.results)
    return found


def _only_in_other_forms(value: SSAValue) -> bool:
    """Whether all that read a value, behind views too, give it another type or sum or move it over devices."""
    readers = [use.operation for use in value.uses]
    return bool(readers) and all(
        _only_in_other_forms(op.results[0]) if is_view(op) else isinstance(op, CastOp | DistOp) for op in readers
    )


def _read_by_updates(block: Block) -> Iterable[SSAValue]:
    """What the operations of updates read that the backward pass has made."""
    for op in block.ops:
        if role_of(op) is Role.UPDATE:
            for value in op.operands:
                if isinstance(value.owner, Operation) and role_of(value.owner) is not Role.UPDATE:
                    yield value


def _shown(values: Iterable[SSAValue]) -> dict[SSAValue, None]:
    """The values whose memory these are, each once, in order: behind views what they show."""
    found: dict[SSAValue, None] = {}
    for value in values:
        shown = shown_by(value)
        if isinstance(shown.owner, Operation):
            found[shown] = None
    return found
