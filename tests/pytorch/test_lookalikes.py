"""Modules that almost spell out what the language has a function for: each is computed as it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from npuc.compiler import run_file
from npuc.frontends.torch import from_module

LENGTH, SIZE = 4, 8


class _Turned(nn.Module):
    """x turned by angles that are made of positions and frequencies."""

    def __init__(self, angles: Callable[[Any, Any], Any]):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, SIZE).double())
        self.register_buffer("inverse", 10000.0 ** (-torch.arange(0, SIZE, 2).double() / SIZE))
        self.angles = angles

    def forward(self, x: Any) -> Any:
        x = x * self.weight
        angles = self.angles(torch.arange(LENGTH).double(), self.inverse)
        table = torch.cat([angles, angles], -1)
        turned = torch.cat([-x[..., SIZE // 2 :], x[..., : SIZE // 2]], -1)
        return x * table.cos() + turned * table.sin()


ANGLES: dict[str, Callable[[Any, Any], Any]] = {
    "rotary positions": torch.outer,
    "the last position first": lambda t, f: torch.outer(t.flip(0), f),
    "two positions exchanged": lambda t, f: torch.outer(t[torch.tensor([1, 0, 2, 3])], f),
    "positions along the pairs": lambda t, f: f[:, None] * t,
    "positions of rows before those of heads, as many": lambda t, f: torch.outer(t, f)[:, None],
    "a batch of positions, exchanged in one": lambda t, f: torch.stack([t, t.flip(0)])[:, None, :, None] * f,
}


@pytest.mark.parametrize("name", ANGLES)
def test_angles_are_those_of_the_positions(name: str) -> None:
    model = _Turned(ANGLES[name])
    x = torch.sin(torch.arange(2.0 * LENGTH * LENGTH * SIZE).double()).reshape(2, LENGTH, LENGTH, SIZE)
    run = run_file(from_module(model, (x,)), inputs={"x": x.numpy()}, dtype="float64", inference=True)
    (output,) = run.outputs.values()
    np.testing.assert_allclose(output, model(x).detach().numpy(), rtol=1e-9, atol=1e-9)


def _swapped(x: Any) -> Any:
    return torch.cat([-x[..., SIZE // 2 :], x[..., : SIZE // 2]], -1)


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "for both tables": lambda x: x * 0.5 + _swapped(x) * 2.0,
    "for the cosine": lambda x: 0.5 * x + _swapped(x) * x,
    "for the sine": lambda x: x * x.cos() + 2.0 * _swapped(x),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_stand_where_tables_of_angles_would(name: str) -> None:
    x = torch.sin(torch.arange(2.0 * LENGTH * SIZE).double()).reshape(2, LENGTH, SIZE)
    model = _Of(NUMBERS[name])
    run = run_file(from_module(model, (x,)), inputs={"x": x.numpy()}, dtype="float64", inference=True)
    (output,) = run.outputs.values()
    np.testing.assert_allclose(output, model(x).numpy(), rtol=1e-9, atol=1e-9)


class _Of(nn.Module):
    def __init__(self, function: Callable[[Any], Any]):
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


class _Grouped(nn.Module):
    def __init__(self, keys: Callable[[Any], Any]):
        super().__init__()
        self.keys = keys

    def forward(self, x: Any) -> Any:
        keys = self.keys(x)
        return nn.functional.scaled_dot_product_attention(x, keys, keys)


GROUPED: dict[str, Callable[[Any], Any]] = {
    "for each head of a group": lambda x: x[:, :1, None].expand(2, 1, 2, 3, 4).reshape(2, 2, 3, 4),
    "as a whole, for each sample": lambda x: x[:, :1].reshape(1, 1, 2, 3, 4).expand(2, 1, 2, 3, 4).reshape(2, 2, 3, 4),
}


@pytest.mark.parametrize("name", GROUPED)
def test_keys_are_repeated_as_the_model_does(name: str) -> None:
    model, x = _Grouped(GROUPED[name]), torch.sin(torch.arange(48.0).double()).reshape(2, 2, 3, 4)
    run = run_file(from_module(model, (x,)), inputs={"x": x.numpy()}, dtype="float64", inference=True)
    (output,) = run.outputs.values()
    np.testing.assert_allclose(output, model(x).numpy(), rtol=1e-9, atol=1e-9)
