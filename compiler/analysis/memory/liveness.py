"""
The live memory of a training step and its peak: bytes of tensors by operation, in program order.

    memory_of_tensors(tensors_of(func, None)).peak_bytes

A function's arguments (inputs, parameters, states) are live throughout; a parameter and its new value share memory
where nothing reads the old one afterwards. A value is live from the operation that makes it to the last that reads it,
both included; a view is the value that it shows, and takes no step. Values computed from constants alone are part of
the program: they are live throughout, except that splat constants and listed integers take nothing. The function's
results are live to its end.

The model has no placement of values: no fragmentation, no alignment, no workspace.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from npuc.compiler.analysis.nest.elements import Width, element_bits, whole_bytes
from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind, elements
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.arithmetic import ConstantOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.constant import IntegersOp, ListedNumbersOp
from npuc.dialects.train.signature import arguments_of, results_of, training_functions

Buffers: TypeAlias = tuple[int, ...]
Slot: TypeAlias = tuple[Buffers, Buffers]
"""The buffers that an operation reads, and those that it makes."""
_BACKWARD = frozenset((Role.DX, Role.DW, Role.DXDW))
_IMMEDIATE = (ConstantOp, IntegersOp, ListedNumbersOp)


@frozen
class Tensors:
    """
    The memory of a function: its operations that do work, in order, and the buffers that they read and make.

    `sizes` are the bytes of each buffer, `buffer_of` maps each value that is not live throughout to its buffer,
    `resident` are the bytes that are live throughout, `returned` the buffers that are live to the end. The backward
    pass begins with operation number `boundary`, the number of operations if there is none.
    """

    ops: tuple[Operation, ...]
    slots: tuple[Slot, ...]
    sizes: tuple[int, ...]
    returned: frozenset[int]
    resident: int
    boundary: int
    buffer_of: dict[SSAValue, int]


@frozen
class Memory:
    """
    Bytes of tensors during a function, and the operation with most of them, by number and layer.

    `live` are the bytes during each operation that does work, `resident_bytes` of them those that are there
    throughout, `kept_bytes` the activations that the forward pass leaves for the backward pass.
    """

    peak_bytes: int
    at: int
    layer: str
    kept_bytes: int
    resident_bytes: int
    live: tuple[int, ...]


def live_bytes(slots: Sequence[Slot], sizes: Sequence[int], returned: Iterable[int]) -> list[int]:
    """The bytes of buffers during each slot: from the one that makes a buffer to the last one that reads it."""
    count = len(slots)
    last = [0] * len(sizes)
    change = [0] * (count + 1)
    made: list[int] = []
    for number, (reads, makes) in enumerate(slots):
        for buffer in reads:
            last[buffer] = number
        for buffer in makes:
            last[buffer] = number
            change[number] += sizes[buffer]
        made += makes
    for buffer in returned:
        last[buffer] = count - 1
    for buffer in made:
        change[last[buffer] + 1] -= sizes[buffer]
    return list(accumulate(change[:count]))


def tensors_of(func: FuncOp, float_bytes: int | None) -> Tensors:
    """The memory of a function at the `train` level; `float_bytes` as for `element_bits`."""
    return _Builder(func.body.block, float_bytes).tensors()


def is_view(op: Operation) -> bool:
    """Whether the result of an operation is its operand under another shape."""
    return isinstance(op, TrainOp) and get_layer(op).kind is Kind.VIEW


def shown_by(value: SSAValue) -> SSAValue:
    """The value that a view, or a view of views, shows; any other value itself."""
    while isinstance(value.owner, Operation) and is_view(value.owner):
        value = value.owner.operands[0]
    return value


class TensorSizes:
    """The bytes of tensors; `float_bytes` as for `element_bytes`."""

    def __init__(self, float_bytes: int | None):
        self.float_bytes = float_bytes
        self.bits: dict[Attribute, Width] = {}

    def bytes_of(self, value: SSAValue) -> int:
        """The bytes of a tensor; 0 of anything else."""
        type = value.type
        if not isinstance(type, TensorType):
            return 0
        element = cast("TensorType[Attribute]", type).element_type
        bits = self.bits.get(element)
        if bits is None:
            bits = self.bits[element] = element_bits(element, self.float_bytes)
        return whole_bytes(elements(value) * bits)


class _Builder(TensorSizes):
    """Numbers the buffers of a block."""

    def __init__(self, block: Block, float_bytes: int | None):
        super().__init__(float_bytes)
        self.block = block
        self.resident = sum(self.bytes_of(arg) for arg in block.args)
        self.known: set[SSAValue] = set()
        """Values that are computed from constants alone."""
        self.buffer_of: dict[SSAValue, int] = {}
        self.sizes: list[int] = []
        self.kinds: dict[type[Operation], Kind | None] = {}

    def tensors(self) -> Tensors:
        """The memory of the block."""
        returned: frozenset[int] = frozenset()
        ops: list[Operation] = []
        slots: list[Slot] = []
        boundary: int | None = None
        in_place = _in_place(self.block)
        for op in self.block.ops:
            if isinstance(op, ReturnOp):
                returned = frozenset(self.buffers(op.operands))
            elif not self.is_free(op):
                if boundary is None and role_of(op) in _BACKWARD:
                    boundary = len(ops)
                ops.append(op)
                slots.append((self.buffers(op.operands), self.made(op, in_place)))
        end = len(ops) if boundary is None else boundary
        return Tensors(
            tuple(ops), tuple(slots), tuple(self.sizes), returned, self.resident, end, buffer_of=self.buffer_of
        )

    def is_free(self, op: Operation) -> bool:
        """Whether an operation is a view or a constant; then what it gives is noted."""
        kind = self.kind_of(op)
        if kind is Kind.CONSTANT or (op.operands and self.known.issuperset(op.operands)):
            self.known.update(op.results)
            if kind is not Kind.VIEW and not isinstance(op, _IMMEDIATE):
                self.resident += sum(map(self.bytes_of, op.results))
            return True
        if kind is Kind.VIEW:
            buffer = self.buffer_of.get(op.operands[0])
            if buffer is not None:
                self.buffer_of[op.results[0]] = buffer
            return True
        return False

    def kind_of(self, op: Operation) -> Kind | None:
        kind = type(op)
        if kind not in self.kinds:
            self.kinds[kind] = get_layer(op).kind if isinstance(op, TrainOp) else None
        return self.kinds[kind]

    def buffers(self, values: Iterable[SSAValue]) -> Buffers:
        """The buffers of values, each once."""
        found = [self.buffer_of[value] for value in values if value in self.buffer_of]
        return tuple(dict.fromkeys(found)) if len(found) > 1 else tuple(found)

    def made(self, op: Operation, in_place: AbstractSet[SSAValue]) -> Buffers:
        """New buffers of an operation's results; none for those that it writes in place."""
        first = len(self.sizes)
        for result in op.results:
            if result not in in_place:
                self.buffer_of[result] = len(self.sizes)
                self.sizes.append(self.bytes_of(result))
        return tuple(range(first, len(self.sizes)))


