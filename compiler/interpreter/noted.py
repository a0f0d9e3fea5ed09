"""What is noted while a program runs: the gradients that updates read, bits that a controller gives, and the place."""

from dataclasses import dataclass, field

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation

from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.interpreter.tiles import applied_to
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.dialects.npu import ApplyOp, VectorOp
from npuc.dialects.provenance import layer_of
from npuc.dialects.sparse import SparseType
from npuc.dialects.sparse_formats import most_kept
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.quantized import FastQuantizeOp
from npuc.dialects.train.sparse import CompressOp, PruneOp

_CONTROLLED = FastQuantizeOp.name
_STORING = (PruneOp.name, CompressOp.name)


@dataclass
class Gradients(Interpreter.Listener):
    """Notes the gradient that each optimizer update reads, whole or block by block, and the update."""

    numbers: Numbers
    kinds: frozenset[str] = field(default_factory=lambda: frozenset(rule.op.name for rule in OPTIMIZERS.values()))
    found: dict[str, Array] = field(default_factory=dict[str, Array])
    updates: dict[str, Operation] = field(default_factory=dict[str, Operation])

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        kind = f"train.{op.kind}" if isinstance(op, VectorOp | ApplyOp) else op.name
        if kind not in self.kinds:
            return
        self.updates.setdefault(layer_of(op), op)
        if isinstance(op, ApplyOp):
            places, (_, values, *_) = applied_to(self.numbers, op, args)
            self.found.setdefault(layer_of(op), np.zeros(op.shape, values.dtype))[np.ix_(*places)] = values
        else:
            self.found.setdefault(layer_of(op), args[1])


@dataclass
class Mantissas(Interpreter.Listener):
    """Notes the bits of mantissa that conversions under a controller choose."""

    found: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        if op.name == _CONTROLLED or (isinstance(op, VectorOp) and f"train.{op.kind}" == _CONTROLLED):
            self.found[op] = int(results[1])


@dataclass(frozen=True)
class Density:
    """How many values of a sparse tensor are not zero, of how many, where so many at most are stated."""

    kept: int
    size: int
    stated: int

    @property
    def is_above(self) -> bool:
        """Whether more is there than the type says."""
        return self.kept > self.stated


@dataclass
class Densities(Interpreter.Listener):
    """Counts the values of what is stored in a sparse format; of several devices those of all."""

    found: dict[Operation, Density] = field(default_factory=dict[Operation, Density])

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        if op.name not in _STORING and not (isinstance(op, VectorOp) and f"train.{op.kind}" in _STORING):
            return
        type_ = tensor_type(op.results[0])
        element = type_.element_type
        if isinstance(element, SparseType):
            stated = most_kept(element.format, element.density, type_.get_shape())
            before = self.found.get(op, Density(0, 0, 0))
            kept = int(np.count_nonzero(results[0]))
            size = int(np.size(results[0]))
            self.found[op] = Density(before.kept + kept, before.size + size, before.stated + stated)


@dataclass
class Executing(Interpreter.Listener):
    """Notes the operation that is executed, for errors."""

    op: Operation | None = None

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        self.op = op
