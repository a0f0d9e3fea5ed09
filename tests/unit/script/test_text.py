"""The text of a graph: blocks, loops, parameters, and the same program."""

from pathlib import Path
from textwrap import dedent

import pytest

from npuc.compiler import UsageError, compile_source, import_file
from npuc.frontends.base import Program, Request
from npuc.frontends.dsl.elaborate import read_dsl
from npuc.frontends.dsl.format import format_source
from npuc.frontends.dsl.lint import lint_source
from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.rebatch import batch_size
from npuc.frontends.script.script import Script
from npuc.frontends.script.text import network_text
from npuc.frontends.script.text.equal import difference
from npuc.frontends.source import open_source

DATA = Path(__file__).parents[2] / "oracle" / "data"
GRAPHS = sorted((DATA / "torch").glob("*.pt2"))
OPAQUE = ("custom", "regions")
"""Those with operators that have no meaning in the language."""


def _bottleneck(script: Script, path: str, x: Name, width: int, stride: int) -> Name:
    h = script.let(f"{path}.conv1", "conv2d", x, width, kernel=3, padding=1, stride=stride)
    h = script.let(f"{path}.relu", "relu", h)
    h = script.let(f"{path}.conv2", "conv2d", h, 2 * width, kernel=1)
    return script.let(f"{path}.relu", "relu", h)


def _text(script: Script, x: Name, classes: dict[str, str] | None = None) -> str:
    """The text of a script with a result, which must be the same program."""
    script.add_output("out", x)
    text = network_text(script.definition, classes or {}, [])
    module = script.finish()
    assert difference(module, read_dsl(text, "net.dsl", training=False)) is None
    assert format_source(text, "net.dsl") == text
    return text


def _script(sizes: tuple[int, ...] = (2, 3, 8, 8)) -> tuple[Script, Name]:
    script = Script("net", "net.pt2", training=False)
    return script, script.input("x", "f32", sizes)


def test_equal_neighbours_are_a_loop_and_differences_parameters():
    script, x = _script()
    x = _bottleneck(script, "stage1.0", x, 8, 2)
    for i in range(1, 4):
        x = _bottleneck(script, f"stage1.{i}", x, 8, 1)
    x = _bottleneck(script, "stage2.0", x, 16, 2)
    for i in range(1, 3):
        x = _bottleneck(script, f"stage2.{i}", x, 16, 1)
    text = _text(script, x, {f"stage{k}.{i}": "BottleNeck" for k in (1, 2) for i in range(4)})
    assert text == dedent(
        """\
        block bottle_neck(x, channels, stride=1) {
          conv1 = conv2d(x, channels, kernel=3, stride=stride, padding=1)
          relu = relu(conv1)
          conv2 = conv2d(relu, 2 * channels, kernel=1)
          relu_2 = relu(conv2)
          return relu_2
        }

        block stage(x, channels, depth) {
          x = bottle_neck(x, channels, stride=2, name="0")
          for i in 1..depth { x = bottle_neck(x, channels) }
          return x
        }

        network net() {
          input x: f32[2, 3, 8, 8]
          stage1 = stage(x, 8, 4)
          stage2 = stage(stage1, 16, 3)
          output out = stage2
        }
        """
    )


def test_a_loop_that_is_most_of_a_network_has_its_depth_as_a_parameter():
    script, x = _script()
    for i in range(5):
        x = _bottleneck(script, f"layers.{i}", x, 8, 1)
    text = _text(script, x)
    assert "network net(layers=5)" in text
    for layers in (1, 7):
        module = read_dsl(text, "net.dsl", defines={"layers": layers}, training=False)
        assert sum(op.name == "train.conv2d" for op in module.walk()) == 2 * layers


def test_values_that_a_block_still_needs_keep_their_variables():
    script, x = _script()
    a = script.let("m.0", "relu", x)
    b = script.let("m.1", "gelu", a)
    c = script.let("m.2", "add", b, a)
    d = script.let("m.x", "mul", c, x)
    text = _text(script, script.let("end", "add", d, c))
    assert 'h_2 = gelu(h, name="1")' in text


def test_several_results_and_operands_of_a_block():
    script, x = _script()
    first, second = script.several(["m.cut", "m.cut"], "split", x, [1, 2], 1)
    a = script.let("m.a", "relu", first)
    b = script.let("m.b", "gelu", second)
    text = _text(script, script.let("out", "concat", [b, a, b], 1))
    assert "cut, cut_2 = split(x, [1, 2], axis=1)" in text
    assert "m, m_2 = m(x)" in text.replace(', name="m")', ")")


def test_what_the_language_would_name_alike_is_nested():
    script, x = _script()
    h = script.let("fc.flatten", "flatten", x)
    h = script.let("fc", "linear", h, 5)
    assert "fc = linear(flatten(x), 5)" in _text(script, h)


def test_lines_under_the_name_of_a_layer_are_a_block_with_that_layer():
    script, x = _script((4, 6))
    h = x
    for i in range(4):
        h = script.let(f"attn.f{i}", "relu", h)
    h = script.let("attn", "gelu", h)
    text = _text(script, h)
    assert 'attn = gelu(f3, name=".")' in text


def test_parts_of_one_path_that_stand_apart_share_it():
    script, x = _script()
    a = script.let("m.a", "relu", x)
    b = script.let("m.b", "relu", a)
    c = script.let("other", "gelu", b)
    d = script.let("m.c", "relu", c)
    e = script.let("m.d", "relu", d)
    text = _text(script, e)
    assert text.count('name="m"') == 2


