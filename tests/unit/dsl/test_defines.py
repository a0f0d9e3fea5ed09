"""Values of network parameters from outside."""

from typing import Any

import pytest

from npuc.compiler.core.errors import UsageError
from npuc.frontends import read_source
from npuc.frontends.dsl.defines import fitting

TEXT = """network t(batch=4, scale=0.5, deep=false, variant="a", widths=[2, 3], extra=none, twice=batch * 2,
          element="f32") {
  input x: element[batch, twice]
  h = x * scale
  if deep or variant == "b" { h = relu(h) }
  for w in widths { h = linear(h, w) }
  if extra != none { h = linear(h, extra) }
  output h
}"""


def result(**defines: Any) -> str:
    """The type of the network's result."""
    module = str(read_source(TEXT, defines=defines, training=False))
    return module.split("func.return")[1].split(": ")[1].split("\n")[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8", 8),
        (" -3 ", -3),
        ("0.5", 0.5),
        ("1e-3", 1e-3),
        ("true", True),
        ("none", None),
        ("v1_5", "v1_5"),
        ('"8"', "8"),
        ("", ""),
        ("[3,4,6,3]", [3, 4, 6, 3]),
        ("[ ]", list[int]()),
        ("[[1, 2], [0.5, a]]", [[1, 2], [0.5, "a"]]),
    ],
)
def test_texts_are_read_as_literals(text: str, expected: object):
    assert fitting("p", text, None) == expected


def test_texts_stay_texts_for_a_string():
    assert [fitting("p", value, "a") for value in ("8", "true", "[1]", 8)] == ["8", "true", "[1]", "8"]


@pytest.mark.parametrize("text", ["9" * 30, "[" * 99 + "]" * 99, "1e999", "[1e999]"])
def test_texts_out_of_range(text: str):
    with pytest.raises(UsageError):
        fitting("p", text, None)


def test_defaults_and_overrides():
    assert result() == "tensor<4x3xf32>"
    assert result(batch=2, widths=[5]) == "tensor<2x5xf32>"
    assert result(widths=(5, 6)) == "tensor<4x6xf32>"
    assert result(extra=7) == "tensor<4x7xf32>"
    assert result(element="f64") == "tensor<4x3xf64>"


def test_later_defaults_use_given_values():
    assert "tensor<8x16xf32>" in str(read_source(TEXT, defines={"batch": 8}, training=False))
    assert "tensor<8x3xf32>" in str(read_source(TEXT, defines={"batch": 8, "twice": 3}, training=False))


def test_an_integer_stands_for_a_float():
    assert result(scale=2) == result()


def test_unknown_name():
    with pytest.raises(UsageError, match="unknown network parameter 'bach'") as caught:
        result(bach=3)
    assert caught.value.exit_code == 2
    listed = "parameters of the network: batch, scale, deep, variant, widths, extra, twice, element"
    assert caught.value.hint == f"did you mean 'batch'? {listed}"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("batch", 0.5, "'batch': found float 0.5, expected an integer"),
        ("batch", "x", "'batch': found string \"x\", expected an integer"),
        ("batch", True, "'batch': found boolean true, expected an integer"),
        ("scale", "x", "'scale': found string \"x\", expected a float"),
        ("deep", 1, "'deep': found integer 1, expected a boolean"),
        ("batch", "0.5", "'batch': found float 0.5, expected an integer"),
        ("variant", True, "'variant': found boolean true, expected a string"),
        ("widths", 1, "'widths': found integer 1, expected a list"),
        ("batch", 2**70, f"'batch': found {2**70}, expected numbers"),
        ("scale", float("nan"), "'scale': found nan, expected numbers"),
        ("extra", {1: 2}, "'extra': found {1: 2}, expected numbers"),
    ],
)
def test_wrong_kind(name: str, value: Any, message: str):
    with pytest.raises(UsageError) as caught:
        result(**{name: value})
    assert message in caught.value.message


def test_parameter_without_default_needs_a_value():
    text = "network t(n) { input x: f32[n]; output x }"
    with pytest.raises(UsageError, match="network parameter 'n' has no value") as caught:
        read_source(text, training=False)
    assert caught.value.hint == "give it one: -D n=…"
    assert "tensor<7xf32>" in str(read_source(text, defines={"n": 7}, training=False))
