"""The rules of `npuc lint`: what each finds, and what it leaves alone."""

from pathlib import Path

import pytest

from npuc.compiler.core.errors import SourceError, UsageError
from npuc.frontends import read_text, sample_names
from npuc.frontends.dsl.lint import RULES, lint_source
from tests.unit.dsl.lint_programs import block, found, network

ROOT = Path(__file__).parents[3]
LIBRARY = sorted((ROOT / "frontends" / "dsl" / "library").glob("*.dsl"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = x\nreturn x", ["2:1 unused-value"]),
        ("a, b = shape(x)\nreturn x", ["2:1 unused-value"]),
        ("for i in 0..2 { a = x }\nreturn x", ["2:17 unused-value"]),
        ("a = x\na = x\nreturn x", ["2:1 unused-value", "3:1 unused-value"]),
        # the same names, read
        ("a = x\nreturn a", []),
        ("a, b = shape(x)\nreturn a", []),
        ("a = 1\nreturn f2(x, n=a)", []),
        ("_a = x\nreturn x", []),
        ("_, b = shape(x)\nreturn b", []),
        ('same = 1\nreturn conv2d(x, 2, kernel=1, padding=same)', []),
        ('a = 1\nif a == 1 { error "wrong: ", a }\nreturn x', []),
        ("for i in 0..2 { x = relu(x) }\nreturn x", []),
        ("f32 = 1\nreturn x * f32", []),
    ],
)  # fmt: skip
def test_unused_value(body: str, expected: list[str]) -> None:
    assert found(block(body)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = x\na = relu(x)\nreturn a", ["2:1 overwritten-value"]),
        ("a = x\nreturn relu(a)\n", []),
        ("h = a\na = x\nreturn h", ["3:1 overwritten-value"]),
        (
            "if x == 1 { a = 1 } else { a = 2 }\na = 3\nreturn a * x",
            ["2:13 overwritten-value", "2:28 overwritten-value"],
        ),
        ("a = 1\nif x == 1 { a = 2 }\nreturn a", []),
        ("a = 1\nif x == 1 { a = 2 } else { a = 3 }\nreturn a", ["2:1 overwritten-value"]),
        ("a = 1\nif x == 1 { return a }\na = 2\nreturn a", []),
        ("a = 1\nfor i in 0..3 { b = a; a = b + i }\nreturn a * x", []),
        ("for i in 0..3 { a = x; a = relu(a); x = a }\nreturn x", []),
        ("for i in 0..3 { a = x; a = i; x = a }\nreturn x", ["2:17 overwritten-value"]),
        # a value before a loop may say how the layers of the loop are called
        ("h = none\nfor i in 0..3 { h = f2(x); x = relu(h) }\nreturn x", []),
        ("x = 1\nreturn x", ["1:9 overwritten-value"]),
        ("if 1 == shape(y)[0] { x = 1 }\nreturn x", []),
    ],
)
def test_overwritten_value(body: str, expected: list[str]) -> None:
    assert found(block(body)) == expected


def test_a_parameter_that_a_default_reads_is_used() -> None:
    assert found(block("x = 1\nreturn x + y", "x, y=x + 1")) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = relu(x)\nb = gelu(a)\nreturn x", ["2:1 unneeded-value", "3:1 unused-value"]),
        ("a = x\nfor i in 0..3 { a = relu(a) }\nreturn x", ["2:1 unneeded-value", "3:17 unneeded-value"]),
        ("a = x\nfor i in 0..3 { a = relu(a) }\nreturn a", []),
        ("a = 1\nif a == x { x = 2 }\nreturn x", []),
        ("a = 1\nfor i in 0..a { x = relu(x) }\nreturn x", []),
        ("a = 1\nb = a + 1\nreturn x * b", []),
        ("a = x\nb = x\nfor i in 0..3 { c = a; a = b; b = c }\nreturn a", []),
    ],
)
def test_unneeded_value(body: str, expected: list[str]) -> None:
    assert found(block(body)) == expected


