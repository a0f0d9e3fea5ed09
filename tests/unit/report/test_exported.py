"""Tables as LaTeX and Markdown: their structure, and names that do nothing but stand there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npuc.compiler.report.text.exported import (
    LATEX,
    latex_text,
    markdown_paragraph,
    markdown_text,
    one_line,
    tables_of,
    to_latex,
    to_markdown,
)
from npuc.compiler.report.text.grid import Column, print_grid, print_line, print_note

if TYPE_CHECKING:
    from rich.console import Console

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
    (table,) = tables_of(lambda console: print_grid(columns(names), console))
    assert [column.heading for column in table.grid] == ["layer\nname", "time", "share %"]
    text = to_latex([table, table])
    assert text.isascii() or not all(name.isascii() for name in names)
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 2
    rows = [line for line in text.split("\n") if line.endswith(r" \\")]
    assert len(rows) == 2 * (len(names) + 2)
    assert all(len(re.findall(r"(?<!\\)&", row)) == 2 for row in rows)
    assert not any(row.startswith(("[", "*")) for row in rows)
    assert depth_of(text) == 0
    lines = to_markdown([table]).rstrip("\n").split("\n")
    assert len(lines) == len(names) + 3
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 4 for line in lines)
    assert re.fullmatch(r"\| :-+ \| -+: \| -+: \|", lines[1])


def headed(console: Console) -> None:
    """Two tables alike with what is said above, between and below them."""
    print_line("A", "first", console, 3)
    print_note("of both", console, "bold")
    print_grid(columns(["a"]), console)
    print_note("model two", console)
    print_grid(columns(["a"]), console, notes=("left out",))
    print_line("verdict", "below all", console)


def test_each_table_has_what_is_printed_above_it() -> None:
    first, second = tables_of(headed)
    assert (first.above, second.above) == (("A: first", "of both"), ("model two",))
    lines = to_latex([first, second]).split("\n")
    begins = [number for number, line in enumerate(lines) if line.startswith(r"\begin")]
    assert lines[1 : begins[0]] == ["% A: first", "% of both"]
    assert lines[begins[1] - 2 : begins[1]] == ["", "% model two"]
    text = to_markdown([first, second])
    assert text.startswith("A\\: first\n\nof both\n\n| layer name |")
    assert "|\n\nmodel two\n\n| layer name |" in text
    assert "below all" not in text + to_latex([first, second])


@given(st.lists(NAMES, max_size=3))
@example([HOSTILE, "a\n\\input{x}", "a\r\\input{x}", "a\x0b\x0c\x1c\x85\u2028\u2029b", "\udc80"])
@example(["- a", "+ a", "1. a", "23) a", "===", "---", "# a", "> a", "    a", "```", "| a |", "*a", "<!--"])
def test_what_stands_above_is_comments_and_paragraphs(names: list[str]) -> None:
    def show(console: Console) -> None:
        for name in names:
            print_note(name, console)
            print_line(name, name, console)
        print_grid(columns(["a"]), console)

    (table,) = tables_of(show)
    assert all(table.above)
    latex = to_latex([table]).splitlines()
    start = latex.index(r"\begin{tabular}{lrr}")
    assert len(latex) == start + 9
    assert all(line.startswith("% ") for line in latex[:start])
    assert [latex_read(line.removeprefix("% ")) for line in latex[1:start]] == [*table.above]
    markdown = to_markdown([table])
    paragraphs = markdown.split("\n\n")
    assert [markdown_read(one) for one in paragraphs[:-1]] == [*table.above]
    assert markdown.splitlines() == markdown.rstrip("\n").split("\n")
    assert len(paragraphs[-1].splitlines()) == 4
    assert not [one for one in paragraphs[:-1] if re.match(r"[ \t]|[-+*=#>|`~<]|\d+[.)]", one)]


def test_a_paragraph_begins_no_list() -> None:
    shown = {"- a": r"\- a", "12. a": r"12\. a", "1) a": r"1\) a", "== a": r"\== a", "1.5 a": r"1\.5 a", "a 1.": "a 1."}
    assert {text: markdown_paragraph(text) for text in shown} == shown


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
