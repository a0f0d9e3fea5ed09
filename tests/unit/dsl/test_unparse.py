"""The text of a syntax tree parses to the tree again."""

from typing import cast

import msgspec
import pytest

from npuc.frontends import read_text, sample_names
from npuc.frontends.dsl.blocks import library_routines
from npuc.frontends.dsl.format import format_source
from npuc.frontends.dsl.syntax import Definition, Return
from npuc.frontends.dsl.syntax.parser import parse
from npuc.frontends.dsl.unparse import definition_text, expression_text
from npuc.frontends.source_text import Diagnostics, Place, SourceText

EXPRESSIONS = [
    "a if b else c if d else e",
    "(a if b else c) if d else e",
    "not a and (b or c)",
    "not (a and b)",
    "(a < b) == c",
    "a - (b - c) - d",
    "a * (b + c) / d % e // f",
    "-a ** b",
    "(-a) ** b",
    "a ** b ** c",
    "(a ** b) ** c",
    "a ** -b",
    "-(a + b) * c",
    'f(x, n=[1, -2.5, "w", true, none])[0][-1]',
    "(a + b)[0]",
    "frozen param([2, 3], fill=0.5)",
    "1e-05 + 3e+20",
]


def _definitions(text: str) -> tuple[Definition, ...]:
    diagnostics = Diagnostics()
    file = parse(SourceText(text, "x.dsl"), diagnostics)
    diagnostics.raise_if_any()
    return file.definitions


def _plain(node: object) -> object:
    """A node without its places."""
    if isinstance(node, Place):
        return None
    if isinstance(node, tuple):
        return tuple(map(_plain, cast("tuple[object, ...]", node)))
    if not isinstance(node, msgspec.Struct):
        return node
    return type(node).__name__, tuple(_plain(getattr(node, name)) for name in node.__struct_fields__)


@pytest.mark.parametrize("name", sample_names())
def test_samples(name: str):
    for one in _definitions(read_text(f"samples:{name}")):
        (again,) = _definitions(format_source(definition_text(one), "x.dsl"))
        assert _plain(again) == _plain(one)


@pytest.mark.parametrize("name", sorted(library_routines()))
def test_blocks_of_the_library(name: str):
    one = library_routines()[name].definition
    (again,) = _definitions(format_source(definition_text(one), "x.dsl"))
    assert _plain(again) == _plain(one)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_keeps_its_brackets(text: str):
    (one,) = _definitions(f"block b(x) {{\n  return {text}\n}}\n")
    (statement,) = one.body
    assert isinstance(statement, Return)
    written = expression_text(statement.values[0])
    (again,) = _definitions(f"block b(x) {{\n  return {written}\n}}\n")
    assert _plain(again) == _plain(one)
    assert len(written) <= len(text) + 2
