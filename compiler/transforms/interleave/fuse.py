"""Contractions that share an operand as one contraction of several statements."""

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from npuc.compiler.analysis.nest.fusion import NestPart, Union, same_dimensions, union
from npuc.compiler.transforms.interleave.sharing import Sharing
from npuc.compiler.transforms.interleave.together import together_role
from npuc.dialects.npu import ContractOp, ViewOp
from npuc.dialects.npu.tensor_work import same_value
from npuc.dialects.provenance import derive, layer_of, role_of
from npuc.dialects.tensors import tensor_type


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


def fuse(found: Sharing) -> ContractOp:
    """
    Replace contractions that share an operand and may run together by one of all their statements.

    It stands at the place of the first, has its layer (or all layers, joined by `+`) and no schedule.
    """
    joined = joined_nest(found)
    assert joined is not None, "the set was checked for its dimensions"
    results = [result for op in found.ops for result in op.results]
    operands = [found.ops[part].operands[number] for part, number in joined.sources]
    new = ContractOp(operands, joined.nest, [tensor_type(result).element_type for result in results])
    put_in_place(new, found)
    for old, result in zip(results, new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    for op in found.ops:
        sources = list(op.operands)
        Rewriter.erase_op(op)
        erase_unused(sources)
    return new


def put_in_place(new: Operation, found: Sharing) -> None:
    """
    Insert an operation at the place of the first of a set, after what must move there.

    Its layer, role and place in the source are those of the set.
    """
    first = found.ops[0]
    block = first.parent
    assert block is not None
    moved = {op for verdict in found.verdicts for op in verdict.moved}
    for op in [op for op in block.ops if op in moved] if moved else []:
        op.detach()
        block.insert_op_before(op, first)
    derive(first, new, role=together_role([role_of(op) for op in found.ops]))
    layers = list(dict.fromkeys(layer_of(op) for op in found.ops))
    if len(layers) > 1:
        new.attributes["layer"] = StringAttr("+".join(layers))
    block.insert_op_before(new, first)


def erase_unused(values: list[SSAValue]) -> None:
    """Erase the views among the makers of these values that nothing reads any more."""
    for value in values:
        owner = value.owner
        if isinstance(owner, ViewOp) and owner.parent is not None and value.first_use is None:
            sources = list(owner.operands)
            Rewriter.erase_op(owner)
            erase_unused(sources)
