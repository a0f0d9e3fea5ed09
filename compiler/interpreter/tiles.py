"""
The tile level on numpy: blocks with their places, and DRAM tensors with a mask of the elements written.

Accumulators and tensors of partial sums are updated in place. Each value records the version of its storage when it was
made, so that the use of an overwritten value is an error instead of a wrong number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from npuc.compiler.interpreter.contraction import Array, Ranges, View, accumulate
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.layers import get_layer
from npuc.dialects import npu
from npuc.dialects.npu.nest import Axis
from npuc.dialects.npu.tiles.box import BoxOp
from npuc.dialects.outside import operation_of_kind

Mask: TypeAlias = npt.NDArray[np.bool_]
Places: TypeAlias = tuple[npt.NDArray[np.int64], ...]
"""The distinct positions of each axis, ascending."""


@dataclass
class Storage:
    """Memory that is updated in place: its contents, a mask of the elements with a value, and the number of updates."""

    data: Array
    written: Mask
    version: int = 0


@dataclass(frozen=True)
class Dram:
    """A tensor in DRAM that is being written; `moved` elements were written to make this value."""

    storage: Storage
    version: int = 0
    moved: int = 0


@dataclass(frozen=True)
class Block:
    """
    A block in SPM; `moved` elements were read to make this value.

    The storage spans the bounding box of `places`, the positions it holds, and begins at `origin`.
    """

    storage: Storage
    places: Places
    version: int = 0
    moved: int = 0

    @property
    def origin(self) -> tuple[int, ...]:
        """The position of the first element of the storage."""
        return tuple(int(axis[0]) if len(axis) else 0 for axis in self.places)

    def view(self, axes: Sequence[Axis]) -> View:
        """The block as seen through an index map."""
        return View(tuple(axes), latest(self).data, self.origin)

    def index(self, places: Places) -> tuple[Any, ...]:
        """The index of these positions in the storage."""
        return np.ix_(*(axis - first for axis, first in zip(places, self.origin, strict=True)))


def latest(value: Block | Dram) -> Storage:
    """The storage of a value; an error if it has none of its own, or another operation has updated it since."""
    if not isinstance(value, Block | Dram):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InterpretationError("a whole tensor was used where one is expected that is stored block by block")
    if value.version != value.storage.version:
        raise InterpretationError("a block or tensor was used after an operation that updated it in place")
    return value.storage


def updated(value: Block | Dram) -> int:
    """Count an update of the storage and return its version."""
    value.storage.version += 1
    return value.storage.version


def ranges_of(op: BoxOp, indices: Sequence[int]) -> Ranges:
    """The index range of each dimension of an operation's box."""
    given = list(indices)
    ranges: dict[str, tuple[int, int]] = {}
    for r in op.box_attr.data:
        ranges[r.dim] = r.resolve(given[: r.operands])
        del given[: r.operands]
    return ranges


def places_of(axes: Sequence[Axis], ranges: Ranges, sizes: Sequence[int] | None = None) -> Places:
    """The distinct positions that an index map reaches in a box; only those inside the sizes, if any are given."""
    found: list[npt.NDArray[np.int64]] = []
    for number, axis in enumerate(axes):
        positions = np.array([axis.offset], np.int64)
        for dim, coefficient in axis.terms:
            reached = coefficient * np.arange(*ranges[dim])
            positions = positions + reached if len(positions) == 1 else np.unique(np.add.outer(positions, reached))
        if sizes is not None:
            positions = positions[(positions >= 0) & (positions < sizes[number])]
        found.append(positions)
    return tuple(found)


def new_block(places: Places, dtype: npt.DTypeLike) -> Block:
    """A block of zeros, with no element marked as written."""
    shape = [int(axis[-1] - axis[0]) + 1 if len(axis) else 0 for axis in places]
    return Block(Storage(np.zeros(shape, dtype), np.zeros(shape, np.bool_)), places)


def unwritten(dram: Dram) -> int:
    """The number of elements that no store has written."""
    return int((~latest(dram).written).sum())


def unread(value: Dram | Block, axes: Sequence[int]) -> int:
    """The number of elements of an accumulator initialiser along these axes that no written element has used."""
    written = latest(value).written
    return int((~written.any(axis=tuple(n for n in range(written.ndim) if n not in axes))).sum())


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


def spread(start: Array, axes: Sequence[int], shape: Sequence[int]) -> Array:
    """A start that runs along these axes, in a shape that broadcasts to `shape`."""
    return start.transpose(np.argsort(axes)).reshape([size if n in axes else 1 for n, size in enumerate(shape)])


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