def test_many_loops_inside_each_other_take_no_time() -> None:
    loops = "".join(f"for i{k} in 0..2 {{ a{k} = a{k + 1} + x; " for k in range(60))
    assert found(block(f"{loops}x = x + a0{'}' * 60}\nreturn x")) == []


def test_outputs_and_losses_are_needed() -> None:
    assert found(network("  a = relu(v)\n  output a\n  output b = gelu(v)\n  c = linear(v, 2)\n  loss mse(c, c)")) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for i in 0..2 {\nfor i in 0..3 { x = relu(x) } }\nreturn x", ["3:5 loop-variable"]),
        ("for i in 0..2 {\nfor j in 0..3 { x = relu(x) } }\nreturn x", []),
        ("for i in 0..2 { x = relu(x) }\nfor i in 0..2 { x = relu(x) }\nreturn x", []),
    ],
)
def test_loop_variable(body: str, expected: list[str]) -> None:
    assert found(block(body)) == expected


def test_unused_block() -> None:
    blocks = "block f(x) { return relu(x) }\nblock g(x) { return f(x) }\nblock _h(x) { return x }\n"
    head, body = "network n() { input x: f32[4]; ", "loss mse(x, x) }"
    assert found(blocks + head + body) == ["1:7 unused-block", "2:7 unused-block"]
    assert found(blocks + head + "h = g(x); output h; " + body) == []
    assert found(blocks + head + "h = f(x); output h; " + body) == ["2:7 unused-block"]
    assert found(blocks) == []  # a file of blocks is for import


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with files of blocks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.dsl").write_text("block a(x) { return relu(x) }\n")
    (tmp_path / "b.dsl").write_text('import "a.dsl"\nblock b(x) { return a(x) }\nblock b2(x) { return x + 1 }\n')
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("imports", "call", "expected"),
    [
        (["a"], "relu", ["1:8 unused-import"]),
        (["a"], "a", []),
        (["b"], "a", []),
        (["a", "b"], "b", ["1:8 unused-import"]),
        (["b", "b"], "b", ["2:8 unused-import"]),
    ],
)
def test_unused_import(imports: list[str], call: str, expected: list[str]) -> None:
    lines = "".join(f'import "{name}.dsl"\n' for name in imports)
    assert found(f"{lines}network n() {{ input x: f32[4]; output h = {call}(x); loss mse(h, x) }}") == expected
    assert found(f"{lines}block f(x) {{ return {call}(x) }}") == expected


@pytest.mark.parametrize("name", ["relu", "sqrt", "param", "lstm"])
def test_shadowed_layer(name: str) -> None:
    assert found(f"block {name}(x) {{ return x }}") == ["1:7 shadowed-layer"]


def test_a_variable_may_have_the_name_of_a_block_or_layer() -> None:
    assert found("block g(x) { return x }\nblock f(x) { g = g(x); relu = relu(g); return relu }") == []


@pytest.mark.parametrize(
    ("condition", "place"),
    [
        ("true", "always true"),
        ("false", "always false"),
        ("not false", "always true"),
        ("1 > 2", "always false"),
        ("2 * 3 == 6", "always true"),
        ("n > 1 and n < 1", "always false"),
        ("n >= 1 and n <= 1 and n != 1", "always false"),
        ("n == 1 and n == 2", "always false"),
        ("n == 3 and 4 < n", "always false"),
        ('k == "a" and k == "b"', "always false"),
        ('k != "a" or k != "b"', "always true"),
        ("n > 1 or n <= 1", "always true"),
        ("n and not n", "always false"),
        ("n or not n", "always true"),
        ("n == true and not n", "always false"),
        ("n < k and n > k", "always false"),
        ("n < k or k <= n", "always true"),
        ("n + 1 == n + 1", "always true"),
        ("shape(x)[1] != shape(x)[1]", "always false"),
        ("not (n > 1 or n <= 1)", "always false"),
    ],
)
def test_constant_condition(condition: str, place: str) -> None:
    texts = (f"if {condition} {{ x = relu(x) }}\nreturn x", f"x = 1 if {condition} else x\nreturn x")
    for text, col in zip(texts, (4, 10), strict=True):
        (finding,) = lint_source(block(text, "x, n, k"), "f", rules=["constant-condition"])
        assert (finding.location.line, finding.location.col) == (2, col)
        assert place in finding.message


