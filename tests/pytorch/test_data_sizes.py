"""Exported programs whose sizes depend on data: assumed by name, exact where data keep to them, else an error."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from npuc.compiler import compile_source, run_source
from npuc.compiler.core.errors import NpucError, SourceErrors, UsageError

X = torch.sin(1 + 2 * torch.arange(24.0)).reshape(6, 4).double()


class _Model(nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        torch.manual_seed(1)
        self.l = nn.Linear(4, 4).double()
        self.function = function

    def forward(self, x: Any, more: Any = None) -> Any:
        return self.function(self.l, x) if more is None else self.function(self.l, x, more)


def _file(model: nn.Module, *inputs: Any) -> bytes:
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, inputs), file)
    return file.getvalue()


def _experts(net: Any, x: Any) -> Any:
    out, chosen = torch.zeros_like(x), (x[:, 0] > 0).long()
    for expert in range(2):
        rows = torch.where(chosen == expert)[0]
        out = out.index_add(0, rows, net(x[rows]) * (expert + 1))
    return out


def _put(net: Any, x: Any) -> Any:
    y = net(x).clone()
    y[x > 0.5] = y[x > 0.5] * 2
    y[x < -0.5] = 0.25
    y[x[:, 0] > 0] += torch.ones(4).double()
    return y


def _unique(net: Any, x: Any) -> Any:
    ids = (x[:, :2] * 2).round().long()
    values, inverse, counts = torch.unique(ids, return_inverse=True, return_counts=True)
    return net(x[values.abs()])[inverse].sum(1) * counts.sum() + (values * counts).sum()


def _consecutive(net: Any, x: Any) -> Any:
    values, inverse, counts = torch.unique_consecutive((x[:, 0] > 0).long(), return_inverse=True, return_counts=True)
    return net(x) * inverse[:, None] + (values * counts).sum()


CASES: dict[str, tuple[Callable[..., Any], Callable[[Any], Mapping[str, int]]]] = {
    "nonzero": (
        lambda net, x: net(x[torch.nonzero(x[:, 0] > 0)[:, 0]]),
        lambda x: {"nonzero": int((x[:, 0] > 0).sum())},
    ),
    "where": (lambda net, x: net(x)[torch.where(x > 0)], lambda x: {"where": int((x > 0).sum())}),
    "mask": (lambda net, x: net(x[x[:, 0] > 0]), lambda x: {"index": int((x[:, 0] > 0).sum())}),
    "mask_behind": (lambda net, x: net(x)[:, x[0] > 0], lambda x: {"u0": int((x[0] > 0).sum())}),
    "masked_select": (
        lambda net, x: torch.masked_select(net(x), x[:, :1] > 0),
        lambda x: {"masked_select": 4 * int((x[:, 0] > 0).sum())},
    ),
    "put": (_put, lambda x: {"u0": int((x > 0.5).sum()), "u1": int((x[:, 0] > 0).sum())}),
    "experts": (_experts, lambda x: {"where": int((x[:, 0] <= 0).sum()), "where_1": int((x[:, 0] > 0).sum())}),
    "unique": (_unique, lambda x: {"u0": len((x[:, :2] * 2).round().unique())}),
    "consecutive": (_consecutive, lambda x: {"u0": len((x[:, 0] > 0).unique_consecutive())}),
}


def _data(name: str, **sizes: int) -> tuple[bytes, Mapping[str, int]]:
    function, count = CASES[name]
    data = _file(_Model(function), X)
    return data, {**count(X), **sizes}


@pytest.mark.parametrize("name", list(CASES))
def test_a_model_computes_what_pytorch_computes(name: str) -> None:
    data, sizes = _data(name)
    model = _Model(CASES[name][0])
    out = model(X)
    inputs = {"x": X.numpy(), "y": np.zeros(out.shape)}
    run = run_source(data, "pt2", inputs=inputs, dtype="float64", loss="mse", defines=dict(sizes))
    loss = out.square().mean()
    loss.backward()
    np.testing.assert_allclose(run.losses[0], loss.detach().numpy(), rtol=1e-9)
    for key, one in model.named_parameters():
        assert one.grad is not None
        np.testing.assert_allclose(run.gradients[key], one.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["nonzero", "mask", "unique"])
def test_data_of_another_size_are_an_error_of_the_run(name: str) -> None:
    data, sizes = _data(name)
    (symbol, count), *_ = sizes.items()
    wrong = {**sizes, symbol: count - 1}
    with pytest.raises(NpucError, match=f"found {count} elements that are not 0, expected its size, {count - 1}"):
        run_source(data, "pt2", inputs={"x": X.numpy()}, inference=True, defines=wrong)


def test_sizes_without_a_value_are_all_named() -> None:
    data, _ = _data("experts")
    with pytest.raises(SourceErrors) as caught:
        compile_source(data, "pt2", backend="roofline")
    text = str(caught.value)
    assert "aten.where.default: the size u0 of its result depends on data, 1 to 6" in text
    assert "-D where_1=6 assumes a size" in text


def test_a_report_says_what_is_assumed() -> None:
    data, sizes = _data("mask")
    report = compile_source(data, "pt2", backend="roofline", defines=dict(sizes))
    (said,) = (warning for warning in report.warnings if "depends on data" in warning)
    assert said == f"aten.index.Tensor (node 3) is assumed to give the size {sizes['index']}, which depends on data"
    more = compile_source(data, "pt2", backend="roofline", defines={"index": sizes["index"] + 1})
    assert more.totals.macs is not None
    assert report.totals.macs is not None
    assert more.totals.macs > report.totals.macs


@pytest.mark.parametrize(("size", "message"), [(7, "found 7, expected 1 to 6"), (0, "found 0, expected a size")])
def test_a_size_lies_within_its_bounds(size: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compile_source(_data("mask")[0], "pt2", backend="roofline", defines={"index": size})


def _item(net: Any, x: Any, n: Any) -> Any:
    rows = n.item()
    torch._check(rows >= 1)
    torch._check(rows <= 6)
    return net(x[:rows]).sum()


def test_a_size_that_nothing_checks_is_compiled_and_not_run() -> None:
    data = _file(_Model(_item), X, torch.tensor(3))
    assert compile_source(data, "pt2", backend="roofline", defines={"item": 3}).totals.macs
    inputs = {"x": X.numpy(), "more": np.array(3)}
    with pytest.raises(
        UsageError, match=r"cannot be run: aten\.item\.default \(node 1\) is assumed to give the size 3"
    ):
        run_source(data, "pt2", inputs=inputs, defines={"item": 3})


def test_a_size_whose_places_are_not_used_is_not_run() -> None:
    data = _file(_Model(lambda net, x: net(torch.ones(torch.nonzero(x > 0).shape[0], 4).double())), X)
    with pytest.raises(UsageError, match="cannot be run"):
        run_source(data, "pt2", inputs={"x": X.numpy()}, defines={"nonzero": 3}, inference=True)
