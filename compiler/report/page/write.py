"""
A page as the text of an HTML file, which needs nothing else: no network, no other file.

What comes from a program, its names above all, is text and nothing else: in HTML it is escaped, in the data of the
page no character begins a tag, and the policy of the file lets no script run but its own.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

import msgspec

from npuc.compiler.report.page.model import Page

SCRIPTS = ("format", "state", "table", "chart", "treemap", "bars", "scatter", "area", "spans", "code", "page")
"""The parts of the script, in their order."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'; base-uri 'none'"


def html_page(page: Page) -> str:
    """The file of a page. The same page always gives the same text."""
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    numbers = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><dd class=remark>{escape(remark)}</dd></div>"
        for name, value, remark in page.numbers
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(digest)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(page.title)}</title>\n<style>{_asset('page.css')}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(page.title)}</h1>\n<p>{escape(page.subtitle)}</p>\n"
        f"<p class=verdict>{escape(page.verdict)}</p>\n<dl class=numbers>{numbers}</dl>\n</header>\n"
        "<main id=main><noscript><p>The tables and charts of this page need scripts, which are part of the file."
        "</p></noscript></main>\n"
        f"<footer><p>{escape(page.made)}</p></footer>\n"
        f'<script type="application/json" id=data>{_data(page)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def deflated(texts: Sequence[str]) -> str:
    """Texts as a browser can read them: a JSON array, deflated, in base 64."""
    return in_base64(zlib.compress(msgspec.json.encode(list(texts)), 9))


def in_base64(data: bytes) -> str:
    """Bytes as ASCII letters."""
    return base64.b64encode(data).decode()


def _data(page: Page) -> str:
    """The sections as JSON in which no `<` stands, so that nothing ends the element around it."""
    return msgspec.json.encode(page.sections).decode().replace("<", "\\u003c")


@cache
def _script() -> str:
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


@cache
def _asset(name: str) -> str:
    return (files(__package__ or "") / "assets" / name).read_text(encoding="utf-8")
