"""Widths of the tensors of a nest for tests, and what a walk of its tiles moves in bits."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

from npuc.compiler.analysis.nest.elements import Bits, Width
from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.npu.nest import Nest
from npuc.dialects.npu.widths import PLAIN

BLOCKS = tuple(PLAIN.element_bits(BlockFloatType(*own)) for own in ((4, 16, 3), (2, 32, 3), (3, 8, 5), (1, 64, 7)))
"""Bits of elements that share an exponent: fractions, in groups whose sums are exact as floats, too."""


def of_bytes(nest: Nest, widths: int | Iterable[int], sums: int | Sequence[int] | None = None) -> Bits:
    """So many bytes of all elements, or of those of each tensor; partial sums have those of results, or `sums`."""
    own = (widths,) * len(nest.tensors) if isinstance(widths, int) else tuple(widths)
    outs = own[len(nest.ins) : len(nest.ins) + len(nest.outs)]
    if sums is not None:
        outs = (sums,) * len(nest.outs) if isinstance(sums, int) else tuple(sums)
    return Bits(tuple(8 * width for width in own), tuple(8 * width for width in outs))


def draw_bits(r: Random, nest: Nest) -> Bits:
    """Widths at random: whole bytes or not, partial sums as wide as results, wider or narrower."""
    choice = r.choice([[8, 16, 32], [8, 16, 32], [4, 8, 12, 16], [1, 2, 3, 7]])
    stored, sums = [r.choice(choice) for _ in nest.tensors], [r.choice([*choice, 32]) for _ in nest.outs]
    own = Random(str(nest))
    operands = [one if own.random() < 0.8 else own.choice(BLOCKS) for one in stored[: len(nest.ins)]]
    return Bits((*operands, *stored[len(operands) :]), tuple(sums))


def with_passes(nest: Nest) -> Nest:
    """
    A nest whose products take passes at random, which follow from it: one each, several, or on average a share of them.
    """
    r = Random(str(nest))
    whole = tuple(replace(s, passes=r.choice([1, 1, 2, 3, 12])) for s in nest.statements)
    shares = [1, 1, 1, Fraction(1, 2), Fraction(3, 7), Fraction(1, 100), Fraction(1234, 65536)]
    return replace(nest, statements=tuple(replace(s, passes=s.passes * r.choice(shares)) for s in whole))


def finished(name: str) -> str:
    """The key under which a walk counts the elements of a result that it writes finished."""
    return f"{name} finished"


def moved_width(nest: Nest, widths: Bits) -> dict[str, Width]:
    """The bits of what a walk counts: all elements move as partial sums, less what finished ones have less."""
    stored, held = widths.by_name(nest), widths.with_sums(nest)
    return held | {finished(out.name): stored[out.name] - held[out.name] for out in nest.outs}
