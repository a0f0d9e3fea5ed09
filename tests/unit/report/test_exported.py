"""Tables as LaTeX and Markdown: their structure, and names that do nothing but stand there."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npuc.compiler.report.text.exported import (
    LATEX,
    grids_of,
    latex_text,
    markdown_text,
    one_line,
    to_latex,
    to_markdown,
)
from npuc.compiler.report.text.grid import Column, print_grid

HOSTILE = r"\input{/etc/passwd} $x$ a_b & 5% #1 ~^ {x} | `b` <i> [0pt] *[2] -- ''"
NAMES = st.text(max_size=30) | st.text(alphabet=[*LATEX, *"ab \\n\n"], max_size=20)
TOKENS = re.compile("|".join(re.escape(value) for value in sorted(LATEX.values(), key=len, reverse=True)))


def latex_read(text: str) -> str:
    """What LaTeX shows of a cell; fails where a letter with a meaning is left."""
    back = {value: letter for letter, value in LATEX.items()}
    rest = TOKENS.sub("", text)
    assert not re.search(r"[\\{}$&#_%~^]", rest), rest
    return TOKENS.sub(lambda found: back[found[0]], text)


def markdown_read(text: str) -> str:
    """What Markdown shows of a cell: CommonMark 0.31.2, "Backslash escapes"."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


@given(NAMES)
@example(HOSTILE)
def test_a_cell_is_read_as_it_was(name: str) -> None:
    assert latex_read(latex_text(name)) == one_line(name)
    assert markdown_read(markdown_text(name)) == one_line(name)


def columns(names: list[str]) -> list[Column]:
    """Names, numbers, a heading of two lines, sums."""
    return [
        Column("layer\nname", tuple(names), left=True, footer="total"),
        Column("time", tuple("1.5 ms" for _ in names), footer="9 ms"),
        Column("gone", tuple("x" for _ in names), rank=3, instead=2),
        Column("share %", tuple("50.0" for _ in names), rank=2),
    ]


@given(st.lists(NAMES, max_size=4))
@example([HOSTILE])
@example(["[2em]", "*"])
def test_tables_have_as_many_cells_in_each_row(names: list[str]) -> None:
    (grid,) = grids_of(lambda console: print_grid(columns(names), console))
    assert [column.heading for column in grid] == ["layer\nname", "time", "share %"]
    text = to_latex([grid, grid])
    assert text.isascii() or not all(name.isascii() for name in names)
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 2
    rows = [line for line in text.split("\n") if line.endswith(r" \\")]
    assert len(rows) == 2 * (len(names) + 2)
    assert all(len(re.findall(r"(?<!\\)&", row)) == 2 for row in rows)
    assert not any(row.startswith(("[", "*")) for row in rows)
    assert depth_of(text) == 0
    lines = to_markdown([grid]).rstrip("\n").split("\n")
    assert len(lines) == len(names) + 3
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 4 for line in lines)
    assert re.fullmatch(r"\| :-+ \| -+: \| -+: \|", lines[1])


def depth_of(text: str) -> int:
    """The groups of a LaTeX text that are open at its end; none is closed before."""
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text.replace(r"\\", "")):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    return depth


@pytest.mark.parametrize("letter", [*LATEX])
def test_every_letter_is_a_whole_group(letter: str) -> None:
    assert depth_of(LATEX[letter]) == 0
