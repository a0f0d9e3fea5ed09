"""Contractions that read and write tensors as they lie: transpositions become index maps."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.layers.base import Emit
from npuc.compiler.transforms.contraction_form.layout import (
    Cuts,
    Layout,
    after_transpositions,
    before_transpositions,
    own_layout,
)
from npuc.dialects.npu import ContractOp, ViewOp
from npuc.dialects.npu.contract import operand_tensors
from npuc.dialects.npu.nest import Axis, Nest, Tensor
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type

Ends = list[tuple[SSAValue, Layout]]
"""For each tensor of a nest the value that stands for it, and how that lies."""


def reshaped(value: SSAValue, shape: Sequence[int], emit: Emit[Any]) -> SSAValue:
    """A value under a shape: itself or what it is a view of, where that has it."""
    if shape_of(value) == tuple(shape):
        return value
    owner = value.owner
    if isinstance(owner, ViewOp) and owner.kind == "reshape" and shape_of(owner.operands[0]) == tuple(shape):
        return owner.operands[0]
    return emit(ViewOp("reshape", [value], [tensor_of(tensor_type(value).element_type, shape)])).results[0]


def folded_ends(op: ContractOp) -> tuple[Ends, Cuts] | None:
    """
    The values that a contraction can read and write in place of its operands and results, without transpositions.

    None if there is none, or if an index is not one dimension as it stands. Where cuts of dimensions that tensors ask
    for do not nest, the larger tensors have theirs.
    """
    nest, tensors = op.nest, (*operand_tensors(op.nest), *op.nest.outs)
    values = [*op.operands, *op.results]
    cuts, ends, found = Cuts(nest.sizes), Ends(), dict[int, tuple[SSAValue, Layout]]()
    for number, (tensor, value) in enumerate(zip(tensors, values, strict=True)):
        layout = own_layout(tensor, nest.sizes)
        if layout is None:
            return None
        ends.append((value, layout))
        look = before_transpositions if number < len(op.operands) else after_transpositions
        end = look(value, layout)
        if end is not None:
            found[number] = end
    for number in sorted(found, key=lambda one: -tensors[one].elements):
        if cuts.admit(found[number][1]):
            ends[number] = found[number]
    unchanged = all(end[0] is value for end, value in zip(ends, values, strict=True))
    return None if unchanged else (ends, cuts)


def native_contract(op: ContractOp, ends: Ends, cuts: Cuts, emit: Emit[Any]) -> list[SSAValue]:
    """A contraction over cut dimensions between such values; what stands for the values of its results."""
    nest, names = op.nest, cuts.names()
    tensors = (*operand_tensors(nest), *nest.outs)
    cut = [cuts.cut(layout) for _, layout in ends]
    new = {
        tensor.name: Tensor(
            tensor.name, tuple(part.size for part in parts), tuple(Axis(((names[part], 1),)) for part in parts)
        )
        for tensor, parts in zip(tensors, cut, strict=True)
    }
    dims = tuple((names[part], part.size) for dim in nest.sizes for part in cuts.parts(dim))
    starts = tuple(None if start is None else new[start.name] for start in nest.starts)
    made: Nest = replace(
        nest,
        dims=dims,
        ins=tuple(new[tensor.name] for tensor in nest.ins),
        outs=tuple(new[tensor.name] for tensor in nest.outs),
        starts=starts,
    )
    count = len(op.operands)
    operands = [
        reshaped(value, new[tensor.name].shape, emit)
        for (value, _), tensor in zip(ends[:count], tensors[:count], strict=True)
    ]
    contract = emit(ContractOp(operands, made, [tensor_type(value).element_type for value, _ in ends[count:]]))
    return [
        reshaped(result, shape_of(value), emit)
        for result, (value, _) in zip(contract.results, ends[count:], strict=True)
    ]
