"""Mistakes in the arguments of functions that rearrange elements."""

import pytest

from tests.unit.layers.wrong_call import message_of


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        # shape
        (
            "h = squeeze(x, 0)",
            "16: argument 'axis' of squeeze (layer 'h'): found axis 0 of size 4, expected an axis of size 1",
        ),
        (
            "h = squeeze(x, 2)",
            "16: argument 'axis' of squeeze (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = squeeze(x, [0, -2])",
            "16: argument 'axis' of squeeze (layer 'h'): found [0, -2], which names an axis twice",
        ),
        (
            "h = unsqueeze(x, 3)",
            "18: argument 'axis' of unsqueeze (layer 'h'): found 3, expected -3 to 2 for a new axis of a tensor "
            "of rank 2",
        ),
        (
            "h = unsqueeze(x, -4)",
            "18: argument 'axis' of unsqueeze (layer 'h'): found -4, expected -3 to 2 for a new axis of a "
            "tensor of rank 2",
        ),
        ("h = expand(x, [8])", "15: argument 'shape' of expand (layer 'h'): found [8], expected at least 2 sizes"),
        (
            "h = expand(x, [2, 5, 8])",
            "15: argument 'shape' of expand (layer 'h'): found 5 at place 1, expected 4 or -1",
        ),
        (
            "h = expand(x, [-1, 4, 8])",
            "15: argument 'shape' of expand (layer 'h'): found -1 at place 0, expected a positive size",
        ),
        (
            "h = expand(unsqueeze(x, 0), [0, 4, 8])",
            "29: argument 'shape' of expand (layer 'h'): found 0 at place 0, expected a positive size",
        ),
        (
            "h = repeat(x, [2])",
            "15: argument 'repeats' of repeat (layer 'h'): found [2], expected 2 or more positive integers",
        ),
        (
            "h = repeat(x, [2, 0])",
            "15: argument 'repeats' of repeat (layer 'h'): found [2, 0], expected 2 or more positive integers",
        ),
        (
            "h = flatten(x, 2)",
            "16: argument 'start' of flatten (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = transpose(x, [0])",
            "5: axes is [0], expected a permutation of 0 to 1 (layer 'h': transpose of f32[4, 8], [0])",
        ),
        (
            "h = transpose(x, [0, 2])",
            "18: argument 'axes' of transpose (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = reshape(x, [5, -1])",
            "16: argument 'shape' of reshape (layer 'h'): found [5, -1], 32 elements do not divide by 5",
        ),
        ("h = reshape(x, [31])", "5: 4x8 has 32 elements, 31 has 31 (layer 'h': reshape of f32[4, 8], [31])"),
        # join
        (
            "h = concat([], 0)",
            "12: argument 'tensors' of concat (layer 'h'): found an empty list, expected at least one tensor",
        ),
        (
            "h = concat([x, x], 2)",
            "20: argument 'axis' of concat (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = concat([x, i], 0)",
            "5: 4 and 4x8 differ outside axis 0, along which they join (layer 'h': concat of [f32[4, 8], i32[4]], 0)",
        ),
        (
            "h = concat([x, m], 1)",
            "5: element types differ: f32 and bool (layer 'h': concat of [f32[4, 8], bool[4, 4]], 1)",
        ),
        ("h = concat([s], 0)", "17: argument 'axis' of concat (layer 'h'): found 0 for a scalar, which has no axes"),
        (
            "h = split(x, 0, 0)",
            "14: argument 'sizes' of split (layer 'h'): found 0, expected a positive size or a list of sizes",
        ),
        (
            "h = split(x, [2, 3], 0)",
            "14: argument 'sizes' of split (layer 'h'): found [2, 3], 5 in all, expected 4, the size of axis 0",
        ),
        ("h = split(x, [4, 0], 0)", "14: argument 'sizes' of split (layer 'h'): found [4, 0], expected positive sizes"),
        ("h = split(x, [], 0)", "14: argument 'sizes' of split (layer 'h'): found [], expected positive sizes"),
        (
            "h = split(x, [1, 1, 1, 1, 1, 1, 1, 1, 1], 1)",
            "14: argument 'sizes' of split (layer 'h'): found [1, 1, 1, 1, 1, 1, 1, 1, …], 9 in all, expected "
            "8, the size of axis 1",
        ),
        (
            "h = split(x, 2, -3)",
            "17: argument 'axis' of split (layer 'h'): found -3, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = split(x, 0.5, 0)",
            "14: argument 'sizes' of split: found float 0.5, expected an integer or a list of integers",
        ),
        ("a, b, c = split(x, 2, 0); h = a + b + c", "11: found 2 values for 3 names"),
        (
            "h = stack([])",
            "11: argument 'tensors' of stack (layer 'h'): found an empty list, expected at least one tensor",
        ),
        ("h = stack([x, i])", "5: tensors differ: 4x8 f32 and 4 i32 (layer 'h': stack of [f32[4, 8], i32[4]])"),
        (
            "h = stack([x, x], 3)",
            "19: argument 'axis' of stack (layer 'h'): found 3, expected -3 to 2 for a new axis of a tensor of rank 2",
        ),
        (
            "h = unbind(s)",
            "12: argument 'x' of unbind (layer 'h'): found a tensor of rank 0, expected at least one axis",
        ),
        (
            "h = unbind(x, 2)",
            "15: argument 'axis' of unbind (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        # box
        (
            "h = slice(x, 2)",
            "14: argument 'axis' of slice (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = slice(x, 0, 2, 2)",
            "20: argument 'stop' of slice (layer 'h'): found 2 to before 2 along axis 0 of size 4, which holds "
            "no element",
        ),
        (
            "h = slice(x, 0, 4)",
            "17: argument 'start' of slice (layer 'h'): found 4 to before 4 along axis 0 of size 4, which holds "
            "no element",
        ),
        (
            "h = slice(x, 0, -1, -3)",
            "21: argument 'stop' of slice (layer 'h'): found 3 to before 1 along axis 0 of size 4, which holds "
            "no element",
        ),
        (
            "h = slice(x, 0, 5)",
            "17: argument 'start' of slice (layer 'h'): found 5, expected -4 to 4 for axis 0 of size 4",
        ),
        (
            "h = slice(x, 0, 0, 5)",
            "20: argument 'stop' of slice (layer 'h'): found 5, expected -4 to 4 for axis 0 of size 4",
        ),
        (
            "h = slice(x, 1, step=0)",
            "22: argument 'step' of slice (layer 'h'): found 0, expected a positive integer | flip(x, axis) "
            "reverses an axis",
        ),
        (
            "h = slice(x, 1, step=-1)",
            "22: argument 'step' of slice (layer 'h'): found -1, expected a positive integer | flip(x, axis) "
            "reverses an axis",
        ),
        (
            "h = pad(x, [1])",
            "12: argument 'padding' of pad (layer 'h'): found a list of 1, expected two integers for each of up "
            "to 2 axes | [before, after] of the last axis come first",
        ),
        (
            "h = pad(x, [])",
            "12: argument 'padding' of pad (layer 'h'): found a list of 0, expected two integers for each of up "
            "to 2 axes | [before, after] of the last axis come first",
        ),
        (
            "h = pad(x, [0, 0, 0, 0, 1, 1])",
            "12: argument 'padding' of pad (layer 'h'): found a list of 6, expected two integers for each of up "
            "to 2 axes | [before, after] of the last axis come first",
        ),
        (
            "h = pad(x, [-4, -4])",
            "12: argument 'padding' of pad (layer 'h'): found [-4, -4], which leaves nothing of [4, 8]",
        ),
        (
            "h = pad(x, [1, 1], mode=around)",
            "25: argument 'mode' of pad (layer 'h'): found 'around', expected one of constant, reflect, replicate, "
            "circular",
        ),
        (
            "h = pad(x, [9, 1], mode=circular)",
            "12: argument 'padding' of pad (layer 'h'): found 9 for axis 1 of size 8, expected at most "
            "the size to repeat",
        ),
        (
            "h = repeat_interleave(x, 0, 1)",
            "26: argument 'repeats' of repeat_interleave (layer 'h'): found 0, expected at least 1",
        ),
        (
            "h = pixel_unshuffle(reshape(x, [1, 1, 4, 8]), 3)",
            "47: argument 'factor' of pixel_unshuffle (layer 'h'): found 3, expected a divisor of height 4 and width 8",
        ),
        (
            "h = unfold(reshape(x, [1, 1, 4, 8]), 5)",
            "38: argument 'kernel' of unfold (layer 'h'): found a window of 5 over 4 elements",
        ),
        (
            "h = pad(x, [1, 1], 1.5, mode=reflect)",
            "20: argument 'value' of pad (layer 'h'): found 1.5 with mode 'reflect', which takes no value",
        ),
        (
            "h = pad(x, [0, 0, 4, 0], mode=reflect)",
            "12: argument 'padding' of pad (layer 'h'): found 4 for axis 0 of size 4, expected less than the "
            "size to reflect",
        ),
        (
            "h = pad(i, [1, 1], 0.5)",
            "20: argument 'value' of pad (layer 'h'): found 0.5, expected an integer from -2147483648 to "
            "2147483647 for i32",
        ),
        (
            "h = pad(i, [1, 1], 2147483648)",
            "20: argument 'value' of pad (layer 'h'): found 2147483648, expected an integer from -2147483648 to "
            "2147483647 for i32",
        ),
        (
            "h = pad(m, [1, 1], 2)",
            "20: argument 'value' of pad (layer 'h'): found 2, expected an integer from 0 to 1 for bool",
        ),
        # order
        ("h = flip(x, 2)", "13: argument 'axis' of flip (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2"),
        ("h = flip(x, [0, 0])", "13: argument 'axis' of flip (layer 'h'): found [0, 0], which names an axis twice"),
        ("h = flip(x, [])", "13: argument 'axis' of flip (layer 'h'): found an empty list, expected at least one axis"),
        (
            "h = roll(x, [1, 2], 0)",
            "13: argument 'shift' of roll (layer 'h'): found [1, 2] for axis [0], expected one shift an axis",
        ),
        (
            "h = roll(x, 1, 2)",
            "16: argument 'axis' of roll (layer 'h'): found 2, expected -2 to 1 for a tensor of rank 2",
        ),
        (
            "h = roll(x, [1, 2], [1, -1])",
            "21: argument 'axis' of roll (layer 'h'): found [1, -1], which names an axis twice",
        ),
        ("h = tril(i)", "10: argument 'x' of tril (layer 'h'): found a tensor of rank 1, expected […, rows, columns]"),
        ("h = triu(x, 0.5)", "13: argument 'diagonal' of triu: found float 0.5, expected an integer"),
    ],
)
def test_a_wrong_argument_is_reported(statement: str, expected: str) -> None:
    assert message_of(statement) == expected
