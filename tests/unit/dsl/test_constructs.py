"""Each construct of the network language builds what it says."""

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp

from npuc.compiler.core.errors import SourceError
from npuc.dialects.provenance import location_text
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.base import TrainOp
from npuc.frontends import read_source
from npuc.frontends.dsl.values import type_text


def network(body: str, blocks: str = "", parameters: str = "") -> str:
    """A network over an input `x` of f32[4, 8] that returns `h`."""
    return f"{blocks}\nnetwork t({parameters}) {{\n  input x: f32[4, 8]\n{body}\n  output h\n}}\n"


def build(text: str, *, training: bool = False) -> ModuleOp:
    """The verified module of a program."""
    module = read_source(text, training=training)
    module.verify()
    return module


def function(module: ModuleOp) -> FuncOp:
    """The one function of a module."""
    (func,) = module.body.block.ops
    assert isinstance(func, FuncOp)
    return func


def kinds(module: ModuleOp) -> list[str]:
    """The operations of a program, in order."""
    return [op.name.removeprefix("train.") for op in module.walk() if isinstance(op, TrainOp)]


def arguments(module: ModuleOp, kind: str) -> list[str]:
    """The names of the arguments of a kind: input, param, …"""
    attributes = function(module).arg_attrs
    assert attributes is not None
    return [a.data for entry in attributes if isinstance(a := entry.data.get(f"train.{kind}"), StringAttr)]


def output_type(module: ModuleOp) -> str:
    """The type of the last result."""
    (returned,) = (op for op in module.walk() if isinstance(op, ReturnOp))
    return type_text(tensor_type(returned.arguments[-1]))


def sizes(expression: str, given: str = "") -> list[int]:
    """A list of integers that the language evaluates: read back from the shape of a weight."""
    module = build(network(f"{given}\n  w = param({expression})\n  h = w", parameters=""))
    inside = output_type(module).removeprefix("f32[").removesuffix("]")
    return [int(size) for size in inside.split(", ")]


def test_mlp():
    text = """network mlp(batch=64, hidden=512) {
      input  x: f32[batch, 784]
      labels y: i32[batch]
      h = relu(linear(x, hidden))
      logits = linear(h, 10)
      loss cross_entropy(logits, y)
      optimizer sgd(lr=0.1, momentum=0.9)
    }"""
    module = build(text, training=True)
    assert kinds(module) == ["matmul", "add", "relu", "matmul", "add", "cross_entropy"]
    assert arguments(module, "input") == ["x", "y"]
    assert arguments(module, "param") == ["h.linear.weight", "h.linear.bias", "logits.weight", "logits.bias"]
    assert function(module).sym_name.data == "mlp"
    assert 'kind = "sgd", lr = 1.000000e-01 : f64, momentum = 9.000000e-01' in str(module)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[2 + 3 * 4, 20 - 5 - 3, (2 + 3) * 4]", [14, 12, 20]),
        ("[7 // 2, 7 % 4, -7 // -2, 8 / 2]", [3, 3, 3, 4]),
        ("[2 ** 3 ** 2, -2 ** 2 + 5, (-2) ** 2]", [512, 1, 4]),
        ("[1 if 2 < 3 else 9, 1 if false else 2 if true else 3]", [1, 2]),
        ("[1 if 1 == 1 and not 1 != 1 or false else 9]", [1]),
        ("[1 if true or 1 // 0 == 1 else 9, 1 if false and 1 // 0 == 1 else 2]", [1, 2]),
        (
            '[1 if 1.0 == 1 else 9, 1 if true == 1 else 2, 1 if "a" == "a" else 9, 1 if none == none else 9]',
            [1, 2, 1, 1],
        ),
        ("[1 if 2 <= 2 and 3 >= 3 and 3 > 2 else 9]", [1]),
        ("[[3, 4][0], [3, 4][-1], [[5], 6][0][0]]", [3, 4, 5]),
        ("[1, 2] + [3]", [1, 2, 3]),
        ("[len([1, 2, 3]), min(4, 2), max([4, 2]), len([])+1]", [3, 2, 4, 1]),
        ("[1 if sqrt(16) == 4 else 9]", [1]),
        ("shape(x) + [shape(x)[1]]", [4, 8, 8]),
        ("[1 if 1e-5 * 1e5 > 0.99 and .5e1 > 1 else 2]".replace(".5e1", "0.5e1"), [1]),
        ("[\n 1,\n 2 *\n 3,\n]", [1, 6]),
    ],
)
def test_arithmetic(expression: str, expected: list[int]):
    body = "  unused = shape(x)" if "shape" not in expression else ""
    assert sizes(expression, body) == expected


