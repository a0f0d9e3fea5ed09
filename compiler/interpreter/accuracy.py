"""How many rows a step classifies right, seen where its loss reads their scores and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation

from npuc.dialects.npu import VectorOp
from npuc.dialects.train.loss import CrossEntropyOp, NllLossOp

_LOSSES = (CrossEntropyOp.name, NllLossOp.name)


@dataclass
class Hits(Interpreter.Listener):
    """
    Counts the rows of the first loss of classes that a step computes, and those whose label has the largest score.

    Rows that the loss ignores do not count. A loss that runs again, as by recomputation, is the first one again.
    """

    rows: int = 0
    right: int = 0
    found: bool = False

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        if self.found or (f"train.{op.kind}" if isinstance(op, VectorOp) else op.name) not in _LOSSES:
            return
        self.found = True
        scores, labels = map(np.asarray, args)
        ignored = (op.params if isinstance(op, VectorOp) else op.properties).get("ignore_index")
        counts = labels != ignored.value.data if isinstance(ignored, IntegerAttr) else np.ones(labels.shape, bool)
        self.rows = int(counts.sum())
        self.right = int(((scores.argmax(axis=-1) == labels) & counts).sum())


def accuracy(devices: Sequence[Hits]) -> float | None:
    """The share of rows that all devices classify right; None without a loss of classes, or a row that counts."""
    rows = sum(one.rows for one in devices)
    return sum(one.right for one in devices) / rows if rows else None
