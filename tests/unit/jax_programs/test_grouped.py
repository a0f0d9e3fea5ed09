"""Whole steps of JAX with convolutions in groups, as MobileNet and ResNeXt have them: dX and dW of each stride."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_source
from npuc.dialects.provenance import layer_of, role_of
from npuc.frontends.base import Program, Request
from npuc.frontends.jax.operators import convolutions
from npuc.frontends.source import text_source
from tests.jax_programs import run_of, text_of

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
LAYOUTS = {"nchw": ("NCHW", "OIHW", "NCHW"), "nhwc": ("NHWC", "HWIO", "NHWC")}
NET = """network net() {{
  input x: f32[2, 4, 8, 8]
  labels y: i32[2]
  h = relu(conv2d(x, 8, kernel=1, bias=false))
  h = relu(conv2d(h, {wide}, kernel=3, stride={stride}, padding=1, groups={groups}, bias=false))
  h = conv2d(h, 6, kernel=1, bias=false)
  {shortcut}
  loss cross_entropy(linear(flatten(h), 10, bias=false), y)
  optimizer sgd(lr=0.1)
}}"""
SHORTCUT = "h = add(h, conv2d(x, 6, kernel=1, stride={}, bias=false))"


class Block:
    """1x1, 3x3 in groups, 1x1, with a shortcut where it is ResNeXt's, and a linear layer."""

    def __init__(self, stride: int, groups: int, wide: int, layout: str, shortcut: bool = False):
        self.stride, self.groups, self.numbers, self.shortcut = stride, groups, LAYOUTS[layout], shortcut
        random, last = np.random.default_rng(0), layout == "nhwc"

        def weight(out: int, inner: int, size: int) -> Any:
            made = random.normal(0, 0.4, (out, inner, size, size)).astype("float32")
            return made.transpose(2, 3, 1, 0) if last else made

        self.params = {
            "expand": weight(8, 4, 1),
            "middle": weight(wide, 8 // groups, 3),
            "project": weight(6, wide, 1),
            "fc": random.normal(0, 0.4, (6 * (8 // stride) ** 2, 10)).astype("float32"),
        }
        if shortcut:
            self.params["short"] = weight(6, 4, 1)
        x = random.normal(0, 1, (2, 4, 8, 8)).astype("float32")
        self.data = x.transpose(0, 2, 3, 1) if last else x, np.array([3, 7], "int32")

    def conv(self, x: Any, w: Any, stride: int = 1, groups: int = 1) -> Any:
        edge = (w.shape[-1] if self.numbers[1] == "OIHW" else w.shape[0]) // 2
        return jax.lax.conv_general_dilated(
            *(x, w, (stride, stride), ((edge, edge),) * 2),
            dimension_numbers=self.numbers,
            feature_group_count=groups,
        )

    def loss(self, params: Any, x: Any, y: Any) -> Any:
        with jax.named_scope("expand"):
            h = jax.nn.relu(self.conv(x, params["expand"]))
        with jax.named_scope("middle"):
            h = jax.nn.relu(self.conv(h, params["middle"], self.stride, self.groups))
        with jax.named_scope("project"):
            h = self.conv(h, params["project"])
        if self.shortcut:
            with jax.named_scope("short"):
                h = h + self.conv(x, params["short"], self.stride)
        with jax.named_scope("fc"):
            logits = h.reshape(2, -1) @ params["fc"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(self, params: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(self.loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    def text(self) -> str:
        return text_of(self.step, (self.params, *self.data))


FORMS = [(4, 8), (4, 16), (8, 8), (8, 16), (2, 8)]
"""Groups and channels of the convolution in the middle: 8 channels in 8 groups are MobileNet's."""


def read(text: str) -> Program:
    source = text_source(text.encode(), "jax", "step.mlir")
    program = source.frontend.read(source, Request())
    program.module.verify()
    return program


def check_steps(block: Block, program: Program, count: int = 3) -> None:
    """Losses and parameters of some steps are those of JAX."""
    params, (x, y) = block.params, block.data
    for _ in range(count):
        run = run_of(program, {**params, "x": x, "y": y})
        params, value = jax.jit(block.step)(params, x, y)
        assert run.loss == pytest.approx(float(value), rel=1e-5, abs=1e-5)
        for name, expected in params.items():
            np.testing.assert_allclose(run.updated[name], expected, rtol=1e-5, atol=1e-5)


def roles(program: Program) -> dict[str, set[tuple[str, str]]]:
    """The layers and phases of each product of a convolution."""
    found: dict[str, set[tuple[str, str]]] = {}
    for op in program.module.walk():
        if op.name.startswith("train.conv2d"):
            found.setdefault(op.name, set()).add((str(layer_of(op)), str(role_of(op))))
    return found


@pytest.mark.parametrize("layout", ["nhwc", pytest.param("nchw", marks=pytest.mark.heavy)])
@pytest.mark.parametrize(
    ("groups", "wide"), [one if one == (8, 8) else pytest.param(*one, marks=pytest.mark.heavy) for one in FORMS]
)
@pytest.mark.parametrize("stride", [2, pytest.param(1, marks=pytest.mark.heavy)])
def test_steps_are_those_of_jax(stride: int, groups: int, wide: int, layout: str) -> None:
    block = Block(stride, groups, wide, layout, shortcut=groups == 4)
    program = read(block.text())
    check_steps(block, program)
    layers = {"expand", "middle", "project"} | ({"short"} if groups == 4 else set())
    assert roles(program) == {
        "train.conv2d": {(layer, "forward") for layer in layers},
        "train.conv2d_dx": {(layer, "dx") for layer in ("middle", "project")},
        "train.conv2d_dw": {(layer, "dw") for layer in layers},
    }
    assert not any(op.name in ("train.flip", "train.reverse") for op in program.module.walk())


@pytest.mark.heavy
@pytest.mark.parametrize("groups", [4, 8])
def test_phases_are_found_without_names(groups: int) -> None:
    block = Block(2, groups, 8, "nhwc")
    program = read(jax.jit(block.step).lower(block.params, *block.data).as_text())
    found = [(op.name, str(role_of(op))) for op in program.module.walk() if op.name.startswith("train.conv2d")]
    assert sorted(found) == [
        *[("train.conv2d", "forward")] * 3,
        *[("train.conv2d_dw", "dw")] * 3,
        *[("train.conv2d_dx", "dx")] * 2,
    ]


@pytest.mark.heavy
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("rank", [1, 3])
def test_other_numbers_of_axes(rank: int, dilation: int) -> None:
    letters = "DHW"[-rank:]
    numbers = (f"NC{letters}", f"OI{letters}", f"NC{letters}")
    random = np.random.default_rng(0)

    def loss(params: Any, x: Any) -> Any:
        h = jax.numpy.tanh(jax.lax.conv_general_dilated(x, params["a"], (1,) * rank, "SAME", dimension_numbers=numbers))
        more = {"rhs_dilation": (dilation,) * rank, "feature_group_count": 4}
        h = jax.lax.conv_general_dilated(h, params["b"], (2,) * rank, "SAME", dimension_numbers=numbers, **more)
        return (h**2).mean()

    def step(params: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    shapes = {"a": (8, 2, *(3,) * rank), "b": (12, 2, *(3,) * rank)}
    params = {name: random.normal(0, 0.3, shape).astype("float32") for name, shape in shapes.items()}
    x = random.normal(0, 1, (2, 2, *(6,) * rank)).astype("float32")
    program = read(text_of(step, (params, x)))
    for _ in range(2):
        run = run_of(program, {**params, "x": x})
        params, value = jax.jit(step)(params, x)
        assert run.loss == pytest.approx(float(value), rel=1e-5)
        for name, expected in params.items():
            np.testing.assert_allclose(run.updated[name], expected, rtol=1e-5, atol=1e-5)
    assert {op.name for op in program.module.walk()} >= {f"train.conv{rank}d_dx", f"train.conv{rank}d_dw"}


@pytest.mark.heavy
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("groups", "wide"), [(4, 16), (8, 8)])
def test_kernels_whose_groups_are_moved_otherwise(
    groups: int, wide: int, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the moves of a kernel are not found, they are undone."""
    monkeypatch.setattr(convolutions, "regrouped", lambda *_: None)
    block = Block(2, groups, wide, layout)
    program = read(block.text())
    check_steps(block, program, 1)
    assert ("middle", "dx") in roles(program)["train.conv2d_dx"]


def products(report: Any) -> dict[str, list[int]]:
    """The multiplications of each product of convolutions and matrices, by phase."""
    found: dict[str, list[int]] = {}
    for row in report.ops:
        if row.macs:
            found.setdefault(row.phase, []).append(row.macs)
    return {phase: sorted(macs) for phase, macs in found.items()}


@pytest.mark.heavy
@pytest.mark.parametrize("shortcut", [False, True])
@pytest.mark.parametrize(("groups", "wide"), [(4, 8), (8, 8), (8, 16)])
@pytest.mark.parametrize("stride", [1, 2])
def test_products_are_those_of_the_network_in_the_language(stride: int, groups: int, wide: int, shortcut: bool) -> None:
    """In each phase, and with the gradients of a layer interleaved."""
    net = NET.format(wide=wide, stride=stride, groups=groups, shortcut=SHORTCUT.format(stride) if shortcut else "")
    ours = products(compile_source(net, format="dsl", filename="net.dsl", backend="cycle"))
    assert len(ours["dxdw"]) == 3
    for layout in LAYOUTS:
        text = Block(stride, groups, wide, layout, shortcut).text().encode()
        assert products(compile_source(text, format="jax", filename="net.mlir", backend="cycle")) == ours
