"""Mistakes in the arguments of lookups, reductions and constants."""

import pytest

from tests.unit.layers.wrong_call import message_of


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        # constant
        (
            "h = arange(0)",
            "12: argument 'stop' of arange (layer 'h'): found 0 to before 0 in steps of 1, which has no element",
        ),
        ("h = tensor([])", "12: argument 'values' of tensor (layer 'h'): found 0 numbers, expected 1 to 65,536"),
        (
            "h = tensor([1, 2, 3], shape=[2, 2])",
            "29: argument 'shape' of tensor (layer 'h'): found [2, 2], expected sizes for 3 numbers",
        ),
        (
            "h = tensor([0, 300], dtype=i8)",
            "12: argument 'values' of tensor (layer 'h'): found 300, expected an integer from -128 to 127 for i8",
        ),
        ("h = bernoulli([2], p=2)", "22: argument 'p' of bernoulli (layer 'h'): found 2.0, expected 0 to 1"),
        ("h = arange(4, step=0)", "20: argument 'step' of arange (layer 'h'): found 0, expected a number other than 0"),
        (
            "h = arange(4, step=-1)",
            "12: argument 'stop' of arange (layer 'h'): found 0 to before 4 in steps of -1, which has no element",
        ),
        (
            "h = arange(5, dtype=u8)",
            "21: argument 'dtype' of arange (layer 'h'): found 'u8', expected one of f32, bf16, f16, f64, i8, i32, "
            "i64, bool",
        ),
        (
            "h = arange(5, start=0.5, dtype=i32)",
            "21: argument 'start' of arange (layer 'h'): found 0.5, expected an integer from -2147483648 to "
            "2147483647 for i32",
        ),
        (
            "h = arange(5, step=0.5, dtype=i64)",
            "20: argument 'step' of arange (layer 'h'): found 0.5, expected an integer from -9007199254740991 "
            "to 9007199254740991 for i64 | numbers are exact below 2^53",
        ),
        (
            "h = arange(3000000000, start=2999999999, dtype=i32)",
            "30: argument 'start' of arange (layer 'h'): found 2999999999, expected an integer from -2147483648 "
            "to 2147483647 for i32",
        ),
        (
            "h = arange(1e300)",
            "12: argument 'stop' of arange (layer 'h'): found 0 to before 1e+300 in steps of 1, which has more "
            "than 17,592,186,044,416 elements",
        ),
        (
            "h = arange(3, dtype=bool)",
            "12: argument 'stop' of arange (layer 'h'): found 2, expected an integer from 0 to 1 for bool",
        ),
        (
            "h = causal_mask(0)",
            "17: argument 'rows' of causal_mask (layer 'h'): found 0, expected a size of at least 1",
        ),
        (
            "h = causal_mask(4, columns=-1)",
            "28: argument 'columns' of causal_mask (layer 'h'): found -1, expected a size of at least 1",
        ),
        # index
        (
            "h = index_select(x, [0, 4], 0)",
            "21: argument 'index' of index_select (layer 'h'): found 4, expected -4 to 3 for axis 0",
        ),
        (
            "h = index_select(x, [-5], 0)",
            "21: argument 'index' of index_select (layer 'h'): found -5, expected -4 to 3 for axis 0",
        ),
        (
            "h = index_select(x, [], 0)",
            "21: argument 'index' of index_select (layer 'h'): found an empty list, expected at least one index",
        ),
        (
            "h = index_select(x, i, 2)",
            "24: argument 'axis' of index_select (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = index_select(x, x, 0)",
            "5: the indices have element type f32, expected i32 or i64 (layer 'h': index_select of f32[4, 8], "
            "f32[4, 8], 0)",
        ),
        (
            "h = index_select(x, m, 0)",
            "5: the indices have element type bool, expected i32 or i64 (layer 'h': index_select of f32[4, 8], "
            "bool[4, 4], 0)",
        ),
        (
            "h = index_select(x, [0.5], 0)",
            "21: argument 'index' of index_select: found list [0.5], expected a tensor or a list of integers",
        ),
        (
            "h = gather(x, i, 0)",
            "5: x is 4x8, the index is 4: expected equal ranks (layer 'h': gather of f32[4, 8], i32[4], 0)",
        ),
        (
            "h = gather(x, x, 0)",
            "5: the indices have element type f32, expected i32 or i64 (layer 'h': gather of f32[4, 8], f32[4, 8], 0)",
        ),
        (
            "h = gather(x, i, 2)",
            "18: argument 'axis' of gather (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = gather(i, unsqueeze(i, 0), 0)",
            "5: x is 4, the index is 1x4: expected equal ranks (layer 'h': gather of i32[4], i32[1, 4], 0)",
        ),
        ("h = one_hot(i, 0)", "16: argument 'classes' of one_hot (layer 'h'): found 0, expected at least 1"),
        (
            "h = one_hot(x, 3)",
            "5: the indices have element type f32, expected i32 or i64 (layer 'h': one_hot of f32[4, 8], 3)",
        ),
        (
            "h = one_hot(m, 3)",
            "5: the indices have element type bool, expected i32 or i64 (layer 'h': one_hot of bool[4, 4], 3)",
        ),
        (
            "h = one_hot(i, 3, dtype=u8)",
            "25: argument 'dtype' of one_hot (layer 'h'): found 'u8', expected one of f32, bf16, f16, f64, i8, i32, "
            "i64, bool",
        ),
        # indexing and scatter
        (
            "h = index(x, [])",
            "14: argument 'indices' of index (layer 'h'): found an empty list, expected at least one "
            "tensor of integers",
        ),
        (
            "h = index(x, [i, i], [0, -2])",
            "22: argument 'axes' of index (layer 'h'): found [0, -2] for 2 indices, expected different "
            "axes, one an index",
        ),
        (
            "h = index(x, [i, i, i])",
            "14: argument 'indices' of index (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = index(x, [i, index_select(i, [0, 1], 0)])",
            "14: argument 'indices' of index (layer 'h'): found indices of shapes [4] and [2], expected shapes that "
            "broadcast",
        ),
        (
            "h = index(x, [x])",
            "5: the indices have element type f32, expected i32 or i64 (layer 'h': index of f32[4, 8], [f32[4, 8]])",
        ),
        (
            "h = gather_nd(x, i, batch=1)",
            "18: argument 'index' of gather_nd (layer 'h'): found rows of 4 indices after 1 axes of a batch for "
            "a tensor of rank 2",
        ),
        (
            "h = gather_nd(x, reshape(i, [2, 2, 1]), batch=1)",
            "47: argument 'batch' of gather_nd (layer 'h'): found [2] and [4], expected equal sizes",
        ),
        (
            "h = index_put(x, [i], 0, reduce=mean)",
            "33: argument 'reduce' of index_put (layer 'h'): found 'mean', expected 'set', 'add', 'mul', 'max' or "
            "'min'",
        ),
        (
            "h = index_put(x, [i], i)",
            "23: argument 'src' of index_put (layer 'h'): found [4], expected a shape that broadcasts to [4, 8]",
        ),
        (
            "h = index_put(i, [i], 0.5)",
            "23: argument 'src' of index_put (layer 'h'): found 0.5, expected an integer from -2147483648 to "
            "2147483647 for i32",
        ),
        (
            "h = scatter(i, i, reshape(i, [2, 2]), 0)",
            "19: argument 'src' of scatter (layer 'h'): found [2, 2], expected at least the sizes of the index, [4]",
        ),
        (
            "h = scatter(m, i, m, 2)",
            "22: argument 'axis' of scatter (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = slice_scatter(x, i, 1, 2, 6)",
            "22: argument 'src' of slice_scatter (layer 'h'): found [4], expected the shape of the slice, [4, 4]",
        ),
        (
            "h = select_scatter(x, i, 1, 8)",
            "29: argument 'index' of select_scatter (layer 'h'): found 8, expected -8 to 7 for axis 1",
        ),
        (
            "h = select_scatter(x, i, 0, 1)",
            "23: argument 'src' of select_scatter (layer 'h'): found [4], expected the shape of a part, [8]",
        ),
        # sort
        (
            "h = nonzero(x, 999)",
            "16: argument 'size' of nonzero (layer 'h'): found 999, expected 1 to 32, the elements of x",
        ),
        (
            "h = argsort(x, axis=2)",
            "21: argument 'axis' of argsort (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = topk(x, 9)",
            "13: argument 'k' of topk (layer 'h'): found 9, expected 1 to 8, the size of axis 1",
        ),
        # reduction
        ("h = sum(m)", "5: elements are bool, expected numbers: cast them first (layer 'h': sum of bool[4, 4])"),
        ("h = sum(x, 2)", "12: argument 'axis' of sum (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2"),
        ("h = sum(x, [0, -2])", "12: argument 'axis' of sum (layer 'h'): found [0, -2], which names an axis twice"),
        ("h = sum(x, [])", "12: argument 'axis' of sum (layer 'h'): found an empty list, expected at least one axis"),
        ("h = mean(i)", "5: elements are i32, expected floating point: cast them first (layer 'h': mean of i32[4])"),
        ("h = var(i)", "5: elements are i32, expected floating point: cast them first (layer 'h': var of i32[4])"),
        (
            "h = var(x, 0, correction=4)",
            "26: argument 'correction' of var (layer 'h'): found 4, expected 0 to 3 for 4 elements",
        ),
        (
            "h = var(x, 0, correction=-1)",
            "26: argument 'correction' of var (layer 'h'): found -1, expected 0 to 3 for 4 elements",
        ),
        ("h = prod(m)", "5: elements are bool, expected numbers: cast them first (layer 'h': prod of bool[4, 4])"),
        (
            "h = cumsum(m, 0)",
            "5: elements are bool, expected numbers: cast them first (layer 'h': cumsum of bool[4, 4], 0)",
        ),
        ("h = cumsum(s, 0)", "15: argument 'axis' of cumsum (layer 'h'): found 0 for a scalar, which has no axes"),
        (
            "h = amax(x, -3)",
            "13: argument 'axis' of amax (layer 'h'): found -3, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = argmax(x, 2)",
            "15: argument 'axis' of argmax (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = amin(x, 0.5)",
            "13: argument 'axis' of amin: found float 0.5, expected an integer, a list of integers or none",
        ),
    ],
)
def test_a_wrong_argument_is_reported(statement: str, expected: str) -> None:
    assert message_of(statement) == expected
