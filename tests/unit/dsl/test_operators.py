"""Operators on tensors, functions of numbers, long lists, and the `error` statement."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.errors import NpucError, SourceErrors
from npuc.dialects.train.base import TrainOp
from npuc.frontends import read_source
from npuc.frontends.dsl.syntax.tokens import MAX_BRACKETS
from tests.unit.dsl.test_constructs import output_type

HEAD = "network t(n=2) { input x: f32[4, 8]; input y: f32[4, 1]; u = [y, n]\n"


def build(body: str, blocks: str = "") -> ModuleOp:
    """The verified module of a network over x [4, 8] and y [4, 1]; its value is `h`."""
    module = read_source(f"{blocks}{HEAD}{body}; output h; output x; output y }}", filename="f", training=False)
    module.verify()
    return module


def kinds(module: ModuleOp) -> list[str]:
    """The operations of a program, in order."""
    return [op.name.removeprefix("train.") for op in module.walk() if isinstance(op, TrainOp)]


def messages(body: str, blocks: str = "") -> list[str]:
    """The errors of a network as `line:col: message | hint`."""
    with pytest.raises(NpucError) as caught:
        build(body, blocks)
    errors = caught.value.errors if isinstance(caught.value, SourceErrors) else (caught.value,)
    shown: list[str] = []
    for error in errors:
        assert error.location is not None
        place = f"{error.location.line}:{error.location.col}"
        shown.append(f"{place}: {error.message}" + (f" | {error.hint}" if error.hint else ""))
    return shown


def evaluated(expression: str) -> str:
    """The value of an expression of numbers, lists and strings, as a message shows it."""
    (message,) = messages(f'v = {expression}; h = x; error "value ", v')
    return message.partition("value ")[2]


# ---- tensors


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x == y", "bool[4, 8]"),
        ("x != 3", "bool[4, 8]"),
        ("0 < x", "bool[4, 8]"),
        ("x <= y", "bool[4, 8]"),
        ("y > 1.5", "bool[4, 1]"),
        ("x >= x", "bool[4, 8]"),
        ("x ** 2", "f32[4, 8]"),
        ("x ** y", "f32[4, 8]"),
        ("2 ** x", "f32[4, 8]"),
        ("-x ** 2", "f32[4, 8]"),
        ("where(x > 0, x, 0)", "f32[4, 8]"),
        ("logical_and(x > 0, logical_not(y == 1))", "bool[4, 8]"),
        ("max(x, 0)", "f32[4, 8]"),
        ("exp(x)", "f32[4, 8]"),
        ("sum(x)", "f32[]"),
        ("sum(x, axis=1)", "f32[4]"),
        ("split(x, 4, 1)[1]", "f32[4, 4]"),
    ],
)
def test_operators_and_functions_of_tensors(expression: str, expected: str):
    assert output_type_of(expression) == expected


def output_type_of(expression: str) -> str:
    """The type of an expression over x and y."""
    text = f"{HEAD}h = {expression}; output y; output x; output h }}"
    return output_type(read_source(text, filename="f", training=False))


def test_arguments_of_a_function_are_evaluated_once():
    assert kinds(build("h = exp(relu(x))")).count("relu") == 1
    module = read_source("network t() { input x: f32[4, 8]; h = exp(linear(x, 3)); output h }", training=False)
    assert '"h.linear.weight"' in str(module)


def test_none_is_known_while_the_network_is_built():
    given = "h = relu(x) if y != none and not none == y else x"
    assert kinds(build(given)) == ["relu"]
    assert kinds(build("m = none; h = x if m == none else relu(x)")) == []


MASK = "tensor bool[4, 8]"
BUILDING = "conditions are decided while the network is built"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "h = x if x > 0 else y",
            f"2:10: found {MASK}, expected true or false | {BUILDING}; where(condition, a, b) chooses elements",
        ),
        (
            "h = x; if x == y { h = y }",
            f"2:11: found {MASK}, expected true or false | {BUILDING}; where(condition, a, b) chooses elements",
        ),
        (
            "h = x > 0 and y > 0",
            f"2:5: found tensor bool[4, 8], expected true or false | {BUILDING}; on tensors write logical_and(a, b)",
        ),
        (
            "h = false or y > 0",
            f"2:14: found tensor bool[4, 1], expected true or false | {BUILDING}; on tensors write logical_or(a, b)",
        ),
        (
            "h = not x > 0",
            f"2:9: found tensor bool[4, 8], expected true or false | {BUILDING}; on tensors write logical_not(a)",
        ),
        ('h = x == "a"', "2:7: found string \"a\" beside '==', expected a tensor or a number"),
        ("h = x == [1]", "2:7: found list [1] beside '==', expected a tensor or a number"),
        ("h = x < none", "2:7: found none beside '<', expected a tensor or a number"),
        ("h = x // 2", "2:7: '//' has no meaning for tensors | operators on tensors: + - * / == != < <= > >= **"),
        ("h = min([x, y])", "2:5: found tensor f32[4, 8] as argument of min, expected a number"),
    ],
)
def test_message_of_an_operator(body: str, expected: str):
    assert messages(body) == [expected]


# ---- numbers


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("abs(-3)", "3"),
        ("abs(-0.5)", "0.5"),
        ("floor(2.7) + ceil(2.2) + floor(-0.5)", "4"),
        ("[round(2.5), round(3.5), round(-0.4)]", "[2, 4, 0]"),
        ("exp(0)", "1.0"),
        ("log(exp(2.0))", "2.0"),
        ("[sin(0), cos(0)]", "[0.0, 1.0]"),
        ("pow(2, 10)", "1024"),
        ("sum([1, 2, 3]) + sum([]) + sum(4, 5)", "15"),
        ("min(3, 1) + max([1, 2.5])", "3.5"),
        ("type(3)", '"integer"'),
        ("[type(0.5), type(true), type(none), type([]), type(x), type(x > 0)]",
            '["float", "boolean", "none", "list", "f32", "bool"]'),
        ('["a" == "a", "a" != "b", "a" == 3]', "[true, true, false]"),
        ("[1, [2]] == [1, [2]]", "true"),
    ],
)  # fmt: skip
def test_functions_of_numbers(expression: str, expected: str):
    assert evaluated(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("log(0)", "log(0) is not a real number"),
        ("log(-1.5)", "log(-1.5) is not a real number"),
        ("sqrt(-1)", "sqrt(-1) is not a real number"),
        ("exp(1000)", "exp(1000) is not a finite number"),
        ("floor(1e300)", "the result is too large, integers are below 2**63"),
        ("sum([1, true])", "found boolean true as argument of sum, expected a number"),
        ("sum()", "found no argument of sum, expected numbers or a list of numbers"),
        ('abs("a")', 'found string "a" as argument of abs, expected a number'),
        ("pow(2)", "pow takes 2 arguments, found 1"),
        ("pow(0, -1)", "division by zero: 0 ** -1"),
        ("floor(1, 2)", "floor takes 1 argument, found 2"),
        ("frozen floor(1.5)", "found 'frozen' before floor, which makes no parameters"),
    ],
)
def test_message_of_a_number_function(expression: str, expected: str):
    place = "2:12" if expression.startswith("frozen") else "2:5"
    assert messages(f"v = {expression}; h = x; z = v") == [f"{place}: {expected}"]


@pytest.mark.parametrize("growth", ["items = items + [i]", "items = [i] + items"])
def test_long_lists_are_built_item_by_item(growth: str):
    body = f"items = []; for i in 0..10 ** 4 {{ {growth} }}; h = x * items[9999] * len(items)"
    assert kinds(build(body)) == ["affine", "affine"]
    (message,) = messages(f"items = []; for i in 0..10 ** 4 + 1 {{ {growth} }}; h = x")
    assert "found a list of 10,001 values, the limit is 10,000" in message


def test_lists_do_not_change_by_growing():
    assert evaluated("[1, 2] + [3] + ([1, 2] + [4])") == "[1, 2, 3, 1, 2, 4]"
    (message,) = messages('a = [1]; b = a + [2]; c = a + [3]; h = x; error "value ", [a, b, c]')
    assert message.endswith("value [[1], [1, 2], [1, 3]]")


def test_copies_of_long_lists_are_counted():
    body = "a = []; for i in 0..9999 { a = a + [i] }; for i in 0..10 ** 6 { b = a + [i] }; h = x"
    (message,) = messages(body)
    assert message.startswith("2:43: the program takes more than ")


# ---- error


def test_an_error_of_the_network_stands_where_it_is():
    assert messages('h = x; if n == 2 { error "found n = ", n, ", expected ", [3, true], none }') == [
        "2:20: found n = 2, expected [3, true]none"
    ]


F = """block f(x, n=2, m="a") { if n > 2 { error "found ", n, " rows for ", x }
if m != "a" { error "no ", 1.5 }; return x }
"""


def test_an_error_of_a_block_stands_at_the_argument_that_it_mentions():
    assert messages("h = f(x, 3)", F) == [
        "4:10: argument 'n' of f (layer 'h'): found 3 rows for f32[4, 8] | signature: f(x, n=2, m=\"a\")"
    ]
    assert messages("h = f(x, n=1 + 2)", F)[0].startswith("4:12: argument 'n' of f (layer 'h'): found 3 rows")


def test_an_error_of_a_block_stands_at_the_call_without_an_argument():
    assert messages("h = relu(f(x, m=b))", F) == ["4:10: f (layer 'h.f'): no 1.5"]
    default = F.replace("n=2", "n=3")
    assert messages("h = f(x)", default) == ["4:5: f (layer 'h'): found 3 rows for f32[4, 8]"]


def test_an_error_is_one_mistake_and_the_program_goes_on():
    found = messages("for i in 0..3 { a = f(x, 3) }\nb = f(a, 2)\nh = f(x, 4)", F)
    assert [m.split(": ")[0] for m in found] == ["4:26", "6:10"]


def test_an_error_inside_of_a_block_goes_to_its_caller():
    outer = F + "block g(x, k) { return f(x, k) }\n"
    assert messages("h = g(x, 3)", outer)[0].startswith("3:29: argument 'n' of f (layer 'h.f'): found 3 rows")


def test_error_is_a_name_elsewhere():
    assert kinds(build("error = relu(x); h = error + error")) == ["relu", "add"]


def test_bare_words_are_strings_where_the_default_is_one():
    block = 'block f(x, mode="a") { return relu(x) if mode == "b" else x }\n'
    assert kinds(build("h = f(x, mode=b)", block)) == ["relu"]
    assert kinds(build('b = "c"; h = f(x, mode=b)', block)) == []
    required = "block f(x, mode) { return relu(x) if mode == 1 else x }\n"
    assert messages("h = f(x, b)", required)[0].startswith("3:10: found the unknown name 'b'")


# ---- texts that are far from right


@pytest.mark.parametrize("text", ["(" * 200_000, "network t() { h = " + "f(" * 200_000, "[{(" * 200_000])
def test_deep_brackets_are_refused_at_once(text: str):
    with pytest.raises(NpucError) as caught:
        read_source(text, filename="f")
    assert caught.value.message == f"brackets are nested more than {MAX_BRACKETS:,} deep"


def rendered(text: str) -> list[str]:
    """The errors of a text, each with its place."""
    with pytest.raises(NpucError) as caught:
        read_source(text, filename="f")
    return [line for line in caught.value.render().splitlines() if line.startswith("f:")]


def test_a_missing_opening_brace_is_one_mistake():
    text = "network t(n=2)\n  input x: f32[n]\n  h = relu(x)\n  loss sum(h)\n}\n"
    assert rendered(text) == ["f:1:15: error: found the end of the line, expected '{'"]


def test_a_missing_closing_brace_is_one_mistake():
    text = "block f(x) {\n  if true {\n  return x\n\nnetwork t() { input x: f32[3]\n loss sum(f(x)) }\n"
    with pytest.raises(NpucError) as caught:
        read_source(text, filename="f")
    assert caught.value.render().splitlines()[0].startswith("f:5:1: error: found 'network', expected")
    assert caught.value.hint == "the '{' of line 2 is not closed"


def test_an_unknown_layer_is_answered_in_short():
    assert messages("h = qqqqqq(x)") == [
        "2:5: found the unknown layer or block 'qqqqqq' | 'npuc list layers' shows what there is"
    ]
    assert messages("h = multihead_attention(x, 2)")[0].endswith("did you mean 'multi_head_attention'?")
