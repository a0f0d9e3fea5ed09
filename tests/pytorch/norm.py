"""PyTorch's normalisations."""

from collections.abc import Callable

import torch
import torch.nn.functional as F

Parameter = torch.Tensor | bool | None
"""A parameter of the layer; where it has none, None or what the call says (`bias=false`)."""


def _tensor(parameter: Parameter) -> torch.Tensor | None:
    return parameter if isinstance(parameter, torch.Tensor) else None


def _running(x: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """
    Running statistics, which the layer has: of float32 beside x of bf16, with those of the batch too.

    None on another device, where only types are asked for, which do not depend on them: PyTorch would need its driver.
    """
    if x.device.type != "cpu":
        return None, None
    type = torch.promote_types(x.dtype, torch.float32)
    return torch.zeros(x.shape[1:2], dtype=type), torch.ones(x.shape[1:2], dtype=type)


def _batch_norm(
    x: torch.Tensor,
    weight: Parameter = None,
    bias: Parameter = None,
    eps: float = 1e-5,
    momentum: float = 0.1,
    affine: bool = True,
) -> torch.Tensor:
    mean, var = _running(x)
    return F.batch_norm(x, mean, var, _tensor(weight), _tensor(bias), training=True, momentum=momentum, eps=eps)


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
