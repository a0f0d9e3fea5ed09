"""The pattern of `decompose`: one operation as primitives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind
from npuc.compiler.transforms.decompose.contractions import contraction
from npuc.compiler.transforms.decompose.forms import FORMS
from npuc.compiler.transforms.decompose.primitives import PRIMITIVES
from npuc.compiler.transforms.decompose.tracing.array import Traced, lifted
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable, is_real
from npuc.compiler.transforms.named_pattern import NamedPattern, replace_by_several
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.base import TrainOp

Undecomposed: TypeAlias = Untraceable


@dataclass(frozen=True)
class DecomposeOperation(NamedPattern):
    """
    One operation of the `train` dialect as primitives.

        train.silu %x --> %x · (1 / (1 + exp(-%x)))
        train.conv2d_dx %dy, %w --> pad, flip, npu.contract

    Checked: the operation is no primitive. One whose numpy program depends on the values of its operands, such as
    `train.nms`, stays as it is.
    """

    name: ClassVar = "decompose-operation"

    left: list[tuple[Operation, Untraceable]] = field(default_factory=list[tuple[Operation, Untraceable]])

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Put primitives in place of a composite operation."""
        if not isinstance(op, TrainOp) or is_primitive(op):
            return
        recorder = Recorder(op)
        try:
            results = decomposed(recorder, op)
        except Untraceable as why:
            for new in reversed(recorder.ops):
                new.erase()
            self.left.append((op, why))
            return
        replace_by_several(rewriter, op, recorder.ops, results)


def is_primitive(op: Operation) -> bool:
    """Whether an operation stays as it is."""
    return type(op) in PRIMITIVES and "negative" not in op.properties


def decomposed(recorder: Recorder, op: TrainOp) -> list[SSAValue]:
    """The results of an operation in primitives. Raises `Untraceable` where there are none."""
    if get_layer(op).kind is Kind.MATRIX:
        (result,) = op.results
        return [contraction(recorder, op, op.operands, tensor_type(result).element_type)]
    arrays = [_operand(recorder, value) for value in op.operands]
    meaning = FORMS.get(type(op), get_layer(op).evaluate)
    with np.errstate(all="ignore"):
        found = meaning(op, *arrays)
    results: list[SSAValue] = []
    for value, result in zip(found, op.results, strict=True):
        element = tensor_type(result).element_type
        traced = lifted(recorder, value, element)
        if traced.shape != shape_of(result):
            raise Untraceable(f"its result has shape {traced.shape}, expected {shape_of(result)}")
        results.append(traced.value)
    return results


def _operand(recorder: Recorder, value: SSAValue) -> Traced:
    """An operand; 16-bit floats are computed in the recorder's type."""
    element = tensor_type(value).element_type
    if is_real(element):
        value = recorder.cast(value, recorder.computed)
    return Traced(recorder, value)
