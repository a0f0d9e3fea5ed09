"""Counts the traffic and the SPM footprint of a tile-level program while it runs, to check the closed forms."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.scf import ForOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Block as IRBlock
from xdsl.ir import Operation, SSAValue

from npuc.compiler.interpreter.blocks import Block, Dram, unread, unwritten
from npuc.dialects import npu
from npuc.dialects.memories import SCRATCHPAD
from npuc.dialects.provenance import Role, layer_of, role_of


class Place(NamedTuple):
    """A tensor of a contraction: the layer and role of the contraction, and the name of the tensor in its nest."""

    layer: str
    role: Role
    tensor: str


@dataclass
class Moved:
    """Elements moved between DRAM and SPM."""

    read: int = 0
    write: int = 0


@dataclass
class _Streams:
    """Round-robin streams: footprint and peak before them, and the summed peaks of those completed."""

    held: int
    peak: int
    together: int = 0


@dataclass
class TrafficCounter(Interpreter.Listener):
    """
    Counts the elements that `npu.load`, `npu.store`, `npu.finish` and `npu.fill` move, and the elements of SPM that
    blocks occupy.

    `moved` has an entry for each tensor; `held` is the size of all live blocks and `peak` its maximum. A block is live
    from its load or zero to the last operation of the same IR block that uses it. Streams that run round-robin are
    executed one after another, but their blocks are live at the same time: their peaks add up.

    `inner` are the elements that a memory reads from a block of the next one outwards (`npu.fetch`) and writes into one
    (`npu.put`), by the memory's name; `outer_peak` is the most that blocks of a memory other than SPM occupy.
    """

    moved: dict[Place, Moved] = field(default_factory=dict[Place, Moved])
    inner: dict[str, dict[Place, Moved]] = field(default_factory=dict[str, dict[Place, Moved]])
    outer_peak: dict[str, int] = field(default_factory=dict[str, int])
    held: int = 0
    peak: int = 0
    _freed: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _outer_held: dict[str, int] = field(default_factory=dict[str, int])
    _outer_freed: dict[Operation, list[tuple[str, int]]] = field(
        default_factory=dict[Operation, "list[tuple[str, int]]"]
    )
    _last: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    _around: list[_Streams] = field(default_factory=list["_Streams"])

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        if isinstance(op, npu.StreamsOp):
            self._around.append(_Streams(self.held, self.peak))
            self.peak = self.held
        if isinstance(op, npu.FinishOp):
            dram = args[0]
            assert isinstance(dram, Dram)
            name = _tensor(op)
            self._at(op, name).write += unwritten(dram)
            if op.start is not None:
                self._at(op, f"{name}0").read += unread(dram, op.axes)

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        if isinstance(op, npu.LoadOp | npu.ZeroOp | npu.AsBlockOp | npu.FetchOp):
            block, made = results[0], op.results[0]
            assert isinstance(block, Block)
            assert isinstance(made.type, npu.BlockType)
            if isinstance(op, npu.LoadOp):
                self._at(op, _tensor(op)).read += block.moved
            elif isinstance(op, npu.FetchOp):
                self._inside(op).read += block.moved
            self._hold(op, made, made.type.elements)
        elif isinstance(op, npu.FillOp):
            block = results[0]
            assert isinstance(block, Block)
            self._at(op, f"{_tensor(op)}0").read += block.moved
        elif isinstance(op, npu.StoreOp):
            dram = results[0]
            assert isinstance(dram, Dram)
            self._at(op, _tensor(op)).write += dram.moved
        elif isinstance(op, npu.PutOp):
            block = results[0]
            assert isinstance(block, Block)
            self._inside(op).write += block.moved
        elif isinstance(op, npu.YieldOp) and self._around:
            around = self._around[-1]
            around.together += self.peak - around.held
            self.peak = self.held
        elif isinstance(op, npu.StreamsOp):
            around = self._around.pop()
            self.peak = max(around.peak, around.held + around.together)
        self.held -= self._freed.pop(op, 0)
        for level, room in self._outer_freed.pop(op, ()):
            self._outer_held[level] -= room

    def _hold(self, op: Operation, made: SSAValue, room: int) -> None:
        """Count the room of a block that an operation made, until its last use."""
        if op not in self._last:
            self._last[op] = last_use(made)
        last, level = self._last[op], _level(op)
        if level == SCRATCHPAD:
            self.held += room
            self.peak = max(self.peak, self.held)
            self._freed[last] = self._freed.get(last, 0) + room
            return
        self._outer_held[level] = held = self._outer_held.get(level, 0) + room
        self.outer_peak[level] = max(self.outer_peak.get(level, 0), held)
        self._outer_freed.setdefault(last, []).append((level, room))

    def _inside(self, op: Operation) -> Moved:
        """What a memory, which an operation names, moves of a tensor from and to the one outside of it."""
        moved = self.inner.setdefault(_level(op), {})
        return moved.setdefault(Place(layer_of(op), role_of(op), _tensor(op)), Moved())

    def _at(self, op: Operation, tensor: str) -> Moved:
        return self.moved.setdefault(Place(layer_of(op), role_of(op), tensor), Moved())


def _level(op: Operation) -> str:
    attr = op.attributes.get("level")
    return attr.data if isinstance(attr, StringAttr) else SCRATCHPAD


def _tensor(op: Operation) -> str:
    attr = op.attributes.get("tensor")
    return attr.data if isinstance(attr, StringAttr) else ""


def last_use(value: SSAValue) -> Operation:
    """
    The last operation that uses a block, in the IR block that defines it; the defining operation if nothing does.

    Results of `npu.put`, `npu.start`, `npu.mac`, `npu.apply`, `npu.fill`, `npu.convert` and of loops that carry the
    block share its memory.
    """
    maker = value.owner
    assert isinstance(maker, Operation)
    home = maker.parent_block()
    assert home is not None
    order = {op: number for number, op in enumerate(home.ops)}
    last, todo = maker, [value]
    while todo:
        for user, result in _uses(todo.pop(), home):
            if order[user] > order[last]:
                last = user
            if result is not None:
                todo.append(result)
    return last


def _uses(value: SSAValue, home: IRBlock) -> Iterator[tuple[Operation, SSAValue | None]]:
    """The operations of `home` that use a value, or whose regions do, each with the result that shares its memory."""
    for use in value.uses:
        user = use.operation
        outer = home.find_ancestor_op_in_block(user)
        assert outer is not None
        same: SSAValue | None = None
        if user is outer and isinstance(user, npu.MacOp | npu.StartOp) and user.acc is value:
            same = user.result
        elif user is outer and isinstance(user, npu.PutOp) and user.target is value:
            same = user.result
        elif user is outer and isinstance(user, npu.ConvertOp):
            same = user.result
        elif user is outer and isinstance(user, npu.FillOp) and user.block is value:
            same = user.result
        elif user is outer and isinstance(user, npu.ApplyOp) and use.index >= len(user.args):
            number = use.index - len(user.args)
            same = user.outs[number] if number < len(user.into) else None
        elif user is outer and isinstance(user, ForOp) and use.index >= 3:
            same = user.results[use.index - 3]
        yield outer, same
