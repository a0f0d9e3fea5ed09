"""Windows of a pooling that step over a small input are found at once, however large the numbers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.pool import pool_type

ONLY_PADDING = "holds only padding"


def refused(size: int, kernel: int, stride: int, before: int, dilation: int) -> bool:
    """Whether a pooling along the height of an image is refused for its padding."""
    x = tensor_of(f32, (1, 1, size, 1))
    try:
        pool_type(x, (kernel, 1), (stride, 1), (before, before, 0, 0), (dilation, 1))
    except VerifyException as error:
        return ONLY_PADDING in str(error)
    return False


@settings(max_examples=400)
@given(st.integers(1, 6), st.integers(2, 5), st.integers(1, 9), st.integers(0, 20), st.integers(1, 12))
def test_windows_of_padding_alone_are_those_of_a_walk(
    size: int, kernel: int, stride: int, before: int, dilation: int
) -> None:
    span = dilation * (kernel - 1) + 1
    before = min(before, span // 2)
    last = size + 2 * before - span
    walked = any(
        not any(0 <= start + step * dilation < size for step in range(kernel))
        for start in range(-before, min(0, last - before + 1), stride)
    )
    if last >= 0 and size + before >= span:
        assert refused(size, kernel, stride, before, dilation) == walked


@pytest.mark.parametrize(
    ("kernel", "before", "dilation", "expected"),
    [(2, 5 * 10**10, 10**11, True), (10**10, 10**10 - 1, 2, False), (10**10, 25 * 10**9 - 3, 5, True)],
)
def test_huge_numbers_are_looked_at_at_once(kernel: int, before: int, dilation: int, expected: bool) -> None:
    assert refused(4, kernel, 1, before, dilation) == expected
