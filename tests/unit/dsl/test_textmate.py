"""
The TextMate grammar of editors/ says of every token what the language says of it.

A small engine applies the grammar as editors do: line by line, with a stack of open regions, the leftmost match of the
region's end and of its patterns first. What it finds is compared with the tokens of the parser.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from npuc.compiler.layers.arguments import ELEMENT_TYPES
from npuc.frontends import read_text, sample_names
from npuc.frontends.dsl.syntax.parser import lex, parse
from npuc.frontends.dsl.syntax.tokens import END, prepare
from npuc.frontends.source_text import Diagnostics, SourceText
from tests.programs import Drawn, layout

ROOT = Path(__file__).parents[3]
EDITORS = ROOT / "editors"
LIBRARY = sorted((ROOT / "frontends" / "dsl" / "library").glob("*.dsl"))
Pattern = dict[str, Any]


def read_json(path: Path) -> Pattern:
    return cast(Pattern, json.loads(path.read_text(encoding="utf-8")))


GRAMMAR = read_json(EDITORS / "npuc.tmLanguage.json")
LARK = (ROOT / "frontends" / "dsl" / "grammar.lark").read_text(encoding="utf-8")


def patterns_of(node: object) -> Iterator[Pattern]:
    """All patterns of the grammar, and the grammar itself."""
    if isinstance(node, list):
        for one in cast("list[object]", node):
            yield from patterns_of(one)
    elif isinstance(node, dict):
        yield cast(Pattern, node)
        for one in cast("dict[str, object]", node).values():
            yield from patterns_of(one)


@dataclass
class Engine:
    """Gives every character of a text its scopes."""

    grammar: Pattern
    stack: list[Pattern] = field(default_factory=list[Pattern])

    def scopes(self, text: str) -> list[list[frozenset[str]]]:
        """The scopes of each character, by line."""
        self.stack = [self.grammar]
        return [self._line(f"{line}\n") for line in text.split("\n")]

    def _expanded(self, patterns: list[Pattern]) -> Iterator[Pattern]:
        for pattern in patterns:
            if "include" in pattern:
                yield from self._expanded(self.grammar["repository"][pattern["include"].removeprefix("#")]["patterns"])
            else:
                yield pattern

    def _line(self, line: str) -> list[frozenset[str]]:
        found = [frozenset[str]()] * len(line)
        at, changes = 0, 0
        while at < len(line):
            region = self.stack[-1]
            candidates = [(region, "end")] if "end" in region else []
            inner = self._expanded(region.get("patterns", []))
            candidates += [(pattern, "begin" if "begin" in pattern else "match") for pattern in inner]
            matches = [(re.compile(p[key]).search(line, at), p, key) for p, key in candidates]
            best = min(((m, p, key) for m, p, key in matches if m), key=lambda one: one[0].start(), default=None)
            stop = len(line) if best is None else best[0].start()
            self._paint(found, at, stop, [])
            if best is None:
                break
            match, pattern, key = best
            names = {"match": "captures", "begin": "beginCaptures", "end": "endCaptures"}[key]
            self._paint(found, match.start(), match.end(), [pattern["name"]] if "name" in pattern else [])
            for group, capture in pattern.get(names, {}).items():
                first, last = match.span(int(group))
                self._paint(found, first, last, [capture["name"]])
            if key == "begin":
                self.stack.append(pattern)
            elif key == "end":
                self.stack.pop()
            changes = changes + 1 if match.end() == at else 0
            assert changes < 10, f"the grammar does not advance in {line!r}"
            at = match.end()
        return found

    def _paint(self, found: list[frozenset[str]], start: int, stop: int, names: list[str]) -> None:
        around = {region["name"] for region in self.stack if region.get("name", "").startswith("meta.")}
        for k in range(max(start, 0), max(stop, 0)):
            found[k] = found[k] | around | frozenset(names)


KEYWORDS = ("keyword.", "storage.")
EXPECTED: dict[str, tuple[str, ...]] = {
    "INT": ("constant.numeric.integer.",),
    "FLOAT": ("constant.numeric.float.",),
    "STRING": ("string.",),
    **dict.fromkeys(("TRUE", "FALSE", "NONE"), ("constant.language.",)),
    **dict.fromkeys(("COMPARE", "EQUAL", "RANGE", "PLUS", "MINUS", "PRODUCT", "POWER"), ("keyword.operator.",)),
    **dict.fromkeys(("LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE"), ("punctuation.",)),
    **dict.fromkeys(("COMMA", "COLON"), ("punctuation.separator.", "keyword.operator.")),
    **dict.fromkeys(("IMPORT", "NETWORK", "BLOCK", "INPUT", "LABELS", "LOSS", "OUTPUT", "OPTIMIZER"), KEYWORDS),
    **dict.fromkeys(("ERROR", "FROZEN", "RETURN", "FOR", "IF", "ELSE", "NOT", "AND", "OR", "IN"), KEYWORDS),
    "NAME": ("variable.", "entity.name.function.", "support.type."),
}
"""What a token of the language may be in the grammar of the editors: the begin of one of its scopes."""


def check(text: str) -> None:
    """Compare the scopes of a right text with the tokens of the parser."""
    source, diagnostics = SourceText(text, "f"), Diagnostics()
    parse(source, diagnostics)
    diagnostics.raise_if_any()
    scopes = Engine(GRAMMAR).scopes(source.text)
    raw = list(lex(source))
    inside = set[tuple[int, int]]()
    for token in prepare(source, iter(raw), diagnostics).tokens:
        if token.type == END:
            continue
        line, col = (token.line or 1) - 1, (token.column or 1) - 1
        for k in range(col, col + len(token)):
            inside.add((line, k))
            plain = [name for name in scopes[line][k] if not name.startswith("meta.")]
            assert len(plain) == 1, f"{line + 1}:{col + 1}: {token!r} is {plain}"
            assert plain[0].startswith(EXPECTED[token.type]), f"{line + 1}:{col + 1}: {token!r} is {plain[0]}"
    for number, line in enumerate(source.lines):
        comment = next((m.start() for m in re.finditer(r'"[^"\n]*"|#', line) if m[0] == "#"), len(line))
        for k in range(len(line)):
            is_comment = any(name.startswith("comment.") for name in scopes[number][k])
            assert is_comment == (k >= comment), f"{number + 1}:{k + 1}: comment"


ALL = """\
import "a.dsl"  # blocks
block f(input, n=[1, 2][0], scale=1.5e-3, # the "rest"
        name="a # b") { return input * n ** -2 // 3, scale } block g(x) { return frozen f(x, n=1, scale=2) }
network output(batch=64,
  width=8) {
  input  x: f32[batch, 3]; labels y: i32[batch]
  if batch != 1 and not (width <= 0 or width == 3) { error "found ", width } else if true { h = none }
  for i in 0..batch - 1 { h, c = f(x, n=i) }
  for loss in [1, 2,
    3] { input = loss }
  loss = 3
  output = input +
    loss + # why
    # and
    error
  block, error = g(
    loss,
    input=network, output
    = 3)
  frozen = frozen
  output h
  output p = frozen param([3], type="f32") if false else cast(h, to=bf16)
  loss cross_entropy(h, y) + -1
  optimizer sgd(lr=0.1)
}
"""


def test_every_construct() -> None:
    check(ALL)
    terminals = set(re.findall(r"^([A-Z]+)(?:\.-?\d+)?: ", LARK, re.MULTILINE)) - {"BAD"}
    source = SourceText(ALL, "f")
    used = {token.type for token in prepare(source, lex(source), Diagnostics()).tokens}
    assert terminals <= used, "a word of the language that this test does not show"
    assert used - {END} == set(EXPECTED)


@pytest.mark.parametrize("name", sample_names())
def test_samples(name: str) -> None:
    check(read_text(f"samples:{name}"))


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_library(path: Path) -> None:
    check(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", range(60))
def test_any_layout_of_any_program(seed: int) -> None:
    random = Random(seed)
    check(layout(Drawn(random).program(), random))


@pytest.mark.parametrize(
    ("text", "word", "scope"),
    [
        ("block f(x) { return relu(x) }", "f", "entity.name.function.npuc"),
        ("block f(x) { return relu(x) }", "x", "variable.parameter.npuc"),
        ("block f(x) { return relu(x) }", "relu", "entity.name.function.call.npuc"),
        ("block f(x) { return g(x, n=1) }", "n", "variable.parameter.argument.npuc"),
        ("network f() { input x: f32[1] }", "f32", "support.type.element.npuc"),
        ("network f() { input abc: f32[1] }", "abc", "variable.other.declaration.npuc"),
        ("network f() { input x: f32[1] }", "input", "keyword.declaration.npuc"),
        ("network f() { loss x }", "loss", "keyword.other.statement.npuc"),
        ("network f() { loss = x }", "loss", "variable.other.npuc"),
        ("network f() { h = x > 1 }", ">", "keyword.operator.comparison.npuc"),
        ('network f() { h = "abc', '"abc', "invalid.illegal.unclosed-string.npuc"),
    ],
)
def test_scopes(text: str, word: str, scope: str) -> None:
    at = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
    assert at is not None
    assert scope in Engine(GRAMMAR).scopes(text)[0][at.start()]


def test_an_open_bracket_ends_with_its_body() -> None:
    scopes = Engine(GRAMMAR).scopes("block f(x) { h = g(x\n}\nnetwork n() {")
    assert "storage.type.definition.npuc" in scopes[2][0]


def test_the_words_are_those_of_the_language() -> None:
    keywords = set(re.findall(r'^[A-Z]+: "([a-z]+)"$', LARK, re.MULTILINE)) | {"and", "or", "in"}
    written = "\n".join(
        p[key] for p in patterns_of(GRAMMAR) for key in ("match", "begin") if isinstance(p.get(key), str)
    )
    words = {word for group in re.findall(r"\b[a-z]+(?:\|[a-z]+)+\b", written) for word in group.split("|")}
    assert words | {"frozen"} >= keywords
    types = {word for group in re.findall(r"\(\?:([a-z0-9|]+)\)", written) for word in group.split("|")}
    assert set(ELEMENT_TYPES) <= types


def test_the_grammar_is_sound() -> None:
    assert GRAMMAR["scopeName"] == "source.npuc"
    assert GRAMMAR["fileTypes"] == ["dsl"]
    for pattern in patterns_of(GRAMMAR):
        for key in ("match", "begin", "end"):
            if isinstance(pattern.get(key), str):
                re.compile(pattern[key])
                # what Python and the editors' Oniguruma read differently
                assert not re.search(r"\(\?P|\(\?<[^=!]|\\[AZzGKhHRX]|\[\[:|\(\?[imsx]", pattern[key])
        assert ("begin" in pattern) == ("end" in pattern)
        if "include" in pattern:
            assert pattern["include"].removeprefix("#") in GRAMMAR["repository"]
        name = pattern.get("name")
        assert pattern is GRAMMAR or not isinstance(name, str) or name.endswith(".npuc")


def test_the_extension_refers_to_what_is_there() -> None:
    folder = EDITORS / "vscode"
    package = read_json(folder / "package.json")["contributes"]
    (language,), (grammar,) = package["languages"], package["grammars"]
    assert language["extensions"] == [f".{kind}" for kind in GRAMMAR["fileTypes"]]
    assert (grammar["language"], grammar["scopeName"]) == (language["id"], GRAMMAR["scopeName"])
    assert (folder / grammar["path"]).resolve() == EDITORS / "npuc.tmLanguage.json"
    configuration = read_json(folder / language["configuration"])
    assert configuration["comments"] == {"lineComment": "#"}


@pytest.mark.parametrize(
    ("line", "more", "less"),
    [
        ("network n(batch=1) {", True, False),
        ("  if a { # why", True, False),
        ("  h = f(", True, False),
        ("  for i in 0..2 { x = f(x) }", False, False),
        ("  h = f(x)", False, False),
        ("  # a {", False, False),
        ('  h = "{"', False, False),
        ("}", False, True),
        ("  } else {", True, True),
        ("  )", False, True),
    ],
)
def test_indentation(line: str, more: bool, less: bool) -> None:
    rules = read_json(EDITORS / "vscode" / "language-configuration.json")["indentationRules"]
    assert (re.search(rules["increaseIndentPattern"], line) is not None) == more
    assert (re.search(rules["decreaseIndentPattern"], line) is not None) == less
