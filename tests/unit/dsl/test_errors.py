"""Every mistake is reported with its place, what was found, what was expected, and a hint."""

import pytest

from npuc.compiler.core.errors import NpucError, SourceErrors
from npuc.frontends import read_source

HEAD = "network t(n=2) { input x: f32[4, 8]\n"
TAIL = "\nk = n; loss mse(h, x) }\n"
"""A network with its body in lines 2 and following; `h` and the parameter n are used."""


def messages(text: str, max_ops: int = 1000) -> list[str]:
    """The errors of a program as `line:col: message | hint`."""
    with pytest.raises(NpucError) as caught:
        read_source(text, filename="f", max_ops=max_ops)
    assert caught.value.exit_code == 1
    errors = caught.value.errors if isinstance(caught.value, SourceErrors) else (caught.value,)
    shown: list[str] = []
    for error in errors:
        assert error.location is not None
        assert error.location.file == "f"
        assert error.source_line == text.split("\n")[error.location.line - 1]
        place = f"{error.location.line}:{error.location.col}"
        shown.append(f"{place}: {error.message}" + (f" | {error.hint}" if error.hint else ""))
    return shown


SIZE = "found integer 0 as the size of an axis, expected a positive integer"
LINEAR = "signature: linear(x, features=none, bias=true, weight=none, transpose_weight=false, density=none)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # names
        ("h = reluu(x)", "2:5: found the unknown layer or block 'reluu' | did you mean 'relu'?"),
        ("hidden = 3; h = linear(x, hiden)", "2:27: found the unknown name 'hiden' | did you mean 'hidden'?"),
        ("h = relu(qqq)", "2:10: found the unknown name 'qqq' | known: n, x"),
        ("h = x; optimizer sgdd(lr=1)", "2:18: found the unknown optimizer 'sgdd' | did you mean 'sgd'?"),
        ("h = x; input z: f33[3]; y = z", "2:17: found 'f33', expected an element type | did you mean 'f32'?"),
        ("h = param([4, 8], type=f33)", '2:24: found "f33", expected an element type | did you mean \'f32\'?'),
        # arguments
        ("h = linear(x, 8, baas=false)", f"2:18: linear has no argument 'baas' | did you mean 'bias'? {LINEAR}"),
        ("h = linear(x, 8, q=false)", f"2:18: linear has no argument 'q' | {LINEAR}"),
        ("h = linear()", f"2:5: linear needs the argument 'x' | {LINEAR}"),
        ("h = linear(x, 8, features=3)", f"2:18: argument 'features' of linear is given twice | {LINEAR}"),
        (
            "h = concat(x, x, axis=1)",
            "2:18: argument 'axis' of concat is given twice | signature: concat(tensors, axis); tensors is a list of "
            "tensors, in brackets",
        ),
        (
            "h = concat(x, x, 1)",
            "2:18: concat takes at most 2 arguments, found 3 | signature: concat(tensors, axis); tensors is a list of "
            "tensors, in brackets",
        ),
        ("h = linear(x, 8, true, none, true, 0.5, 5)", f"2:41: linear takes at most 6 arguments, found 7 | {LINEAR}"),
        (
            "h = linear(x, 8, density=5)",
            "2:26: argument 'density' of linear (layer 'h'): found 5.0, expected a number above 0 and at most 1, "
            'or N:M | for example 0.1, "2:4" or "0.1 csr"',
        ),
        ("h = linear(features=8, x)", f"2:24: found an argument without a name after one with a name | {LINEAR}"),
        (
            'h = linear(x, "a")',
            f"2:15: argument 'features' of linear: found string \"a\", expected an integer or none | {LINEAR}",
        ),
        (
            "h = reshape(x, [8, 0.5])",
            "2:16: argument 'shape' of reshape: found list [8, 0.5], expected a list of integers | "
            "signature: reshape(x, shape)",
        ),
        (
            "h = relu(3)",
            "2:10: argument 'x' of relu: found integer 3, expected a tensor | signature: relu(x)",
        ),
        (
            "h = dropout(x, p=2.0)",
            "2:18: argument 'p' of dropout (layer 'h'): found 2.0, expected at least 0 and below 1 | "
            "signature: dropout(x, p=0.5)",
        ),
        (
            "h = x; optimizer sgd(lr=true)",
            "2:25: argument 'lr' of sgd: found boolean true, expected a number | "
            "signature: sgd(lr, momentum=0.0, weight_decay=0.0, dampening=0.0, nesterov=false)",
        ),
        (
            "h = x; optimizer sgd()",
            "2:18: sgd needs the argument 'lr' | "
            "signature: sgd(lr, momentum=0.0, weight_decay=0.0, dampening=0.0, nesterov=false)",
        ),
        ("h = param(3)", "2:11: argument 'shape' of param: found integer 3, expected a list of integers | "
            'signature: param(shape, type="f32", fill=none, bound=none)'),
        ("h = param([4, 8], fill=1, bound=2)", "2:33: found both 'fill' and 'bound', expected one of them"),
        ("h = len(3)", "2:5: found integer 3 as argument of len, expected a list"),
        ("h = len([1], 2)", "2:5: len takes 1 argument, found 2"),
        ("h = max()", "2:5: found no argument of max, expected numbers or a list of numbers"),
        ("h = len(a=3)", "2:9: the arguments of len have no names"),
        ("h = max(a=3)", "2:9: max has no argument 'a' | signature: max(x, y)"),
        ("h = frozen shape(x)", "2:12: found 'frozen' before shape, which makes no parameters"),
        # shapes
        (
            "h = matmul(x, x)",
            "2:5: inner sizes differ: lhs is 4x8 with 8, rhs is 4x8 with 4 (layer 'h': matmul of f32[4, 8], f32[4, 8])",
        ),
        (
            "a = relu(linear(x, 3)); h = a + x",
            "2:31: shapes 4x3 and 4x8 do not broadcast (layer 'h': '+' of f32[4, 3], f32[4, 8])",
        ),
        ("h = x; input z: f32[4, 0]; y = z", f"2:24: {SIZE}"),
        ("h = param([4, n - 2])", f"2:15: {SIZE}"),
        # kinds
        ("if n { h = x }", "2:4: found integer 2, expected true or false | compare with a value: n > 0"),
        ("h = x; a = not x", "2:16: found tensor f32[4, 8], expected true or false | "
            "conditions are decided while the network is built; on tensors write logical_not(a)"),
        ("h = x % 3", "2:7: '%' has no meaning for tensors | operators on tensors: + - * / == != < <= > >= **"),
        ('h = x + "a"', "2:7: found string \"a\" beside '+', expected a tensor or a number"),
        ("h = 1 + true", "2:7: found boolean true beside '+', expected a number"),
        ('h = -"a"', "2:5: found string \"a\" after '-', expected a number"),
        ("h = [1, 2][5]", "2:5: found index 5, expected -2 to 1"),
        ("h = [1, 2][0.5]", "2:5: found float 0.5 as an index, expected an integer"),
        ("h = 3[0]", "2:5: found integer 3 in front of '[', expected a list"),
        ("for i in n { h = x }", "2:10: found integer 2, expected a list or a range | a range is written 0..6"),
        ("for i in 0..x { h = x }", "2:13: found tensor f32[4, 8] as a bound of a range, expected an integer"),
        ("h, w = relu(x)", "2:8: found tensor f32[4, 8] for 2 names, expected as many values"),
        ("h, w = [1, 2, 3]", "2:8: found 3 values for 2 names"),
        ("h = x; output n", "2:15: found integer 2 as output, expected a tensor"),
        (
            "h = x; loss x",
            "2:13: found tensor f32[4, 8], expected a scalar tensor | "
            "a loss such as cross_entropy or mse gives a scalar",
        ),
        (
            "h = x; labels y: f32[4]; z = y",
            "2:18: found labels of f32, expected i32 or i64 | targets of another type are an 'input'",
        ),
        # numbers
        ("h = 7 / 2", "2:7: 7 / 2 is not an integer | 7 // 2 rounds down to 3"),
        ("h = 7 // 0", "2:7: division by zero: 7 // 0"),
        ("h = 7 % 0", "2:7: division by zero: 7 % 0"),
        ("h = 1.0 / 0", "2:9: division by zero: 1.0 / 0"),
        ("h = 0 ** -1", "2:7: division by zero: 0 ** -1"),
        ("h = 10 ** 10 ** 10", "2:8: 10 ** 10000000000 is too large, integers are below 2**63"),
        ("h = 2 ** 62 * 2", "2:13: the result is too large, integers are below 2**63"),
        ("h = 10.0 ** 400", "2:10: 10.0 ** 400 is not a finite number"),
        ("h = 1e300 * 1e300", "2:11: the result is not a finite number"),
        ("h = (-8) ** 0.5", "2:10: -8 ** 0.5 is not a real number"),
        ("h = sqrt(-1)", "2:5: sqrt(-1) is not a real number"),
        # uses and places
        ("h = x; w = param([3])", "2:8: weight 'w' is not used | use it or remove it"),
        ("h = x; input q: f32[2]", "2:14: input 'q' is not used | use it or remove it"),
        ("h = x; labels q: i32[2]", "2:15: labels 'q' is not used | use it or remove it"),
        ("h = x; input x: f32[2]", "2:14: there are two inputs named 'x'"),
        ("h = x; output h; output h", "2:25: there are two outputs named 'h'"),
        (
            "h = x; optimizer adamw(beta2=1.0)",
            "2:30: argument 'beta2' of adamw: found 1.0, expected at least 0 and below 1 | signature: "
            "adamw(lr=0.001, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.01, amsgrad=false)",
        ),
        ("h = x; optimizer adam(); optimizer adam()", "2:26: found a second optimizer, expected one"),
        (
            "h = x; return h",
            "2:8: found 'return' in a network, expected it in a block | "
            "a network says what it computes with 'loss' and 'output'",
        ),
        # limits
        ("h = x; for i in 0..5000 { h = relu(h) }", "2:8: the network has more than 1,000 operations "
            "(this loop has 5,000 iterations) | --max-ops raises the limit"),
        ("h = [1]; for i in 0..50 { h = h + h }", "2:33: found a list of 16,384 values, the limit is 10,000"),
        ("h = [1]; for i in 0..50 { h = [h, h] }", "2:31: found a list of 12,286 values, the limit is 10,000"),
        ("h = " + "-" * 300 + "3", "2:105: expressions, statements and blocks are nested more than 100 deep"),
        ("h = " + "[" * 300 + "]" * 300, "2:105: expressions, statements and blocks are nested more than 100 deep"),
    ],
)  # fmt: skip
def test_message(body: str, expected: str):
    assert messages(HEAD + body + TAIL) == [expected]


