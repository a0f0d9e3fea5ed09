"""
The pass `lower-to-npu`: from tensor operations to the work of an NPU.

    %h = train.matmul %x, %w : …               %y = npu.contract (m = 6, n = 8, k = 5) ins(X = %x[m, k], W = %w[k, n])
    %y = train.add %h, %b : …            ->         outs(Y[m, n] from %b[n]) do(Y += X * W) : …
    %z = train.relu %y : …                     %z = npu.vector relu(%y) ops 48 : …

Matrix products and convolutions become `npu.contract`, natively or, with `conv=im2col`, through an explicit matrix of
windows. The rest becomes `npu.vector`, `npu.move`, `npu.view` or `npu.constant`, with its work from the layer table;
what is computed from constants alone is a constant, and a move does not read a constant that it can write by itself.
Batch normalisation's dX takes the sums that its dW has (`known_sums.py`).
An addition of the same layer to a product, which is a bias or the sum of a shared weight's gradients, becomes the
start of the product's sum. What devices do together (`dist`) stays as it is.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Emit, Kind, elements, told_of
from npuc.compiler.transforms.lower_to_npu.im2col import lower_by_im2col
from npuc.compiler.transforms.lower_to_npu.known_sums import use_known_sums
from npuc.dialects.distributed import DistOp
from npuc.dialects.npu import ConstantOp, ContractOp, MoveOp, VectorOp, ViewOp
from npuc.dialects.npu.attrs import NestAttr
from npuc.dialects.npu.nest import Tensor
from npuc.dialects.provenance import derive, layer_of
from npuc.dialects.structural import structural_key
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.conv import ConvOp
from npuc.dialects.train.signature import training_functions

OpT = TypeVar("OpT", bound=Operation)
_MANY = 16
"""With more operands than this, an operation does not wait for its turn with them."""
_IMMEDIATE = frozenset({"constant", "integers"})
"""The kinds of constants that a move holds by itself: one value everywhere, listed integers."""


def _emitter(source: Operation, block: Block) -> Emit[Any]:
    def emit(new: OpT) -> OpT:
        block.insert_op_before(derive(source, new), source)
        return new

    return emit


def _replace(op: Operation, values: list[SSAValue]) -> None:
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)


def _hold(op: Operation) -> list[Operation]:
    """
    Let the operands be used by operations with few of them until `_give_back`.

    Replacing one operand of an operation costs time in the number of its operands, and a training step returns
    thousands, or joins as many.
    """
    values = list(op.operands)
    op.operands = []
    return [ReturnOp.create(operands=values[i : i + _MANY]) for i in range(0, len(values), _MANY)]


def _give_back(op: Operation, held: list[Operation]) -> None:
    """Give an operation the operands that were held for it."""
    op.operands = [value for one in held for value in one.operands]
    for one in held:
        one.erase()


def _work_op(op: TrainOp) -> Operation:
    """Vector work, a move, a view or a constant in place of an operation."""
    layer = get_layer(op)
    kind, params, types = op.name.removeprefix("train."), op.properties, op.result_types
    if layer.kind is Kind.CONSTANT or (op.operands and all(_is_constant(v) for v in op.operands)):
        return ConstantOp(kind, op.operands, types, params)
    if layer.kind is Kind.VIEW:
        return ViewOp(kind, op.operands, types, params)
    work = layer.work(op)
    if layer.kind is Kind.DATA:
        return MoveOp(kind, op.operands, types, params, reads=_reads(op, work.reads), writes=work.writes)
    if layer.kind is Kind.MATRIX:
        raise SourceError(
            f"{told_of(op)}{op.name} is matrix work without a loop nest: its layer does not lower it",
            location=location_of(op),
            hint="give the layer a method `lower` that emits an npu.contract",
        )
    return VectorOp(
        kind,
        op.operands,
        types,
        params,
        ops=work.vector_ops,
        reads=work.reads,
        writes=work.writes,
        reread=work.reread,
    )


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp)


def _reads(op: TrainOp, reads: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """What a move reads of each operand: nothing of one value everywhere and of listed integers."""
    unread = [isinstance(v.owner, ConstantOp) and v.owner.kind in _IMMEDIATE for v in op.operands]
    if not any(unread):
        return reads
    counts = reads or tuple(elements(v) for v in op.operands)
    return tuple(0 if skip else count for skip, count in zip(unread, counts, strict=True))


def _stands_for(new: Operation, op: TrainOp, values: Sequence[SSAValue]) -> bool:
    """Whether `new` alone took the place of `op`: it takes what `op` takes and gives what `op` gives."""
    return list(new.results) == list(values) and tuple(new.operands) == tuple(op.operands)


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


@dataclass
class _Lowering:
    """One run of the pass, with memos for equivalent operations and nests, of which most programs have many."""

    conv: str
    work: dict[Hashable, tuple[TrainOp, Operation]] = field(default_factory=dict[Hashable, tuple[TrainOp, Operation]])
    """By structural key, an operation and its lowering; the operation is kept, or its key would not be valid."""
    started: dict[Hashable, tuple[NestAttr, NestAttr | None]] = field(
        default_factory=dict[Hashable, tuple[NestAttr, NestAttr | None]]
    )
    """Nests with a start by the identity of the nest without one, which is kept, and what it starts from."""

    def lower(self, op: TrainOp) -> None:
        """Lower one operation."""
        if isinstance(op, AddOp) and self._as_start(op):
            return
        block = op.parent
        assert block is not None
        constants = [_is_constant(v) for v in op.operands]
        kind = None if any(constants) else structural_key(op)
        if kind in self.work:
            _, done = self.work[kind]
            new = type(done).create(operands=op.operands, result_types=op.result_types, properties=done.properties)
            block.insert_op_before(derive(op, new), op)
            _replace(op, list(new.results))
            return
        emit = _emitter(op, block)
        values = None
        if isinstance(op, ConvOp) and self.conv == "im2col":
            values = lower_by_im2col(op, emit)
        if values is None and not (constants and all(constants)):
            values = get_layer(op).lower(op, emit)
        if values is None:
            values = list(emit(_work_op(op)).results)
        new = op.prev_op
        if kind is not None and new is not None and _stands_for(new, op, values):
            self.work[kind] = (op, new)
        _replace(op, values)

    def _as_start(self, op: AddOp) -> bool:
        """Turn the addition into the start of the product it adds to, if it is that product's only use."""
        for product, added in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            contract = product.owner
            if not isinstance(contract, ContractOp):
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
            merged = self._with_start(contract.nest_attr, added, start)
            if merged is None:
                continue
            new = ContractOp([*contract.operands, start], merged, tensor_type(op.out).element_type)
            block = op.parent
            assert block is not None
            block.insert_op_before(derive(contract, new), op)
            _replace(op, list(new.results))
            Rewriter.erase_op(contract)
            if isinstance(added, OpResult) and added.first_use is None and start is not added:
                Rewriter.erase_op(added.op)
            return True
        return False

    def _with_start(self, nest: NestAttr, added: SSAValue, start: SSAValue) -> NestAttr | None:
        """The nest of one sum that starts from `start`, whose broadcast form is `added`; None if it cannot."""
        key = (id(nest), shape_of(added), shape_of(start), start is added)
        if key not in self.started:
            tensor = _start_tensor(nest.data.outs[0], added, start)
            self.started[key] = nest, None if tensor is None else NestAttr(replace(nest.data, starts=(tensor,)))
        return self.started[key][1]


@dataclass(frozen=True)
class LowerToNpuPass(ModulePass):
    """Lower every operation of the train dialect; `conv` chooses how convolutions become contractions."""

    name = "lower-to-npu"
    EXAMPLE: ClassVar = "lower-to-npu"

    conv: str = "native"
    """How convolutions become contractions: native, or im2col (through a matrix of windows)."""

    def __post_init__(self) -> None:
        if self.conv not in ("native", "im2col"):
            raise ValueError(f"conv is '{self.conv}', expected native or im2col")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowering = _Lowering(self.conv)
        for func in training_functions(op):
            use_known_sums(func)
            operations = list(func.body.block.ops)
            held = {inner: _hold(inner) for inner in operations if len(inner.operands) > _MANY}
            for inner in operations:
                if inner in held:
                    _give_back(inner, held[inner])
                if isinstance(inner, TrainOp) and not isinstance(inner, DistOp):
                    lowering.lower(inner)
