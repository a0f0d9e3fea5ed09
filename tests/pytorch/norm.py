"""PyTorch's normalisations."""

from collections.abc import Callable

import torch
import torch.nn.functional as F

Parameter = torch.Tensor | bool | None
"""A parameter of the layer; where it has none, None or what the call says (`bias=false`)."""


def _tensor(parameter: Parameter) -> torch.Tensor | None:
    return parameter if isinstance(parameter, torch.Tensor) else None


def _batch_norm(
    x: torch.Tensor,
    weight: Parameter = None,
    bias: Parameter = None,
    eps: float = 1e-5,
    momentum: float = 0.1,
    affine: bool = True,
) -> torch.Tensor:
    return F.batch_norm(x, None, None, _tensor(weight), _tensor(bias), training=True, momentum=momentum, eps=eps)


def _layer_norm(
    x: torch.Tensor, weight: torch.Tensor, bias: Parameter = None, eps: float = 1e-5, axes: int = 1
) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-axes:], weight, _tensor(bias), eps)


def _rms_norm(
    x: torch.Tensor, weight: Parameter = None, eps: float = 1e-6, axes: int = 1, affine: bool = True
) -> torch.Tensor:
    return F.rms_norm(x, x.shape[-axes:], _tensor(weight), eps)


def _group_norm(
    x: torch.Tensor,
    groups: int,
    weight: Parameter = None,
    bias: Parameter = None,
    eps: float = 1e-5,
    affine: bool = True,
) -> torch.Tensor:
    return F.group_norm(x, groups, _tensor(weight), _tensor(bias), eps)


def _instance_norm(
    x: torch.Tensor, weight: Parameter = None, bias: Parameter = None, eps: float = 1e-5, affine: bool = False
) -> torch.Tensor:
    return F.instance_norm(x, weight=_tensor(weight), bias=_tensor(bias), eps=eps)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    "local_response_norm": lambda x, size, alpha, beta, k: F.local_response_norm(x, size, alpha, beta, k),
}
