"""Reading IR: locations of operations, errors of every kind at their place, never another exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.core.errors import NpucError, SourceError, SourceErrors
from npuc.compiler.core.verify import SourceTexts, location_of, verify_module
from npuc.frontends.mlir import read_mlir

GOOD = """\
func.func @f(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %y = train.matmul %x, %w {layer = "fc"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
"""


def test_operations_get_their_place() -> None:
    places = {op.name: location_of(op) for op in read_mlir(GOOD, "f.mlir").walk()}
    assert str(places["train.matmul"]) == "f.mlir:2:3"
    assert str(places["func.return"]) == "f.mlir:3:3"


def test_a_location_in_the_text_wins() -> None:
    text = GOOD.replace("-> tensor<2x4xf32>\n  func", '-> tensor<2x4xf32> loc("net.dsl":7:5)\n  func')
    places = {op.name: location_of(op) for op in read_mlir(text, "f.mlir").walk()}
    assert str(places["train.matmul"]) == "net.dsl:7:5"


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        (("train.matmul", "train.matmull"), "2:8", "did you mean 'train.matmul'?"),
        (("%w {", "%v {"), "2:25", "%v is not defined"),
        (('"fc"', '"fc' + 40 * "x"), "2:37", "not closed"),
        (('"fc"', '"fc' + 40 * "x" + '\\q"'), "2:37", "not closed"),
        (("(tensor<2x3xf32>, ", "(tensor<2x5xf32>, "), "2:", ""),
        (("func.return %y", "func.return"), "3:", "expected an operation"),
        (("}\n", "\n"), "", ""),
        (("func.func", "§"), "1:1", ""),
        (("func.func", "}"), "1:1", ""),
    ],
)
def test_wrong_text_is_located(change: tuple[str, str], place: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_mlir(GOOD.replace(*change), "f.mlir")
    rendered = caught.value.render()
    assert rendered.startswith(f"f.mlir:{place}")
    assert message in rendered
    assert "^" in rendered


def test_use_before_definition_is_an_error() -> None:
    text = """\
func.func @f(%x: tensor<2xf32>) {
  %a = train.relu %b : tensor<2xf32> -> tensor<2xf32>
  %b = train.relu %x : tensor<2xf32> -> tensor<2xf32>
  func.return
}
"""
    generic = text.replace("train.relu %b :", '"train.relu"(%b) : (').replace("train.relu %x :", '"train.relu"(%x) : (')
    generic = generic.replace("( tensor<2xf32> ->", "(tensor<2xf32>) ->")
    with pytest.raises(SourceError, match="before it is defined") as caught:
        read_mlir(generic, "f.mlir")
    assert caught.value.location is not None
    assert caught.value.location.line == 2


def test_all_broken_operations_are_reported() -> None:
    wrong = '  %{0} = "train.matmul"(%x, %x) {{layer = "fc"}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>\n'
    lines = GOOD.splitlines(keepends=True)
    text = "".join([lines[0], wrong.format("a"), wrong.format("b"), *lines[1:]])
    with pytest.raises(SourceErrors) as caught:
        verify_module(read_mlir(text, "f.mlir"), SourceTexts({"f.mlir": text}))
    assert [error.location.line for error in caught.value.errors if error.location] == [2, 3]
    assert all(error.source_line for error in caught.value.errors)


def outcome(text: str) -> int:
    """What reading and verifying a text ends with: 0, or the exit status of its error."""
    try:
        verify_module(read_mlir(text, "f.mlir"), SourceTexts({"f.mlir": text}))
    except NpucError as error:
        return error.exit_code
    return 0


@given(st.text(max_size=80))
def test_random_text_never_raises_anything_else(text: str) -> None:
    assert outcome(text) in (0, 1)


@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.text(alphabet='%<>(){}[]x"=,:!#@-> \n2af', max_size=6))
def test_damaged_text_never_raises_anything_else(start: int, length: int, put: str) -> None:
    assert outcome(GOOD[:start] + put + GOOD[start + length :]) in (0, 1)


def test_comments_that_end_where_no_line_does_are_read_once() -> None:
    text = "// a\r" * 1000
    with pytest.raises(SourceError, match="found no operation"):
        read_mlir(text, "f.mlir")
    with pytest.raises(SourceError):
        read_mlir(f"// a\n{text}\nx", "f.mlir")
