"""Steps and losses that JAX exports, beside JAX's own numbers and beside the same networks in the language."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_source
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.autodiff import whole_step
from npuc.dialects.provenance import layer_of, role_of
from npuc.dialects.train.signature import arguments_of
from npuc.frontends.base import Program, Request
from npuc.frontends.jax.arguments import keys_of
from npuc.frontends.source import text_source
from tests.jax_programs import PROGRAMS, convnet, gpt, mlp, run_of, text_of

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
OPTIMIZERS = {
    "sgd": lambda: optax.sgd(0.1),
    "momentum": lambda: optax.sgd(0.1, momentum=0.9),
    "adam": lambda: optax.adam(0.01),
}


def read(text: str, **request: Any) -> Program:
    source = text_source(text.encode(), "jax", "step.mlir")
    program = source.frontend.read(source, Request(**request))
    program.module.verify()
    return program


def named(program: Program, arguments: Any) -> dict[str, Any]:
    """The values of JAX's arguments by the names that the program has, where it reads them."""
    wanted = {one.name for one in arguments_of(the_function(program.module))}
    found: dict[str, Any] = {}
    for path, value in jax.tree_util.tree_flatten_with_path(arguments)[0]:
        keys = keys_of(jax.tree_util.keystr(path))
        for name in (".".join(keys), ".".join(keys[1:]), ".".join(("data", *keys))):
            if name in wanted:
                found[name] = np.asarray(value)
    return found


def step_arguments(function: Any, arguments: Any) -> dict[str, Any]:
    """Arguments of a step as JAX names them: params, state, data."""
    params, state, *data = arguments
    return {"params": params, "state": state, "data": tuple(data)}


