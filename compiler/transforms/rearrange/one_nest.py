"""Contractions that run round-robin as one nest."""

from npuc.compiler.transforms.interleave.fuse import fused, have_same_dimensions, joined_nest
from npuc.compiler.transforms.interleave.sharing import are_gradients, sharing
from npuc.dialects.npu import ContractOp, InterleaveOp


def one_nest(op: InterleaveOp) -> ContractOp | None:
    """
    The gradients of one product, which run round-robin, as one contraction; None for other contractions.

    It is not in the program yet. Nothing inside the operation writes in place, and so nothing parts its contractions.
    """
    contracts = op.contracts
    found = next(sharing(contracts, {}, lambda s: are_gradients(s) and have_same_dimensions(s)), None)
    joined = None if found is None else joined_nest(found)
    if found is None or joined is None or len(found.ops) != len(contracts):
        return None
    return fused(found, joined)
