"""Names of others in results: cut, and harmless on any terminal and in any page."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.core.display.fragment import MOST_BYTES, MOST_ROWS, fragment
from npuc.compiler.core.display.shown import Shown, ShownTable, table_of, value_text
from npuc.compiler.core.display.words import cut, lines, one_line

ANY = st.text(st.characters(codec=None, exclude_categories=())) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "\u202eabc",
        "a" * 10_000,
        "\x1b[31m",
        "]]></style>",
        "&amp;",
        '" onload="x',
        "\ud800",
    ]
)


def table(names: list[str], rows: list[list[str]]) -> ShownTable:
    """A table with these names of columns, of which seven rows more are not there."""
    return ShownTable(tuple(names), [tuple(row[: len(names)]) for row in rows], len(rows) + 7)


TABLES = st.builds(
    table,
    st.lists(ANY, min_size=1, max_size=30),
    st.lists(st.lists(ANY, min_size=30, max_size=30), max_size=3),
)
SHOWN = st.builds(
    Shown, ANY, ANY, ANY, st.lists(st.tuples(ANY, ANY), max_size=20).map(tuple), table=st.none() | TABLES, note=ANY
)


class Tags(HTMLParser):
    """The tags of a text, which must nest, and what its attributes are."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


KNOWN_TAGS = {"div", "style", "p", "b", "dl", "dt", "dd", "table", "thead", "tbody", "tfoot", "tr", "th", "td"}


@given(ANY, st.integers(2, 60))
def test_a_cut_text_is_short_and_printable(text: str, most: int) -> None:
    found = cut(text, most)
    assert len(found) <= most
    assert found.isprintable()
    assert len(text) > most or not text.isprintable() or found == text


def test_a_cut_text_has_both_ends() -> None:
    assert cut("model.layers.0.attention" + "." * 100 + "query.weight", 30) == "model.layers.0.atte…ery.weight"
    assert cut("a\u202eb\ud800\n") == "a\\u202eb\\ud800\\n"


@given(SHOWN)
def test_anything_is_shown_harmlessly(shown: Shown) -> None:
    line, text, html = one_line(shown), lines(shown), fragment(shown)
    assert len(line) <= 310
    assert line.isprintable()
    assert len(text) <= 12_000
    assert all(part.isprintable() for part in text.split("\n"))
    assert len(html.encode()) <= MOST_BYTES + 1000
    tags = Tags(html)
    assert tags.open == []
    assert tags.seen <= KNOWN_TAGS
    assert tags.attributes <= {"class"}


@pytest.mark.parametrize("letter", ["a", "<", "\U0001f600", "\x00"])
def test_a_fragment_is_bounded(letter: str) -> None:
    name = letter * 5000
    rows = [(name,) * 40 for _ in range(1000)]
    facts = tuple((name, name) for _ in range(100))
    html = fragment(Shown(name, name, name, facts, "", ShownTable((name,) * 40, rows, 10**6), name))
    assert len(html.encode()) <= MOST_BYTES
    assert "more rows and 24 more columns" in html
    assert "999,9" in html


def test_rows_that_are_not_shown_are_not_made() -> None:
    made: list[int] = []

    def rows() -> object:
        for number in range(10**9):
            made.append(number)
            yield (str(number),)

    html = fragment(Shown("A", "", "", table=ShownTable(("n",), rows(), 10**9)))  # pyright: ignore[reportArgumentType]
    assert len(made) == MOST_ROWS
    assert "… 999,999,968 more rows" in html


def test_a_table_of_values() -> None:
    rows: list[tuple[object, ...]] = [("a", 1234, 0.1, None, True, [1, 2.5]), ("b", 10**400, 1e300, "x", False, [])]
    table = table_of(["name", "n", "f", "o", "b", "l"], rows, "things")
    assert (table.words, table.count) == (1, 2)
    assert list(table.rows) == [
        ("a", "1,234", "0.1", "", "yes", "1, 2.5"),
        ("b", "a large number", "1e+300", "x", "no", ""),
    ]
    assert value_text(float("nan")) == "nan"