F_NEEDS_Q = "2:39: f needs the argument 'q' | signature: f(x, q)"


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (
            "block f(x, q) { return x }",
            ["1:12: parameter 'q' of block 'f' is not used | use it or remove it", F_NEEDS_Q],
        ),
        ("block f(x, x) { return x }", ["1:12: parameter 'x' is there twice"]),
        ("block f(x) { y = x }", ["1:7: block 'f' has no 'return'"]),
        ("block f(x) { if 1 > 2 { return x } }", ["1:7: block 'f' ended without 'return'"]),
        ("block f(x) { return x }; block f(y) { return y }", ["1:32: block 'f' is defined twice, first at f:1:7"]),
        ("block f(x) { return relu(x, 1) }", ["1:29: relu takes at most 1 argument, found 2 | signature: relu(x)"]),
        ("block f(x, y) { return x + y }", ["2:39: f needs the argument 'y' | signature: f(x, y)"]),
        ("block f(x, y=z) { return x + y }", ["1:14: found the unknown name 'z' | known: x"]),
        ("block f(x) { return x, x }", ["2:39: found 2 values for one name, expected as many names: a, b = …"]),
        (
            "block f(x) { return f(x) }",
            ["1:21: found a call of 'f' inside itself: f -> f | blocks cannot be recursive; repeat with 'for'"],
        ),
        (
            "block f(x) { return g(x) }; block g(x) { return relu(f(x)) }",
            ["1:54: found a call of 'f' inside itself: f -> g -> f | blocks cannot be recursive; repeat with 'for'"],
        ),
        (
            "block f(x) { input q: f32[3]; loss q; optimizer sgd(); output x; return q }",
            [
                "1:14: found a statement for inputs and labels in block 'f', expected it in the network",
                "1:31: found a statement for the loss in block 'f', expected it in the network",
                "1:39: found a statement for the optimizer in block 'f', expected it in the network",
                "1:56: found a statement for outputs in block 'f', expected it in the network",
            ],
        ),
    ],
)
def test_message_of_a_block(blocks: str, expected: list[str]):
    found = messages(f"{blocks}\nnetwork t() {{ input x: f32[4, 8]; h = f(x); loss mse(h, x) }}")
    assert found == expected


