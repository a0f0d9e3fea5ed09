"""
Exported PyTorch programs for the tests of their reader, with what PyTorch computes for them.

    python -m tests.pytorch.exported          # writes tests/oracle/data/torch/*.pt2 and *.npz

Each file is what `torch.export.save` writes, packed tighter and without the example inputs (which are pickled); the
arrays are inputs, loss and gradients in float64.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

DATA = Path(__file__).parents[1] / "oracle" / "data" / "torch"


class Cnn(nn.Module):
    """Convolutions, batch norm in place, a residual, pooling, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, (3, 1), padding=(1, 0), groups=8)
        self.act = nn.Hardswish(inplace=True)
        self.fc = nn.Linear(8 * 4, 5)

    def forward(self, x: Any) -> Any:
        x = torch.relu_(self.bn1(self.conv1(x)))
        x = nn.functional.max_pool2d(x, 3, 2, 1)
        y = self.act(self.depthwise(x))
        y += x
        return self.fc(nn.functional.adaptive_avg_pool2d(y, 2).flatten(1))


class Decoder(nn.Module):
    """A decoder layer as LLaMA's: root-mean-square norms, rotary positions, grouped queries, a mask of comparisons."""

    def __init__(self, width: int = 16, heads: int = 4, groups: int = 2):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.embed = nn.Embedding(11, width)
        self.norm1, self.norm2 = RootNorm(width), RootNorm(width)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.gate, self.up = nn.Linear(width, 24, bias=False), nn.Linear(width, 24, bias=False)
        self.down, self.head = nn.Linear(24, width, bias=False), nn.Linear(width, 11, bias=False)
        self.register_buffer("inv_freq", 10000.0 ** (-torch.arange(0, self.size, 2) / self.size), persistent=False)

    def forward(self, ids: Any) -> Any:
        batch, length = ids.shape
        x = self.embed(ids)
        h = self.norm1(x)
        q, k, v = (layer(h).view(batch, length, -1, self.size).transpose(1, 2) for layer in (self.q, self.k, self.v))
        place = torch.arange(length)
        angle = torch.cat([place[:, None] * self.inv_freq] * 2, -1)
        q, k = (one * angle.cos() + _turned(one) * angle.sin() for one in (q, k))
        k, v = (
            one[:, :, None].expand(-1, -1, self.heads // self.groups, -1, -1).reshape(batch, self.heads, length, -1)
            for one in (k, v)
        )
        mask = (place[:, None] >= place)[None, None]
        a = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(a.transpose(1, 2).reshape(batch, length, -1))
        h = self.norm2(x)
        gate = self.gate(h)
        return self.head(x + self.down(gate * torch.sigmoid(gate) * self.up(h)))


class RootNorm(nn.Module):
    """The root-mean-square norm as transformers spells it out."""

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Any) -> Any:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def _turned(x: Any) -> Any:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Writes(nn.Module):
    """Writes into views, values without gradients, a free size, a parameter under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)
        self.tied = self.fc
        self.register_buffer("scale", torch.arange(1.0, 7.0))

    def forward(self, x: Any) -> Any:
        y = torch.zeros_like(x)
        y[:, 0:2] = x[:, 4:]
        y[:, 3] = 1.5
        z = self.fc(y) * self.scale
        with torch.no_grad():
            w = z * 2
        u = z.clone()
        u.view(-1, 2, 3).transpose(1, 2)[:, 0].mul_(3.0)
        return self.tied(u + w)


class Recurrent(nn.Module):
    """Embeddings with padding, two layers of lstm, gelu spelled out."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 6, padding_idx=0)
        self.lstm = nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(10, 7)

    def forward(self, ids: Any) -> Any:
        h, _ = self.lstm(self.embed(ids))
        h = 0.5 * h * (1.0 + torch.tanh(0.7978845608028654 * (h + 0.044715 * torch.pow(h, 3.0))))
        return self.fc(h)


def _ids(most: int, *shape: int) -> Any:
    return torch.randint(0, most, shape)


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any], str]] = {
    "cnn": (Cnn, lambda: torch.randn(2, 3, 16, 16), "cross_entropy"),
    "decoder": (Decoder, lambda: _ids(11, 2, 6), "cross_entropy"),
    "writes": (Writes, lambda: torch.randn(4, 6), "mse"),
    "recurrent": (Recurrent, lambda: _ids(9, 2, 4), "cross_entropy"),
}
"""The models by name: how they are made, an example, and the loss of their output."""


@torch.library.custom_op("acme::fuse", mutates_args=())
def _fuse(q: torch.Tensor, k: torch.Tensor, heads: int) -> torch.Tensor:
    return q + k.sum() * heads


@_fuse.register_fake
def _(q: torch.Tensor, k: torch.Tensor, heads: int) -> torch.Tensor:
    return torch.empty_like(q)


