"""Bits of sparse formats: the closed forms against encoders of masks, written independently."""

from fractions import Fraction
from itertools import product
from math import comb, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.dialects.sparse_formats import (
    PLACES,
    POINTER_BITS,
    Bitmap,
    Blocks,
    CompressedColumns,
    CompressedRows,
    RunLength,
    SparseFormat,
    Structured,
    parse_sparse_format,
    products_without_rewriting,
)

DENSITIES = st.fractions(Fraction(1, 1000), 1, max_denominator=1000)
FORMATS = st.one_of(
    st.just(Bitmap()),
    st.builds(CompressedRows, st.integers(1, 4096)),
    st.builds(CompressedColumns, st.integers(1, 4096)),
    st.builds(RunLength, st.integers(1, 12)),
    st.builds(Blocks, st.lists(st.integers(1, 8), min_size=1, max_size=3).map(tuple)),
)


def counted(mask: list[list[int]], value: int, format: SparseFormat) -> int:
    """The bits of a mask in a format, by writing it entry by entry."""
    rows = mask if type(format) is not CompressedColumns else [list(column) for column in zip(*mask, strict=True)]
    bits = 0
    for row in rows:
        if isinstance(format, Bitmap | Blocks):
            bits += len(row) + value * sum(row)
        elif isinstance(format, CompressedRows):
            bits += POINTER_BITS
            for place, kept in enumerate(row):
                width = 0
                while place < len(row) and 1 << width < len(row):
                    width += 1
                bits += kept * (value + width)
    return bits + (POINTER_BITS if isinstance(format, Blocks) else 0)


@given(st.integers(1, 6), st.integers(1, 9), st.data())
def test_bits_of_a_mask_are_those_of_its_density(rows: int, columns: int, data: st.DataObject) -> None:
    flat = data.draw(st.lists(st.integers(0, 1), min_size=rows * columns, max_size=rows * columns).filter(any))
    mask = [flat[row * columns : (row + 1) * columns] for row in range(rows)]
    density = Fraction(sum(flat), len(flat))
    formats = (Bitmap(), CompressedRows(columns), CompressedColumns(rows), Blocks((rows, columns)))
    for format in formats:
        assert format.bits(32, density) * len(flat) == counted(mask, 32, format)


def entries(mask: list[bool], run: int) -> int:
    """The entries of a run-length code: a count that is full goes with a value of zero."""
    found = zeros = 0
    for kept in mask:
        if kept or zeros == (1 << run) - 1:
            found, zeros = found + 1, 0
        else:
            zeros += 1
    return found


@given(st.integers(1, 3), st.integers(1, 9))
def test_entries_of_runs_are_their_expectation(run: int, tenths: int) -> None:
    """A stationary code: from an entry to the next one, as a renewal, by all gaps up to a full one."""
    density, rest = Fraction(tenths, 10), 1 - Fraction(tenths, 10)
    full = 1 << run
    gap = sum((gone + 1) * rest**gone * density for gone in range(full - 1)) + full * rest ** (full - 1)
    assert 0 <= RunLength(run).entries(density) - 1 / gap < Fraction(1, PLACES)


def test_entries_of_runs_are_those_of_random_masks() -> None:
    r = np.random.default_rng(5)
    for run, density in product((1, 3, 5), (0.02, 0.1, 0.5)):
        mask = r.random(200_000) < density
        assert entries(mask.tolist(), run) / mask.size == pytest.approx(
            float(RunLength(run).entries(Fraction(str(density)))), rel=0.02
        )


@given(st.integers(2, 16).flatmap(lambda of: st.tuples(st.integers(1, of), st.just(of))))
def test_groups_have_a_code_that_tells_all_patterns_apart(counts: tuple[int, int]) -> None:
    kept, of = counts
    coded = Structured(kept, of).bits(0, Fraction(kept, of)) * of
    assert 2**coded >= comb(of, kept) > 2 ** (coded - 1) / (1 if comb(of, kept) > 1 else 2)
    listed = Structured(kept, of, indices=True).bits(0, Fraction(kept, of)) * of
    assert kept * log2(of) <= listed < kept * (log2(of) + 1)
    assert coded <= listed


@given(FORMATS, DENSITIES, DENSITIES, st.integers(1, 64))
def test_bits_grow_with_the_density_and_with_the_value(
    format: SparseFormat, one: Fraction, other: Fraction, bits: int
) -> None:
    low, high = sorted((one, other))
    assert format.bits(bits, low) <= format.bits(bits, high)
    assert format.bits(bits, low) < format.bits(bits + 1, low)
    assert format.bits(bits, Fraction(1)) >= bits
    assert format.bits(bits, low) >= low * bits


@given(FORMATS | st.builds(Structured, st.just(2), st.integers(2, 64), st.sampled_from([(0,), (2, 1)]), st.booleans()))
def test_formats_are_read_as_they_are_written(format: SparseFormat) -> None:
    assert parse_sparse_format(str(format)) == format


def test_which_products_read_an_operand_as_it_is_stored() -> None:
    assert products_without_rewriting(CompressedRows(8), "weights") == ("forward",)
    assert products_without_rewriting(Blocks((3, 3)), "weights") == ("forward", "dx")
    assert products_without_rewriting(Structured(2, 4, (0, 1)), "weights") == ("forward", "dx")
    assert products_without_rewriting(Structured(2, 4), "activations") == ("forward",)
    assert products_without_rewriting(Blocks((3, 3)), "gradients") == ("dx", "dw")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("csr<x>", "'csr<x>' has parameters that are no whole numbers"),
        ("csr<0>", "the length of csr<0>, in elements, is 1 to"),
        ("nm<2, 4>", "'nm<2, 4>' has 2 parameters; it is written nm<n, m, axis>"),
        ("nm<2, 4, 0, 0>", r"axes of nm<2, 4, 0, 0> are \[0, 0\], expected one or more, each once"),
        ("blocks<3, 3000>", "a size of blocks<3, 3000>, in elements, is 1 to 4096, got 9000"),
        ("blocks", "'blocks' has 0 parameters"),
        ("?", "unknown format '\\?'"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_sparse_format(text)
