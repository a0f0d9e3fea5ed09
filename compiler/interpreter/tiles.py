"""The tile level on numpy; accumulators and tensors of partial sums are updated in place (`blocks.py`)."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from npuc.compiler.interpreter.blocks import (
    Block,
    Dram,
    Places,
    Storage,
    latest,
    new_block,
    places_of,
    spread,
    unread,
    updated,
)
from npuc.compiler.interpreter.contraction import Array, Ranges, accumulate
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.layers import get_layer
from npuc.dialects import npu
from npuc.dialects.npu.nest import Axis
from npuc.dialects.npu.tiles.box import BoxOp
from npuc.dialects.outside import operation_of_kind


def ranges_of(op: BoxOp, indices: Sequence[int]) -> Ranges:
    """The index range of each dimension of an operation's box."""
    given = list(indices)
    ranges: dict[str, tuple[int, int]] = {}
    for r in op.box_attr.data:
        ranges[r.dim] = r.resolve(given[: r.operands])
        del given[: r.operands]
    return ranges


def _shape(type_: Attribute) -> tuple[int, ...]:
    return cast(TensorType[Attribute], type_).get_shape()


def _element(type_: Attribute) -> Attribute:
    return cast(TensorType[Attribute] | npu.BlockType, type_).element_type


@register_impls
class TileFunctions(InterpreterFunctions):
    """
    Implementations of the tile operations; elements are held in the type that `numbers` computes their type in.

    Sums are rounded after each addition to the type of the accumulator, wherever numpy's is another.
    """

    def __init__(self, numbers: Numbers = Numbers(double=True)):
        self.numbers = numbers

    @impl(npu.EmptyOp)
    def run_empty(self, interpreter: Interpreter, op: npu.EmptyOp, args: PythonValues) -> PythonValues:
        shape = _shape(op.result.type)
        return (
            Dram(Storage(np.zeros(shape, self.numbers.computed(_element(op.result.type))), np.zeros(shape, np.bool_))),
        )

    @impl(npu.LoadOp)
    def run_load(self, interpreter: Interpreter, op: npu.LoadOp, args: PythonValues) -> PythonValues:
        axes, source = op.map_attr.data, args[0]
        ranges = ranges_of(op, args[len(args) - len(op.indices) :])
        places = places_of(axes, ranges, _shape(op.tensor.type))
        if op.partial != isinstance(source, Dram):
            raise InterpretationError("a tensor of partial sums, and no other, is loaded with 'partial'")
        if op.when is not None and not args[1]:
            return (new_block(places, self.numbers.computed(_element(op.tensor.type))),)
        if isinstance(source, Dram):
            return (_load_partial(source, places),)
        (array,) = self.numbers.operands((cast(Array, source),))
        block = new_block(places, array.dtype)
        moved = array[np.ix_(*places)]
        block.storage.data[block.index(places)] = moved
        return (Block(block.storage, places, moved=moved.size),)

    @impl(npu.ZeroOp)
    def run_zero(self, interpreter: Interpreter, op: npu.ZeroOp, args: PythonValues) -> PythonValues:
        places = places_of(op.map_attr.data, ranges_of(op, args))
        return (new_block(places, self.numbers.computed(_element(op.block.type))),)

    @impl(npu.StartOp)
    def run_start(self, interpreter: Interpreter, op: npu.StartOp, args: PythonValues) -> PythonValues:
        acc, source, *indices = args
        acc, source = cast(Block, acc), cast(Block, source)
        axes = op.acc_map.data
        follows = [axes.index(axis) for axis in op.source_map.data]
        places = [
            np.intersect1d(a, b) for a, b in zip(places_of(axes, ranges_of(op, indices)), acc.places, strict=True)
        ]
        for n, held in zip(follows, source.places, strict=True):
            places[n] = np.intersect1d(places[n], held)
        storage, index = latest(acc), acc.index(tuple(places))
        values = latest(source).data[source.index(tuple(places[n] for n in follows))]
        values = values.transpose(np.argsort(follows))
        values = values.reshape([len(held) if n in follows else 1 for n, held in enumerate(places)])
        sums = storage.data[index] + np.where(storage.written[index], 0, values)
        rounded = self.numbers.added(_element(op.acc.type)).rounded
        storage.data[index] = sums if rounded is None else rounded(sums)
        storage.written[index] = True
        return (Block(storage, acc.places, updated(acc)),)

    @impl(npu.MacOp)
    def run_mac(self, interpreter: Interpreter, op: npu.MacOp, args: PythonValues) -> PythonValues:
        acc, lhs, rhs, *indices = args
        acc, lhs, rhs = cast(Block, acc), cast(Block, lhs), cast(Block, rhs)
        left, right = lhs.view(op.lhs_map.data), rhs.view(op.rhs_map.data)
        sums = self.numbers.added(_element(op.acc.type))
        accumulate(ranges_of(op, indices), acc.view(op.acc_map.data), left, right, sums)
        return (Block(acc.storage, acc.places, updated(acc)),)

    @impl(npu.ConvertOp)
    def run_convert(self, interpreter: Interpreter, op: npu.ConvertOp, args: PythonValues) -> PythonValues:
        block = cast(Block, args[0])
        storage = latest(block)
        (held,) = self.numbers.operands((self.numbers.hold(storage.data, _element(op.result.type)),))
        updated(block)
        return (Block(Storage(held, storage.written), block.places),)

    @impl(npu.ApplyOp)
    def run_apply(self, interpreter: Interpreter, op: npu.ApplyOp, args: PythonValues) -> PythonValues:
        places, values = applied_to(self.numbers, op, args)
        results = _evaluate_block(self.numbers, op, places, values)
        changed: list[Block] = []
        into = cast("tuple[Block, ...]", args[len(op.args) :])
        for block, array in zip(into, results, strict=False):
            storage = latest(block)
            storage.data[block.index(places)] = array
            changed.append(Block(storage, block.places, updated(block)))
        return tuple(changed)

    @impl(npu.StoreOp)
    def run_store(self, interpreter: Interpreter, op: npu.StoreOp, args: PythonValues) -> PythonValues:
        block, dram, *indices = args
        block, dram = cast(Block, block), cast(Dram, dram)
        places = places_of(op.map_attr.data, ranges_of(op, indices), _shape(op.tensor.type))
        values = latest(block).data[block.index(places)]
        storage = latest(dram)
        storage.data[np.ix_(*places)] = values
        storage.written[np.ix_(*places)] = True
        return (Dram(storage, updated(dram), values.size),)

    @impl(npu.FetchOp)
    def run_fetch(self, interpreter: Interpreter, op: npu.FetchOp, args: PythonValues) -> PythonValues:
        source = cast(Block, args[0])
        places = _inside(op.map_attr.data, ranges_of(op, args[len(args) - len(op.indices) :]), source)
        block = new_block(places, self.numbers.computed(_element(op.block.type)))
        if op.when is not None and not args[1]:
            return (block,)
        storage = latest(source)
        index, found = block.index(places), source.index(places)
        block.storage.data[index] = storage.data[found]
        block.storage.written[index] = storage.written[found]
        moved = int(storage.written[found].sum()) if op.partial else block.storage.data[index].size
        return (Block(block.storage, places, moved=moved),)

    @impl(npu.PutOp)
    def run_put(self, interpreter: Interpreter, op: npu.PutOp, args: PythonValues) -> PythonValues:
        block, target, *indices = args
        block, target = cast(Block, block), cast(Block, target)
        places = _inside(op.map_attr.data, ranges_of(op, indices), target)
        storage, index = latest(target), target.index(places)
        storage.data[index] = latest(block).data[block.index(places)]
        storage.written[index] = True
        return (Block(storage, target.places, updated(target), storage.data[index].size),)

    @impl(npu.AsBlockOp)
    def run_as_block(self, interpreter: Interpreter, op: npu.AsBlockOp, args: PythonValues) -> PythonValues:
        (array,) = self.numbers.operands((cast(Array, args[0]),))
        places = tuple(np.arange(size, dtype=np.int64) for size in _shape(op.value.type))
        block = new_block(places, array.dtype)
        block.storage.data[...] = array
        return (block,)

    @impl(npu.AsTensorOp)
    def run_as_tensor(self, interpreter: Interpreter, op: npu.AsTensorOp, args: PythonValues) -> PythonValues:
        return self.numbers.results(op, (latest(cast(Block, args[0])).data,))

    @impl(npu.StreamsOp)
    def run_streams(self, interpreter: Interpreter, op: npu.StreamsOp, args: PythonValues) -> PythonValues:
        # One after another: the results and traffic of a stream do not depend on when the others run.
        results = (interpreter.run_ssacfg_region(stream, (), "stream") for stream in op.streams)
        return tuple(value for values in results for value in values)

    @impl(npu.FinishOp)
    def run_finish(self, interpreter: Interpreter, op: npu.FinishOp, args: PythonValues) -> PythonValues:
        storage = latest(cast(Dram, args[0]))
        result = storage.data
        if op.start is not None:
            result = np.where(storage.written, result, spread(cast(Array, args[1]), op.axes, result.shape))
        return self.numbers.results(op, (result,))

    @impl(npu.FillOp)
    def run_fill(self, interpreter: Interpreter, op: npu.FillOp, args: PythonValues) -> PythonValues:
        block = cast(Block, args[0])
        storage = latest(block)
        (start,) = self.numbers.operands((cast(Array, args[1]),))
        moved = unread(block, op.axes)
        storage.data[...] = np.where(storage.written, storage.data, spread(start, op.axes, storage.data.shape))
        storage.written[...] = True
        return (Block(storage, block.places, updated(block), moved),)


