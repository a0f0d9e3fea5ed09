"""Arguments that lie otherwise than JAX has them: no transposes, and runs that take and give JAX's order."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from npuc.compiler import describe_file, run_file
from npuc.compiler.core.errors import UsageError
from npuc.dialects.provenance import role_of
from npuc.frontends.base import Program, Request
from npuc.frontends.layout import ArgumentLayout, is_moved
from npuc.frontends.source import text_source
from tests.jax_beside.vision import VISION
from tests.jax_programs import JaxProgram, random_array, text_of


@given(st.data())
def test_what_is_stored_comes_back(data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(max_dims=4, max_side=4))
    layout = ArgumentLayout(shape, tuple(data.draw(st.permutations(range(len(shape))))))
    values = np.arange(np.prod(shape)).reshape(shape)
    stored = layout.stored("w", values)
    assert stored.shape == layout.stored_shape
    assert np.array_equal(layout.given(stored), values)
    assert is_moved(layout) == (layout.order != tuple(range(len(shape))))


def test_rows_may_have_another_order() -> None:
    """Rows of 2 places and 3 channels, by channels."""
    layout = ArgumentLayout((6, 1), (1, 0, 2), (2, 3, 1))
    stored = layout.stored("w", np.arange(6)[:, None])
    assert stored.ravel().tolist() == [0, 3, 1, 4, 2, 5]
    assert layout.given(stored).ravel().tolist() == [0, 1, 2, 3, 4, 5]


def test_a_wrong_shape_is_told_in_the_order_of_the_source() -> None:
    with pytest.raises(UsageError, match="input 'w' has shape 4x3, expected 3x4"):
        ArgumentLayout((3, 4), (1, 0)).stored("w", np.zeros((4, 3)))


def _file(folder: Path, function: Any, arguments: Any) -> str:
    path = folder / "net.mlir"
    path.write_text(text_of(function, arguments))
    return str(path)


def _read(function: Any, arguments: Any, **request: Any) -> Program:
    source = text_source(text_of(function, arguments).encode(), "jax", "m.mlir")
    program = source.frontend.read(source, Request(**request))
    program.module.verify()
    return program


def _named(params: Any) -> dict[str, Any]:
    return {f"{layer}.{name}": np.asarray(x) for layer, own in params.items() for name, x in own.items()}


@pytest.mark.parametrize("name", ["lenet_nhwc", pytest.param("resnet_nhwc", marks=pytest.mark.heavy)])
def test_a_run_takes_values_as_jax_has_them(name: str, tmp_path: Path) -> None:
    pytest.importorskip("jax")
    net: JaxProgram = VISION[name].program()
    x = net.data[0]
    file = _file(tmp_path, net.forward, (net.params, x))
    run = run_file(file, inference=True, inputs={**_named(net.params), "x": np.asarray(x)})
    np.testing.assert_allclose(run.outputs["result"], net.forward(net.params, x), rtol=1e-4, atol=1e-5)
    shapes = {key: tuple(one["shape"]) for key, one in describe_file(file)["params"].items()}
    assert shapes == {key: value.shape for key, value in _named(net.params).items()}
    with pytest.raises(UsageError, match=r"input 'x' has shape 4x3x8x8, expected 4x8x8x3"):
        run_file(file, inference=True, inputs={**_named(net.params), "x": np.zeros((4, 3, 8, 8))})


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["lenet_nhwc", "resnet_nhwc"])
def test_gradients_and_steps_come_as_jax_has_them(name: str, tmp_path: Path) -> None:
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    net: JaxProgram = VISION[name].program()
    x, y = net.data
    file = _file(tmp_path, net.loss, (net.params, x, y))
    given_values = {**_named(net.params), "x": np.asarray(x), "y": np.asarray(y)}
    run = run_file(file, inputs=given_values)
    expected = _named(jax.grad(net.loss)(net.params, x, y))
    for key, gradient in run.gradients.items():
        np.testing.assert_allclose(gradient, expected[key], rtol=2e-3, atol=2e-5)
    assert run.gradients.keys() == expected.keys()
    step, arguments = net.step(optax.adam(0.01))
    file = _file(tmp_path, step, arguments)
    ours = run_file(file, steps=2, inputs={**_named(net.params), "data.0": np.asarray(x), "data.1": np.asarray(y)})
    params, state = arguments[:2]
    for _ in range(2):
        params, state, _ = jax.jit(step)(params, state, x, y)
    for key, value in _named(params).items():
        np.testing.assert_allclose(ours.updated[key], value, rtol=2e-3, atol=2e-5)


def _transposed(program: Program) -> list[str]:
    """The transposes of arguments."""
    return [str(op) for op in program.module.walk() if op.name == "train.transpose" and _is_argument(op.operands[0])]


def _is_argument(value: Any) -> bool:
    return value.owner.__class__.__name__ == "Block"


@pytest.mark.parametrize("name", ["convnet_nhwc", "lenet_nhwc", "resnet_nhwc"])
def test_no_transposes_are_left_in_a_function(name: str) -> None:
    pytest.importorskip("jax")
    net: JaxProgram = VISION[name].program()
    program = _read(net.forward, (net.params, net.data[0]), optimizer="sgd(lr=0.1)")
    assert not [op for op in program.module.walk() if op.name == "train.transpose"]
    assert any("npuc run takes and gives them as JAX has them" in one for one in program.warnings)


@pytest.mark.parametrize("name", ["convnet_nhwc", pytest.param("resnet_nhwc", marks=pytest.mark.heavy)])
def test_no_transposes_of_arguments_are_left_in_a_step(name: str) -> None:
    """Not of kernels, nor of states of their shape, nor of what updates them."""
    optax = pytest.importorskip("optax")
    net: JaxProgram = VISION[name].program()
    program = _read(*net.step(optax.adam(0.1)))
    assert not _transposed(program)
    roles = {str(role_of(op)) for op in program.module.walk() if op.name == "train.transpose"}
    assert not roles & {"dw", "update"}


def test_a_kernel_that_is_transposed_by_hand_lies_as_it_is_read() -> None:
    """PyTorch's order in the file, turned to HWIO for the convolution."""
    jax = pytest.importorskip("jax")

    def forward(p: Any, x: Any) -> Any:
        kernel = p["w"].transpose(2, 3, 1, 0)
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NCHW", "HWIO", "NCHW"))

    program = _read(forward, ({"w": random_array(4, 3, 3, 3)}, random_array(2, 3, 5, 5)), inference=True)
    assert not _transposed(program)
    assert not program.layouts


def test_what_is_read_otherwise_too_is_right(tmp_path: Path) -> None:
    """A kernel whose squares are added, and images that a mean reads: views of what lies otherwise."""
    jax = pytest.importorskip("jax")

    def forward(p: Any, x: Any) -> Any:
        y = jax.lax.conv_general_dilated(x, p["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        rows = (y * x.mean(-1, keepdims=True)).reshape(2, -1)
        return rows @ p["v"] + (p["w"] ** 2).sum((0, 2)).sum(), rows

    params = {"w": random_array(3, 3, 3, 4), "v": random_array(5 * 4 * 4, 2)}
    x = random_array(2, 5, 4, 3)
    run = run_file(
        _file(tmp_path, forward, (params, x)),
        inference=True,
        inputs={**{name: np.asarray(value) for name, value in params.items()}, "x": np.asarray(x)},
    )
    for found, expected in zip(run.outputs.values(), forward(params, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
