"""
DropBack, the optimizer that prunes while it trains.

Work in vector operations per element of the n of a parameter: 2 of the step of SGD, with momentum 2 more; 3 for the
size of what an element has moved; to find the k largest 1 + log2 k comparisons, at most log2 n, as `topk` takes them,
or with `quantile` 2 for the threshold; 2 to choose. Drawing initial values again takes 8 (our choice: three shifts and
three additions modulo 2 of a xorshift generator, two to scale), values that are equal everywhere none.
"""

from fractions import Fraction
from math import ceil

import numpy as np

from npuc.compiler.layers.base import Array, DataError, PerElementLayer, Reread, elements
from npuc.compiler.layers.pruning import largest_mask
from npuc.compiler.layers.quantile import follow
from npuc.compiler.layers.start import drawn
from npuc.dialects.train.dropback import DropbackOp

DRAWING = 8
"""Vector operations to draw a number again."""


def kept_count(share: float, count: int) -> int:
    """ceil(share count) in exact arithmetic: the float stands for the shortest decimal that reads as it."""
    return ceil(Fraction(repr(float(share))) * count)


class DropbackLayer(PerElementLayer[DropbackOp]):
    """
    DropBack: what moved least is its (decayed) initial value again.

    To sort, the sizes of a whole parameter must be known: a second pass reads the new parameter and its initial values
    once more. A threshold decides as elements stream by, in one pass.
    """

    op = DropbackOp
    elementwise = False

    def evaluate(self, op: DropbackOp, *arrays: Array) -> tuple[Array, ...]:
        w, grad, *state = arrays
        real, step = w.dtype.type, int(state.pop())
        lr, momentum = op.lr.value.data, op.momentum.value.data
        velocity = [real(momentum) * state.pop(0) + grad] if momentum else []
        initial = self._initial(op, w, step, state)
        moved = w - real(lr) * (velocity[0] if velocity else grad)
        home = np.asarray(real(op.decay.value.data ** (step + 1)) * initial)
        sizes = np.abs(moved - home)
        kept, threshold = self._chosen(op, sizes, state[-1:] if op.quantile is not None else [])
        stored = [] if op.regenerate is not None else [initial]
        home[kept] = moved[kept]
        return home, *velocity, *stored, *threshold

    def _initial(self, op: DropbackOp, w: Array, step: int, state: list[Array]) -> Array:
        """The initial values: those of the state, which the first step sets, or drawn again."""
        if op.regenerate is None:
            return w if step == 0 else state[0]
        name, bound = op.start.data, op.bound.value.data
        if bound:
            found = drawn(name, bound, w.shape, int(op.seed.value.data)).astype(w.dtype)
        else:
            found = np.full(w.shape, op.fill.value.data, w.dtype)
        if step == 0 and not np.array_equal(w, found):
            seed = int(op.seed.value.data)
            text = f"parameter '{name}' does not start with the values of seed {seed}, from which dropback regenerates"
            raise DataError(f"{text} them; without regenerate they are a state")
        return found

    def _chosen(self, op: DropbackOp, sizes: Array, threshold: list[Array]) -> tuple[Array, list[Array]]:
        """Where elements stay, and the new threshold, if there is one."""
        keep = op.keep.value.data
        if not threshold:
            return largest_mask(sizes, kept_count(keep, sizes.size)), []
        (before,) = threshold
        values = sizes.reshape(-1).astype(np.float64).tolist()
        after, above = follow(values, 1.0 - keep, op.rate.value.data, float(before))
        return np.array(above, np.bool_).reshape(sizes.shape), [np.asarray(after, before.dtype)]

    def steps_of(self, op: DropbackOp) -> int:
        count = elements(op.param)
        k = kept_count(op.keep.value.data, count)
        find = 2 if op.quantile is not None else min(1 + (k - 1).bit_length(), max(1, (count - 1).bit_length()))
        draw = DRAWING if op.regenerate is not None and op.bound.value.data else 0
        return 2 + 2 * (op.momentum.value.data != 0.0) + 3 + find + 2 + draw

    def reread_of(self, op: DropbackOp) -> Reread | None:
        if op.quantile is not None:
            return None
        initial = () if op.regenerate is not None else (2 + (op.momentum.value.data != 0.0),)
        return Reread((0, *initial))


LAYERS = (DropbackLayer(),)