def test_depth_of_blocks_is_limited():
    blocks = "".join(f"block f{i}(x) {{ return f{i + 1}(x) }}\n" for i in range(150))
    text = f"{blocks}block f150(x) {{ return x }}\nnetwork t() {{ input x: f32[4]; h = f0(x); loss mse(h, x) }}"
    (message,) = messages(text)
    assert message.endswith("expressions, statements and blocks are nested more than 100 deep")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: found no network, expected one | a program is a block of the form: network name(batch=1) { … }"),
        ("network a() { }\nnetwork b() { }", "2:1: found a second network 'b', expected one: 'a' is in line 1"),
        ("network a() { input x: f32[3]; output x }", "1:9: network 'a' has no loss | add one, "
            "'loss cross_entropy(logits, y)', or compile for inference"),
    ],
)  # fmt: skip
def test_message_of_a_program(text: str, expected: str):
    assert messages(text) == [expected]


def test_independent_mistakes_are_reported_together_and_followers_are_not():
    text = """network t() {
  input x: f32[4, 8]
  a = reluu(x)
  b = linear(a, 3)
  c = matmul(x, x) + b
  d = relu(c)
  for i in 0..3 { e = linear(d, 8, 9, 9, 9, 9, 9) }
  for i in 0..3 { f = linear(x, "8") }
  if d == 3 { g = 4 }
  h = g + f
  loss mse(zz, h)
  optimizer sgd(lr="a")
}"""
    assert [m.split(": ")[0] for m in messages(text)] == ["3:7", "5:7", "7:48", "8:33", "11:12", "12:20"]


def test_a_mistake_in_a_loop_or_block_is_reported_once():
    text = "block f(x) { return x + y }\nnetwork t() { input x: f32[4]\nfor i in 0..9 { x = f(x) }; z = f(x); loss z }"
    assert messages(text) == ["1:25: found the unknown name 'y' | known: x"]


def test_at_most_twenty():
    body = "".join(f"h{i} = unknown{i}(x)\n" for i in range(50))
    assert len(messages(HEAD + body + "h = x" + TAIL)) == 20
    body = "".join(f"h{i} = )\n" for i in range(50))
    assert len(messages(HEAD + body + "h = x" + TAIL)) == 20


def test_rendering():
    text = HEAD + "\th = reluu(x)" + TAIL
    with pytest.raises(NpucError) as caught:
        read_source(text, filename="net.dsl")
    assert caught.value.render() == (
        "net.dsl:2:6: error: found the unknown layer or block 'reluu'\n"
        "    \th = reluu(x)\n"
        "    \t    ^\n"
        "  hint: did you mean 'relu'?"
    )


def test_columns_count_characters():
    assert messages("# öäü\n" + HEAD + 'h = "äöü" + reluu(x)' + TAIL)[0].startswith("3:13: found the unk")
