"""What tells programs of JAX from others, and what is wrong with a file."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_file, run_file
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.frontends.base import Program, Request
from npuc.frontends.jax import load
from npuc.frontends.jax.arguments import keys_of
from npuc.frontends.jax.layers import scope_of
from npuc.frontends.jax.load import exported_module
from npuc.frontends.jax.program import HloOp, HloType
from npuc.frontends.jax.values import FlatOp, HloValue
from npuc.frontends.source import open_source, text_source
from tests.jax_programs import text_of

DATA = Path(__file__).parents[2] / "oracle" / "data" / "jax"
needs_reader = pytest.mark.skipif(find_spec("jaxlib") is None, reason="needs the optional group jax")


def read(text: str | bytes, **request: object) -> Program:
    source = text_source(text if isinstance(text, bytes) else text.encode(), "jax", "m.mlir")
    return source.frontend.read(source, Request(**request))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"module { func.func @main() { %0 = stablehlo.constant dense<0> : tensor<i32> return } }", "jax"),
        (b'"builtin.module"() ({\n  %0 = "stablehlo.add"(%a, %b) : () -> ()\n}) : () -> ()', "jax"),
        (b"ML\xefR\x0dStableHLO_v1.0.0", "jax"),
        (b"// what stablehlo.add is\nbuiltin.module {\n}\n", "mlir"),
        (b'func.func @f() attributes {npuc.name = "stablehlo.add"} {\n  func.return\n}\n', "mlir"),
    ],
)
def test_a_file_is_told_by_its_content(content: bytes, name: str, tmp_path: Path) -> None:
    file = tmp_path / "net.mlir"
    file.write_bytes(content)
    assert open_source(str(file)).format == name


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("params['w1']", ("params", "w1")),
        ("state[0].trace['blocks'][3]", ("state", "0", "trace", "blocks", "3")),
        ("x", ("x",)),
        ("", ()),
    ],
)
def test_paths_have_keys(path: str, keys: tuple[str, ...]) -> None:
    assert keys_of(path) == keys


@pytest.mark.parametrize(
    ("stack", "scope", "primitive"),
    [
        ("jit(step)/jvp(hidden)/dot_general", ("hidden",), "dot_general"),
        ("jit(step)/transpose(jvp(block0))/attention/dot_general", ("block0", "attention"), "dot_general"),
        ("jit(step)/jvp(hidden)/jit(relu)/max", ("hidden",), "max"),
        ("jit(step)/jvp()/while/body/closed_call/mlp/tanh", ("mlp",), "tanh"),
        ("jit(step)/mul", (), "mul"),
        ("", (), "add"),
    ],
)
def test_places_have_scopes(stack: str, scope: tuple[str, ...], primitive: str) -> None:
    op = HloOp("stablehlo.add", (), (0,), {}, {}, {}, (), stack, "")
    flat = FlatOp(1, op, (), [HloValue(HloType((), "f32"))], stack=stack)
    assert scope_of(flat) == (scope, primitive)


@pytest.mark.parametrize("data", [b"", b"\x00" * 64, b"\xff" * 64, b"<\x00\x00\x00" + b"\x01" * 80])
def test_what_is_no_export_is_refused(data: bytes) -> None:
    with pytest.raises(SourceError, match=r"m\.jaxexport: found no module of jax\.export"):
        exported_module(data, "m.jaxexport")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(SourceError, match="needs JAX's own reader") as caught:
        read("module {}")
    assert caught.value.hint == 'pip install "npuc[jax]"'


MAIN = "func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32>"


@needs_reader
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module {", "expected"),
        ("module { }", "found 0 public functions"),
        (
            f"module {{ {MAIN} {{ %0 = stablehlo.add %a, %c : tensor<4xf32> return %0 : tensor<4xf32> }} }}",
            "undeclared",
        ),
        (f"module {{ {MAIN} {{ %0 = foo.bar %a : tensor<4xf32> return %0 : tensor<4xf32> }} }}", "foo"),
        (
            "module { func.func public @main(%a: tensor<?xf32>) -> tensor<?xf32> "
            "{ %0 = stablehlo.abs %a : tensor<?xf32> return %0 : tensor<?xf32> } }",
            "expected a tensor of known sizes",
        ),
        (
            f"module {{ {MAIN} {{ %0 = call @main(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> "
            "return %0 : tensor<4xf32> } }",
            "calls deeper than",
        ),
        (
            f"module {{ {MAIN} {{ %0 = stablehlo.custom_call @evil(%a) : (tensor<4xf32>) -> tensor<4xf32> "
            "return %0 : tensor<4xf32> } }",
            "m.mlir:1:95: error: stablehlo.custom_call: found an operation of 'evil'",
        ),
        (
            "module { func.func public @main(%a: tensor<ui32>) -> tensor<f32> "
            "{ %0 = stablehlo.convert %a : (tensor<ui32>) -> tensor<f32> return %0 : tensor<f32> } }",
            "found unsigned integers, which the network language lacks",
        ),
        (
            "module { func.func public @main(%a: tensor<i32>) -> tensor<i32> { %0 = stablehlo.while(%i = %a) : "
            "tensor<i32> cond { %c = stablehlo.constant dense<3> : tensor<i32> %p = stablehlo.compare LT, %i, %c : "
            "(tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %p : tensor<i1> } do { "
            "stablehlo.return %i : tensor<i32> } return %0 : tensor<i32> } }",
            "loop whose condition depends on data",
        ),
        (
            "module { func.func public @main(%a: tensor<i32>) -> tensor<i32> { %z = stablehlo.constant dense<0> : "
            "tensor<i32> %0 = stablehlo.while(%i = %z) : tensor<i32> cond { %c = stablehlo.constant dense<3> : "
            "tensor<i32> %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1> "
            "stablehlo.return %p : tensor<i1> } do { stablehlo.return %i : tensor<i32> } return %0 : tensor<i32> } }",
            "loops and calls of more than",
        ),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises((SourceError, UsageError)) as caught:
        read(text, max_ops=1000)
    assert message in str(caught.value)
    assert "m.mlir" in str(caught.value)


@needs_reader
@pytest.mark.heavy
def test_a_place_of_a_text_is_its_line() -> None:
    with pytest.raises(SourceError, match="line 2, column 10: use of undeclared SSA value"):
        read("func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %c : tensor<4xf32>\n}")
    call = "  %0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>"
    with pytest.raises(SourceError, match=r"m\.mlir:2:8: error: func\.call: found calls deeper than 64"):
        read(f"func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {{\n{call}\n  return %0 : tensor<4xf32>\n}}")


def loop_of(carried: str, body: str) -> str:
    """A loop of two billion turns that carries i32 values beside its count."""
    return (
        "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %z = stablehlo.constant dense<0> : tensor<i32>\n  %one = stablehlo.constant dense<1> : tensor<i32>\n"
        f"  %many = stablehlo.constant dense<2000000000> : tensor<i32>\n  %c = stablehlo.iota dim = 0 : {carried}\n"
        f"  %0:2 = stablehlo.while(%i = %z, %x = %c) : tensor<i32>, {carried} cond {{\n"
        "    %p = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %p : tensor<i1>\n  } do {\n    %n = stablehlo.add %i, %one : tensor<i32>\n"
        f"    {body} : {carried}\n    stablehlo.return %n, %y : tensor<i32>, {carried}\n  }}\n"
        "  return %a : tensor<4xf32>\n}"
    )


@needs_reader
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("carried", "message"),
    [
        ("tensor<1xi32>", "loops and calls of more than 1,000 operations on constants"),
        ("tensor<4000000xi32>", "more than 268,435,456 numbers that follow from constants"),
    ],
)
def test_long_loops_over_constants_end(carried: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read(loop_of(carried, "%y = stablehlo.multiply %x, %x"), max_ops=1000)


@needs_reader
@pytest.mark.heavy
@pytest.mark.parametrize("rows", ["1000000000", "1000x1000000"])
def test_places_of_a_tensor_that_no_memory_holds(rows: str) -> None:
    """They are computed where the network runs; a count of equal rows takes no memory."""
    axes = ", ".join(str(axis) for axis in range(rows.count("x") + 1))
    program = read(
        f"func.func public @main(%a: tensor<{rows}xf32>) -> tensor<f32> {{\n"
        f"  %0 = stablehlo.iota dim = 0 : tensor<{rows}xi32>\n"
        f"  %1 = stablehlo.convert %0 : (tensor<{rows}xi32>) -> tensor<{rows}xf32>\n"
        f"  %2 = stablehlo.multiply %1, %a : tensor<{rows}xf32>\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        f"  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [{axes}] : "
        f"(tensor<{rows}xf32>, tensor<f32>) -> tensor<f32>\n"
        "  return %3 : tensor<f32>\n}"
    )
    assert program.text is not None
    assert "arange(" in program.text()


@needs_reader
@pytest.mark.heavy
def test_long_chains_that_meet_again_are_read() -> None:
    """What is looked for behind an operation is looked for once, however many ways lead there."""
    type = "tensor<4x4x4xf32>"
    lines = [f"  %{n + 1} = stablehlo.add %{n}, %{n} : {type}" for n in range(60)]
    program = read(
        f"func.func public @main(%a: {type}) -> tensor<f32> {{\n  %0 = stablehlo.abs %a : {type}\n"
        + "\n".join(lines)
        + f"\n  %r = stablehlo.reshape %60 : ({type}) -> tensor<4x16xf32>\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %f = stablehlo.reduce(%r init: %z) applies stablehlo.add across dimensions = [0, 1] : "
        "(tensor<4x16xf32>, tensor<f32>) -> tensor<f32>\n  return %f : tensor<f32>\n}"
    )
    assert program.module.verify() is None


@needs_reader
@pytest.mark.heavy
def test_a_step_has_its_own_loss_and_optimizer() -> None:
    data = (DATA / "mlp_step.mlir").read_bytes()
    for request in ({"losses": ("mse",)}, {"optimizer": "sgd"}, {"freeze": ("w1",)}, {"results": ("x",)}):
        with pytest.raises(UsageError, match="whole training step"):
            read(data, **request)
    with pytest.raises(UsageError, match="unknown network parameter 'batch'"):
        read(data, defines={"batch": 2})


@needs_reader
@pytest.mark.heavy
@pytest.mark.parametrize("name", ["mlp_step.mlir", "dropout_step.mlir"])
@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_is_refused_or_read(seed: int, name: str) -> None:
    """Whatever stands in a file: an error of the file, or a program."""
    from random import Random

    random, data = Random(seed), bytearray((DATA / name).read_bytes())
    for _ in range(1 + seed // 2):
        place = random.randrange(len(data))
        data[place : place + random.randrange(4)] = bytes(random.choices(b'0123456789<>(){}[]%#"x, \n\xff', k=2))
    with suppress(SourceError, UsageError):
        read(bytes(data)).module.verify()


@needs_reader
@pytest.mark.heavy
def test_damaged_bytecode_is_refused_or_read() -> None:
    for size in (4, 13, 40):
        with pytest.raises(SourceError, match=r"m\.mlir"):
            read(b"ML\xefR\x0dStableHLO_v1.13.0\x00" + bytes(range(size)))


@needs_reader
@pytest.mark.heavy
def test_what_is_exported_without_scopes_is_the_network() -> None:
    program = read((DATA / "model.mlir").read_bytes())
    assert program.text is not None
    assert "conv1 = conv2d(x, padding=1, bias=b1, weight=w1)" in program.text()
    assert any("cross_entropy" in warning for warning in program.warnings)


@needs_reader
@pytest.mark.heavy
def test_a_step_that_npuc_wrote_comes_back(tmp_path: Path) -> None:
    net, file = tmp_path / "net.dsl", tmp_path / "step.mlir"
    net.write_text(
        "network net() {\n  input x: f32[4, 1, 8, 8]\n  labels y: i32[4]\n"
        "  h = max_pool(relu(conv2d(x, 4, kernel=3, padding=1)), kernel=2)\n"
        "  loss cross_entropy(linear(flatten(h), 10), y)\n  optimizer sgd(lr=0.1, momentum=0.9)\n}\n"
    )
    assert run_command(["opt", str(net), "--emit", "stablehlo", "-p", "autodiff", "-o", str(file)]) == 0
    ours, theirs = (compile_file(str(one), backend="cycle", precision="f32") for one in (net, file))
    assert sum(row.macs or 0 for row in theirs.ops) == sum(row.macs or 0 for row in ours.ops)
    assert {row.phase for row in theirs.ops} >= {"forward", "update"}
    inputs = {"x": np.random.default_rng(0).normal(size=(4, 1, 8, 8)), "y": np.arange(4)}
    first = run_file(str(net), inputs=inputs, steps=2, dtype="float64")
    second = run_file(str(file), inputs={**inputs, **first.params}, steps=2, dtype="float64")
    assert second.losses == pytest.approx(first.losses, rel=1e-5)


def test_functions_that_jax_spells_out_are_the_language_s() -> None:
    jax = pytest.importorskip("jax")

    def forward(p: Any, x: Any) -> Any:
        h = jax.nn.softmax(x @ p["w"], axis=-1) + jax.nn.log_softmax(x, axis=1)
        return jax.nn.gelu(h) + jax.nn.silu(h) + jax.nn.gelu(x, approximate=False)

    random = np.random.default_rng(0)
    params, x = {"w": random.normal(size=(5, 5)).astype(np.float32)}, random.normal(size=(2, 5)).astype(np.float32)
    program = read(text_of(forward, (params, x)), inference=True)
    assert program.text is not None
    text = program.text()
    for call in ("softmax(", "log_softmax(", 'approximate="tanh")', "silu("):
        assert call in text, call
    assert "exp(" not in text
    run = run_file(text_source(text.encode(), "dsl", "net.dsl"), inference=True, inputs={**params, "x": x})
    np.testing.assert_allclose(run.outputs["result"], forward(params, x), rtol=1e-4, atol=1e-5)
