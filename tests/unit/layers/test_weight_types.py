"""Layers make no weights of integers, which would never be trained."""

import pytest

from npuc.compiler.core.errors import SourceError
from npuc.frontends import read_source


@pytest.mark.parametrize(
    ("call", "argument", "found"),
    [
        ("linear(ids, 4)", "x", "i32"),
        ("conv1d(ids, 4)", "x", "i32"),
        ("conv_transpose1d(ids, 4)", "x", "i32"),
        ("embedding(ids, 4, 3, dtype=i64)", "dtype", "i64"),
        ("embedding(ids, 4, 3, dtype=bool)", "dtype", "bool"),
    ],
)
def test_integers_are_refused(call: str, argument: str, found: str) -> None:
    text = f"network n() {{ input ids: i32[2, 3, 4]; h = {call}; output h }}"
    with pytest.raises(SourceError, match=f"argument '{argument}' .* found {found}, expected floating point"):
        read_source(text, training=False)


def test_losses_of_classes_take_floating_point() -> None:
    text = "network n() { input x: i32[2, 3]; labels y: i32[2]; loss cross_entropy(x, y) }"
    with pytest.raises(SourceError, match="elements are i32, expected floating point"):
        read_source(text)
