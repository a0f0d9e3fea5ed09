"""The pattern of this pass."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.quantize.formats import Conversion, element_of
from npuc.compiler.transforms.quantize.operands import grouping_axis, is_wide
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Tensor, start_axes
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.base import Param, TrainOp
from npuc.dialects.train.quantized import NEAREST, AmaxScaleOp, FastQuantizeOp, QuantizeOp, RescaleOp
from npuc.dialects.train.shape import ReshapeOp, TransposeOp


@dataclass(frozen=True, eq=False)
class QuantizeOperands(NamedPattern):
    """
    A product gets operands of another format, converted right in front of it; a value that others read, too, once.

        %y = npu.contract (m = 4, n = 8, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
          : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
        --> QuantizeOperands("bfp<4, 16, 3>")
        %x_q = train.quantize %x axis 1 : (tensor<4x32xf32>) -> tensor<4x32x!npu.bfp<4, 16, 3>>
        %w_q = train.quantize %w : (tensor<32x8xf32>) -> tensor<32x8x!npu.bfp<4, 16, 3>>
        %y = npu.contract (m = 4, n = 8, k = 32) ins(X = %x_q[m, k], W = %w_q[k, n]) outs(Y[m, n]) do(Y += X * W)
          : (tensor<4x32x!npu.bfp<4, 16, 3>>, tensor<32x8x!npu.bfp<4, 16, 3>>) -> tensor<4x8xf32>

    Block floats share exponents along the axis that is summed. A format of 8 bits has a scale of the tensor: products
    of integers are added in i32, and `train.rescale` and the addition of a bias come behind. Checks that operands are
    floats and that the contraction has one statement, no schedule and no mapping. `lower-to-npu` does the rest.
    """

    name: ClassVar[str] = "quantize-operands"

    to: str
    """The format of both operands: `bfp<m, g, e>`, f8e4m3, f8e5m2 or int8."""
    _made: "Converted" = field(default_factory=lambda: Converted(), init=False, repr=False)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter, /) -> None:
        how = Conversion(element_of(self.to), NEAREST)
        taken = {t.name: how for t, value in zip(op.nest.ins, op.operands, strict=False) if is_wide(value)}
        if taken and is_free(op):
            convert(op, taken, None, self._made, rewriter)


def is_free(contract: ContractOp) -> bool:
    """Whether a contraction is one product whose schedule and place are not said yet."""
    settled = contract.schedule_attr is not None or contract.mapping_attr is not None
    return len(contract.nest.statements) == 1 and not settled


@dataclass
class Converted:
    """Values that are converted, each once for all products that read it in the same way: value and scale."""

    known: dict[tuple[SSAValue, Conversion, int], tuple[SSAValue, SSAValue | None]] = field(
        default_factory=dict[tuple[SSAValue, Conversion, int], tuple[SSAValue, SSAValue | None]]
    )
    scales: dict[tuple[SSAValue, Attribute], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Attribute], SSAValue]
    )

    def get(
        self,
        value: SSAValue,
        how: Conversion,
        axis: int,
        step: SSAValue | None,
        user: ContractOp,
        rewriter: PatternRewriter,
    ) -> tuple[SSAValue, SSAValue | None]:
        """The converted value, and its scale if the format has one; made in front of the first that reads it."""
        key = (value, how, axis if how.has_blocks else 0)
        if key not in self.known:
            self.known[key] = self._made(value, how, axis, step, user, rewriter)
        return self.known[key]

    def _made(
        self,
        value: SSAValue,
        how: Conversion,
        axis: int,
        step: SSAValue | None,
        user: ContractOp,
        rewriter: PatternRewriter,
    ) -> tuple[SSAValue, SSAValue | None]:
        def put(op: TrainOp) -> SSAValue:
            new = derive(user, op)
            rewriter.insert(new, InsertPoint.before(user))
            return new.results[0]

        result = tensor_of(how.element, shape_of(value))
        if how.low is not None:
            assert step is not None
            bits = tensor_of(i32, ())
            said = _said(how, axis) | {"layer": how.layer, "layers": how.layers, "steps": how.steps}
            controlled = FastQuantizeOp(value, step, results=[result, bits], low=how.low, **said)
            return named(put(controlled), value), None
        scale = None
        if not how.has_blocks:
            if (value, how.element) not in self.scales:
                made = put(AmaxScaleOp(value, to=str(how.element)))
                made.name_hint = f"{value.name_hint}_scale" if value.name_hint else None
                self.scales[value, how.element] = made
            scale = self.scales[value, how.element]
        steps = () if how.rounding == NEAREST or step is None else (step,)
        scales = () if scale is None else (scale,)
        op = QuantizeOp(value, *scales, *steps, results=[result], **_said(how, axis))
        return named(put(op), value), scale


def _said(how: Conversion, axis: int) -> dict[str, Param]:
    """The properties of a conversion that are not those where nothing is said."""
    said: dict[str, Param] = {"axis": axis} if how.has_blocks and axis else {}
    if how.rounding != NEAREST:
        said["rounding"] = how.rounding
    return said | ({"seed": how.seed} if how.seed else {})


def named(new: SSAValue, value: SSAValue) -> SSAValue:
    """A converted value under the name of the value, with a q."""
    new.name_hint = f"{value.name_hint}_q" if value.name_hint else None
    return new


def convert(
    contract: ContractOp,
    how: Mapping[str, Conversion],
    step: SSAValue | None,
    made: Converted,
    rewriter: PatternRewriter,
) -> None:
    """
    Give a contraction of one statement converted operands, by the names of tensors, and undo their scales behind it.

    Products of integers are added in i32; a sum of scaled numbers cannot start from a bias, which is added afterwards.
    """
    nest, (statement,), (out,) = contract.nest, contract.nest.statements, contract.nest.outs
    inputs, scales = dict(zip((t.name for t in nest.ins), contract.operands, strict=False)), dict[str, SSAValue]()
    for tensor in nest.ins:
        if tensor.name in how:
            axis = grouping_axis(nest, tensor)
            source = inputs[tensor.name]
            inputs[tensor.name], scale = made.get(source, how[tensor.name], axis, step, contract, rewriter)
            if scale is not None:
                scales[tensor.name] = scale
    start, rest, result = nest.starts[0], contract.operands[len(nest.ins) :], contract.results[0]
    if not scales:
        new = ContractOp([*inputs.values(), *rest], contract.nest_attr, tensor_type(result).element_type)
        rewriter.replace(contract, derive(contract, new))
        return
    factors = [inputs[name] for name in (statement.lhs, statement.rhs)]
    whole = all(isinstance(tensor_type(one).element_type, IntegerType) for one in factors)
    element = i32 if whole else f32
    sums = derive(contract, ContractOp([*inputs.values()], replace(nest, starts=(None,)), element))
    own = [scales[name] for name in (statement.lhs, statement.rhs) if name in scales]
    undone = derive(contract, RescaleOp(sums.results[0], *own, results=[result.type]))
    new_ops: list[Operation] = [sums, undone]
    if start is not None:
        new_ops += _added(contract, undone.results[0], out, start, rest[0])
    for one in new_ops:
        one.results[0].name_hint = result.name_hint
    rewriter.replace(contract, new_ops, [new_ops[-1].results[0]])


def _added(contract: ContractOp, value: SSAValue, out: Tensor, start: Tensor, added: SSAValue) -> list[Operation]:
    """What adds the start of a sum to it once it is complete."""
    axes = start_axes(out, start)
    assert axes is not None
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = [size if number in axes else 1 for number, size in enumerate(out.shape)]
    ops: list[TrainOp] = []
    if order != list(range(len(axes))):
        ops.append(TransposeOp(added, axes=tuple(order)))
    if shape[len(shape) - len(axes) :] != list(start.shape):  # otherwise it broadcasts as it is
        ops.append(ReshapeOp(ops[-1].results[0] if ops else added, results=[tensor_of(f32, shape)]))
    ops.append(AddOp(value, ops[-1].results[0] if ops else added))
    return [derive(contract, one) for one in ops]


PATTERNS: tuple[type[NamedPattern], ...] = (QuantizeOperands,)
