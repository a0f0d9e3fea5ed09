"""
Whatever its layout, a program keeps its syntax tree and its comments when it is formatted, and formatting it again
changes nothing. Programs are drawn as tokens, layouts as what stands between them.
"""

import re
from pathlib import Path
from random import Random
from typing import cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.core.errors import SourceError
from npuc.frontends.dsl.format import format_source
from npuc.frontends.dsl.syntax.parser import parse
from npuc.frontends.source_text import Diagnostics, Place, SourceText
from tests.docs.pages import FOLDER, blocks_of
from tests.programs import Drawn, layout

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "samples").rglob("*.dsl"), *(ROOT / "frontends").rglob("*.dsl")])
DOCS = [
    pytest.param(block.text, id=f"{page.stem}-{block.line}")
    for page in sorted(FOLDER.glob("*.md"))
    for block in blocks_of(page.read_text(encoding="utf-8"))
    if block.language == "dsl"
]


def tree(text: str) -> object:
    """The syntax tree of a text, places aside. Fails for a wrong text."""
    diagnostics = Diagnostics()
    file = parse(SourceText(text, "f"), diagnostics)
    diagnostics.raise_if_any()
    return without_places(file)


def without_places(node: object) -> object:
    if isinstance(node, Place):
        return None
    if isinstance(node, tuple):
        return tuple(without_places(one) for one in cast("tuple[object, ...]", node))
    if isinstance(node, msgspec.Struct):
        return (type(node).__name__, *(without_places(getattr(node, name)) for name in node.__struct_fields__))
    return node


def comments(text: str) -> list[str]:
    found = cast("list[str]", re.findall(r'"[^"\n]*"|#[^\n]*', text))
    return [one.rstrip() for one in found if one.startswith("#")]


def check(text: str) -> None:
    """Format a right program and compare."""
    formatted = format_source(text, "f")
    assert tree(formatted) == tree(text)
    assert comments(formatted) == comments(text)
    assert format_source(formatted, "f") == formatted
    lines = formatted.split("\n")
    assert lines.pop() == ""
    assert all(line == line.rstrip() for line in lines)
    for before, line, after in zip(["{", *lines], lines, [*lines[1:], "}"], strict=False):
        opens = before.partition("#")[0].rstrip().endswith("{")  # a comment may end in anything
        assert line or (before and not opens and after and not after.lstrip().startswith("}"))


SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@settings(max_examples=150)
def test_any_layout_of_any_program(seed: int) -> None:
    random = Random(seed)
    tokens = Drawn(random).program()
    check(layout(tokens, random))


@given(SEEDS)
@settings(max_examples=150)
def test_breaks_inside_brackets_do_not_matter(seed: int) -> None:
    """Without comments, what a statement looks like depends on its tokens only."""
    tokens = ["(", *Drawn(Random(seed)).expression(), ")"]
    bodies = [re.sub(r"frozen\s+", "frozen ", blank.join(tokens)) for blank in (" ", "\n", "\n\n\t")]
    assert len({format_source(f"block f() {{\n x = {body} }}", "f") for body in bodies}) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_that_ship(path: Path) -> None:
    check(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", DOCS)
def test_examples_of_the_pages(text: str) -> None:
    try:
        tree(text)
    except SourceError:
        text = f"block fragment(x) {{\n{text}\n}}\n"
    check(text)


PIECES = (
    'network block import input loss return for in if else and not ( ) [ ] { } , ; : = == < + - ** .. 0 1.5 x " # \n'
)


def accept(text: str) -> None:
    """A right text is formatted, a wrong one refused as it is when it is compiled."""
    diagnostics = Diagnostics()
    parse(SourceText(text, "f"), diagnostics)
    if not len(diagnostics):
        check(text)
        return
    with pytest.raises(SourceError, match=r"^f:"):
        format_source(text, "f")


@given(st.lists(st.sampled_from([*PIECES.split(" "), "é", "\0", '"s"']), max_size=40))
@settings(max_examples=150)
def test_any_text_is_formatted_or_refused(words: list[str]) -> None:
    for text in (" ".join(words), f"block f(x) {{\n{' '.join(words)}\n}}"):
        accept(text)


@given(SEEDS)
@settings(max_examples=100)
def test_a_program_with_a_piece_cut_out(seed: int) -> None:
    random = Random(seed)
    text = layout(Drawn(random).program(), random)
    start = random.randint(0, len(text))
    accept(text[:start] + text[start + random.randint(1, 10) :])
