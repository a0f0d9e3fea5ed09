"""
Whatever its layout, a program keeps its syntax tree and its comments when it is formatted, and formatting it again
changes nothing. Programs are drawn as tokens, layouts as what stands between them.
"""

import dataclasses
import re
from pathlib import Path
from random import Random
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.errors import SourceError
from npuc.frontends.dsl.format import format_source
from npuc.frontends.dsl.parser import parse
from npuc.frontends.dsl.source import Diagnostics, Place, Source
from tests.docs.pages import FOLDER, blocks_of

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "samples").rglob("*.dsl"), *(ROOT / "frontends").rglob("*.dsl")])
DOCS = [
    pytest.param(block.text, id=f"{page.stem}-{block.line}")
    for page in sorted(FOLDER.glob("*.md"))
    for block in blocks_of(page.read_text(encoding="utf-8"))
    if block.language == "dsl"
]

END = "<end>"
CONTINUED = frozenset("+ - * / // % ** == != < <= > >= and or ,".split())
ATOMS = ["x", "h", "loss", "input", "frozen", "n_2", "0", "64", "1e-5", "0.25", '"same"', '"a # b"', "true", "none"]
NAMES = ["x", "h", "output", "block", "a_name_of_some_length", "another_name_that_is_rather_long", "w"]
COMMENTS = ["#", "# why", "#no blank", '# a = b(c) { "', "#\ttab, é, ; and }   "]


def tree(text: str) -> object:
    """The syntax tree of a text, places aside. Fails for a wrong text."""
    diagnostics = Diagnostics()
    file = parse(Source(text, "f"), diagnostics)
    diagnostics.raise_if_any()
    return without_places(file)


def without_places(node: object) -> object:
    if isinstance(node, Place):
        return None
    if isinstance(node, tuple):
        return tuple(without_places(one) for one in cast("tuple[object, ...]", node))
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return (type(node).__name__, *(without_places(getattr(node, f.name)) for f in dataclasses.fields(node)))
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
        assert line or (before and not before.endswith("{") and after and not after.lstrip().startswith("}"))


class Drawn:
    """Tokens of a right program; `END` stands for the end of a statement."""

    def __init__(self, random: Random):
        self.random = random
        self.left = random.randint(1, 60)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def expression(self) -> list[str]:
        self.left -= 1
        r = self.random
        kind = r.choice(["atom", "chain", "chain", "call", "call", "list", "index", "if", "words", "minus"])
        if self.left < 0 or kind == "atom":
            return [r.choice(ATOMS)]
        if kind == "chain":
            tokens = self.operand()
            for _ in range(r.randint(1, 3)):
                tokens += [r.choice("+ - * / // % **".split()), *self.operand()]
            return tokens
        if kind == "call":
            return self.call()
        if kind == "list":
            return ["[", *self.items([self.expression() for _ in range(r.randint(0, 5))]), "]"]
        if kind == "index":
            return [r.choice(NAMES), "[", *self.expression(), "]"]
        if kind == "if":
            return ["(", *self.condition(), "if", *self.condition(), "else", *self.condition(), ")"]
        return ["(", *self.condition(), ")"] if kind == "words" else ["-", *self.operand()]

    def operand(self) -> list[str]:
        if self.chance(0.7):
            return [*(["-"] if self.chance(0.1) else []), self.random.choice(ATOMS)]
        return self.call() if self.chance(0.6) else ["(", *self.expression(), ")"]

    def condition(self) -> list[str]:
        tokens = [*(["not"] if self.chance(0.3) else []), *self.operand()]
        if self.chance(0.5):
            tokens += [self.random.choice("== != < <= > >=".split()), *self.operand()]
        return [*tokens, self.random.choice(["and", "or"]), *self.condition()] if self.chance(0.3) else tokens

    def call(self) -> list[str]:
        self.left -= 1
        arguments = [
            [*([self.random.choice(NAMES), "="] if self.chance(0.4) else []), *self.expression()]
            for _ in range(self.random.randint(0, 5) if self.left > 0 else 1)
        ]
        frozen = ["frozen"] if self.chance(0.1) else []
        return [*frozen, self.random.choice(NAMES), "(", *self.items(arguments), ")"]

    def items(self, items: list[list[str]]) -> list[str]:
        tokens = [token for item in items for token in (*item, ",")]
        return tokens if self.chance(0.2) else tokens[:-1]

    def body(self) -> list[str]:
        self.left -= 1
        count = self.random.randint(0, 3) if self.left > 0 else 1
        return ["{", *(token for _ in range(count) for token in self.statement()), "}"]

    def statement(self) -> list[str]:
        r, name = self.random, self.random.choice(NAMES)
        match r.choice(
            ["is", "is", "is", "two", "out", "loss", "return", "in", "in", "sgd", "for", "range", "if", "if"]
        ):
            case "for":
                return ["for", name, "in", *self.expression(), *self.body()]
            case "range":
                return ["for", name, "in", *self.operand(), "..", *self.expression(), *self.body()]
            case "if":
                tokens = ["if", *self.condition(), *self.body()]
                while self.chance(0.3):
                    tokens += ["else", "if", *self.condition(), *self.body()]
                return [*tokens, *(["else", *self.body()] if self.chance(0.4) else [])]
            case "is":
                tokens = [name, "=", *self.expression()]
            case "two":
                tokens = [name, ",", r.choice(NAMES), "=", *self.expression()]
            case "out":
                tokens = ["output", name, *(["=", *self.expression()] if self.chance(0.5) else [])]
            case "loss":
                tokens = ["loss", *self.expression()]
            case "return":
                tokens = ["return", *self.condition(), *([",", *self.expression()] if self.chance(0.3) else [])]
            case "in":
                tokens = [r.choice(["input", "labels"]), name, ":", "f32", "[", *self.items([["64"], ["x"]]), "]"]
            case _:
                tokens = ["optimizer", *self.call()]
        if tokens[0] == "optimizer" and tokens[1] == "frozen":
            del tokens[1]
        return [*tokens, END]

    def program(self) -> list[str]:
        tokens: list[str] = []
        for _ in range(self.random.randint(0, 3)):
            if self.chance(0.2):
                tokens += ["import", '"a.dsl"', END]
                continue
            parameters = [
                [self.random.choice(NAMES), *(["=", *self.expression()] if self.chance(0.5) else [])]
                for _ in range(self.random.randint(0, 6))
            ]
            head = [self.random.choice(["network", "block"]), self.random.choice(NAMES)]
            tokens += [*head, "(", *(self.items(parameters) if parameters else []), ")", *self.body()]
        return tokens


