"""The layout that `npuc fmt` gives, case by case."""

from pathlib import Path

import pytest

from npuc.compiler.core.errors import SourceError
from npuc.frontends.dsl.format import format_source
from npuc.frontends.dsl.format.pieces import MAX_NESTING

ROOT = Path(__file__).parents[3]
FILES = sorted(path for folder in ("samples", "frontends") for path in (ROOT / folder).rglob("*.dsl"))


def formatted(body: str) -> str:
    """The statements of a block, without its indentation."""
    text = format_source(f"block f(x) {{\n{body}\n}}\n", "f")
    head, *lines, last = text.splitlines()
    assert (head, last) == ("block f(x) {", "}")
    return "\n".join(line.removeprefix("  ") for line in lines)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("h=relu( linear(x ,hidden) )", "h = relu(linear(x, hidden))"),
        ("h = f(x , n = 3 ,m=[ 1,2 ] )", "h = f(x, n=3, m=[1, 2])"),
        ("h = f(x,)", "h = f(x)"),
        ("a ,b=shape( x ) [ 0 ]", "a, b = shape(x)[0]"),
        ("h = a*-b**- c - -d", "h = a * -b ** -c - -d"),
        ("h = ( -1 )+(2)", "h = (-1) + (2)"),
        ("h = not(a)and b==c", "h = not (a) and b == c"),
        ("h = x if(a)else[1]", "h = x if (a) else [1]"),
        ("h = frozen   linear(x)", "h = frozen linear(x)"),
        ("for i in 0 .. n-1 {}", "for i in 0..n - 1 { }"),
        ("for w in[1,2]{h=w}", "for w in [1, 2] { h = w }"),
        ("if a{b=1}else if c{b=2}else{b=3}", "if a { b = 1 } else if c { b = 2 } else { b = 3 }"),
        ("return(a),b", "return (a), b"),
        ("loss mse( a,b )", "loss mse(a, b)"),
        ("loss=input+output", "loss = input + output"),
        ('error "is" ,n', 'error "is", n'),
        ("output p=a", "output p = a"),
        ("optimizer sgd( lr = 0.1 )", "optimizer sgd(lr=0.1)"),
        ("a = 1;b = 2 ; c=3;", "a = 1\nb = 2\nc = 3"),
        ('s = "a  (#) b"', 's = "a  (#) b"'),
        ("n = 1E5 + 007", "n = 1E5 + 007"),
    ],
)
def test_blanks(before: str, after: str) -> None:
    assert formatted(before) == after


def test_inputs_and_labels_are_aligned_where_they_follow_each_other() -> None:
    assert formatted("input x: f32[1]\n\n# why\nlabels  y :i32[1]\na = 1\ninput   z: f32[ 1, ]") == (
        "input  x: f32[1]\n\n# why\nlabels y: i32[1]\na = 1\ninput z: f32[1]"
    )


def test_blank_lines() -> None:
    text = "\n\n# head\n\n\n\nblock f(x) {\n\n\n  a = x\n\n\n  return a\n\n}\n\n\n\n# end\n\n\n"
    assert format_source(text, "f") == "# head\n\nblock f(x) {\n  a = x\n\n  return a\n}\n\n# end\n"


@pytest.mark.parametrize("text", ["", "\n\n", " \t\n", "\ufeff", "\r\n"])
def test_nothing_stays_nothing(text: str) -> None:
    assert format_source(text, "f") == ""


def test_line_ends_and_byte_order_mark() -> None:
    assert format_source("\ufeff# a  \r\nblock f(x) {\r\n\r\n  return x }", "f") == "# a\nblock f(x) {\n  return x\n}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if a { b = 1 }", "if a { b = 1 }"),
        ("if a {\nb = 1 }", "if a {\n  b = 1\n}"),
        ("if a { b = 1\n}", "if a {\n  b = 1\n}"),
        ("if a { b = 1; c = 2 }", "if a {\n  b = 1\n  c = 2\n}"),
        ("if a { if b { c = 1 } }", "if a {\n  if b { c = 1 }\n}"),
        ("if a {b = 1}\nelse {b = 2}", "if a {\n  b = 1\n} else {\n  b = 2\n}"),
        ("if a { b = 1 } else {\n}", "if a {\n  b = 1\n} else { }"),
        ("for i in\t[1,\n2] { b = 1 }", "for i in [1, 2] { b = 1 }"),
    ],
)
def test_bodies_of_one_statement_may_stand_on_one_line(before: str, after: str) -> None:
    assert formatted(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1# why", "a = 1  # why"),
        ("a = 1; # why", "a = 1  # why"),
        ("#  why\na = 1\n # and", "#  why\na = 1\n# and"),
        ("if a { # why\n b = 1 # this\n # end\n}", "if a {  # why\n  b = 1  # this\n  # end\n}"),
        ("if a { b = 1 } # after\n# more", "if a { b = 1 }  # after\n# more"),
        ("if a # why\n{ b = 1 }", "if a {  # why\n  b = 1\n}"),
        ("if a {\n b = 1\n} # one\n# two\nelse { b = 2 }", "if a {\n  b = 1\n}  # one\n# two\nelse {\n  b = 2\n}"),
        ("for i in [1] {\n# nothing\n}", "for i in [1] {\n  # nothing\n}"),
        ("a = f(x, # why\n  n=1)", "a = f(\n  x,  # why\n  n=1,\n)"),
        ("a = f(x # why\n  # else\n, n=1)", "a = f(\n  x,  # why\n  # else\n  n=1,\n)"),
        ("a = f(# why\nx # last\n)", "a = f(  # why\n  x  # last\n)"),
        ("a = [1, 2, # last\n]", "a = [\n  1,\n  2,  # last\n]"),
        ("a = b + # why\nc", "a = b +  # why\n    c"),
        ("a = b +\n# why\nc", "a = b +\n    # why\n    c"),
        ("a = f(b # why\n + c)", "a = f(\n  b  # why\n      + c\n)"),
    ],
)  # fmt: skip
def test_comments_stay_where_they_are(before: str, after: str) -> None:
    assert formatted(before) == after
    assert formatted(after) == after


