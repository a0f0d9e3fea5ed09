"""PyTorch modules at hand are sources: exported without values, computed as PyTorch computes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from npuc.compiler import UsageError, compile_file, describe_file, run_file, sweep_file
from npuc.frontends.torch import from_module
from tests.docs.pages import blocks_of, read_page
from tests.docs.shell import Shell
from tests.pytorch.exported import Cnn

F = nn.functional


class _Decomposed(nn.Module):
    """Calls that are not read as they are, between some that are."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.fc = nn.BatchNorm1d(4), nn.Linear(4, 4)
        self.register_buffer("places", torch.tensor([2, 0, 1]), persistent=False)

    def forward(self, x: Any, scale: Any = None) -> Any:
        x = self.norm(self.fc(x))
        y = torch.sinc(x)[self.places]
        y = torch.addcdiv(y, x, 2 + x * x) * F.cosine_similarity(x, y, dim=1)[:, None]
        return torch.dist(x, y) * y if scale is None else y * scale


def _trained(model: nn.Module, x: Any, target: Any, **named: Any) -> tuple[float, dict[str, Any]]:
    loss = F.mse_loss(model(x, **named), target)
    loss.backward()
    return loss.item(), {k: p.grad.numpy() for k, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("scaled", [False, True])
def test_calls_that_are_not_read_are_decomposed(*, scaled: bool) -> None:
    torch.manual_seed(1)
    model, x, target = _Decomposed().double(), torch.randn(3, 4).double(), torch.randn(3, 4).double()
    named = {"scale": torch.randn(4).double()} if scaled else {}
    source = from_module(model, (x,), kwargs=named)
    inputs = {"x": x.numpy(), "y": target.numpy(), **{k: v.numpy() for k, v in named.items()}}
    run = run_file(source, inputs=inputs, dtype="float64", loss="mse")
    loss, gradients = _trained(model, x, target, **named)
    assert run.losses[0] == pytest.approx(loss, rel=1e-9)
    assert run.gradients.keys() == gradients.keys()
    for name, gradient in gradients.items():
        np.testing.assert_allclose(run.gradients[name], gradient, rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_run_starts_with_what_the_parameters_are_then() -> None:
    model, x = nn.Linear(3, 2, dtype=torch.bfloat16), torch.ones(1, 3, dtype=torch.bfloat16)
    source = from_module(model, (x,))
    with torch.no_grad():
        model.weight.fill_(0.5)
        model.bias.fill_(1.0)
    run = run_file(source, inputs={"input": np.ones((1, 3))}, inference=True)
    np.testing.assert_array_equal(run.outputs["output"], np.full((1, 2), 2.5))


def test_a_module_without_memory_costs_what_one_with_weights_costs() -> None:
    model, x = Cnn(), torch.randn(2, 3, 16, 16)
    expected = compile_file(from_module(model, (x,)), backend="roofline").to_json()
    assert compile_file(from_module(model.to("meta"), (x,)), backend="roofline").to_json() == expected


class _Pair(NamedTuple):
    twice: Any
    half: Any


class _Named(nn.Module):
    def forward(self, x: Any) -> Any:
        return {"both": _Pair(x * 2, x / 2), "x": [x + 1]}


def test_outputs_are_named_by_the_structures_that_they_stand_in() -> None:
    run = run_file(from_module(_Named(), (torch.ones(3),)), inputs={"x": np.ones(3)}, inference=True)
    assert {name: value[0] for name, value in run.outputs.items()} == {"both.twice": 2.0, "both.half": 0.5, "x.0": 2.0}


class _Frozen(nn.Module):
    """Modules of which all, some or no parameters are trained."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.other = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.BatchNorm2d(4)
        self.fc, self.fc2, self.scale = nn.Linear(4, 4), nn.Linear(4, 4), nn.LayerNorm(4)
        for name in ("conv.weight", "conv.bias", "norm.weight", "norm.bias", "other.weight", "fc.weight", "scale.bias"):
            self.get_parameter(name).requires_grad_(False)

    def forward(self, x: Any) -> Any:
        x = self.other(torch.relu(self.norm(self.conv(x))))
        return self.fc2(self.scale(self.fc(x.movedim(1, 3))))


def test_only_parameters_that_require_gradients_are_trained() -> None:
    torch.manual_seed(2)
    model, x = _Frozen().double(), torch.randn(2, 2, 5, 5).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter))
    target = torch.randn_like(model(x))
    source = from_module(model, (x,))
    run = run_file(source, inputs={"x": x.numpy(), "y": target.numpy()}, dtype="float64", loss="mse")
    loss, gradients = _trained(model, x, target)
    assert run.losses[0] == pytest.approx(loss, rel=1e-9)
    assert run.gradients.keys() == gradients.keys()
    for name, gradient in gradients.items():
        np.testing.assert_allclose(run.gradients[name], gradient, rtol=1e-9, atol=1e-12, err_msg=name)


def test_free_sizes_and_names() -> None:
    source = from_module(
        Cnn(), (torch.empty(2, 3, 16, 16),), dynamic_shapes=({0: torch.export.Dim("rows", min=1, max=64)},), name="net"
    )
    assert describe_file(source, defines={"x.0": 8})["inputs"]["x"]["shape"] == [8, 3, 16, 16]
    small, large = sweep_file(source, vary={"x.0": [4, 8]}, backend="roofline", jobs=2)
    assert small.totals is not None
    assert large.totals is not None
    assert 2 * small.totals.macs == large.totals.macs
    assert compile_file(source, backend="roofline").source == "net"


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((3, ()), {}, "module: expected a torch.nn.Module, got the int 3"),
        (
            (nn.Linear(2, 2), torch.ones(2)),
            {},
            "example_inputs: expected a tuple of the arguments, got the Tensor tensor([1., 1.])",
        ),
        ((nn.Linear(2, 2), ()), {"kwargs": 3}, "kwargs: expected a mapping with strings as keys or None"),
        ((nn.Linear(2, 2), ()), {"name": 3}, "name: expected a string or None, got the int 3"),
    ],
)
def test_arguments_of_wrong_types(arguments: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        from_module(*arguments, **named)


def test_a_module_that_pytorch_cannot_export() -> None:
    with pytest.raises(UsageError, match="PyTorch cannot export Linear: "):
        from_module(nn.Linear(2, 2), (torch.ones(3),))


def test_the_page_shows_what_happens(tmp_path: Path) -> None:
    blocks = blocks_of(read_page("importing"))
    first = next(number for number, block in enumerate(blocks) if "import torch" in block.text)
    shell = Shell(tmp_path)
    for block in blocks[first : first + 2]:
        shell.run(block)
