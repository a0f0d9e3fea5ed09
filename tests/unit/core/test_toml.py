"""Tables in TOML: what is read, each error with its place, and keys of many names before Python's reader sees them."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.core.errors import Location, NpucError, UsageError
from npuc.compiler.core.files import toml
from npuc.compiler.core.files.toml import MAX_PARTS, read_toml

PIECES = ["a", ".", '"', "'", '"""', "'''", "\\", "#", "\n", " = ", "1", "[", "]", "{", "}", ",", "a.", 'b."c".', "é"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a = 1\na = 2\n", (2, 6), "this key has a value already"),
        ("a = ", (1, 5), "at the end of the file"),
        ("a = 1\nb 2\n", (2, 3), "Expected '='"),
        ("x = 1\ny = " + "9" * 5000, (2, 5), "too many digits"),
        ("x = 1\n" + "a." * 100 + "b = 1", (2, 1), "found a key of more than 64 names"),
        ("[" + '"a" . ' * 200_000 + "b]", (1, 2), "found a key of more than 64 names"),
        ("x = {y = 1, " + "'='." * 100_000 + "b = 1}", (1, 13), "found a key of more than 64 names"),
    ],
)
def test_what_is_wrong_has_its_place(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_toml(text, "f.toml")
    assert caught.value.location == Location("f.toml", *place)
    assert caught.value.source_line == text.split("\n")[place[0] - 1]


def test_values_that_are_nested_too_deeply() -> None:
    with pytest.raises(UsageError, match=r"f\.toml: values are nested too deeply"):
        read_toml("x = " + "[" * 5000, "f.toml")


def test_points_that_are_of_no_key() -> None:
    dots = "a." * 100
    text = f"# {dots}\nx = '{dots}' # {dots}\ny = \"{dots}\\\"{dots}\"\nz = '''\n{dots}'{dots}''''\n"
    text += f"w = [{'1.5, ' * 200}]\n"
    assert read_toml(text, "f.toml") == tomllib.loads(text)
    longest = "a." * (MAX_PARTS - 1) + "a = 1"
    assert read_toml(longest, "f.toml") == tomllib.loads(longest)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_is_read_as_python_reads_it_or_refused(text: str) -> None:
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(NpucError):
            read_toml(text, "f.toml")
    else:
        assert read_toml(text, "f.toml") == expected


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_strings_become_words_of_their_length(text: str) -> None:
    bare = toml.without_strings(text)
    assert len(bare) == len(text)
    assert not set(bare) & set("\"'#")
    assert all(new in (old, "s", " ") for old, new in zip(text, bare, strict=True))
