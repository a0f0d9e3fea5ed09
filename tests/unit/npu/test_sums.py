"""The element type of partial sums."""

import pytest
from xdsl.dialects.builtin import IndexType, IntegerType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from npuc.dialects.npu.sums import sum_type


@pytest.mark.parametrize(
    ("result", "wide", "narrow"),
    [
        (bf16, f32, bf16),
        (f16, f32, f16),
        (f32, f32, bf16),
        (f64, f64, bf16),
        (i1, i32, i16),
        (IntegerType(4), i32, i16),
        (i8, i32, i16),
        (i16, i32, i16),
        (i32, i32, i16),
        (i64, i64, i16),
        (IndexType(), IndexType(), IndexType()),
    ],
)
def test_type_of_a_partial_sum(result: Attribute, wide: Attribute, narrow: Attribute) -> None:
    assert sum_type(result) == sum_type(result, 32) == wide
    assert sum_type(result, 16) == narrow


def test_other_accumulators_are_refused() -> None:
    with pytest.raises(ValueError, match="32 or 16 bits, got 8"):
        sum_type(f32, 8)
