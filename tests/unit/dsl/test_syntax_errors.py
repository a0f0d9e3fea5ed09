"""Syntax errors say what was found and what was expected; several are found in one run."""

import pytest

from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.frontends.dsl.syntax.parser import parse
from npuc.frontends.source_text import Diagnostics, SourceText


def messages(text: str) -> list[str]:
    """The syntax errors of a text as `line:col: message | hint`."""
    diagnostics = Diagnostics()
    parse(SourceText(text, "f"), diagnostics)
    with pytest.raises(SourceError) as caught:
        diagnostics.raise_if_any()
    errors = caught.value.errors if isinstance(caught.value, SourceErrors) else (caught.value,)
    return [
        f"{e.location.line}:{e.location.col}: {e.message}" + (f" | {e.hint}" if e.hint else "")
        for e in errors
        if e.location is not None
    ]


TOP = "'block', 'import', 'network' or the end of the file"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("}", f"1:1: found '}}', expected {TOP}"),
        ("h = 3", f"1:1: found 'h', expected {TOP} | statements stand in the braces of a network or block"),
        ("netwrk t() { }", f"1:1: found 'netwrk', expected {TOP} | did you mean 'network'?"),
        ("network", "1:8: found the end of the file, expected a name"),
        ("network t(", "1:11: found the end of the file, expected a name or ')'"),
        ("network t() {\n  h = x", "2:8: found the end of the file, expected '}' or a statement | "
            "the '{' of line 1 is not closed"),
        ("network for() { }", "1:9: found 'for', expected a name | 'for' is a reserved word"),
        ("import blocks", "1:8: found 'blocks', expected a string"),
        ("block f(x y) { return x }", "1:11: found 'y', expected ',', '=' or ')'"),
        ("block f(1) { return x }", "1:9: found '1', expected a name or ')'"),
    ],
)  # fmt: skip
def test_files(text: str, expected: str):
    assert messages(text) == [expected]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("h =", "2:4: found the end of the line, expected an expression"),
        ("h = ]", "2:5: found ']', expected an expression"),
        ("h = )", "2:5: found ')', expected an expression"),
        ("h = relu x", "2:10: found 'x', expected '(', an operator or the end of the statement"),
        ("h = a b", "2:7: found 'b', expected '(', an operator or the end of the statement"),
        ("h = 3x", "2:6: found 'x', expected an operator or the end of the statement | "
            "a name begins with a letter or _"),
        ("h = a +\n", "4:1: found '}', expected an expression"),
        ("h = a = b", "2:7: found '=', expected '(', an operator or the end of the statement | equality is written =="),
        ("h = (a", "3:1: found '}', expected ')' | the '(' of line 2 is not closed"),
        ("h = f(a", "3:1: found '}', expected ',', '(', ')' or an operator | the '(' of line 2 is not closed"),
        ("h = [a", "3:1: found '}', expected ',' or ']' | the '[' of line 2 is not closed"),
        ("h = for", "2:5: found 'for', expected an expression | 'for' is a reserved word"),
        ("h = a < b < c", "2:11: found '<', expected 'and', 'if', 'or' or the end of the statement | "
            "comparisons do not chain: write a < b and b < c"),
        ("h = a if b", "2:11: found the end of the line, expected 'else'"),
        ("relu(x)", "2:5: found '(', expected ',' or '=' | the result of a call gets a name: h = relu(…)"),
        ("h", "2:2: found the end of the line, expected ',' or '=' | "
            "a statement begins with a name and '=', or with a word as 'loss'"),
        ("inputs x: f32[3]", "2:8: found 'x', expected ',' or '=' | did you mean 'input'?"),
        ("input x f32[3]", "2:9: found 'f32', expected ':'"),
        ("input x: f32", "2:13: found the end of the line, expected '['"),
        ("optimizer sgd", "2:14: found the end of the line, expected '('"),
        ("for in 0..3 { }", "2:5: found 'in', expected a name | 'in' is a reserved word"),
        ("for i of xs { }", "2:7: found 'of', expected 'in'"),
        ("for i in 0..3 h = x", "2:15: found 'h', expected '{' or an operator"),
        ("if a = 3 { }", "2:6: found '=', expected '{', '(' or an operator | equality is written =="),
        ("else { }", "2:1: found 'else', expected '}' or a statement"),
        ("h = 'a'", "2:5: found the character ''', which has no meaning here | "
            "strings stand in double quotes: \"same\""),
        ("h = x.shape", "2:6: found the character '.', which has no meaning here | "
            "there are no attributes or methods: write shape(x) for the sizes of x"),
        ("h = héé", "2:6: found the character 'é', which has no meaning here | "
            "names are made of ASCII letters, digits and _"),
        ("h = éé + 1", "2:5: found the character 'é', which has no meaning here | "
            "names are made of ASCII letters, digits and _"),
        ("h = a && b", "2:7: found the character '&', which has no meaning here | write 'and'"),
        ("h = a\0", "2:6: found the character U+0000, which has no meaning here"),
        ('h = "abc', "2:5: found a string without end, expected '\"' on the same line"),
        ("h = 9223372036854775808", "2:5: found a number that is too large, expected an integer below 2**63"),
        ("h = 1e999", "2:5: found a number that is too large, expected a finite float"),
    ],
)  # fmt: skip
def test_statements(statement: str, expected: str):
    assert messages(f"network t() {{\n{statement}\n}}") == [expected]


def test_largest_integer():
    diagnostics = Diagnostics()
    parse(SourceText("network t(n=000009223372036854775807) { }", "f"), diagnostics)
    assert len(diagnostics) == 0


def test_several_errors_are_found():
    text = """network t() {
  input x f32[3]
  h = relu(x)
  for 3 { a = ) }
  if h { b = ( }
  s = "abc
  c = 'x' + é
  d = [1, 2
  e = relu h
}
block f(x) { return }
block g(x { return x }
block h(x) { return x + }"""
    places = [message.split(": ")[0] for message in messages(text)]
    assert places == ["2:11", "4:7", "5:16", "6:7", "7:7", "7:13", "9:3", "11:21", "12:11", "13:25"]
