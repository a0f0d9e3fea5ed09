"""Additions that become the initial values of a sum."""

from collections.abc import Hashable
from dataclasses import field, replace
from typing import ClassVar

from xdsl.ir import OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.npu import ContractOp, ViewOp
from npuc.dialects.npu.attrs import NestAttr
from npuc.dialects.npu.nest import Tensor
from npuc.dialects.provenance import derive, layer_of
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import AddOp


@frozen(eq=False)
class StartFromAddition(NamedPattern):
    """
    An addition to a product becomes what the product's sum starts from, as a bias does.

        %h = npu.contract (m = 6, n = 8, k = 5) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
          : (tensor<6x5xf32>, tensor<5x8xf32>) -> tensor<6x8xf32>
        %y = train.add %h, %b : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
        --> StartFromAddition()
        %y = npu.contract (m = 6, n = 8, k = 5) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W)
          : (tensor<6x5xf32>, tensor<5x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>

    Checks that both are of one layer, that nothing else uses the product, which has one output and no start, that the
    sum has the product's type, and that the other operand is indexed by the output's axes, perhaps through a view that
    adds axes of size 1.
    """

    name: ClassVar[str] = "start-from-addition"

    _started: dict[Hashable, tuple[NestAttr, NestAttr | None]] = field(
        default_factory=dict[Hashable, tuple[NestAttr, NestAttr | None]], init=False, repr=False
    )
    """Nests with a start by the identity of the nest without one, which is kept, and what it starts from."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        for product, added in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            contract = product.owner
            if not isinstance(contract, ContractOp) or not _may_start(contract, product, op):
                continue
            start = _without_ones(added)
            nest = self._with_start(contract.nest_attr, added, start)
            if nest is None:
                continue
            new = ContractOp([*contract.operands, start], nest, tensor_type(op.out).element_type)
            rewriter.replace(op, derive(contract, new))
            rewriter.erase(contract)
            if isinstance(added, OpResult) and added.first_use is None and start is not added:
                rewriter.erase(added.op)
            return

    def _with_start(self, nest: NestAttr, added: SSAValue, start: SSAValue) -> NestAttr | None:
        """The nest of one sum that starts from `start`, whose broadcast form is `added`; None if it cannot."""
        key = (id(nest), shape_of(added), shape_of(start), start is added)
        if key not in self._started:
            tensor = _start_tensor(nest.data.outs[0], added, start)
            self._started[key] = nest, None if tensor is None else NestAttr(replace(nest.data, starts=(tensor,)))
        return self._started[key][1]


def _may_start(contract: ContractOp, product: SSAValue, op: AddOp) -> bool:
    """Whether a contraction may start from what an addition adds to its result, `product`."""
    if layer_of(contract) != layer_of(op) or not product.has_one_use() or product.type != op.out.type:
        return False
    return len(contract.nest.outs) == 1 and contract.nest.starts[0] is None


def _without_ones(value: SSAValue) -> SSAValue:
    """The value that a view only adds axes of size 1 to, or the value itself."""
    owner = value.owner
    if isinstance(owner, ViewOp):
        source = owner.operands[0]
        if shape_of(source) == tuple(s for s in shape_of(value) if s != 1):
            return source
    return value


def _start_tensor(out: Tensor, added: SSAValue, start: SSAValue) -> Tensor | None:
    """
    How `start` is indexed when its broadcast form `added` is what the sum `out` starts from; None if it cannot be.
    """
    shape = shape_of(added)
    lead = len(out.shape) - len(shape)
    sizes = list(zip(out.axes[lead:], out.shape[lead:], shape, strict=True))
    if any(size not in (own, 1) for _, own, size in sizes):
        return None
    kept = [(axis, size) for axis, own, size in sizes if size == own and (size != 1 or start is added)]
    if tuple(size for _, size in kept) != shape_of(start):
        return None
    return Tensor(f"{out.name}0", shape_of(start), tuple(axis for axis, _ in kept))
