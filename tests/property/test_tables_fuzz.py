"""Any text as a layer table: it is read, or refused by an error at a place of it; never anything else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.frontends.tables import read_table, read_table_program

WORDS = """a DP1 1 2 7 0 -1 3x2 2:4 4:2 1:1 M N K layer count has_dX true 1e3 99999999999999999999999 "a,b" # N:M"""
CELLS = st.sampled_from([*WORDS.split(), "", " ", '"', "\t", "conv 1", "\u00e9", "\u0663", "\x1c"])
HEADERS = st.sampled_from(
    ["layer,M,N,K,count,has_dX", "Layer, M, N, K,", "name,h,w,r,s,c,f,stride,N:M,", "x,y,z", "\ufeffM,N,K", ""]
)
ROWS = st.lists(CELLS, max_size=11).map(",".join)
NUMBERS = st.lists(st.integers(1, 12).map(str), min_size=3, max_size=8).map(lambda n: ",".join(["a", *n]))


def joined(header: str, rows: list[str], end: str) -> str:
    return end.join([header, *rows])


ENDS = st.sampled_from(["\n", "\r\n", "\n\n", "\r"])
TEXTS = st.builds(joined, HEADERS | ROWS, st.lists(ROWS | NUMBERS, max_size=6), ENDS)


@settings(max_examples=600)
@given(text=TEXTS | st.text(max_size=60), channels=st.booleans())
def test_any_text_is_read_or_refused_with_a_place(text: str, *, channels: bool) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    try:
        table = read_table(text, "t.csv", channels=channels, most=100)
    except SourceError as e:
        for error in e.errors if isinstance(e, SourceErrors) else (e,):
            assert error.location is not None
            assert error.location.file == "t.csv"
            assert 1 <= error.location.line <= max(1, len(lines))
            line = lines[error.location.line - 1] if lines else ""
            assert 1 <= error.location.col <= len(line) + 1
            assert error.render()
    else:
        assert 1 <= len(table.layers) <= 100
        assert all(layer.name and layer.count >= 1 for layer in table.layers)


@settings(max_examples=150)
@given(text=TEXTS)
def test_what_is_read_becomes_a_program(text: str) -> None:
    try:
        read_table(text, "t.csv")
    except SourceError:
        with pytest.raises(SourceError):
            read_table_program(text, "t.csv", training=True)
    else:
        read_table_program(text, "t.csv", training=True).module.verify()
