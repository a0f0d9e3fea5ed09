"""Programs that PyTorch exports compute here what they compute there, operator by operator."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from npuc.compiler import run_source
from tests.pytorch.exported import CASES, exported

F = functional
Function = Callable[[Any], Any]


class _Of(torch.nn.Module):
    """A function of the inputs, each times a parameter."""

    def __init__(self, function: Function, x: Any):
        super().__init__()
        self.p = torch.nn.Parameter(torch.linspace(0.5, 1.5, x.numel()).double().reshape(x.shape))
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x * self.p)


OPERATORS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "abs": (torch.abs, (3, 4)),
    "amax": (lambda x: x.amax(1), (3, 4)),
    "argmax": (lambda x: x * x.argmax(1, keepdim=True), (3, 4)),
    "any": (lambda x: x * (x > 1).any(1, keepdim=True), (3, 4)),
    "baddbmm": (lambda x: torch.baddbmm(x, x, x.transpose(1, 2) @ x, beta=0.5, alpha=2), (2, 3, 3)),
    "addmm": (lambda x: torch.addmm(x[0], x, x.t() @ x, beta=2), (3, 4)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (1, 2, 7, 7)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), (1, 2, 4, 4, 4)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, 2)), (1, 2, 7, 5)),
    "cat": (lambda x: torch.cat([x, x * 2, x[:0]], 0), (3, 4)),
    "celu": (lambda x: F.celu(x, 0.5), (3, 4)),
    "batch_norm_of_the_batch": (lambda x: F.batch_norm(x, None, None, training=True, eps=1e-3) * x, (3, 2, 4)),
    "batch_norm_of_weights": (lambda x: F.batch_norm(x, None, None, x[0, :, 0], training=True) * x, (2, 3, 4)),
    "bits": (lambda x: x * ((torch.arange(4) & 1) | 2) * ~torch.arange(4), (3, 4)),
    "chunk": (lambda x: x.chunk(3, 1)[1], (2, 7)),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), (3, 4)),
    "clamp_min": (lambda x: x.clamp_min(0.1), (3, 4)),
    "conv1d": (lambda x: F.conv1d(x, torch.ones(4, 1, 3).double(), padding="same", groups=2), (1, 2, 6)),
    "conv_transpose2d": (lambda x: F.conv_transpose2d(x, torch.ones(2, 3, 3, 3).double(), stride=2), (1, 2, 3, 3)),
    "cosine": (lambda x: x / x.norm(dim=1, keepdim=True), (3, 4)),
    "cumsum": (lambda x: x.cumsum(1), (3, 4)),
    "copied_then_written": (lambda x: _copied(x), (3, 4)),
    "cast_then_written": (lambda x: _cast(x), (3, 4)),
    "diff": (lambda x: x.diff(dim=1), (3, 4)),
    "einsum": (lambda x: torch.einsum("bij,bkj->bik", x, x), (2, 3, 4)),
    "elu": (lambda x: F.elu(x, 0.7), (3, 4)),
    "embedding_bag": (lambda x: F.embedding_bag(torch.tensor([1, 2, 0, 2]), x, torch.tensor([0, 2])), (3, 4)),
    "embedding_bag_ragged": (lambda x: F.embedding_bag(torch.tensor([1, 2, 0, 2]), x, torch.tensor([0, 1])), (3, 4)),
    "expand": (lambda x: x[:, None].expand(3, 2, 4) * 2, (3, 4)),
    "flip": (lambda x: x.flip(1) * torch.arange(4), (3, 4)),
    "floor": (lambda x: x - x.floor(), (3, 4)),
    "floor_divide": (lambda x: x * torch.div(torch.arange(4), 2, rounding_mode="floor"), (3, 4)),
    "gather": (lambda x: x.gather(1, torch.tensor([[0, 2], [1, 1], [3, 0]])), (3, 4)),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), (3, 4)),
    "gelu_spelt_out": (lambda x: x * 0.5 * (1 + torch.erf(x / 2**0.5)), (3, 4)),
    "glu": (lambda x: F.glu(x, 1), (3, 4)),
    "group_norm": (lambda x: F.group_norm(x, 2) * x, (2, 4, 3)),
    "gru_cell": (lambda x: torch.gru_cell(x, x[:, :2], _numbers(6, 4), _numbers(6, 2)), (3, 4)),
    "hardshrink": (lambda x: F.hardshrink(x) + F.softshrink(x), (3, 4)),
    "selu": (lambda x: F.selu(x) + F.logsigmoid(x) + F.threshold(x, 0.1, 2.0), (3, 4)),
    "hardtanh": (lambda x: F.hardtanh(x, -0.3, 0.6), (3, 4)),
    "in_place_transposed": (lambda x: _changed(x), (3, 4)),
    "index": (lambda x: x[torch.tensor([0, 2, -1]), torch.tensor([[1], [3]])], (3, 4)),
    "index_add": (lambda x: x.index_add(0, torch.tensor([0, 0]), x[1:]), (3, 4)),
    "index_put": (lambda x: x.index_put((torch.tensor([1, 1]),), x[:2], accumulate=True), (3, 4)),
    "instance_norm": (lambda x: F.instance_norm(x) * x, (2, 4, 3)),
    "lstm_cell": (lambda x: sum(torch.lstm_cell(x, (x[:, :2], x[:, 1:3]), *_cell_weights())), (3, 4)),
    "rnn_relu_cell": (lambda x: torch.rnn_relu_cell(x, x[:, :2], _numbers(2, 4), _numbers(2, 2)), (3, 4)),
    "layer_norm": (lambda x: F.layer_norm(x, (3, 4)) * x, (2, 3, 4)),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), (3, 4)),
    "log_softmax": (lambda x: F.log_softmax(x, 0), (3, 4)),
    "logsumexp": (lambda x: x.logsumexp(1), (3, 4)),
    "logsumexp_of_infinite_rows": (
        lambda x: torch.where(_rows(), x, torch.tensor(-torch.inf)).logsumexp(1).exp(),
        (3, 4),
    ),
    "infinite_where": (lambda x: torch.where(_rows()[:2], x, -torch.inf).softmax(1), (2, 4)),
    "infinite_mask": (lambda x: (x + torch.full((3, 4), -torch.inf).triu(1)).softmax(1) * x, (3, 4)),
    "infinite_fill": (lambda x: (x + torch.zeros(4, 4).fill_(-torch.inf).triu(1)).softmax(1) * x, (4, 4)),
    "infinite_pad": (lambda x: F.pad(x, (1, 0), value=-torch.inf).softmax(1)[:, 1:] * x, (3, 4)),
    "infinite_bounds": (lambda x: x.clamp(-torch.inf, 0.5) * x.clamp(-0.5, torch.inf), (3, 4)),
    "masked_fill": (lambda x: x.masked_fill(x > 0.5, -2.0), (3, 4)),
    "matmul_vectors": (lambda x: (x @ x[0]) @ x, (3, 3)),
    "max_dim": (lambda x: x.max(1).values, (3, 4)),
    "maximum": (lambda x: torch.maximum(x, x.t()), (3, 3)),
    "mish": (F.mish, (3, 4)),
    "narrow": (lambda x: x.narrow(1, 1, 2), (3, 4)),
    "one_hot": (lambda x: x * F.one_hot(torch.tensor([0, 2, 1]), 4), (3, 4)),
    "outer": (lambda x: torch.outer(x[0], x[1]), (3, 4)),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 1), value=0.5), (3, 4)),
    "pad_reflect": (lambda x: F.pad(x, (1, 2), mode="reflect"), (1, 3, 4)),
    "permute": (lambda x: x.permute(2, 0, 1) @ x.permute(2, 1, 0), (2, 3, 4)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2) * 2, (1, 4, 2, 2)),
    "pow": (lambda x: (x.abs() + 1) ** 1.5, (3, 4)),
    "prod": (lambda x: x.prod(1), (3, 4)),
    "remainder": (lambda x: x.remainder(0.3), (3, 4)),
    "repeat": (lambda x: x.repeat(2, 1, 2), (3, 4)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), (3, 4)),
    "rms_norm": (lambda x: F.rms_norm(x, (4,), eps=1e-3), (3, 4)),
    "roll": (lambda x: x.roll(1, 1) * x, (3, 4)),
    "rsub": (lambda x: 2 - x, (3, 4)),
    "scatter": (lambda x: x.scatter(1, torch.tensor([[0], [2], [1]]), 3.0), (3, 4)),
    "scatter_add": (lambda x: x.scatter_add(1, torch.tensor([[0, 0], [2, 1], [1, 1]]), x[:, :2]), (3, 4)),
    "sdpa_3d": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), (2, 3, 4)),
    "select": (lambda x: x.select(1, -1), (3, 4)),
    "silu_spelt_out": (lambda x: torch.sigmoid(x) * x, (3, 4)),
    "slice_step": (lambda x: x[:, ::2], (3, 5)),
    "softplus": (lambda x: F.softplus(x, 2.0), (3, 4)),
    "sort": (lambda x: x.sort(1).values * torch.arange(4), (3, 4)),
    "split": (lambda x: x.split([1, 3], 1)[1], (3, 4)),
    "squeeze": (lambda x: x[:, None].squeeze(1) * 2, (3, 4)),
    "stack": (lambda x: torch.stack([x, x * 3], -1), (3, 4)),
    "std": (lambda x: x.std(1), (3, 4)),
    "empty_writes": (lambda x: _nothing_written(x), (3, 4)),
    "tied_writes": (lambda x: _written(x), (4, 6)),
    "topk": (lambda x: x.topk(2, 1).values * torch.tensor([1.0, 2.0]).double(), (3, 4)),
    "tril": (lambda x: x.tril(-1), (4, 4)),
    "unbind": (lambda x: x.unbind(1)[2], (3, 4)),
    "unflatten": (lambda x: x.unflatten(1, (2, 2)).transpose(1, 2), (3, 4)),
    "upsample": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 3, 3)),
    "var": (lambda x: x.var((0, 1), correction=0), (3, 4)),
    "where": (lambda x: torch.where(x > 0, x, x * 0.1), (3, 4)),
}
"""Functions by what they show, with the shape of their input."""


def _numbers(*shape: int) -> Any:
    return torch.cos(torch.arange(float(np.prod(shape))).double()).reshape(shape)


def _cell_weights() -> tuple[Any, ...]:
    return _numbers(8, 4), _numbers(8, 2), _numbers(8), _numbers(8) / 2


def _changed(x: Any) -> Any:
    y = x.clone()
    y.t()[1].mul_(2.0)
    return y


def _nothing_written(x: Any) -> Any:
    y = x.clone()
    y[:0, 1:] = 2.0
    y[:, 4:].mul_(3.0)
    y[1:2] += 1.0
    return y


def _rows() -> Any:
    """Elements of three rows that are kept: all, one, none."""
    return torch.arange(4) < torch.tensor([[4], [1], [0]])


def _copied(x: Any) -> Any:
    """Writes to a copy, because the elements lie in another order, and to a view."""
    y, z = x.clone(), x.clone()
    y.t().reshape(-1).mul_(2.0)
    z.view(-1)[1:3].mul_(5.0)
    return y + z


def _cast(x: Any) -> Any:
    y = x.clone()
    w = y.to(torch.float32)
    w.add_(1.0)
    same = y.to(torch.float64)
    same[0].mul_(3.0)
    return y + 0.0 * w.sum()


def _written(x: Any) -> Any:
    y = torch.zeros_like(x)
    y[1:3, ::2] = x[:2, 1::2]
    y[0].add_(x[3])
    return y


def _computed(data: bytes, inputs: dict[str, Any], **options: Any) -> Any:
    return run_source(data, "pt2", inputs=inputs, dtype="float64", **options)


@pytest.mark.parametrize("name", list(OPERATORS))
def test_an_operator_computes_what_pytorch_computes(name: str) -> None:
    function, shape = OPERATORS[name]
    x = torch.sin(torch.arange(1.0, 1 + int(np.prod(shape))).double()).reshape(shape)
    model = _Of(lambda value: (function(value) * 1.5).sum(), x)
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (x,)), file)
    expected = model(x)
    expected.backward()
    run = _computed(file.getvalue(), {"x": x.numpy(), "p": model.p.detach().numpy()})
    np.testing.assert_allclose(run.losses[0], expected.detach().numpy(), rtol=1e-9, atol=1e-12)
    assert model.p.grad is not None
    np.testing.assert_allclose(run.gradients["p"], model.p.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", list(CASES))
def test_a_model_computes_what_pytorch_computes(name: str) -> None:
    data, arrays = exported(name)
    labels = arrays["y"] if arrays["y"].dtype.kind == "f" else arrays["y"].astype(np.int32)
    given = "x" if name in ("cnn", "writes") else "ids"
    run = _computed(data, {given: arrays["x"], "y": labels}, loss=CASES[name][2])
    np.testing.assert_allclose(run.losses[0], arrays["loss"], rtol=1e-9)
