"""Rotary positions that exported programs spell out are the language's function, with the same numbers."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from npuc.compiler import compile_source, run_source
from npuc.compiler.core.errors import SourceError

BATCH, LENGTH, HEADS, SIZE = 2, 12, 3, 8
HALF = SIZE // 2


def _frequencies(base: float = 10000.0) -> Any:
    return base ** (-2 * torch.arange(HALF).double() / SIZE)


def _llama3(factor: float = 8.0, low: float = 1.0, high: float = 4.0, length: int = 64) -> Any:
    """As published with Llama 3.1."""
    plain = 10.0 ** (-2 * torch.arange(HALF).double() / SIZE)
    wave = 2 * torch.pi / plain
    smooth = (length / wave - low) / (high - low)
    between = (1 - smooth) * plain / factor + smooth * plain
    return torch.where(wave > length / low, plain / factor, torch.where(wave < length / high, plain, between))


def _angles(frequencies: Any) -> Any:
    return torch.outer(torch.arange(LENGTH).double(), frequencies)


def _halves(x: Any, angles: Any) -> Any:
    table = torch.cat([angles, angles], -1)
    first, second = x[..., :HALF], x[..., HALF:]
    return x * table.cos() + torch.cat([-second, first], -1) * table.sin()


def _joined(x: Any, angles: Any) -> Any:
    first, second = x.chunk(2, -1)
    cosine, sine = angles.cos(), angles.sin()
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


def _neighbours(x: Any, angles: Any) -> Any:
    cosine, sine = (torch.repeat_interleave(table, 2, -1) for table in (angles.cos(), angles.sin()))
    return x * cosine + torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2) * sine


def _stacked(x: Any, angles: Any) -> Any:
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    cosine, sine = angles.cos(), angles.sin()
    return torch.stack([even * cosine - odd * sine, odd * cosine + even * sine], -1).flatten(-2)


def _complex(x: Any, angles: Any) -> Any:
    turn = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * turn).flatten(-2)


FORMS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "halves": (_halves, ""),
    "joined": (_joined, ""),
    "neighbours": (_neighbours, ", interleaved=true"),
    "stacked": (_stacked, ", interleaved=true"),
    "complex": (_complex, ", interleaved=true"),
}
LISTED = [1.0, 0.7, 0.1, 0.03]
TURNS: dict[str, tuple[Any, str]] = {
    "plain": (_frequencies(), ""),
    "base": (_frequencies(500000.0), ", base=500000.0"),
    "llama3": (_llama3(), ", base=10.0, scaling=[8.0, 1.0, 4.0, 64.0]"),
    "listed": (torch.tensor(LISTED).double(), f", frequency={LISTED}"),
}


class _Net(nn.Module):
    """Rotary positions of an input times a parameter; the angles are a buffer, or what the form makes of it."""

    def __init__(self, form: Callable[[Any, Any], Any], turns: Any, *, by_heads: bool = False, stored: bool = True):
        super().__init__()
        shape = (BATCH, LENGTH, HEADS, SIZE) if by_heads else (BATCH, HEADS, LENGTH, SIZE)
        self.p = nn.Parameter(torch.linspace(0.5, 1.5, SIZE).double().expand(shape).clone())
        angles = _angles(turns)[:, None] if by_heads else _angles(turns)
        self.form, self.stored = form, stored
        self.register_buffer("turns", angles if stored else turns)

    def forward(self, x: Any) -> Any:
        x = x * self.p
        return self.form(x, self.turns if self.stored else _angles(self.turns)) * x


def _file(model: nn.Module, x: Any) -> bytes:
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (x,)), file)
    return file.getvalue()


def _operations(data: bytes) -> list[tuple[str, str]]:
    report = compile_source(data, "pt2", backend="roofline", loss="mse", inference=False)
    return [(row.op, row.phase) for row in report.ops if row.phase != "update"]


def _written(axis: str, options: str, x: Any) -> list[tuple[str, str]]:
    sizes = ", ".join(map(str, x.shape))
    text = f"""network n() {{
  input x: f64[{sizes}]
  input y: f64[{sizes}]
  p = param([{sizes}], f64)
  z = x * p
  turned = rotary_embedding(z{options}{axis})
  out = turned * z
  loss mse(out, y)
  optimizer sgd(lr=0.01)
}}"""
    report = compile_source(text, backend="roofline")
    return [(row.op, row.phase) for row in report.ops if row.phase != "update"]


@pytest.mark.parametrize("turns", list(TURNS))
@pytest.mark.parametrize("by_heads", [False, True])
@pytest.mark.parametrize("form", list(FORMS))
def test_a_spelt_out_form_is_the_function(form: str, turns: str, *, by_heads: bool) -> None:
    function, order = FORMS[form]
    model = _Net(function, TURNS[turns][0], by_heads=by_heads)
    x = torch.sin(torch.arange(model.p.numel()).double()).reshape(model.p.shape)
    data = _file(model, x)
    given = {"x": x.numpy(), "p": model.p.detach().numpy(), "y": np.zeros(x.shape)}
    run = run_source(data, "pt2", inputs=given, dtype="float64", loss="mse")
    loss = model(x).square().mean()
    loss.backward()
    assert model.p.grad is not None
    np.testing.assert_allclose(run.losses[0], loss.detach().numpy(), rtol=1e-9)
    np.testing.assert_allclose(run.gradients["p"], model.p.grad.numpy(), rtol=1e-6, atol=1e-9)
    axis = ", axis=-3" if by_heads else ""
    assert sorted(_operations(data)) == sorted(_written(axis, TURNS[turns][1] + order, x))


@pytest.mark.parametrize("form", list(FORMS))
def test_angles_that_the_model_computes_are_known(form: str) -> None:
    function, order = FORMS[form]
    model = _Net(function, TURNS["llama3"][0], stored=False)
    x = torch.sin(torch.arange(model.p.numel()).double()).reshape(model.p.shape)
    assert sorted(_operations(_file(model, x))) == sorted(_written("", TURNS["llama3"][1] + order, x))


@pytest.mark.parametrize("form", ["neighbours", "stacked", "complex"])
def test_tables_without_values_are_taken_for_those_of_the_usual_base(form: str) -> None:
    function, order = FORMS[form]

    class Tables(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.p = nn.Parameter(torch.ones(BATCH, LENGTH, HEADS, SIZE).double())
            angles = _angles(_frequencies())[:, None]
            self.register_buffer("turn", torch.polar(torch.ones_like(angles), angles))
            self.register_buffer("table", torch.cat([angles.sin(), angles.cos()], -1))

        def forward(self, x: Any) -> Any:
            x = x * self.p
            if form == "complex":
                pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
                return torch.view_as_real(pairs * self.turn[:LENGTH]).flatten(-2) * x
            sine, cosine = self.table[:LENGTH].split(HALF, -1)
            return function(x, _Known(sine, cosine)) * x

    x = torch.zeros(BATCH, LENGTH, HEADS, SIZE).double()
    with torch.device("meta"):
        data = _file(Tables().to("meta"), x.to("meta"))
    assert sorted(_operations(data)) == sorted(_written(", axis=-3", order, x))


class _Known:
    """Angles of which a form takes the cosine and the sine, which are given."""

    def __init__(self, sine: Any, cosine: Any):
        self._sine, self._cosine = sine, cosine

    def cos(self) -> Any:
        return self._cosine

    def sin(self) -> Any:
        return self._sine


def _wrong_sign(x: Any, angles: Any) -> Any:
    first, second = x.chunk(2, -1)
    cosine, sine = angles.cos(), angles.sin()
    return torch.cat([first * cosine - second * sine, second * cosine - first * sine], -1)


def _other_tables(x: Any, angles: Any) -> Any:
    first, second = x.chunk(2, -1)
    cosine, sine = angles.cos(), (angles * angles).sin()
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


@pytest.mark.parametrize("form", [_wrong_sign, _other_tables])
def test_what_only_looks_like_it_is_computed_as_it_stands(form: Callable[[Any, Any], Any]) -> None:
    model = _Net(form, TURNS["plain"][0])
    x = torch.sin(torch.arange(model.p.numel()).double()).reshape(model.p.shape)
    given = {"x": x.numpy(), "p": model.p.detach().numpy(), "y": np.zeros(x.shape)}
    run = run_source(_file(model, x), "pt2", inputs=given, dtype="float64", loss="mse")
    np.testing.assert_allclose(run.losses[0], model(x).square().mean().detach().numpy(), rtol=1e-9)


def _arithmetic(x: Any, angles: Any) -> Any:
    a = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    b = torch.complex(angles, angles * 2)
    c = (a * b + a.conj() * 2)[..., 1:, :].transpose(1, 2) - torch.polar(angles[1:], angles[1:])[:, None]
    return c.real.sum() + (c.imag * 3).sum() + x * 0


def test_other_arithmetic_of_complex_numbers_is_exact() -> None:
    model = _Net(_arithmetic, TURNS["plain"][0])
    x = torch.sin(torch.arange(model.p.numel()).double()).reshape(model.p.shape)
    given = {"x": x.numpy(), "p": model.p.detach().numpy(), "y": np.zeros(x.shape)}
    run = run_source(_file(model, x), "pt2", inputs=given, dtype="float64", loss="mse")
    loss = model(x).square().mean()
    loss.backward()
    assert model.p.grad is not None
    np.testing.assert_allclose(run.losses[0], loss.detach().numpy(), rtol=1e-9)
    np.testing.assert_allclose(run.gradients["p"], model.p.grad.numpy(), rtol=1e-9, atol=1e-9)


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "exp": (lambda x, a: torch.exp(torch.complex(x, x)).real, r"aten\.exp\.default: found complex numbers"),
    "output": (lambda x, a: torch.complex(x, x), "output 'output': found complex numbers"),
    "sum": (lambda x, a: (torch.complex(x, x) + 1).real, "found a sum of a complex and a real number"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_other_complex_numbers_are_refused_by_name(name: str) -> None:
    function, message = REFUSED[name]

    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x, None)

    with pytest.raises(SourceError, match=message):
        compile_source(_file(Model(), torch.ones(2, 3)), "pt2", backend="roofline", inference=True)