@pytest.mark.parametrize(
    "condition",
    [
        "n > 1 and n < 2",
        "n > 1 and n < 3",
        "n >= 1 and n <= 1",
        "n == 1 or n == 2",
        "n != 1 and n != 2",
        'k == "a" or k == "b"',
        "n < k and n < 3",
        "n < k and n != k",
        "x == none and n > 3",
        "n == none or n > 3",
        "n == none and n > 3",
        "n == 1 and k == 2",
        "n[0] == 1 and n[1] == 2",
        "shape(x)[0] == 1 and shape(x)[1] == 2",
        "n and k",
        "n and not k",
        '1 < "a"',
        "n > 1 and 1 / 0 == 1",
    ],
)
def test_conditions_that_are_open(condition: str) -> None:
    text = block(f"if {condition} {{ x = relu(x) }}\nreturn x", "x, n, k")
    assert lint_source(text, "f", rules=["constant-condition"]) == []


@pytest.mark.parametrize(
    ("chain", "col"),
    [
        ("if n == 1 { x = 1 } else if n == 1 { x = 2 }", 29),
        ("if n > 1 { x = 1 } else if n > 2 { x = 2 }", 28),
        ("if n > 1 { x = 1 } else if n <= 1 { x = 2 } else { x = 3 }", 52),
        ("if n > 1 { x = 1 } else if n <= 1 { x = 2 }", None),
        ("if n > 1 { x = 1 } else if n > 0 { x = 2 } else { x = 3 }", None),
        ('if k == "a" { x = 1 } else if k == "b" { x = 2 } else { x = 3 }', None),
        ("x = 1 if n == 1 else 2 if n == 1 else 3", 27),
        ("x = 1 if n > 1 else 2 if n <= 1 else 3", 38),
        ("x = 1 if n > 1 else 2 if n > 0 else 3", None),
    ],
)
def test_branches_that_earlier_conditions_exclude(chain: str, col: int | None) -> None:
    text = block(f"{chain}\nreturn x", "x, n, k")
    findings = lint_source(text, "f", rules=["constant-condition"])
    assert [f.location.col for f in findings] == ([] if col is None else [col])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x\nx = 1\nx = 2", ["3:1"]),
        ('error "no"\nreturn x', ["3:1"]),
        ("if x { return 1 } else { return 2 }\nreturn 3", ["3:1"]),
        ("if x { return 1\nx = 2 }\nreturn 3", ["3:1"]),
        ("if x { return 1 } else if y { return 2 }\nreturn 3", []),
        ('if x { error "no" }\nreturn 3', []),
        ("for i in 0..3 { return 1 }\nreturn 3", []),
    ],
)
def test_unreachable(body: str, expected: list[str]) -> None:
    findings = lint_source(block(body, "x, y"), "f", rules=["unreachable"])
    assert [f"{f.location.line}:{f.location.col}" for f in findings] == expected


