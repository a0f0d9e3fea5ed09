"""The attributes of StableHLO: what is printed is read again, what is wrong is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32, f64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ParseError

from npuc.dialects.stablehlo.enums import ComparisonDirection, ComparisonDirectionAttr, Precision, PrecisionAttr
from npuc.dialects.stablehlo.numbering import (
    ChannelHandle,
    ChannelHandleAttr,
    ConvNumbers,
    ConvNumbersAttr,
    DotNumbers,
    DotNumbersAttr,
    GatherNumbers,
    GatherNumbersAttr,
    ScatterNumbers,
    ScatterNumbersAttr,
)
from npuc.frontends.mlir.read import ExactParser, make_context

AXES = st.lists(st.integers(0, 9), max_size=3).map(tuple)
CONTEXT = make_context()


def read(text: str) -> Attribute:
    return ExactParser(CONTEXT, text).parse_attribute()


@st.composite
def conv_numbers(draw: st.DrawFn) -> ConvNumbers:
    spatial = [str(axis) for axis in range(draw(st.integers(0, 3)))]
    parts = (["b", "f"], ["i", "o"], ["b", "f"])
    return ConvNumbers(*(tuple(draw(st.permutations([*letters, *spatial]))) for letters in parts))


@given(st.builds(DotNumbers, AXES, AXES, AXES, AXES))
def test_dot(numbers: DotNumbers) -> None:
    assert read(str(DotNumbersAttr(numbers))) == DotNumbersAttr(numbers)


@given(st.builds(GatherNumbers, AXES, AXES, AXES, AXES, AXES, st.integers(0, 5)))
def test_gather(numbers: GatherNumbers) -> None:
    assert read(str(GatherNumbersAttr(numbers))) == GatherNumbersAttr(numbers)


@given(st.builds(ScatterNumbers, AXES, AXES, AXES, AXES, AXES, st.integers(0, 5)))
def test_scatter(numbers: ScatterNumbers) -> None:
    assert read(str(ScatterNumbersAttr(numbers))) == ScatterNumbersAttr(numbers)


@given(conv_numbers())
def test_conv(numbers: ConvNumbers) -> None:
    assert read(str(ConvNumbersAttr(numbers))) == ConvNumbersAttr(numbers)


@given(st.sampled_from(ComparisonDirection), st.sampled_from(Precision), st.integers(0, 9), st.integers(0, 9))
def test_choices(direction: ComparisonDirection, precision: Precision, handle: int, kind: int) -> None:
    for attr in (
        ComparisonDirectionAttr(direction),
        PrecisionAttr(precision),
        ChannelHandleAttr(ChannelHandle(handle, kind)),
    ):
        assert read(str(attr)) == attr


def test_the_syntax_is_that_of_mlir() -> None:
    numbers = GatherNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1)
    assert str(GatherNumbersAttr(numbers)) == (
        "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
    )
    conv = ConvNumbers(("b", "f", "0"), ("o", "i", "0"), ("b", "0", "f"))
    assert str(ConvNumbersAttr(conv)) == "#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, 0, f]>"
    assert str(ComparisonDirectionAttr(ComparisonDirection.LT)) == "#stablehlo<comparison_direction LT>"
    assert str(ChannelHandleAttr(ChannelHandle(0, 1))) == "#stablehlo.channel_handle<handle = 0, type = 1>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#stablehlo.dot<lhs = [1]>", "no field 'lhs'"),
        ("#stablehlo.dot<lhs_contracting_dimensions = [1], lhs_contracting_dimensions = [1]>", "a second field"),
        ("#stablehlo.dot<lhs_contracting_dimensions = 1>", "expected"),
        ("#stablehlo.gather<index_vector_dim = [1]>", "Expected integer"),
        ("#stablehlo.channel_handle<handle = 1>", "field 'type' is missing"),
        ("#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, 0, 0]>", "each once"),
        ("#stablehlo.conv<[b, f, 1]x[o, i, 0]->[b, f, 0]>", "each once"),
        ("#stablehlo.conv<[b]x[o, i]->[b, f]>", "each once"),
        ("#stablehlo.conv<[b, f, 0]x[o, i]->[b, f]>", "axes of other numbers"),
        ("#stablehlo.conv<[b, f]y[o, i]->[b, f]>", "x"),
        ("#stablehlo<comparison_direction LESS>", "LESS|[Ee]xpected"),
    ],
)
def test_what_is_wrong_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(text)


@given(st.lists(st.floats(width=32), min_size=1, max_size=5), st.sampled_from((f32, f64)))
def test_floats_are_read_as_they_are_printed(values: list[float], element: Any) -> None:
    attr = DenseIntOrFPElementsAttr.from_list(TensorType(element, [len(values)]), values)
    assert str(read(str(attr))) == str(attr)


def test_bits_are_a_float() -> None:
    for text, expected in (("0xFF800000", -float("inf")), ("0x3F800000", 1.0)):
        found = read(f"dense<{text}> : tensor<2xf32>")
        assert isinstance(found, DenseIntOrFPElementsAttr)
        assert tuple(found.iter_values()) == (expected, expected)
    mixed = read("dense<[[0x7F800000, -1.5], [2, 3.0e+00]]> : tensor<2x2xf32>")
    assert isinstance(mixed, DenseIntOrFPElementsAttr)
    assert tuple(mixed.iter_values()) == (float("inf"), -1.5, 2.0, 3.0)
