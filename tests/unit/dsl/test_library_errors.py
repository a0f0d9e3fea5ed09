"""What is wrong with a call of a block that ships with npuc: the message, at the argument of the program."""

import re

import pytest

from npuc.compiler.core.errors import NpucError
from tests.unit.dsl.block_calls import build, message


@pytest.mark.parametrize(
    ("body", "column", "argument", "reason"),
    [
        ("h = multi_head_attention(3, 2)", 26, "x", "found integer 3, expected a tensor"),
        ("h = multi_head_attention(s, 2)", 26, "x", "found f32[2, 6], expected [batch, length, width]"),
        ("h = multi_head_attention(x, 3)", 29, "heads", "found 3, expected a divisor of the width, 8"),
        ("h = multi_head_attention(x, 0)", 29, "heads", "found 0, expected a positive integer"),
        ('h = multi_head_attention(x, "a")', 29, "heads", 'found "a", expected a positive integer'),
        ("h = multi_head_attention(x, x)", 29, "heads", "found f32[2, 5, 8], expected a positive integer"),
        ("h = multi_head_attention(x, 2, s)", 32, "memory", "found f32[2, 6], expected [batch, length, width]"),
        (
            "h = multi_head_attention(x, 2, reshape(x, [4, 5, 4]))",
            32,
            "memory",
            "found f32[4, 5, 4], expected a batch of 2",
        ),
        (
            "h = multi_head_attention(x, 2, mask=m)",
            37,
            "mask",
            "found bool[2, 5], expected a shape that broadcasts to [2, 2, 5, 5]",
        ),
        (
            "h = multi_head_attention(x, 2, mask=cast(x, to=i32))",
            37,
            "mask",
            "found i32[2, 5, 8], expected a shape that broadcasts to [2, 2, 5, 5]",
        ),
        (
            "h = multi_head_attention(x, 2, mask=cast(slice(m, 0, 1), to=i32))",
            37,
            "mask",
            "found i32[1, 5], expected bool or the element type of x",
        ),
        ("h = multi_head_attention(x, 2, mask=3)", 37, "mask", "found integer 3, expected a tensor"),
        ("h = multi_head_attention(x, 2, causal=3)", 39, "causal", "found integer 3, expected true or false"),
        ("h = multi_head_attention(x, 2, dropout=2)", 40, "dropout", "found 2.0, expected at least 0 and below 1"),
        ("h = multi_head_attention(x, 2, bias=0)", 37, "bias", "found integer 0, expected a boolean or a tensor"),
        ("h = multi_head_attention(x, 2, kv_heads=3)", 41, "kv_heads", "found 3, expected a divisor of the heads, 2"),
        ("h = multi_head_attention(x, 2, kv_heads=-1)", 41, "kv_heads", "found -1, expected a positive integer"),
        ("h = multi_head_attention(x, 2, size=0.5)", 37, "size", "found 0.5, expected a positive integer"),
        ("h = multi_head_attention(x, 2, rotary=true, base=0)", 50, "base", "found 0, expected a positive number"),
        (
            "h = multi_head_attention(x, 2, weight=[s])",
            39,
            "weight",
            "found 1 weights, expected four, [q, k, v, out]: [f32[2, 6]]",
        ),
        (
            "h = multi_head_attention(x, 2, scale=x)",
            38,
            "scale",
            "found f32[2, 5, 8], expected a number",
        ),
        (
            "h = scaled_dot_product_attention(x, x, x)",
            34,
            "query",
            "found f32[2, 5, 8], expected [batch, heads, length, size]",
        ),
        (
            "q = unsqueeze(x, 1); h = scaled_dot_product_attention(q, x, q)",
            58,
            "key",
            "found f32[2, 5, 8], expected [batch, heads, length, size]",
        ),
        (
            "q = unsqueeze(x, 1); h = scaled_dot_product_attention(q, q, x)",
            61,
            "value",
            "found f32[2, 5, 8], expected [batch, heads, length, size]",
        ),
        (
            "q = unsqueeze(x, 1); z = transpose(q, [0, 1, 3, 2]); h = scaled_dot_product_attention(q, z, q)",
            90,
            "key",
            "found f32[2, 1, 8, 5], expected the batch and size of the query, 2 and 8",
        ),
        (
            "q = unsqueeze(x, 1); z = repeat(q, [1, 2, 1, 1]); h = scaled_dot_product_attention(q, z, z)",
            87,
            "key",
            "found f32[2, 2, 5, 8], expected a number of heads that divides 1",
        ),
        (
            "q = unsqueeze(x, 1); z = transpose(q, [0, 1, 3, 2]); h = scaled_dot_product_attention(q, q, z)",
            93,
            "value",
            "found f32[2, 1, 8, 5], expected the batch, heads and length of the key, [2, 1, 5]",
        ),
        ("h = multi_head_attention(cast(x, to=i32), 2)", 26, "x", "found i32[2, 5, 8], expected floating point"),
        (
            "z = cast(x, to=f64); h = multi_head_attention(x, 2, z)",
            53,
            "memory",
            "found f64[2, 5, 8], expected the element type of x",
        ),
        (
            "q = unsqueeze(x, 1); h = scaled_dot_product_attention(q, cast(q, to=f64), q)",
            58,
            "key",
            "found f64[2, 1, 5, 8], expected the element type of the query",
        ),
        (
            "q = unsqueeze(x, 1); h = scaled_dot_product_attention(q, q, cast(q, to=f64))",
            61,
            "value",
            "found f64[2, 1, 5, 8], expected the element type of the query",
        ),
        (
            "q = cast(unsqueeze(x, 1), to=i32); h = scaled_dot_product_attention(q, q, q)",
            69,
            "query",
            "found i32[2, 1, 5, 8], expected floating point",
        ),
        ("h = rotary_embedding(cast(x, to=i32))", 22, "x", "found i32[2, 5, 8], expected floating point"),
        ("h = gru(cast(x, to=i32), 3)", 9, "x", "found i32[2, 5, 8], expected floating point"),
        ("h = gru_cell(cast(s, to=i32), s)", 14, "x", "found i32[2, 6], expected floating point"),
        ("h = gru_cell(s, cast(s, to=f64))", 17, "h", "found f64[2, 6], expected the element type of x"),
        ("h, c = lstm_cell(s, s, cast(s, to=f64))", 24, "c", "found f64[2, 6], expected the element type of x"),
        ("h = lstm(x, 3, h=m)", 18, "h", "found bool[2, 5], expected the element type of x"),
        ("h = lstm(x, 3, c=m)", 18, "c", "found bool[2, 5], expected the element type of x"),
        ("h = rotary_embedding(sum(x))", 22, "x", "found f32[], expected […, length, size]"),
        (
            "h = rotary_embedding(reshape(x, [16, 5]))",
            22,
            "x",
            "found f32[16, 5], expected an even size of the last axis",
        ),
        ("h = rotary_embedding(x, offset=0.5)", 32, "offset", "found 0.5, expected an integer"),
        ("h = rotary_embedding(x, interleaved=1)", 37, "interleaved", "found integer 1, expected true or false"),
        ("h = lstm(s, 3)", 10, "x", "found f32[2, 6], expected [batch, length, features]"),
        ("h = lstm(x, 0)", 13, "hidden", "found 0, expected a positive integer"),
        ('h = gru(x, "3")', 12, "hidden", 'found "3", expected a positive integer'),
        ("h = rnn(x, 3, 1.5)", 15, "layers", "found 1.5, expected a positive integer"),
        ("h = rnn(x, 3, dropout=1)", 23, "dropout", "found 1, expected at least 0 and below 1"),
        ("h = rnn(x, 3, h=s)", 17, "h", "found f32[2, 6], expected [1, 2, 3]"),
        ("h = lstm(x, 3, c=s)", 18, "c", "found f32[2, 6], expected [1, 2, 3]"),
        ("h = rnn(x, 3, bias=3)", 20, "bias", "found integer 3, expected true or false"),
        ("h = rnn(x, 3, nonlinearity=gelu)", 28, "nonlinearity", 'found "gelu", expected tanh or relu'),
        ("h = lstm(x, 3, bidirectional=2)", 30, "bidirectional", "found integer 2, expected true or false"),
        ("h = lstm(x, 3, states=2)", 23, "states", "found integer 2, expected true or false"),
        ("h = gru(x, 3, weight=[s, s])", 22, "weight", "found 2 lists, expected 1: [f32[2, 6], f32[2, 6]]"),
        ("h = gru(x, 3, weight=[[s]])", 22, "weight", "found [[f32[2, 6]]], expected 2 or 4 in each list"),
        ("h = gru_cell(x, s)", 14, "x", "found f32[2, 5, 8], expected [batch, features]"),
        ("h = gru_cell(s, x)", 17, "h", "found f32[2, 5, 8], expected [batch, hidden]"),
        ("h = gru_cell(s, reshape(s, [3, 4]))", 17, "h", "found f32[3, 4], expected a batch of 2"),
        ("h, c = lstm_cell(s, s, x)", 24, "c", "found f32[2, 5, 8], expected the sizes of h, [2, 6]"),
        ("h = gru_cell(s, s, weight_hh=s)", 30, "weight_hh", "found f32[2, 6] as weight_hh, expected [6, 18]"),
        (
            "h = gru_cell(s, s, weight_hh=s, transpose_weight=true)",
            30,
            "weight_hh",
            "found f32[2, 6] as weight_hh, expected [18, 6]",
        ),
        ("h = rnn_cell(s, s, nonlinearity=3)", 33, "nonlinearity", "found 3, expected tanh or relu"),
        ("h = channel_shuffle(s, 2)", 21, "x", "found f32[2, 6], expected [batch, channels, …]"),
        ("h = channel_shuffle(x, 3)", 24, "groups", "found 3, expected a divisor of the channels, 5"),
        ("h = channel_shuffle(x, true)", 24, "groups", "found true, expected a positive integer"),
        ("h = dot_interaction(x)", 21, "features", "found f32[2, 5, 8], expected a list of tensors [batch, size]"),
        ("h = rnn(x, 4, weight=s)", 22, "weight", "found f32[2, 6], expected a list of lists"),
        (
            "h = multi_head_attention(x, 2, weight=s)",
            39,
            "weight",
            "found f32[2, 6], expected a list [q, k, v, out]",
        ),
        (
            "h = multi_head_attention(x, 2, weight=[s], joint=true)",
            39,
            "weight",
            "found 1 weights, expected two, [qkv, out]: [f32[2, 6]]",
        ),
        (
            "h = multi_head_attention(x, 2, x, joint=true)",
            32,
            "memory",
            "found f32[2, 5, 8], expected none with joint=true",
        ),
        ("h = box_iou(x, x)", 13, "boxes", "found f32[2, 5, 8], expected boxes [..., 4]"),
        (
            "b = slice(s, 1, 0, 4); h = box_iou(b, slice(b, 0, 1))",
            39,
            "others",
            "found f32[1, 4], expected the shape of the boxes, [2, 4]",
        ),
        ("h = dot_interaction([s])", 21, "features", "found [f32[2, 6]], expected at least two features"),
        (
            "h = dot_interaction([x, x])",
            21,
            "features",
            "found [f32[2, 5, 8], f32[2, 5, 8]], expected tensors [batch, size]",
        ),
    ],
)
def test_wrong_argument(body: str, column: int, argument: str, reason: str):
    called = re.match(r"(\w+)(?:, \w+)* = (\w+)\(", body.rpartition("; ")[2])
    assert called is not None
    layer, function = called.groups()
    assert message(body) == f"2:{column}: argument '{argument}' of {function} (layer '{layer}'): {reason}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "h = multi_head_attention(x, 8, rotary=true)",
            "2:5: multi_head_attention (layer 'h'): found heads of size 1, expected an even size for rotary",
        ),
        (
            "h = multi_head_attention(x)",
            "2:5: multi_head_attention needs the argument 'heads'",
        ),
        (
            "h = multi_head_attention(x, 2, head=3)",
            "2:32: multi_head_attention has no argument 'head'",
        ),
        (
            "h = lstm(x, 3, states=true)",
            "2:5: found 3 values for one name, expected as many names: a, b = …",
        ),
        (
            "h = gru(x, 3, weight=[[s, s]])",
            "2:5: gru (layer 'h'): found f32[2, 6] as weight_ih, expected [8, 9]",
        ),
    ],
)
def test_wrong_call(body: str, expected: str):
    assert message(body) == expected


def test_limits_are_reported_in_the_program():
    limit = "the network has more than 100 operations"
    assert message("h = lstm(x, 3, layers=20)", max_ops=100) == f"2:5: {limit}"
    found = message("for i in 0..9 { x = lstm(x, 8) }; h = x", max_ops=100)
    assert found == f"2:1: {limit} (this loop has 9 iterations)"


def test_a_wrong_call_in_a_block_of_the_program_is_reported_there():
    own = "block f(x, n) { return multi_head_attention(x, n) }"
    expected = "argument 'heads' of multi_head_attention (layer 'h.multi_head_attention'): found 3"
    assert message("h = f(x, 3)", own) == f"1:48: {expected}, expected a divisor of the width, 8"


def test_the_program_goes_on_after_a_wrong_call():
    with pytest.raises(NpucError) as caught:
        build("for i in 0..2 { a = lstm(x, 0) }\nb = gru(a, 3)\nh = multi_head_attention(x, 3)")
    assert [line.split(": ")[0] for line in caught.value.render().splitlines() if "error" in line] == [
        "f:2:29",
        "f:4:29",
    ]