def _in_place(block: Block) -> set[SSAValue]:
    """The values that are written over the argument whose new value they are: nothing reads that afterwards."""
    func, ending = block.parent_op(), block.last_op
    if not isinstance(func, FuncOp) or not isinstance(ending, ReturnOp):
        return set()
    order = {op: number for number, op in enumerate(block.ops)}
    found: set[SSAValue] = set()
    for result in results_of(func):
        value = ending.operands[result.index]
        if result.updates is not None and isinstance(value.owner, Operation):
            written = order[value.owner]
            if all(order[op] <= written for op in _readers(block.args[result.updates])):
                found.add(value)
    return found


def _readers(value: SSAValue) -> Iterator[Operation]:
    """The operations that read a value, or a view of it."""
    for use in value.uses:
        yield use.operation
        if is_view(use.operation):
            yield from _readers(use.operation.results[0])


def memory_of_tensors(tensors: Tensors) -> Memory:
    """The memory of a function at each of its operations, and its peak."""
    live = [tensors.resident + count for count in live_bytes(tensors.slots, tensors.sizes, tensors.returned)]
    if not live:
        return Memory(tensors.resident, 0, "", 0, tensors.resident, ())
    at = max(range(len(live)), key=lambda number: live[number])
    return Memory(live[at], at, layer_of(tensors.ops[at]), _kept(tensors), tensors.resident, live=tuple(live))


def largest_at_peak(module: ModuleOp, float_bytes: int | None, count: int) -> list[tuple[str, int]]:
    """
    The largest tensors at the peak of the function with the highest one: arguments and values by name or layer, and
    bytes.
    """
    total: dict[str, int] = {}
    for func in training_functions(module):
        builder = _Builder(func.body.block, float_bytes)
        tensors = builder.tensors()
        for argument in arguments_of(func):
            total[argument.name] = total.get(argument.name, 0) + builder.bytes_of(func.body.block.args[argument.index])
        for buffer, layer in live_at(tensors, memory_of_tensors(tensors).at):
            total[layer] = total.get(layer, 0) + tensors.sizes[buffer]
    return sorted(total.items(), key=lambda item: -item[1])[:count]


def live_at(tensors: Tensors, at: int) -> Iterator[tuple[int, str]]:
    """The buffers that are live during an operation, by its number, and the layers that made them."""
    made: dict[int, int] = {}
    last: dict[int, int] = dict.fromkeys(tensors.returned, len(tensors.slots))
    for number, (reads, makes) in enumerate(tensors.slots):
        made.update((buffer, number) for buffer in makes)
        for buffer in (*reads, *makes):
            last[buffer] = max(last.get(buffer, 0), number)
    for buffer, number in made.items():
        if number <= at <= last[buffer]:
            yield buffer, layer_of(tensors.ops[number])


def _kept(tensors: Tensors) -> int:
    """The bytes that the forward pass makes and the backward pass reads."""
    made = {buffer for _, makes in tensors.slots[: tensors.boundary] for buffer in makes}
    read = {buffer for reads, _ in tensors.slots[tensors.boundary :] for buffer in reads}
    return sum(tensors.sizes[buffer] for buffer in made & read)


def step_functions(module: ModuleOp) -> list[FuncOp]:
    """The training functions of a module that are at the `train` level."""
    functions = training_functions(module)
    return [f for f in functions if all(isinstance(op, TrainOp | ReturnOp) for op in f.body.block.ops)]


def memory_of_module(module: ModuleOp, float_bytes: int | None = None) -> Memory | None:
    """The memory of the module's function with the highest peak; None where none is at the `train` level."""
    found = [memory_of_tensors(tensors_of(func, float_bytes)) for func in step_functions(module)]
    return max(found, key=lambda memory: memory.peak_bytes, default=None)
