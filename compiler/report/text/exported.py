r"""
The tables that a verb prints as LaTeX or Markdown: with all columns, for a paper or a page of text.

    to_latex(tables_of(lambda console: print_report(report, console)))
    # \begin{tabular}{lrr} \toprule … \bottomrule \end{tabular}

LaTeX needs the package booktabs alone. A cell is text and nothing else: no name of a layer is a command of LaTeX, or
ends a cell of Markdown. What is printed above a table says what it is of, and stands above it as comments of LaTeX, or
as paragraphs.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.text.grid import Column, fitting

if TYPE_CHECKING:
    from rich.console import Console

Grid: TypeAlias = Sequence[Column]
_ROOM = 10**9
"""A width in which every column has room."""
LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "{}$&#_%"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    '"': r"{\char34}",
    **{letter: f"{{{letter}}}" for letter in "[]*-"},
    "\u2212": r"$-$",
    "\u2013": r"\textendash{}",
    "\u2026": r"\dots{}",
    "\u00d7": r"$\times$",
    "\u00b7": r"$\cdot$",
    "\u2192": r"$\rightarrow$",
    "\u0394": r"$\Delta$",
    "\u00b5": r"\textmu{}",
    "\u03bc": r"$\mu$",
    "\u00b2": r"$^2$",
}
"""
What letters are written as: those with a meaning in LaTeX, those that would be an argument of the end of the row before
(`[`, `*`), those that would join (`--`), and those of tables of npuc that pdfLaTeX has no letter for.
"""
MARKDOWN = "\\`*_{}[]<>#|~&!$:@"
"""Punctuation with a meaning in CommonMark or in the tables, links and formulas of GitHub's, escaped by a backslash."""
_MARKDOWN = re.compile(f"[{re.escape(MARKDOWN)}]")


_NUMBERED = re.compile(r"^(\d+)([.)])")
"""What begins an item of a numbered list."""


@frozen
class ExportedTable:
    """A table with all of its columns, and the lines that were printed `above` it."""

    grid: Grid
    above: tuple[str, ...] = ()


def tables_of(show: Callable[[Console], object]) -> list[ExportedTable]:
    """The tables that `show` prints on a console; what it prints below the last one is left out."""
    from rich.console import Console

    kept: list[ExportedTable] = []
    above: list[str] = []

    class Keeping(Console):
        def keep_grid(self, columns: Sequence[Column]) -> None:
            kept.append(ExportedTable(fitting(columns, _ROOM), tuple(above)))
            above.clear()

        def keep_line(self, label: str, text: str) -> bool:
            return self.keep_note(f"{label}: {text}" if label else text)

        def keep_note(self, text: str) -> bool:
            if line := one_line(text):
                above.append(line)
            return True

    show(Keeping(file=io.StringIO(), width=_ROOM, force_terminal=False, no_color=True, highlight=False))
    return kept


def to_latex(tables: Sequence[ExportedTable]) -> str:
    """Tables as environments `tabular` with the rules of booktabs."""
    return "% \\usepackage{booktabs}\n" + "\n".join(map(_latex, tables))


def to_markdown(tables: Sequence[ExportedTable]) -> str:
    """Tables as those of GitHub Flavored Markdown."""
    return "\n".join(map(_markdown, tables))


def latex_text(text: str) -> str:
    """A text as LaTeX shows it; whatever cannot be printed is its escape sequence."""
    return "".join(LATEX.get(letter, letter) for letter in one_line(text))


def markdown_text(text: str) -> str:
    """A text as Markdown shows it; whatever cannot be printed is its escape sequence."""
    return _MARKDOWN.sub(r"\\\g<0>", one_line(text))


def markdown_paragraph(text: str) -> str:
    """A text as a paragraph of Markdown: neither an item of a list nor a rule, whatever it begins with."""
    line = markdown_text(text)
    return f"\\{line}" if line.startswith(("-", "+", "=")) else _NUMBERED.sub(r"\1\\\2", line)


def one_line(text: str) -> str:
    """A cell on one line of letters that can be printed."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line)


def _rows(grid: Grid, text: Callable[[str], str]) -> list[list[str]]:
    """The heading and the rows of a table, as texts."""
    body = zip(*(column.cells for column in grid), strict=True)
    return [[text(cell) for cell in row] for row in ([column.heading for column in grid], *body)]


def _footer(grid: Grid, text: Callable[[str], str]) -> list[str]:
    """What stands below a table; nothing of one without sums."""
    return [text(column.footer) for column in grid] if any(column.footer for column in grid) else []


def _latex(table: ExportedTable) -> str:
    grid = table.grid
    head, *body = _rows(grid, latex_text)
    foot = _footer(grid, latex_text)
    sides = "".join("l" if column.left else "r" for column in grid)
    lines = [f"% {latex_text(line)}" for line in table.above]
    lines += [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", _latex_row(head), r"\midrule", *map(_latex_row, body)]
    if foot:
        lines += [r"\midrule", _latex_row(foot)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells).rstrip() + r" \\"


def _markdown(table: ExportedTable) -> str:
    grid = table.grid
    head, *body = _rows(grid, markdown_text)
    foot = _footer(grid, markdown_text)
    rows = [head, *body, *([foot] if foot else [])]
    widths = [max(3, *(len(row[place]) for row in rows)) for place in range(len(grid))]
    rule = [":" + "-" * (w - 1) if c.left else "-" * (w - 1) + ":" for c, w in zip(grid, widths, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if column.left else cell.rjust(width)
            for cell, column, width in zip(cells, grid, widths, strict=True)
        )
        return f"| {' | '.join(padded)} |\n"

    said = "".join(f"{markdown_paragraph(text)}\n\n" for text in table.above)
    return said + "".join(map(line, [head, rule, *rows[1:]]))