@pytest.mark.parametrize(
    ("loop", "col"),
    [
        ("0..0", 10),
        ("3..1", 10),
        ("1..2 - 1", 10),
        ("n..n", 10),
        ("[]", 10),
        ("0..1", None),
        ("n..k", None),
        ("1..n", None),
        ("[0]", None),
        ("n", None),
        ("0.5..0.5", 10),
    ],
)
def test_empty_loop(loop: str, col: int | None) -> None:
    text = block(f"for i in {loop} {{ x = relu(x) }}\nreturn x", "x, n, k")
    findings = lint_source(text, "f", rules=["empty-loop"])
    assert [f.location.col for f in findings] == ([] if col is None else [col])


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# lint: ignore", True),
        ("#lint:ignore", True),
        ("# as the paper has it; # lint: ignore", True),
        ("# lint: ignore[unused-value]", True),
        ("# lint: ignore[loop-variable, unused-value] why", True),
        ("# lint: ignore[loop-variable]", False),
        ("# lint: ignored", False),
        ("# ignore", False),
    ],
)
def test_comments_silence(comment: str, silent: bool) -> None:
    assert found(block(f"a = x  {comment}\nreturn x")) == ([] if silent else ["2:1 unused-value"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = f2(\n  x,\n)  # lint: ignore\nreturn x", []),
        ("a = f2(  # lint: ignore\n  x,\n)\nreturn x", []),
        ("a = f2(\n  x,  # lint: ignore\n)\nreturn x", ["2:1 unused-value"]),
        ("a = x\nb = x  # lint: ignore\nreturn x", ["2:1 unused-value"]),
        ("if x == 1 and\n    x == 2 {  # lint: ignore\n  a = x\n}\nreturn x", ["4:3 unused-value"]),
        ("if x == 1 and x == 2 {\n  x = 1  # lint: ignore\n}\nreturn x", ["2:4 constant-condition"]),
        ("if x == 1 and x == 2 {\n  x = 1\n}  # lint: ignore\nreturn x", ["2:4 constant-condition"]),
    ],
)
def test_a_comment_behind_a_statement_counts_for_its_lines(text: str, expected: list[str]) -> None:
    assert found(block(text)) == expected


def test_a_string_is_no_comment() -> None:
    assert found(block('a = "# lint: ignore"\nreturn x')) == ["2:1 unused-value"]


def test_rules_can_be_chosen() -> None:
    text = block("a = x\nfor i in 0..0 { x = 1 }\nreturn x")
    assert [f.rule for f in lint_source(text, "f")] == ["unused-value", "empty-loop"]
    assert [f.rule for f in lint_source(text, "f", rules=["empty-loop"])] == ["empty-loop"]


def test_a_finding_looks_like_an_error() -> None:
    (finding,) = lint_source(block("  a = x\n  return x"), "net.dsl")
    assert finding.render() == (
        "net.dsl:2:3: warning: the value of 'a' is never used [unused-value]\n      a = x\n      ^\n"
        "  hint: use it or remove it; a name that begins with _ is not checked"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "block f(x) {",
        "network n() { loss a }",
        "network n(a=nothing()) { input x: f32[a]; loss mse(x, x) }",
        "block f() { a = " + "-" * 500 + "1 }",
    ],
)
def test_a_wrong_program_is_an_error(text: str) -> None:
    with pytest.raises(SourceError, match=r"^f:1:\d+: error: "):
        lint_source(text, "f")


def test_wrong_parameters_are_an_error() -> None:
    with pytest.raises(UsageError, match="unknown network parameter 'b'"):
        lint_source(network(""), "f", defines={"b": 1})


@pytest.mark.parametrize("name", sample_names())
def test_samples_are_clean(name: str) -> None:
    assert lint_source(read_text(f"samples:{name}"), f"samples:{name}") == []


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_the_library_is_clean(path: Path) -> None:
    rules = [name for name in RULES if name != "shadowed-layer"]  # its blocks are those that others would hide
    assert lint_source(path.read_text(encoding="utf-8"), str(path), rules=rules) == []


@pytest.mark.usefixtures("folder")
def test_no_gradient_of_a_weight_from_another_file() -> None:
    Path("c.dsl").write_text("block c(x) { return linear(x, 3, bias=false) }\n")
    text = 'import "c.dsl"\n' + network("  output a = c(v)")
    (finding,) = lint_source(text, "f.dsl")
    assert (finding.location.line, finding.rule) == (3, "no-gradient")
    assert "(made at c.dsl:1:21)" in finding.message
