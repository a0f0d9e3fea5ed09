"""
The pass `lower-to-npu`: from tensor operations to the work of an NPU.

    %h = train.matmul %x, %w : …               %y = npu.contract (m = 6, n = 8, k = 5) ins(X = %x[m, k], W = %w[k, n])
    %y = train.add %h, %b : …            ->         outs(Y[m, n] from %b[n]) do(Y += X * W) : …
    %z = train.relu %y : …                     %z = npu.vector relu(%y) ops 48 : …

Matrix products and convolutions become `npu.contract`, natively or, with `conv=im2col`, through an explicit matrix of
windows. The rest becomes `npu.vector`, `npu.move`, `npu.view` or `npu.constant`, with its work from the layer table.
An addition of the same layer to a product, which is a bias or the sum of a shared weight's gradients, becomes the
start of the product's sum.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Emit, Kind
from npuc.compiler.transforms._im2col import lower_by_im2col
from npuc.dialects.npu import ConstantOp, ContractOp, MoveOp, VectorOp, ViewOp
from npuc.dialects.npu.nest import Tensor
from npuc.dialects.provenance import derive, layer_of
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.conv import ConvOp
from npuc.dialects.train.signature import training_functions

OpT = TypeVar("OpT", bound=Operation)


def _emitter(source: Operation, block: Block) -> Emit[Any]:
    def emit(new: OpT) -> OpT:
        block.insert_op_before(derive(source, new), source)
        return new

    return emit


def _replace(op: Operation, values: list[SSAValue]) -> None:
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)


@contextmanager
def _without_return(block: Block) -> Generator[None]:
    """
    Let each returned value be used by an operation of its own meanwhile.

    Replacing one operand of an operation costs time in the number of its operands, and a training step returns
    thousands.
    """
    ending = block.last_op
    assert isinstance(ending, ReturnOp)
    returned = [ReturnOp(value) for value in ending.operands]
    Rewriter.erase_op(ending)
    yield
    block.add_op(ReturnOp(*(op.operands[0] for op in returned)))
    for op in returned:
        op.erase()


def _lower_work(op: TrainOp, emit: Emit[Any]) -> list[SSAValue]:
    """Vector work, moves, views and constants."""
    layer = get_layer(op)
    kind, params, types = op.name.removeprefix("train."), op.properties, op.result_types
    if layer.kind is Kind.VIEW:
        return list(emit(ViewOp(kind, op.operands, types, params)).results)
    if layer.kind is Kind.CONSTANT:
        return list(emit(ConstantOp(kind, op.operands, types, params)).results)
    work = layer.work(op)
    if layer.kind is Kind.DATA:
        return list(emit(MoveOp(kind, op.operands, types, params, reads=work.reads, writes=work.writes)).results)
    new = VectorOp(kind, op.operands, types, params, ops=work.vector_ops, reads=work.reads, writes=work.writes)
    return list(emit(new).results)


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


def _as_start(op: AddOp) -> bool:
    """Turn the addition into the start of the product it adds to, if it is that product's only use."""
    for product, added in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        contract = product.owner
        if not isinstance(product, OpResult) or not isinstance(contract, ContractOp):
            continue
        nest = contract.nest
        if (
            layer_of(contract) != layer_of(op)
            or not product.has_one_use()
            or product.type != op.out.type
            or len(nest.outs) != 1
            or nest.starts[0] is not None
        ):
            continue
        start = _without_ones(added)
        tensor = _start_tensor(nest.outs[0], added, start)
        if tensor is None:
            continue
        merged = ContractOp(
            [*contract.operands, start], replace(nest, starts=(tensor,)), tensor_type(op.out).element_type
        )
        block = op.parent
        assert block is not None
        block.insert_op_before(derive(contract, merged), op)
        _replace(op, list(merged.results))
        Rewriter.erase_op(contract)
        if isinstance(added, OpResult) and added.first_use is None and start is not added:
            Rewriter.erase_op(added.op)
        return True
    return False


@dataclass(frozen=True)
class LowerToNpuPass(ModulePass):
    """Lower every train operation; `conv` chooses how convolutions become contractions."""

    name = "lower-to-npu"

    conv: str = "native"

    def __post_init__(self) -> None:
        if self.conv not in ("native", "im2col"):
            raise ValueError(f"conv is '{self.conv}', expected native or im2col")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in training_functions(op):
            with _without_return(func.body.block):
                for inner in list(func.body.block.ops):
                    if isinstance(inner, TrainOp):
                        self._lower(inner)

    def _lower(self, op: TrainOp) -> None:
        if isinstance(op, AddOp) and _as_start(op):
            return
        emit = _emitter(op, cast(Block, op.parent))
        values = None
        if isinstance(op, ConvOp) and self.conv == "im2col":
            values = lower_by_im2col(op, emit)
        if values is None:
            values = get_layer(op).lower(op, emit)
        _replace(op, _lower_work(op, emit) if values is None else values)
