"""Contractions that run round-robin as one nest, beside the operation that runs them in turn."""

from xdsl.rewriter import Rewriter

from npuc.compiler.transforms.interleave.fuse import erase_unused, fuse, have_same_dimensions
from npuc.compiler.transforms.interleave.sharing import are_gradients, sharing
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.train.signature import writes_of


def fused_beside(op: InterleaveOp) -> ContractOp | None:
    """
    The gradients of one product, which run round-robin, as one contraction in front of the operation; None for others.

    Nothing reads it yet: `put_in_place_of` lets it take the operation's place, else it is to be erased.
    """
    block = op.parent
    assert block is not None
    copies: list[ContractOp] = []
    for contract in op.contracts:
        copy = contract.clone()
        copy.location = contract.location
        for old, result in zip(contract.results, copy.results, strict=True):
            result.name_hint = old.name_hint
        copies.append(copy)
    block.insert_ops_before(copies, op)
    found = next(sharing(copies, writes_of(block), lambda s: are_gradients(s) and have_same_dimensions(s)), None)
    if found is not None and len(found.ops) == len(copies):
        return fuse(found)
    for copy in copies:
        Rewriter.erase_op(copy)
    return None


def put_in_place_of(op: InterleaveOp, new: ContractOp) -> None:
    """Let a contraction with the results of round-robin ones take their place."""
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    sources = [value for contract in op.contracts for value in contract.operands]
    Rewriter.erase_op(op)
    erase_unused(sources)
