"""The one reader of numbers: ASCII digits, any length, nothing that only Python takes for a number."""

import pytest

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.kinds import show
from npuc.compiler.core.numbers import integer_of, is_integer, is_real, real_of
from npuc.compiler.core.options import mesh_sizes

ODD = ["", "+", "1_0", "1\x1c", "\x1c1", "1\xa0", "\u20031", "８", "२", "²", "0x10", "1L", "--1", "\u22121", "1,0"]


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_number(text: str) -> None:
    assert integer_of(text) is None
    assert real_of(text) is None
    assert not is_integer(text)
    assert not is_real(text)


@pytest.mark.parametrize(
    ("text", "value"), [("8", 8), (" -8\t", -8), ("+8", 8), ("0", 0), ("-0", 0), ("0" * 5000 + "8", 8)]
)
def test_integers(text: str, value: int) -> None:
    assert integer_of(text) == value


def test_an_integer_of_thousands_of_digits_is_one_and_too_long() -> None:
    assert is_integer("9" * 5000)
    assert integer_of("9" * 5000) is None
    assert integer_of("9" * 18) == 10**18 - 1
    assert integer_of("9" * 19) is None


@pytest.mark.parametrize(
    ("text", "value"), [("1.", 1.0), (".5", 0.5), ("-1e3", -1000.0), ("1e400", None), ("nan", None)]
)
def test_reals(text: str, value: float | None) -> None:
    assert real_of(text) == value


@pytest.mark.parametrize("text", ["2x" + "9" * 5000, "2x\u0662", "2x1_0", "2x", "2x1", "2x-2"])
def test_a_mesh_of_odd_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="expected sizes of levels"):
        mesh_sizes(text)


def test_a_value_too_long_to_print_is_shown_by_its_bits() -> None:
    assert show(10**5000) == "an integer of 16,610 bits"
    assert show(12) == "12"


def test_messages_have_no_long_words_and_no_control_characters() -> None:
    shown = SourceError(f"found '{'9' * 5000}\x1c', expected 1", hint="\x1b[31m").render()
    assert len(shown) < 200
    assert shown.isascii() or "…" in shown
    assert "\x1c" not in shown
    assert "\x1b" not in shown
    assert "\\x1c" in shown