def _inside(axes: Sequence[Axis], ranges: Ranges, block: Block) -> Places:
    """The positions that an index map reaches in a box, as far as a block has them."""
    reached = places_of(axes, ranges)
    return tuple(np.intersect1d(a, b) for a, b in zip(reached, block.places, strict=True))


def applied_to(numbers: Numbers, op: npu.ApplyOp, args: PythonValues) -> tuple[Places, list[Array]]:
    """The positions at which work on blocks is done, and the values of its operands there, rounded to their types."""
    places = places_of(op.map_attr.data, ranges_of(op, args[len(op.args) + len(op.into) :]), op.shape)
    values: list[Array] = []
    for value, block in zip(op.args, cast("tuple[Block, ...]", args), strict=False):
        own = list(block.places)
        # A block of fewer axes has the last ones; an axis of size 1 is broadcast.
        for number, wanted in enumerate(places[len(places) - len(own) :]):
            if len(own[number]) > 1 or np.isin(wanted, own[number]).all():
                own[number] = wanted
        values.append(numbers.hold(latest(block).data[block.index(tuple(own))], _element(value.type)))
    return places, values


def _evaluate_block(numbers: Numbers, op: npu.ApplyOp, places: Places, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The results of work on a block: those of its train operation at these positions."""
    kind = operation_of_kind(op.kind)
    if kind is None:
        raise InterpretationError(f"{op.name} {op.kind}: there is no operation train.{op.kind}")
    types = [TensorType(_element(r.type), [len(axis) for axis in places]) for r in op.outs]
    work = kind.create(result_types=types, properties=dict(op.params), attributes=dict(op.attributes))
    values = numbers.operands(tuple(arrays))
    with np.errstate(all="ignore"):
        return numbers.results(work, get_layer(work).evaluate_block(work, op.shape, places, *values))


def _load_partial(dram: Dram, places: Places) -> Block:
    """The block of a tensor of partial sums: the elements written."""
    storage = latest(dram)
    block = new_block(places, storage.data.dtype)
    index = block.index(places)
    written = storage.written[np.ix_(*places)]
    block.storage.data[index] = storage.data[np.ix_(*places)]
    block.storage.written[index] = written
    return Block(block.storage, places, moved=int(written.sum()))