def test_statements_end_at_lines_and_semicolons():
    module = build("network t() { input x: f32[4]; a = relu(x); h = a + x; output h }")
    assert kinds(module) == ["relu", "add"]


def test_comments_and_continuation():
    body = "  h = relu(  # of\n    x  # this\n  ) +  # and\n\n   x"
    assert kinds(build(network(body))) == ["relu", "add"]


def test_byte_order_mark_and_carriage_returns():
    text = "\ufeff" + network("  h = relu(x)").replace("\n", "\r\n")
    assert kinds(build(text)) == ["relu"]


def test_words_of_statements_are_names_elsewhere():
    body = "  loss = relu(x)\n  output, labels = pair(loss)\n  frozen = output + labels\n  h = frozen"
    assert kinds(build(network(body, "block pair(input) { return input, input }"))) == ["relu", "add"]


def test_for_over_range_excludes_the_end():
    assert kinds(build(network("  h = x\n  for i in 1..4 { h = h * i }"))) == ["affine"] * 3


def test_for_over_list_and_empty_range():
    body = "  h = x\n  for w in [3, 5] { h = linear(h, w) }\n  for i in 3..1 { h = relu(h) * i }"
    module = build(network(body))
    assert output_type(module) == "f32[4, 5]"
    assert "relu" not in kinds(module)


def test_loop_variable_and_names_stay_after_the_loop():
    body = "  for i in 0..3 { last = relu(x) }\n  h = last * (i + 1)"
    assert kinds(build(network(body))) == ["relu", "affine"]


@pytest.mark.parametrize(("n", "expected"), [(1, "relu"), (2, "gelu"), (3, "relu6")])
def test_if_else_chain(n: int, expected: str):
    body = f"  n = {n}\n  if n == 1 {{ h = relu(x) }}\n  else if n == 2 {{ h = gelu(x) }}\n  else {{\n h = clip(x) }}"
    assert kinds(build(network(body))) == [{"relu6": "clip"}.get(expected, expected)]


def test_block_with_defaults_and_names():
    blocks = "block f(x, a, b=a * 2, c=3) { return linear(x, a + b + c) }"
    assert output_type(build(network("  h = f(x, 1)", blocks))) == "f32[4, 6]"
    assert output_type(build(network("  h = f(c=1, a=2, x=x)", blocks))) == "f32[4, 7]"


def test_blocks_do_not_see_names_around_their_call():
    with pytest.raises(SourceError, match="unknown name 'n'"):
        build(network("  n = 3\n  h = f(x) * n", "block f(x) { return linear(x, n) }"))


def test_block_returns_early():
    blocks = "block f(x, n) { for i in 0..9 { if i == n { return x }\n x = relu(x) }\n return gelu(x) }"
    assert kinds(build(network("  h = f(x, 2)", blocks))) == ["relu", "relu"]


def test_several_values():
    blocks = "block f(x) { return relu(x), gelu(x) }\nblock g(x) { return f(x) }"
    assert kinds(build(network("  a, b = g(x)\n  r, c = shape(a)\n  h = a + b * (r + c)", blocks))) == [
        "relu", "gelu", "affine", "add",
    ]  # fmt: skip


def test_block_shadows_a_layer():
    assert kinds(build(network("  h = relu(x)", "block relu(x) { return gelu(x) }"))) == ["gelu"]


def test_operators_on_tensors():
    body = "  h = (x + x - 1) * x / 2 - -x + 2 * x\n  h = 1 - h / x"
    assert kinds(build(network(body))) == [
        "add", "affine", "mul", "constant", "div", "affine", "sub", "affine", "add", "div", "affine",
    ]  # fmt: skip


def test_bare_words_for_strings():
    body = "  h = cast(gelu(x, approximate=tanh), to=bf16)"
    assert output_type(build(network(body))) == "bf16[4, 8]"


def test_a_variable_wins_over_a_bare_word():
    assert output_type(build(network('  bf16 = "f16"\n  h = cast(x, to=bf16)'))) == "f16[4, 8]"


@pytest.mark.parametrize("element", ["f32", "bf16", "f16", "f64", "i32", "i64", "bool"])
def test_element_types(element: str):
    module = build(f"network t() {{ input x: {element}[2, 3]\n output x }}")
    assert output_type(module) == f"{element}[2, 3]"


