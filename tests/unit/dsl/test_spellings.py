"""Names of layers, arguments and values as PyTorch and its like spell them: the hint leads to the name here."""

import pytest

from npuc.compiler.core.errors import NpucError, SourceErrors
from npuc.frontends import read_source
from npuc.frontends.dsl.spellings import layer_hint

HEAD = "network t() { input x: f32[2, 4, 6, 6]; input i: i32[2]; input b: bool[2]\n"
TAIL = "\nloss mean(x) + sum(cast(i, f32)) + sum(cast(b, f32)) }"


def mistake(statement: str) -> tuple[str, str | None]:
    """The first error of a statement: its column with the message, and the hint."""
    with pytest.raises(NpucError) as caught:
        read_source(HEAD + statement + TAIL, filename="f")
    error = caught.value.errors[0] if isinstance(caught.value, SourceErrors) else caught.value
    assert error.location is not None
    assert error.location.line == 2
    return f"{error.location.col}: {error.message}", error.hint


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("Conv2d(x, 4, 3)", "did you mean 'conv2d'?"),
        ("max_pool2d(x, 2)", "did you mean 'max_pool'?"),
        ("AdaptiveAvgPool2d(x, 1)", "did you mean 'adaptive_avg_pool'?"),
        ("BatchNorm2d(x)", "did you mean 'batch_norm'?"),
        ("LSTMCell(x, x, x)", "did you mean 'lstm_cell'?"),
        ("CrossEntropyLoss(x, i)", "did you mean 'cross_entropy'?"),
        ("BCEWithLogitsLoss(x, x)", "write binary_cross_entropy_with_logits(x, target)"),
        ("mse_loss(x, x)", "write mse(y, target)"),
        ("cat([x, x], 1)", "write concat(tensors, axis)"),
        ("swish(x)", "write silu(x)"),
        ("view(x, [-1])", "write reshape(x, shape)"),
        ("ConvTranspose2d(x, 4, 3)", "did you mean 'conv_transpose2d'?"),
        ("deconv2d(x, 4, 3)", "write conv_transpose2d(x, channels, kernel)"),
        ("range(3)", "write 0..n in a for; arange(stop) is a tensor"),
        ("stop_gradient(x)", "write detach(x)"),
        ("zeros_like(x)", "write zeros(shape(x))"),
    ],
)
def test_layer(call: str, hint: str) -> None:
    name = call.partition("(")[0]
    assert mistake(f"h = {call}") == (f"5: found the unknown layer or block '{name}'", hint)


def test_a_block_of_ones_own_comes_before_other_names() -> None:
    assert layer_hint("swish", {"swish_", "silu"}) == "did you mean 'swish_'?"
    assert layer_hint("qqq", {"relu"}) == "'npuc list layers' shows what there is"


@pytest.mark.parametrize(
    ("call", "column", "hint"),
    [
        ("sum(x, dim=1)", 12, "did you mean 'axis'? signature: sum(x, axis=none, keepdim=false)"),
        ("relu(x, inplace=true)", 13, "leave it out; signature: relu(x)"),
        ("max(x, axis=1)", 12, "write amax(x, axis) for the max over axes; signature: max(x, y)"),
        ("cast(x, dtype=f16)", 13, "did you mean 'to'? signature: cast(x, to)"),
        ("pow(x, qqq=1)", 12, "signature: pow(x, exponent)"),
    ],
)
def test_argument(call: str, column: int, hint: str) -> None:
    function = call.partition("(")[0]
    name = call.partition(", ")[2].partition("=")[0]
    assert mistake(f"h = {call}") == (f"{column}: {function} has no argument '{name}'", hint)


@pytest.mark.parametrize(
    ("call", "start"),
    [
        ("conv2d(x, in_channels=4)", "leave it out, the sizes of x are known; signature: conv2d("),
        ("upsample(x, scale_factor=2)", "did you mean 'scale'? signature: upsample("),
        ("leaky_relu(x, alpha=2)", "did you mean 'negative_slope'? signature: leaky_relu("),
        ("embedding(i, num_embeddings=2)", "did you mean 'entries'? signature: embedding("),
        ("split(x, split_size=2, axis=1)", "did you mean 'sizes'? signature: split("),
    ],
)
def test_argument_with_a_long_signature(call: str, start: str) -> None:
    _, hint = mistake(f"h = {call}")
    assert hint is not None
    assert hint.startswith(start)


@pytest.mark.parametrize(
    ("statement", "expected", "hint"),
    [
        ("h = None", "5: found the unknown name 'None'", "write none"),
        ("h = relu(True)", "10: found the unknown name 'True'", "write true"),
        (
            "h = x[0]",
            "5: found tensor f32[2, 4, 6, 6] in front of '[', expected a list",
            "slice(x, axis, start, stop) cuts a tensor, unbind(x, axis) makes a list of its parts",
        ),
        ("h = [1, 2][-3]", "5: found index -3, expected -2 to 1", None),
        ("h = [][0]", "5: found index 0, expected a list that is not empty", None),
        ("optimizer SGD(lr=0.1)", "11: found the unknown optimizer 'SGD'", "did you mean 'sgd'?"),
        ("h = x * param([6], bound=-1)", "26: found -1.0, expected 0 to 1e+30", None),
        ("h = x * param([6], bound=1e300)", "26: found 1e+300, expected 0 to 1e+30", None),
        (
            "h = embedding(i, 3, 4, weight=param([3, 5]))",
            "21: argument 'width' of embedding (layer 'h'): found 4, the weight has 5",
            'signature: embedding(ids, entries=none, width=none, weight=none, dtype="f32", padding_idx=none)',
        ),
        (
            "labels z: bool[2]; h = z",
            "11: found labels of bool, expected i32 or i64",
            "targets of another type are an 'input'",
        ),
        ("h = sum(x) < b", "12: element types differ: f32 and bool (layer 'h': '<' of f32[], bool[2])", None),
        (
            "h = mse(b, b)",
            "5: elements are bool, expected numbers: cast them first (layer 'h': mse of bool[2], bool[2])",
            None,
        ),
        (
            "h = nll_loss(x, b)",
            "5: the labels have element type bool, expected i32 or i64 "
            "(layer 'h': nll_loss of f32[2, 4, 6, 6], bool[2])",
            None,
        ),
    ],
)
def test_value(statement: str, expected: str, hint: str | None) -> None:
    assert mistake(statement) == (expected, hint)
