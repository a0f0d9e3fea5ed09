"""Bytes as text: the place of a byte that is not UTF-8, with and without a byte order mark."""

from codecs import BOM_UTF8

import pytest

from npuc.compiler.core.errors import Location, SourceError
from npuc.compiler.core.files.texts import decoded


@pytest.mark.parametrize("mark", [b"", BOM_UTF8])
@pytest.mark.parametrize(
    ("data", "line", "col"), [(b"\xe0work", 1, 1), (b"Ne\xe0work", 1, 3), (b"a\n\xc3\xa9b\xe0", 2, 3)]
)
def test_a_byte_that_is_not_utf8_is_named_at_its_place(mark: bytes, data: bytes, line: int, col: int) -> None:
    with pytest.raises(SourceError, match="found the byte 0xe0") as caught:
        decoded(mark + data, "f.dsl")
    assert caught.value.location == Location("f.dsl", line, col)


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert decoded(BOM_UTF8 + "é".encode(), "f.dsl") == "é"