def test_element_type_from_a_parameter():
    assert (
        output_type(build('network t(t="bf16") { input x: t[2]\n w = param([2], type=t)\n output h = x + w }'))
        == "bf16[2]"
    )


def test_scalars_have_no_sizes():
    assert output_type(build("network t() { input x: f32[]\n output x }")) == "f32[]"


def test_param_options():
    text = str(
        build(network("  w = param([8, 8], fill=0.5)\n  v = param([8], bound=0.25, type=f32)\n  h = matmul(x, w) + v"))
    )
    assert 'train.param = "w", train.fill = 5.000000e-01' in text
    assert 'train.param = "v", train.bound = 2.500000e-01' in text


def test_shared_weight_is_one_argument():
    module = build(network("  w = param([8, 8])\n  h = linear(linear(x, weight=w, bias=false), weight=w, bias=false)"))
    assert arguments(module, "param") == ["w"]
    assert kinds(module) == ["matmul", "matmul"]


def test_frozen():
    blocks = "block f(x) { h = linear(x, 8)\n return linear(h, 8, bias=false) }"
    body = """
      w = frozen param([8, 8])
      a = linear(frozen linear(x, weight=w), 8, bias=false)
      h = frozen f(linear(a, 8, bias=false))"""
    attributes = function(build(network(body, blocks))).arg_attrs
    assert attributes is not None
    entries = [entry.data for entry in attributes if "train.param" in entry.data]
    frozen = [str(e["train.param"]) for e in entries if "train.frozen" in e]
    trained = [str(e["train.param"]) for e in entries if "train.frozen" not in e]
    assert frozen == ['"w"', '"a.linear.bias"', '"h.h.weight"', '"h.h.bias"', '"h.linear_2.weight"']
    assert trained == ['"a.weight"', '"h.linear.weight"']


LOSSES = "loss cross_entropy(h, y) + mse(relu(x), x)"


def outputs(module: ModuleOp) -> list[str]:
    """The names of the outputs."""
    attributes = function(module).res_attrs
    assert attributes is not None
    return [a.data for entry in attributes if isinstance(a := entry.data.get("train.output"), StringAttr)]


def test_outputs_are_declared_or_what_losses_compare():
    text = f"network t() {{ input x: f32[4, 2]; labels y: i32[4]; h = linear(x, 2); {LOSSES}"
    assert outputs(build(text + " }", training=True)) == ["h", "prediction"]
    assert outputs(build(text + "; output p = softmax(h); output x }", training=True)) == ["p", "x"]


def test_loss_inside_a_block_gives_the_default_output():
    block = "block l(p, y) { return mse(p, y) }"
    text = "network t() { input x: f32[4]; input y: f32[4]; h = relu(x); loss l(h, y) }"
    assert outputs(build(block + text, training=True)) == ["p"]


def test_inference_drops_loss_labels_and_optimizer():
    text = "network t() { input x: f32[4, 2]; labels y: i32[4]; h = linear(x, 2); loss cross_entropy(h, y)"
    module = build(text + "; optimizer adam() }")
    assert arguments(module, "input") == ["x"]
    assert kinds(module) == ["matmul", "add"]
    assert "optimizer" not in str(module)
    assert outputs(module) == ["h"]


def test_several_losses_are_added():
    text = "network t() { input x: f32[4]; a = relu(x); loss mse(a, x); loss 0.5 * mse(x, a) }"
    module = build(text, training=True)
    assert kinds(module) == ["relu", "mse", "mse", "affine", "add"]


def test_locations_and_value_names():
    blocks = "block f(x) {\n  return linear(x, 3)\n}"
    module = build(network("  h = relu(\n    linear(x, 3)) + f(x)", blocks))
    places = [location_text(op) for op in module.walk() if isinstance(op, TrainOp)]
    assert places == ["<string>:7:5"] * 2 + ["<string>:6:7"] + ["<string>:2:10"] * 2 + ["<string>:7:19"]
    last = [op for op in module.walk() if isinstance(op, TrainOp)][-1]
    assert last.results[0].name_hint == "h"


def test_same_text_same_module():
    text = network("  for i in 0..3 { x = dropout(relu(linear(x, 8))) }\n  h = x")
    assert str(build(text, training=False)) == str(build(text, training=False))


def test_a_loss_that_compares_nothing_needs_an_output_for_inference_only():
    text = "network t() { input x: f32[4, 8]; loss mean((linear(x, 3) - 1.0) ** 2) }"
    assert "reduce" in kinds(build(text, training=True))
    with pytest.raises(SourceError, match="network 't' has no output"):
        build(text, training=False)
