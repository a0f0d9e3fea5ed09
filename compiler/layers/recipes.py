"""
The factor of fading masks, and the pull of SR-STE.

Work in vector operations per element: the factor 2, of one element; the pull 3 and the halvings of a group to find its
mask, as of pruning, a product and a sum.
"""

import numpy as np

from npuc.compiler.layers.base import Array, PerElementLayer
from npuc.compiler.layers.transposable import structured
from npuc.dialects.train.recipes import LINEAR, MaskDecayOp, SrSteOp


def decay_at(step: int, kind: str, start: int, steps: int, rate: float) -> float:
    """The factor of what a mask drops in a step."""
    since = max(step - start, 0)
    return max(0.0, 1 - since / steps) if kind == LINEAR else float(np.exp(-rate * since))


class MaskDecayLayer(PerElementLayer[MaskDecayOp]):
    """The factor of a step."""

    op = MaskDecayOp
    steps = 2

    def evaluate(self, op: MaskDecayOp, *arrays: Array) -> tuple[Array, ...]:
        start, steps = int(op.start.value.data), int(op.steps.value.data)
        factor = decay_at(int(arrays[0]), op.kind.data, start, steps, op.rate.value.data)
        return (np.asarray(factor, np.float32),)


class SrSteLayer(PerElementLayer[SrSteOp]):
    """A gradient and a pull of what the mask drops."""

    op = SrSteOp

    def evaluate(self, op: SrSteOp, *arrays: Array) -> tuple[Array, ...]:
        grad, param = arrays
        across = None if op.across is None else int(op.across.value.data)
        mask = structured(param, int(op.kept.value.data), int(op.of.value.data), int(op.axis.value.data), across)
        return (np.where(mask, grad, grad + grad.dtype.type(op.strength.value.data) * param),)

    def steps_of(self, op: SrSteOp) -> int:
        group = int(op.of.value.data) ** (1 if op.across is None else 2)
        return 5 + (group - 1).bit_length()


LAYERS = (MaskDecayLayer(), SrSteLayer())