def layout(tokens: list[str], random: Random) -> str:
    """A text of the tokens, with blanks, line ends and comments wherever the language allows them."""
    wild = random.choice([0.0, 0.05, 0.3])

    def line_ends() -> str:
        text = ""
        while not text or random.random() < 0.4:
            text += random.choice([" ", "", "\t"])
            text += random.choice(COMMENTS) if random.random() < 0.3 else ""
            text += "\n"
        return text

    text = line_ends() if random.random() < 0.5 else ""
    depth = 0
    for number, token in enumerate(tokens):
        after = tokens[number + 1] if number + 1 < len(tokens) else ""
        if token == END:
            text += random.choice([" ; ", ";\n", "\n"]) if after != "}" else random.choice([" ", "\n"])
            text += line_ends() if random.random() < 0.3 else ""
            continue
        text += token
        depth += (token in "([") - (token in ")]")
        free = depth > 0 or token in CONTINUED or token in "{}" or after in ("{", "else")
        if free and token != "frozen" and random.random() < (0.5 if token in "{}" else wild):
            text += line_ends()
        text += random.choice([" ", "  ", "\t", " \f"])
    return text


SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@settings(deadline=None, max_examples=150)
def test_any_layout_of_any_program(seed: int) -> None:
    random = Random(seed)
    tokens = Drawn(random).program()
    check(layout(tokens, random))


@given(SEEDS)
@settings(deadline=None, max_examples=150)
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
    parse(Source(text, "f"), diagnostics)
    if not len(diagnostics):
        check(text)
        return
    with pytest.raises(SourceError, match=r"^f:"):
        format_source(text, "f")


@given(st.lists(st.sampled_from([*PIECES.split(" "), "é", "\0", '"s"']), max_size=40))
@settings(deadline=None, max_examples=150)
def test_any_text_is_formatted_or_refused(words: list[str]) -> None:
    for text in (" ".join(words), f"block f(x) {{\n{' '.join(words)}\n}}"):
        accept(text)


@given(SEEDS)
@settings(deadline=None, max_examples=100)
def test_a_program_with_a_piece_cut_out(seed: int) -> None:
    random = Random(seed)
    text = layout(Drawn(random).program(), random)
    start = random.randint(0, len(text))
    accept(text[:start] + text[start + random.randint(1, 10) :])