@torch.library.custom_op("acme::two", mutates_args=())
def _two(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x + 0, x + 1


@_two.register_fake
def _(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(x), torch.empty_like(x)


class Custom(nn.Module):
    """Operators that only their maker knows, between layers."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.o = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one, other = torch.ops.acme.two(torch.ops.acme.fuse(self.q(x), self.k(x), 2))
        return self.o(one * other)


class Kernels(nn.Module):
    """Each kernel of attention after the other, as exports for a device have them."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.o = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        own, (b, n, _) = torch.ops.aten, x.shape
        q = self.q(x).reshape(b, n, 4, 4).transpose(1, 2)
        flash = own._scaled_dot_product_flash_attention(q, q, q, 0.0, True)[0]
        cudnn = own._scaled_dot_product_cudnn_attention(flash, q, q, bias, False)[0]
        efficient = own._scaled_dot_product_efficient_attention(cudnn, q, q, bias, False, 0.0, True, scale=0.5)[0]
        on_cpu = own._scaled_dot_product_flash_attention_for_cpu(efficient, q, q)[0]
        return self.o(on_cpu.transpose(1, 2).reshape(b, n, 16))


_VISION = torch.library.Library("torchvision", "FRAGMENT")
_REGIONS = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_STEPS = ", ".join(f"SymInt {what}_{axis}" for what in ("stride", "pad", "dilation") for axis in "hw")


def _declare_vision() -> None:
    """Operators of torchvision by their schemas and shapes alone, which are all that an export asks for."""
    _VISION.define(f"roi_align({_REGIONS}, int sampling_ratio, bool aligned) -> Tensor")
    given = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
    _VISION.define(f"deform_conv2d({given}, {_STEPS}, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor")
    torch.library.register_fake(
        "torchvision::roi_align", lambda x, rois, scale, h, w, *rest: x.new_empty(rois.shape[0], x.shape[1], h, w)
    )
    torch.library.register_fake(
        "torchvision::deform_conv2d", lambda x, w, *rest: x.new_empty(x.shape[0], w.shape[0], *x.shape[2:])
    )


class Regions(nn.Module):
    """A deformable convolution, and regions of its result with a number of samples and without one."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = nn.Parameter(torch.empty(5, 3, 3, 3)), nn.Parameter(torch.empty(5))
        self.off = nn.Conv2d(3, 18, 3, padding=1)

    def forward(self, x: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        own, none = torch.ops.torchvision, x.new_zeros(2, 1)
        y = own.deform_conv2d(x, self.w, self.off(x), none, self.b, 1, 1, 1, 1, 1, 1, 1, 1, False)
        return own.roi_align(y, rois, 1.0, 2, 2, 2, True) + own.roi_align(y, rois, 1.0, 2, 2, -1, False)


def priced() -> dict[str, bytes]:
    """Files that are priced, and computed by nobody here: of models on no device."""
    with torch.device("meta"):
        custom, x = Custom().eval(), torch.empty(2, 8, 16)
        kernels, bias = Kernels().eval(), torch.empty(2, 4, 8, 8)
        regions, image, boxes = Regions().eval(), torch.empty(2, 3, 6, 6), torch.empty(4, 5)
    _declare_vision()
    free = ({0: torch.export.Dim("rows", min=2, max=64)},)
    programs = {
        "custom": torch.export.export(custom, (x,), dynamic_shapes=free),
        "kernels": torch.export.export(kernels, (x, bias)),
        "regions": torch.export.export(regions, (image, boxes)),
    }
    found: dict[str, bytes] = {}
    for name, program in programs.items():
        file = io.BytesIO()
        torch.export.save(program, file)
        found[name] = packed(file.getvalue())
    return found


def packed(data: bytes) -> bytes:
    """An archive without example inputs, deflated."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if "sample_inputs" not in name:
                new.writestr(zipfile.ZipInfo(name), old.read(name), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def exported(name: str) -> tuple[bytes, dict[str, Any]]:
    """A model's file, and the arrays that PyTorch computes in float64 from the parameters in it."""
    torch.manual_seed(0)
    make, example, loss = CASES[name]
    model, x = make().train(), example()
    free = {0: torch.export.Dim("rows", min=2, max=64)} if name == "writes" else None
    program = torch.export.export(model, (x,), dynamic_shapes=None if free is None else (free,))
    file = io.BytesIO()
    torch.export.save(program, file)
    model = model.double()
    real = x.double() if x.is_floating_point() else x
    out = model(real)
    y = torch.randn_like(out) if loss == "mse" else _ids(out.shape[-1], *out.shape[:-1])
    flat = (out.reshape(-1, out.shape[-1]), y.reshape(-1)) if loss == "cross_entropy" else (out, y)
    value = getattr(nn.functional, "mse_loss" if loss == "mse" else loss)(*flat)
    value.backward()
    arrays = {"x": real.numpy(), "y": y.numpy(), "loss": value.detach().numpy()}
    arrays |= {f"grad:{key}": one.grad.numpy() for key, one in model.named_parameters() if one.grad is not None}
    return packed(file.getvalue()), arrays


def main() -> None:
    """Write all files."""
    DATA.mkdir(parents=True, exist_ok=True)
    for name in CASES:
        data, arrays = exported(name)
        (DATA / f"{name}.pt2").write_bytes(data)
        np.savez_compressed(DATA / f"{name}.npz", **arrays)
    for name, data in priced().items():
        (DATA / f"{name}.pt2").write_bytes(data)


if __name__ == "__main__":
    main()
