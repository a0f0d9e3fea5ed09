"""The operands of a program's products: of which kind each is, and along which axis its values are summed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType, bf16, f16, f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from npuc.compiler.transforms.quantize.formats import ACTIVATIONS, GRADIENTS, WEIGHTS
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Nest, Statement, Tensor
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.signature import ArgumentKind, arguments_of

_WIDE = (f16, bf16, f32, f64)
_BACKWARD = (Role.DX, Role.DW, Role.DXDW)


@dataclass
class Kinds:
    """The kind of each value of a function."""

    func: FuncOp
    _weights: set[SSAValue] = field(default_factory=set[SSAValue], init=False)

    def __post_init__(self) -> None:
        block = self.func.body.block
        self._weights = {block.args[one.index] for one in arguments_of(self.func) if one.kind is ArgumentKind.PARAM}
        for op in block.ops:
            if op.operands and role_of(op) not in (*_BACKWARD, Role.UPDATE) and self._weights.issuperset(op.operands):
                self._weights.update(op.results)

    def of(self, value: SSAValue) -> str:
        """Weights, activations or gradients."""
        if value in self._weights:
            return WEIGHTS
        owner = value.owner
        return GRADIENTS if isinstance(owner, Operation) and role_of(owner) in _BACKWARD else ACTIVATIONS


def is_wide(value: SSAValue) -> bool:
    """Whether a value is a tensor of floats of 16 bits or more, which a conversion makes shorter."""
    return isinstance(value.type, TensorType) and tensor_type(value).element_type in _WIDE


def layers_in_order(func: FuncOp) -> Mapping[str, int]:
    """The number of each layer that has products, in the order of the forward pass."""
    contracts = [op for op in func.walk() if isinstance(op, ContractOp)]
    forward = [op for op in contracts if role_of(op) is Role.FORWARD]
    names = dict.fromkeys(layer_of(op) for op in (*forward, *contracts))
    return {name: number for number, name in enumerate(names)}


def grouping_axis(nest: Nest, tensor: Tensor) -> int:
    """
    The axis of an input along which block floats share exponents: the longest that products are summed along.

    An axis that one dimension alone moves comes before one of several, such as the rows under a window. Where a sum has
    one product it is the last axis.
    """
    statement = _statement_of(nest, tensor)
    summed = {name for name in nest.sizes if name not in nest.tensors[statement.out].dims}
    best = max(
        (
            (axis.is_plain, size, number)
            for number, (axis, size) in enumerate(zip(tensor.axes, tensor.shape, strict=True))
            if summed.intersection(axis.dims)
        ),
        default=None,
    )
    return len(tensor.axes) - 1 if best is None else best[2]


def _statement_of(nest: Nest, tensor: Tensor) -> Statement:
    return next(s for s in nest.statements if tensor.name in (s.lhs, s.rhs))
