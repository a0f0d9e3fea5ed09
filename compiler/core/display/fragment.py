"""
A result as a fragment of HTML for notebooks: no scripts, nothing from a network, at most `MOST_BYTES`.

Letters have the colour of the page around them, light or dark; lines take JupyterLab's where it is there. Where a
viewer drops style sheets, as it does for notebooks that it does not trust, a plain table is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import islice

from npuc.compiler.core.display.shown import Shown, ShownTable
from npuc.compiler.core.display.words import LONGEST_FACT, LONGEST_LINE, LONGEST_NAME, MOST_FACTS, counted, cut

MOST_BYTES = 48_000
MOST_ROWS = 32
MOST_COLUMNS = 16
MOST_PICTURE = 16_000
"""The most bytes of a picture; a larger one is left out."""

_LINE = "var(--jp-border-color2, color-mix(in srgb, currentColor 25%, transparent))"
_QUIET = "color-mix(in srgb, currentColor 70%, transparent)"
_STYLE = (
    ".npuc-shown{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:13px;line-height:1.4;"
    "color:inherit;max-width:100%;overflow-x:auto}"
    ".npuc-shown p{margin:0 0 .4em}"
    f".npuc-shown dl{{display:grid;grid-template-columns:max-content 1fr;gap:0 1em;margin:.2em 0 .6em}}"
    f".npuc-shown dt{{color:{_QUIET};font-weight:normal}}"
    ".npuc-shown dd{margin:0}"
    ".npuc-shown svg{display:block;max-width:100%;height:auto;margin:.2em 0 .4em}"
    ".npuc-shown .k span{display:inline-block;margin-right:1em}"
    ".npuc-shown .k i{display:inline-block;width:.8em;height:.8em;margin-right:.4em}"
    ".npuc-shown table{border-collapse:collapse;border:0;margin:0;font-size:12px;font-variant-numeric:tabular-nums}"
    ".npuc-shown th,.npuc-shown td{border:0;padding:.15em .6em;text-align:right;white-space:nowrap;"
    "background:transparent;color:inherit}"
    ".npuc-shown .w{text-align:left}"
    f".npuc-shown thead th{{border-bottom:1px solid {_LINE};font-weight:600;vertical-align:bottom}}"
    f".npuc-shown tfoot td{{border-top:1px solid {_LINE};font-weight:600}}"
    f".npuc-shown .q{{color:{_QUIET};margin:.3em 0 0}}"
)


def fragment(shown: Shown) -> str:
    """What is shown of a result as HTML."""
    head = (
        f'<div class="npuc-shown"><style>{_STYLE}</style>'
        f"<p><b>{_text(shown.kind, LONGEST_NAME)}</b>{' ' if shown.title else ''}"
        f"{_text(shown.title, LONGEST_LINE // 2)}{': ' if shown.summary else ''}"
        f"{_text(shown.summary, LONGEST_LINE // 2)}</p>"
    )
    if len(shown.picture.encode()) <= MOST_PICTURE:
        head += shown.picture
    facts = "".join(
        f"<dt>{_text(name, LONGEST_NAME)}</dt><dd>{_text(text, LONGEST_FACT)}</dd>"
        for name, text in shown.facts[:MOST_FACTS]
    )
    end = f'<p class="q">{_text(shown.note, LONGEST_FACT)}</p>' if shown.note else ""
    end = (f"<dl>{facts}</dl>" if facts else "") + end + "</div>"
    table = _table(shown.table, MOST_BYTES - _size(head) - _size(end)) if shown.table is not None else ""
    return head + table + end


def _table(table: ShownTable, room: int) -> str:
    """The table, as far as there is room in bytes, and what of it is not shown."""
    if not table.headings:
        return ""
    headings, words = table.headings[:MOST_COLUMNS], table.words
    columns = len(table.headings) - len(headings)
    begin = f"<table><thead>{_row(headings, words, 'th')}</thead><tbody>"
    foot = f"<tfoot>{_row(table.footer[:MOST_COLUMNS], words)}</tfoot>" if table.footer else ""
    room -= _size(begin) + _size(foot) + 500  # of the end and the note
    rows: list[str] = []
    for row in _rows(table, words):
        room -= _size(row)
        if room < 0:
            break
        rows.append(row)
    rest = [counted(table.count - len(rows), f"more {table.what}")] if table.count > len(rows) else []
    rest += [counted(columns, "more columns")] if columns > 0 else []
    note = f'<p class="q">… {_text(" and ".join(rest), 100)}</p>' if rest else ""
    return f"{begin}{''.join(rows)}</tbody>{foot}</table>{note}"


def _rows(table: ShownTable, words: int) -> Iterator[str]:
    for cells in islice(table.rows, MOST_ROWS):
        yield _row(cells[:MOST_COLUMNS], words)


def _row(cells: tuple[str, ...], words: int, tag: str = "td") -> str:
    return f"<tr>{''.join(_cell(text, number < words, tag) for number, text in enumerate(cells))}</tr>"


def _cell(text: str, is_word: bool, tag: str) -> str:
    kind = ' class="w"' if is_word else ""
    return f"<{tag}{kind}>{_text(text, LONGEST_NAME)}</{tag}>"


def _text(text: str, most: int) -> str:
    return escape(cut(text, most))


def _size(text: str) -> int:
    return len(text.encode())
