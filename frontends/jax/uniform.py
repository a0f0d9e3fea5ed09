"""What is computed of random bits on the way to a mask: uniform numbers, moved and compared with a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from npuc.frontends.jax.program import HloOp, HloType
from npuc.frontends.jax.values import Bits, Drawn, Element, Known

MANTISSA = {"f16": ("ui16", 10, 15), "bf16": ("ui16", 7, 127), "f32": ("ui32", 23, 127), "f64": ("ui64", 52, 1023)}
"""Of each float the unsigned integer of its size, the bits of its mantissa and the bias of its exponent (IEEE 754)."""
DIGITS = 12
"""The digits behind the point to which probabilities are rounded: less than what a float of 32 bits tells apart."""
NAMES: Mapping[str, str] = {
    "erf_inv": "normally distributed numbers",
    "log": "exponentially distributed numbers",
    "log_plus_one": "exponentially distributed numbers",
}
"""What an operation makes of uniform numbers that is no mask."""
_BELOW = {"LT": True, "LE": True, "GT": False, "GE": False}


def uniform_of(op: HloOp, type: HloType, operands: Sequence[Element]) -> Drawn | None:
    """
    The uniform numbers that an operation makes of random bits: those in [1, 2) whose mantissa the bits are.

    None for another operation.
    """
    (bits,) = operands if len(operands) == 1 else (None,)
    if op.kind != "bitcast_convert" or type.element not in MANTISSA or not isinstance(bits, Bits):
        return None
    unsigned, mantissa, bias = MANTISSA[type.element]
    if bits.pattern is None or bits.type.element != unsigned or type.shape != bits.type.shape:
        return None
    shift, one = bits.pattern
    narrow = type.element == "bf16" and shift == 1  # JAX draws eight bits for it
    if one != bias << mantissa or not (narrow or shift == int(unsigned[2:]) - mantissa):
        return None
    return Drawn(type, bits.number, 1.0, 1.0)


def moved(op: HloOp, type: HloType, operands: Sequence[Element]) -> Drawn | None:
    """What an operation makes of uniform numbers that is uniform, too; None where it is not."""
    drawn = next(one for one in operands if isinstance(one, Drawn))
    if len(operands) == 1:
        return _alone(op.kind, type, drawn)
    number = next((one.scalar for one in operands if isinstance(one, Known)), None)
    if len(operands) != 2 or number is None or type.shape != drawn.type.shape:
        return None
    first = operands[0] is drawn
    low, high = sorted((drawn.offset, drawn.offset + drawn.scale))
    match op.kind:
        case "add":
            return replace(drawn, offset=drawn.offset + number)
        case "subtract" if first:
            return replace(drawn, offset=drawn.offset - number)
        case "subtract":
            return replace(drawn, offset=number - drawn.offset, scale=-drawn.scale)
        case "multiply":
            return replace(drawn, offset=drawn.offset * number, scale=drawn.scale * number)
        case "divide" if first and number:
            return replace(drawn, offset=drawn.offset / number, scale=drawn.scale / number)
        case "maximum" if number <= low:
            return drawn
        case "minimum" if number >= high:
            return drawn
        case _:
            return None


def _alone(kind: str, type: HloType, drawn: Drawn) -> Drawn | None:
    if kind == "negate":
        return replace(drawn, offset=-drawn.offset, scale=-drawn.scale)
    if kind == "convert" and type.element in MANTISSA:
        return replace(drawn, type=type)
    same = kind in ("reshape", "broadcast_in_dim") and type.shape == drawn.type.shape
    return drawn if same else None


def chance(op: HloOp, operands: Sequence[Element]) -> tuple[Drawn, bool, float] | None:
    """
    Of a comparison of uniform numbers with a number: the draw, whether it asks for those below, and the probability.

    None for another operation.
    """
    if op.kind != "compare" or len(operands) != 2 or op.texts["comparison_direction"] not in _BELOW:
        return None
    below = _BELOW[op.texts["comparison_direction"]]
    first, second = operands
    if isinstance(second, Drawn):
        first, second, below = second, first, not below
    number = second.scalar if isinstance(second, Known) else None
    if not isinstance(first, Drawn) or number is None or not first.scale or not np.isfinite(number):
        return None
    if first.scale == 1 and not first.offset:
        share = float(str(np.float32(number)))  # the number as it was written
    else:
        share = (number - first.offset) / first.scale
    below = below == (first.scale > 0)
    share = min(max(share, 0.0), 1.0)
    return first, below, share if below else 1.0 - share


def bernoulli(op: HloOp, draw: int, share: float) -> HloOp:
    """The operation that draws a mask whose elements are true with a probability, in place of a comparison."""
    return replaced(op, "random.bernoulli", ints={"draw": [draw]}, texts={"p": repr(round(share, DIGITS))})


def inverted(op: HloOp) -> HloOp:
    """The operation that gives the opposite of a mask."""
    return replaced(op, "stablehlo.not", ints={}, texts={})


def replaced(op: HloOp, name: str, **more: object) -> HloOp:
    """Another operation at the place of one, without what is its own."""
    return structs.replace(op, name=name, dense={}, regions=(), **more)  # pyright: ignore[reportArgumentType]
