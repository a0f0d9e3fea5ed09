"""The matrix products of a network's forward pass, read off the lowered training step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npuc.compiler.analysis.nest.gemm import forward_sizes
from npuc.compiler.interpreter.execute import the_function
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.tensor_work import ViewOp
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import SSAValue


class ForwardSize(NamedTuple):
    """A product X [m, k] W [k, n] and whether the gradient of X is computed."""

    m: int
    n: int
    k: int
    has_dx: bool


class ForwardProduct(NamedTuple):
    """A product of a layer, how often it occurs there, and whether it is with weights or of two computed tensors."""

    layer: str
    size: ForwardSize
    times: int
    weights: bool


def _origin(value: SSAValue) -> SSAValue:
    """The tensor that a value is another shape of."""
    while isinstance(value.owner, ViewOp):
        value = value.owner.operands[0]
    return value


def forward_products(module: ModuleOp) -> list[ForwardProduct]:
    """The products in order; one for each group of channels, or for each head, counts as often as there are of them."""
    func = the_function(module)
    params = {func.body.block.args[a.index] for a in arguments_of(func) if a.kind is ArgumentKind.PARAM}
    contracts = [op for op in module.walk() if isinstance(op, ContractOp)]
    with_dx = {layer_of(op) for op in contracts if any(out.name == "dX" for out in op.nest.outs)}
    found: list[ForwardProduct] = []
    for op in contracts:
        if role_of(op) is Role.FORWARD:
            batch, m, n, k = forward_sizes(op.nest)
            weights = any(_origin(operand) in params for operand in op.operands[:2])
            size = ForwardSize(m, n, k, layer_of(op) in with_dx)
            found.append(ForwardProduct(layer_of(op), size, batch, weights))
    return found
