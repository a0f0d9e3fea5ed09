"""
Pruning, and storing tensors in sparse formats.

Work in vector operations per element, our choice as for conversions to few bits: the magnitude, a comparison with the
threshold and the selection are 3; of N:M a comparison more for each halving of a group, or of a block of M x M elements
whose mask is transposable, of blocks a square and a sum;
chance 2; a given mask the selection alone; beta a product more. Magnitudes and blocks read x twice, as the threshold
follows from the whole tensor. To compress takes a comparison with zero and the move of what is kept: 2.
"""

from fractions import Fraction

import numpy as np

from npuc.compiler.layers.base import Array, PerElementLayer
from npuc.compiler.layers.pruning import Mask, block_mask, magnitude_mask, uniform_mask
from npuc.compiler.layers.transposable import structured
from npuc.dialects.npu.reread import Reread
from npuc.dialects.train.base import ints
from npuc.dialects.train.sparse import BLOCKS, GIVEN, MAGNITUDE, N_OF_M, UNIFORM, CompressOp, PruneOp

_STEPS = {MAGNITUDE: 3, UNIFORM: 2, N_OF_M: 3, BLOCKS: 5, GIVEN: 1}


def _sizes(op: PruneOp) -> tuple[int, ...]:
    return () if op.block is None else ints(op.block)


def _kept(op: PruneOp) -> tuple[int, int]:
    """How many are kept of how many: all where nothing is said."""
    kept, of = (1 if one is None else int(one.value.data) for one in (op.kept, op.of))
    return kept, of


def mask_of(op: PruneOp, x: Array, *beside: Array) -> Mask:
    """What an operation keeps of x."""
    kept, of = _kept(op)
    density, seed = Fraction(kept, of), int(op.seed.value.data)
    match op.pattern.data:
        case "magnitude":
            return magnitude_mask(x, density)
        case "uniform":
            return uniform_mask(x.shape, density, seed, op.independent is not None)
        case "n:m":
            axis, across = int(op.axis.value.data), op.across
            return structured(x, kept, of, axis, None if across is None else int(across.value.data))
        case "blocks":
            return block_mask(x, _sizes(op), density)
        case _:
            return beside[0].astype(np.bool_)


class PruneLayer(PerElementLayer[PruneOp]):
    """x where a mask keeps it."""

    op = PruneOp

    def evaluate(self, op: PruneOp, *arrays: Array) -> tuple[Array, ...]:
        x, *beside = arrays
        mask = mask_of(op, x, *beside)
        betas = beside[1:] if op.pattern.data == GIVEN else beside
        dropped = x * betas[0].astype(x.dtype) if betas else np.zeros((), x.dtype)
        return (np.where(mask, x, dropped),)

    def steps_of(self, op: PruneOp) -> int:
        pattern = op.pattern.data
        group = _kept(op)[1] ** (1 if op.across is None else 2)
        halvings = (group - 1).bit_length() if pattern == N_OF_M else 0
        beta = len(op.operands) > (2 if pattern == GIVEN else 1)
        return _STEPS[pattern] + halvings + beta

    def reread_of(self, op: PruneOp) -> Reread | None:
        return Reread((0,)) if op.pattern.data in (MAGNITUDE, BLOCKS) else None


class CompressLayer(PerElementLayer[CompressOp]):
    """x as it is."""

    op = CompressOp
    steps = 2

    def evaluate(self, op: CompressOp, *arrays: Array) -> tuple[Array, ...]:
        return arrays


LAYERS = (PruneLayer(), CompressLayer())
