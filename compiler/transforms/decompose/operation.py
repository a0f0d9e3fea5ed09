"""What one operation is in primitives."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind, rebuilt
from npuc.compiler.transforms.canonicalize.common import merge_equal
from npuc.compiler.transforms.decompose.contractions import contraction
from npuc.compiler.transforms.decompose.forms import FORMS
from npuc.compiler.transforms.decompose.primitives import PRIMITIVES
from npuc.compiler.transforms.decompose.tracing.array import Traced, lifted
from npuc.compiler.transforms.decompose.tracing.dispatch import NUMPY
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable, is_real
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.opaque import OpaqueBase


@frozen
class InPrimitives:
    """The operations that take the place of one, and the values that take those of its results."""

    ops: tuple[Operation, ...]
    results: tuple[SSAValue, ...]


def decomposed(op: TrainOp) -> InPrimitives:
    """An operation in primitives. Raises `Untraceable` where there are none."""
    recorder = Recorder(op, NUMPY)
    try:
        results = _results(recorder, op)
    except Untraceable:
        for new in reversed(recorder.ops):
            new.erase()
        raise
    return InPrimitives(tuple(recorder.ops), tuple(results))


def function_of(op: TrainOp, name: str) -> FuncOp:
    """A private function that computes what an operation does of its operands, in the primitives of its meaning."""
    block = Block(arg_types=op.operand_types)
    own = rebuilt(op, block.args, op.result_types)
    block.add_op(own)
    recorder = Recorder(own, NUMPY)
    results = _results(recorder, own)
    own.detach()
    block.add_ops([*recorder.ops, ReturnOp(*results)])
    own.erase()
    func = FuncOp(name, (op.operand_types, op.result_types), Region(block), visibility="private")
    merge_equal(func)
    return func


def is_primitive(op: Operation) -> bool:
    """Whether an operation stays as it is."""
    return type(op) in PRIMITIVES and "negative" not in op.properties


def _results(recorder: Recorder, op: TrainOp) -> list[SSAValue]:
    if get_layer(op).kind is Kind.MATRIX:
        (result,) = op.results
        return [contraction(recorder, op, op.operands, tensor_type(result).element_type)]
    if isinstance(op, OpaqueBase):
        raise Untraceable("only its cost is known")
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