def test_reserved_words_and_odd_names():
    script, x = _script()
    h = script.let("for", "relu", x)
    h = script.let("9-a.in", "gelu", h)
    h = script.let("loss", "relu", h)
    h = script.let("m.i", "relu", h)
    h = script.let("m.block", "relu", h)
    text = _text(script, h)
    assert 'name="for"' in text
    assert 'name="9-a.in"' in text


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
@pytest.mark.parametrize("inference", [False, True])
def test_files_of_pytorch(path: Path, inference: bool):
    opaque = path.stem in OPAQUE
    text = import_file(path, inference=inference, opaque=opaque)
    assert format_source(text, "net.dsl") == text
    assert not lint_source(text, "net.dsl")
    report = compile_source(text, "dsl", backend="roofline", inference=inference)
    assert (
        report.totals.macs
        == compile_source(path.read_bytes(), "pt2", backend="roofline", inference=inference, opaque=opaque).totals.macs
    )


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_parameters_that_are_frozen_are_so_in_the_text(path: Path):
    assert "= frozen " in import_file(path, freeze="*", opaque=path.stem in OPAQUE)


def test_layers_are_frozen_whole():
    path = next(path for path in GRAPHS if path.stem == "cnn")
    assert "conv1 = frozen conv2d(" in import_file(path, freeze=["conv1.*", "bn1.*"])
    with pytest.raises(UsageError, match=r"'bn1\.weight' is not trained, but 'bn1\.bias' of its layer is"):
        import_file(path, freeze="bn1.weight")


def test_a_fixed_batch_becomes_a_parameter():
    text = import_file(DATA / "torch" / "decoder.pt2")
    assert "batch=" in text
    small, large = (compile_source(text, "dsl", backend="roofline", defines={"batch": n}).totals.macs for n in (3, 6))
    assert small is not None
    assert large == 2 * small


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_the_batch_of_reshapes_follows_that_of_their_operands(batch: int):
    """Sequence first, windows, heads merged with the batch, an expanded token, a constant."""

    def build(size: int) -> Script:
        script = Script("net", "net.pt2", training=False)
        x = script.input("x", "f32", [size, 4, 6])
        h = script.let("seq", "transpose", x, [1, 0, 2])
        h = script.let("rows", "reshape", h, [4 * size, 6])
        h = script.let("back", "reshape", h, [4, size, 6])
        h = script.let("heads", "reshape", h, [4, size * 2, 3])
        h = script.let("first", "transpose", h, [1, 0, 2])
        h = script.let("four", "reshape", h, [size, 2, 4, 3])
        h = script.let("merged", "reshape", h, [size, 8, -1])
        if size > 1:
            token = script.let("token", "param", [1, 8, 3])
            h = script.let("sum", "add", h, script.let("wide", "expand", token, [size, 8, 3]))
            h = script.let("bias", "add", h, script.let("zero", "full", [size, 1, 1], 0.5))
        script.add_output("out", h)
        return script

    free = batch_size(build(batch), max_ops=100)
    assert free is not None
    assert free.value == batch
    for other in free.others:
        definition = free.at(other)
        assert definition is not None
        again = Script("net", "net.pt2", training=False)
        for statement in definition.body:
            again.execute(statement)
        if batch > 1:
            assert difference(again.finish(), build(other).finish()) is None


def _module(change: str = "") -> Program:
    source = open_source(DATA / "torch" / "cnn.pt2")
    return source.frontend.read(source, Request())


@pytest.mark.parametrize(
    ("old", "new"),
    [("kernel=3", 'kernel=1, name="conv1"'), ("relu(", "gelu("), ("momentum", "momentum")],
)
def test_another_program_is_noticed(old: str, new: str):
    program = _module()
    assert program.text is not None
    text = program.text()
    if old == new:
        assert difference(program.module, read_dsl(text, "net.dsl")) is None
        return
    assert old in text
    assert difference(program.module, read_dsl(text.replace(old, new, 1), "net.dsl")) is not None


def test_networks_of_the_language_are_not_imported():
    with pytest.raises(UsageError, match="cannot import 'samples:mlp'"):
        import_file("samples:mlp")


def test_multiples_of_the_batch_in_which_calls_differ_are_parameters_of_the_block():
    script = Script("net", "net.pt2", training=False)
    h = script.input("x", "f32", [2, 12, 4])
    for name, rows in (("a", 6), ("b", 12)):
        flat = script.let(f"{name}.rows", "reshape", h, [2 * rows, 48 // rows])
        flat = script.let(f"{name}.act", "relu", flat)
        h = script.let(f"back_{name}", "reshape", flat, [2, 12, 4])
    script.add_output("out", h)
    free = batch_size(script, max_ops=100)
    assert free is not None
    text = network_text(script.definition, {}, [free])
    assert "6 * batch" in text
    assert difference(script.finish(), read_dsl(text, "net.dsl", training=False)) is None


def test_constants_that_python_takes_for_equal_stay_apart():
    script, x = _script((2, 10))
    for name, values, dtype in (("a", [1] * 9 + [0], "i64"), ("b", [1.0] * 9 + [0.0], "f32")):
        c = script.let(f"{name}.c", "tensor", values, dtype=dtype)
        c = script.let(f"{name}.cast", "cast", c, to="f32")
        x = script.let(f"{name}.add", "add", x, c)
    _text(script, x)