LONG, LONGER = "a" * 50, "b" * 70


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("h = f(\n  x,\n  y,\n)", "h = f(x, y)"),
        ("h = x +\n y", "h = x + y"),
        (f"h = f({LONG}, {LONGER})", f"h = f(\n  {LONG}, {LONGER}\n)".replace(f", {LONGER}", f",\n  {LONGER}")),
        (f"h = f({LONG}, n={LONG}, m=1)", f"h = f({LONG}, n={LONG}, m=1)"),
        (f"h = f({LONG}, n={LONG}, m=12345678)", f"h = f(\n  {LONG}, n={LONG}, m=12345678\n)"),
        (f"h = f({LONG}, g({LONGER}))", f"h = f(\n  {LONG},\n  g({LONGER}),\n)"),
        (f"h = f(g({LONG}, {LONG}, 12345678))", f"h = f(\n  g({LONG}, {LONG}, 12345678)\n)"),
        (f"h = {LONG} + {LONGER}", f"h = {LONG} +\n    {LONGER}"),
        (f"h = {LONG} * 2 + {LONGER} * 3", f"h = {LONG} * 2 +\n    {LONGER} * 3"),
        (f"if {LONG} and {LONGER} {{ a = 1 }}", f"if {LONG} and\n    {LONGER} {{\n  a = 1\n}}"),
        (f"h = ({LONG} if x else {LONGER})", f"h = (\n  {LONG} if x\n      else {LONGER}\n)"),
        (f"{LONG}, {LONGER} = x", f"{LONG},\n    {LONGER} = x"),
        (f"h = {LONG}{LONGER}{LONG}", f"h = {LONG}{LONGER}{LONG}"),
        (f'h = "{LONG}, {LONGER}"', f'h = "{LONG}, {LONGER}"'),
        (f"h = x + f({LONG}, {LONG}, 12345)", f"h = x +\n    f({LONG}, {LONG}, 12345)"),
        (f"h = x + f({LONG}, {LONG}, {LONG})", f"h = x + f(\n  {LONG}, {LONG},\n  {LONG}\n)"),
    ],
)
def test_long_lines(before: str, after: str) -> None:
    assert formatted(before) == after
    assert formatted(after) == after


def test_lists_of_numbers_fill_lines() -> None:
    numbers = ", ".join(str(1000 + n) for n in range(40))
    lines = formatted(f"a = [{numbers}]").splitlines()
    assert [lines[0], lines[-1]] == ["a = [", "]"]
    assert [len(line) for line in lines[1:-1]] == [115, 115, 2 + 6 * 2 - 2]


def test_a_definition_wider_than_a_line() -> None:
    parameters = [f"parameter_{n}={n}" for n in range(10)]
    lines = format_source(f"network net({', '.join(parameters)}) {{ output x }}", "f").splitlines()
    assert lines[0] == "network net("
    assert lines[3:] == [") {", "  output x", "}"]
    assert ", ".join(line.strip().rstrip(",") for line in lines[1:3]) == ", ".join(parameters)


@pytest.mark.parametrize("text", ["block f(x", "block f(x) { a = }", "x = 1", 'import "a', "block f(x) { a = é }"])
def test_a_wrong_text_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(SourceError, match=r"^f:1:\d+: error: "):
        format_source(text, "f")


def test_nesting_without_end_is_refused() -> None:
    deep = "(" * MAX_NESTING
    with pytest.raises(SourceError, match=f"f:1:{16 + MAX_NESTING}: error: .*nested"):
        format_source(f"block f() {{ a = {deep}x{deep.replace('(', ')')} }}", "f")
    less = "(" * (MAX_NESTING - 1)
    assert format_source(f"block f() {{ a = {less}x{less.replace('(', ')')} }}", "f").count("(") == MAX_NESTING


def test_a_long_chain_takes_linear_time() -> None:
    """Ten thousand operands: anything quadratic would show."""
    text = format_source(f"block f(x) {{ return {' + '.join(['x'] * 10_000)} }}", "f")
    assert text.count("x") == 10_001


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_that_ship_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_source(text, str(path)) == text, f"run: npuc fmt {path.relative_to(ROOT)}"
