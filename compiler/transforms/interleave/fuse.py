"""Contractions that share an operand as one contraction of several statements."""

from collections.abc import Sequence
from itertools import islice
from typing import TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from npuc.compiler.analysis.nest.fusion import NestPart, Union, same_dimensions, union
from npuc.compiler.transforms.interleave.sharing import Sharing
from npuc.compiler.transforms.interleave.together import together_role
from npuc.dialects.npu import ContractOp, ViewOp
from npuc.dialects.npu.tensor_work import same_value
from npuc.dialects.provenance import derive, layer_of, role_of
from npuc.dialects.tensors import tensor_type

OpT = TypeVar("OpT", bound=Operation)


def have_same_dimensions(found: Sharing) -> bool:
    """Whether the last contraction runs over the dimensions of the first, by the operand they share."""
    first, last = found.ops[0].nest, found.ops[-1].nest
    return same_dimensions(first, last, (found.names[0], found.names[-1])) is not None


def joined_nest(found: Sharing) -> Union | None:
    """The nest of all statements of a set; None if they do not all run over the dimensions of the first."""
    parts: list[NestPart] = []
    for op, name in zip(found.ops, found.names, strict=True):
        names = same_dimensions(found.ops[0].nest, op.nest, (found.names[0], name))
        if names is None:
            return None
        parts.append(NestPart(op.nest, tuple(same_value(v) for v in op.operands), names))
    return union(parts)


def fused(found: Sharing, joined: Union) -> ContractOp:
    """
    One contraction of all statements of a set, without a schedule. It is not in the program yet.

    Its layer, or all layers joined by `+`, its role and its place in the source are those of the set.
    """
    results = [result for op in found.ops for result in op.results]
    operands = [found.ops[part].operands[number] for part, number in joined.sources]
    return named_after(ContractOp(operands, joined.nest, [tensor_type(one).element_type for one in results]), found)


def named_after(new: OpT, found: Sharing) -> OpT:
    """Give an operation that computes what a set does its layers, role and place in the source, and names of values."""
    derive(found.ops[0], new, role=together_role([role_of(op) for op in found.ops]))
    layers = list(dict.fromkeys(layer_of(op) for op in found.ops))
    if len(layers) > 1:
        new.attributes["layer"] = StringAttr("+".join(layers))
    for old, result in zip((result for op in found.ops for result in op.results), new.results, strict=True):
        result.name_hint = old.name_hint
    return new


def take_place(new: Operation, found: Sharing, rewriter: PatternRewriter) -> None:
    """
    Let an operation with the results of a set take its place, which is that of the first, after what must move there.

    The set, and the views that only it reads, are erased.
    """
    first = found.ops[0]
    block = first.parent
    assert block is not None
    moved = {op for verdict in found.verdicts for op in verdict.moved}
    for op in [op for op in block.ops if op in moved] if moved else []:
        op.detach()
        block.insert_op_before(op, first)
    rewriter.insert(new, InsertPoint.before(first))
    results = iter(new.results)
    sources = [value for op in found.ops for value in op.operands]
    for op in found.ops:
        rewriter.replace(op, [], list(islice(results, len(op.results))))
    erase_unused(sources, rewriter)


def erase_unused(values: Sequence[SSAValue], rewriter: PatternRewriter) -> None:
    """Erase the views among the makers of these values that nothing reads any more."""
    for value in values:
        owner = value.owner
        if isinstance(owner, ViewOp) and owner.parent is not None and value.first_use is None:
            sources = list(owner.operands)
            rewriter.erase(owner)
            erase_unused(sources, rewriter)
