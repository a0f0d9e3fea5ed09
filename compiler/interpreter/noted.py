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
from npuc.dialects.train.quantized import FastQuantizeOp

_CONTROLLED = FastQuantizeOp.name


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


@dataclass
class Executing(Interpreter.Listener):
    """Notes the operation that is executed, for errors."""

    op: Operation | None = None

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        self.op = op
