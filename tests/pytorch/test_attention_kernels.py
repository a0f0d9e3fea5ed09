"""Kernels of attention, as exports have them, against what PyTorch computes with them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from npuc.compiler import run_file
from npuc.frontends.torch import from_module


class Attention(nn.Module):
    """One kernel that PyTorch has for the CPU."""

    def __init__(self, causal: bool, scale: float | None, masked: bool):
        super().__init__()
        self.causal, self.scale, self.masked = causal, scale, masked
        self.w = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q = self.w(x).reshape(2, 5, 2, 4).transpose(1, 2)
        given = mask if self.masked else None
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        return kernel(q, q, q, 0.0, self.causal, attn_mask=given, scale=self.scale)[0]


@pytest.mark.parametrize(("causal", "scale", "masked"), [(False, None, False), (True, 0.3, False), (False, 0.7, True)])
def test_a_kernel_computes_what_pytorch_does(causal: bool, scale: float | None, masked: bool) -> None:
    torch.manual_seed(0)
    model = Attention(causal, scale, masked)
    x, mask = torch.randn(2, 5, 8), torch.randn(2, 2, 5, 5)
    expected = model(x, mask).detach().numpy()
    source = from_module(model, (x, mask))
    inputs = {"x": x.numpy(), **({"mask": mask.numpy()} if masked else {})}
    run = run_file(source, inputs=inputs, inference=True)
    np.testing.assert_allclose(run.outputs["output"], expected, rtol=1e-5, atol=1e-6)
