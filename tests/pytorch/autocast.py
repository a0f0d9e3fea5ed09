"""A call in mixed precision: npuc's program, and PyTorch's computation under its autocast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16

from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.set_precision import SetPrecisionPass
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.signature import arguments_of, results_of
from tests.calls import Call
from tests.calls.values import CALLED, CalledNet, build
from tests.pytorch.counterparts import counterparts

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64}
"""PyTorch's element types by npuc's names."""


def mixed(call: Call, *, short: bool) -> CalledNet:
    """The network of a call in mixed precision; with `short` its float operands come as bf16."""
    net = build(call)
    SetPrecisionPass("f32").apply(Context(), net.module)
    if short:
        _shorten(net.module, _float_operands(call, net))
    SetPrecisionPass("mixed").apply(Context(), net.module)
    net.module.verify()
    return net


def _float_operands(call: Call, net: CalledNet) -> set[str]:
    """The names of the arguments that are the call's float operands."""
    found: set[str] = set()
    for operand in call.tensors:
        names = net.operands[operand]
        found |= {names} if isinstance(names, str) else set(names)
    return found


def _shorten(module: ModuleOp, names: set[str]) -> None:
    """Round the arguments of some names to bf16, for all their uses."""
    func = the_function(module)
    block = func.body.block
    first = block.first_op
    assert first is not None
    for argument in arguments_of(func):
        if argument.name in names:
            value = block.args[argument.index]
            cast = CastOp(value, results=[tensor_of(bf16, shape_of(value))])
            value.replace_all_uses_with(cast.out)
            cast.operands[0] = value
            block.insert_op_before(cast, first)


def types_of(net: CalledNet) -> list[str]:
    """The element types of a network's outputs, in order."""
    func = the_function(net.module)
    ending = func.body.block.last_op
    assert ending is not None
    values = [ending.operands[r.index] for r in results_of(func) if r.output is not None]
    return [str(tensor_type(value).element_type) for value in values]


@dataclass(frozen=True)
class Autocast:
    """What PyTorch computes: results with their types, and the gradients of all float arguments."""

    outputs: list[torch.Tensor]
    gradients: dict[str, Array]


def exactly(call: Call, net: CalledNet, values: Mapping[str, Array], *, short: bool) -> Autocast:
    """Results and gradients of a call in float64, of operands that are rounded to bf16 where they are `short`."""
    names = _float_operands(call, net) if short else set[str]()
    rounded = {n: torch.tensor(v).bfloat16().double().numpy() if n in names else v for n, v in values.items()}
    return _judged(call, net, rounded, torch.float64, short=False, low=False)


def autocast(call: Call, net: CalledNet, values: Mapping[str, Array], *, short: bool) -> Autocast:
    """Results and gradients of a call by `torch.autocast("cpu")`, under the loss of its network."""
    return _judged(call, net, values, torch.float32, short=short, low=True)


def terms(call: Call, net: CalledNet, values: Mapping[str, Array]) -> dict[str, Array]:
    """
    The sums of the magnitudes of what is added up in the gradients of a call: |J|' |dy|, of its Jacobian J in float64.

    A term is rounded to bf16 up to four times on its way (a factor, the product, a sum, its cast), by half a unit of
    2^-8 each, so that a gradient is wrong by at most 2^-7 of this: by 2^-6 of itself unless it cancels to less than
    half of its terms.
    """
    tensors = {n: torch.tensor(v, dtype=torch.float64 if v.dtype.kind == "f" else None) for n, v in values.items()}
    leaves = {
        n: t.requires_grad_() for n, t in tensors.items() if t.is_floating_point() and not n.startswith("expected")
    }
    found = {n: np.zeros(t.shape) for n, t in leaves.items()}
    for number, y in enumerate(called(call, net, tensors, short=False)):
        if not y.requires_grad:
            continue
        (dy,) = torch.autograd.grad(_loss(y, number, tensors), y, retain_graph=True)
        for one, share in zip(y.flatten(), dy.flatten().tolist(), strict=True):
            row = torch.autograd.grad(one, list(leaves.values()), retain_graph=True, allow_unused=True)
            for name, part in zip(leaves, row, strict=True):
                if part is not None:
                    found[name] += abs(share) * part.abs().numpy()
    return found


def _judged(
    call: Call, net: CalledNet, values: Mapping[str, Array], type: torch.dtype, *, short: bool, low: bool
) -> Autocast:
    tensors = {n: torch.tensor(v, dtype=type if v.dtype.kind == "f" else None) for n, v in values.items()}
    leaves = {
        n: t.requires_grad_() for n, t in tensors.items() if t.is_floating_point() and not n.startswith("expected")
    }
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low):
        results = called(call, net, tensors, short=short)
        losses = [_loss(y, number, tensors) for number, y in enumerate(results) if y.is_floating_point()]
    if losses and any(loss.requires_grad for loss in losses):
        torch.stack([loss.to(type) for loss in losses]).sum().backward()
    gradients = {n: np.zeros(t.shape) if t.grad is None else t.grad.numpy() for n, t in leaves.items()}
    return Autocast([y.detach() for y in results], gradients)


def called(call: Call, net: CalledNet, tensors: Mapping[str, torch.Tensor], *, short: bool) -> list[torch.Tensor]:
    """The results of a call on tensors by the names of the network's arguments."""
    operands = _float_operands(call, net) if short else set[str]()
    own = {n: t.to(torch.bfloat16) if n in operands else t for n, t in tensors.items()}
    given: dict[str, Any] = dict(call.arguments)
    for operand, names in net.operands.items():
        given[operand] = own[names] if isinstance(names, str) else [own[name] for name in names]
    for name, tensor in own.items():
        if name.startswith(f"{CALLED}."):
            given[name.removeprefix(f"{CALLED}.")] = tensor
    result = counterparts()[call.function](**given)
    return list(result) if isinstance(result, tuple | list) else [result]


def _loss(y: torch.Tensor, number: int, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    if y.dim() == 0:
        return y * (1.7 + number)
    return torch.nn.functional.mse_loss(y.float(), tensors[f"expected{number}"])