@pytest.mark.parametrize(
    "optimizer", ["adam", *(pytest.param(name, marks=pytest.mark.heavy) for name in ("sgd", "momentum"))]
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_gives_the_numbers_of_jax(name: str, optimizer: str) -> None:
    function, arguments = PROGRAMS[name]().step(OPTIMIZERS[optimizer]())
    program = read(text_of(function, arguments))
    given = {
        name: np.asarray(value)
        for path, value in jax.tree_util.tree_flatten_with_path(step_arguments(function, arguments))[0]
        for name in _names(keys_of(jax.tree_util.keystr(path)))
    }
    wanted = {one.name for one in arguments_of(the_function(program.module))}
    run = run_of(program, {name: value for name, value in given.items() if name in wanted})
    params, state, loss = jax.jit(function)(*arguments)
    assert run.loss == pytest.approx(float(loss), rel=1e-5)
    expected = {
        name: np.asarray(value)
        for path, value in jax.tree_util.tree_flatten_with_path({"params": params, "state": state})[0]
        for name in _names(keys_of(jax.tree_util.keystr(path)))
    }
    assert {one.name for one in arguments_of(the_function(program.module)) if one.kind.value != "input"} == set(
        run.updated
    )
    assert run.updated
    for name, value in run.updated.items():
        np.testing.assert_allclose(value, expected[name], rtol=2e-4, atol=2e-5)


def _names(keys: tuple[str, ...]) -> list[str]:
    return [".".join(keys[1:])] if keys[0] == "params" else [".".join(keys)]


@pytest.mark.heavy
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_that_npuc_derives_are_those_of_jax(name: str) -> None:
    net = PROGRAMS[name]()

    def loss(params: Any, x: Any, y: Any) -> Any:
        return net.loss(params, x, y)

    program = read(text_of(loss, (net.params, *net.data)))
    given = {
        ".".join(keys_of(jax.tree_util.keystr(path))): np.asarray(value)
        for path, value in jax.tree_util.tree_flatten_with_path(net.params)[0]
    }
    given |= {"x": np.asarray(net.data[0]), "y": np.asarray(net.data[1])}
    run = run_of(program, given, module=whole_step(program.module))
    value, gradients = jax.value_and_grad(net.loss)(net.params, *net.data)
    assert run.loss == pytest.approx(float(value), rel=1e-5)
    expected = jax.tree_util.tree_flatten_with_path(gradients)[0]
    assert len(run.gradients) == len(expected)
    for path, gradient in expected:
        found = run.gradients[".".join(keys_of(jax.tree_util.keystr(path)))]
        np.testing.assert_allclose(found, gradient, rtol=2e-3, atol=2e-5)


def rows(text: str, format: str, **keywords: Any) -> Any:
    content = text.encode() if format == "jax" else text
    return compile_source(content, format=format, filename="net.mlir", backend="cycle", **keywords)


CONVNET = """network net() {
  input x: f32[2, 1, 8, 8]
  labels y: i32[2]
  h = max_pool(relu(conv2d(x, 4, kernel=3, padding=1)), kernel=2)
  h = max_pool(relu(conv2d(h, 6, kernel=3, padding=1)), kernel=2)
  loss cross_entropy(linear(flatten(h), 10), y)
  optimizer sgd(lr=0.1)
}"""


def products(report: Any) -> dict[str, tuple[int, int]]:
    """The multiplications and the DRAM bytes of the matrix work of each phase."""
    found: dict[str, tuple[int, int]] = {}
    for row in report.ops:
        if row.macs:
            macs, moved = found.get(row.phase, (0, 0))
            found[row.phase] = macs + row.macs, moved + row.dram_read_bytes + row.dram_write_bytes
    return found


@pytest.mark.heavy
def test_products_cost_what_those_of_the_network_in_the_language_do() -> None:
    ours = rows(CONVNET, "dsl")
    theirs = rows(text_of(*convnet().step(optax.sgd(0.1))), "jax")
    assert products(theirs) == products(ours)
    assert len(products(ours)) >= 2


@pytest.mark.heavy
def test_phases_and_layers_are_found() -> None:
    program = read(text_of(*mlp().step(optax.sgd(0.1))))
    found = {(layer_of(op), role_of(op)) for op in program.module.walk() if op.name == "train.matmul"}
    assert {(layer, str(role)) for layer, role in found} == {
        *(("hidden", role) for role in ("forward", "dw")),
        *(("logits", role) for role in ("forward", "dx", "dw")),
    }
    updates = {
        layer_of(op) for op in program.module.walk() if "layer" in op.attributes and str(role_of(op)) == "update"
    }
    assert updates == {"w1", "b1", "w2", "b2"}


@pytest.mark.heavy
@pytest.mark.parametrize("scan", [False, True])
def test_gradients_of_a_layer_are_interleaved(scan: bool) -> None:
    report = rows(text_of(*gpt(scan=scan).step(optax.sgd(0.1))), "jax")
    together = {row.name for row in report.ops if row.phase == "dxdw"}
    names = ("attention.qkv", "attention.out", "mlp.up", "mlp.down")
    assert {f"{block}.{name}" for block in (("0", "1") if scan else ("block0", "block1")) for name in names} <= together


@pytest.mark.heavy
def test_a_scan_is_the_loop_that_is_written_out() -> None:
    ours, scanned = (products(rows(text_of(*gpt(scan=scan).step(optax.sgd(0.1))), "jax")) for scan in (False, True))
    assert sum(macs for macs, _ in ours.values()) == sum(macs for macs, _ in scanned.values())


@pytest.mark.heavy
@pytest.mark.parametrize("name", PROGRAMS)
def test_phases_are_found_without_names(name: str) -> None:
    function, arguments = PROGRAMS[name]().step(optax.sgd(0.1))
    bare = read(jax.jit(function).lower(*arguments).as_text())
    full = read(text_of(function, arguments))

    def counts(program: Program) -> dict[str, int]:
        roles = [str(role_of(op)) for op in program.module.walk() if op.name in MATRIX]
        return {role: roles.count(role) for role in sorted(set(roles))}

    assert counts(bare) == counts(full)


MATRIX = ("train.matmul", "train.conv2d", "train.conv2d_dx", "train.conv2d_dw")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("stride", "groups", "kernel", "dilation", "padding"),
    [
        (1, 1, 3, 1, "SAME"),
        (2, 1, 3, 1, "SAME"),
        (2, 1, 1, 1, "SAME"),
        (1, 1, 3, 2, "SAME"),
        (2, 1, 3, 1, "VALID"),
        (1, 2, 3, 1, "SAME"),
    ],
)
def test_gradients_of_convolutions(stride: int, groups: int, kernel: int, dilation: int, padding: str) -> None:
    from jax import lax

    def loss(p: Any, x: Any) -> Any:
        y = lax.conv_general_dilated(x, p["first"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        y = lax.conv_general_dilated(
            jax.numpy.tanh(y),
            p["second"],
            (stride, stride),
            padding,
            rhs_dilation=(dilation, dilation),
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )
        return (y**2).mean()

    def step(params: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    random = np.random.default_rng(0)
    params = {
        "first": random.normal(0, 0.3, (3, 3, 3, 8)).astype("float32"),
        "second": random.normal(0, 0.3, (kernel, kernel, 8 // groups, 16)).astype("float32"),
    }
    x = random.normal(size=(2, 9, 9, 3)).astype("float32")
    program = read(text_of(step, (params, x)))
    run = run_of(program, {**params, "x": x})
    updated, value = jax.jit(step)(params, x)
    assert run.loss == pytest.approx(float(value), rel=1e-5)
    for name, expected in updated.items():
        np.testing.assert_allclose(run.updated[name], expected, rtol=1e-4, atol=1e-5)
