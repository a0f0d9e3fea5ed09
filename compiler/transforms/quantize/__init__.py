"""
The pass `quantize`: the operands of matrix products in number formats of few bits.

    %y = npu.contract … ins(X = %x[m, k], W = %w[k, n]) … : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
      ->
    %x_q = npu.vector quantize(%x) … : (tensor<4x32xf32>) -> tensor<4x32x!npu.bfp<4, 16, 3>>
    %w_q = npu.vector quantize(%w) … : (tensor<32x8xf32>) -> tensor<32x8x!npu.bfp<4, 16, 3>>
    %y = npu.contract … ins(X = %x_q[m, k], W = %w_q[k, n]) … : (tensor<4x32x!npu.bfp<4, 16, 3>>, …) -> tensor<4x8xf32>

Weights, activations, gradients, sums and updates stay floats of the program's types outside of products: what is
converted is what a product reads, right before the first product that reads it so. Block floats share exponents along
the axis that the product sums, so that a tensor that is summed along two axes, as an activation in the forward product
and in dW, is converted twice. Each conversion is vector work with time, traffic and energy of its own. Gradients are
rounded by chance, which does not bias their sum, unless `rounding` says otherwise (Zhang, McDanel, Kung, HPCA 2022).

The pattern `quantize-operands` converts one product's operands; the pass says which and to what.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.core.stages import remark
from npuc.compiler.core.verify import refused
from npuc.compiler.transforms.lower_to_npu.work import LowerMove, LowerVector, LowerView
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.quantize.formats import FAST, GRADIENTS, KINDS, Conversion, formats_of
from npuc.compiler.transforms.quantize.operands import Kinds, grouping_axis, is_wide, layers_in_order
from npuc.compiler.transforms.quantize.patterns import Converted, convert, is_free
from npuc.compiler.transforms.shared_units import refuse_units
from npuc.compiler.transforms.step_number import step_number
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions, remark_unused
from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.quantized import NEAREST, STOCHASTIC
from npuc.dialects.train.signature import training_functions

ROUNDED = (GRADIENTS, NEAREST, STOCHASTIC)
SIDES = ("lhs", "rhs")
LOW = 2
"""The bits of mantissa between which and those of the format FAST's controller chooses."""


@dataclass(frozen=True)
class QuantizePass(ModulePass):
    """
    Convert operands of products to a format of few bits: block floating point, floats or integers of 8 bits.

    `to` is bfp-low, bfp-mid, bfp-high, fast (FAST's controller), fp8, int8, or a format: `"bfp<4, 16, 3>"`, f8e4m3,
    f8e5m2. `of` names the operands, weights, activations or gradients, or lhs or rhs; `only` is a glob of layers;
    `first` and `end` number layers with products.
    """

    name = "quantize"
    CHANGES_NUMBERS: ClassVar = "it rounds operands of products"
    EXAMPLE: ClassVar = 'autodiff,lower-to-npu,quantize{to="bfp<4, 16, 3>"}'

    to: str
    """bfp-low, bfp-mid, bfp-high, fast, fp8, int8, or one format: bfp<m, g, e>, f8e4m3, f8e5m2."""
    of: str = "all"
    """Which operands: all, weights, activations, gradients, lhs or rhs."""
    only: str | None = None
    """A glob of the layers whose products are converted."""
    first: int = 0
    """The number of the first such layer, in the order of the forward pass."""
    end: int | None = None
    """The number of the layer in front of which it ends."""
    rounding: str = GRADIENTS
    """nearest, stochastic, or gradients: these by chance and all else to nearest."""
    seed: int = 0
    """A number that chance begins with."""
    steps: int = 0
    """With fast: the steps of the training, over which the controller grows more willing; 0: it does not."""

    def __post_init__(self) -> None:
        formats_of(self.to)
        for name, found, known in (("of", self.of, ("all", *KINDS, *SIDES)), ("rounding", self.rounding, ROUNDED)):
            if found not in known:
                raise ValueError(f"{name} is '{found}', expected {', '.join(known)}")
        if self.first < 0 or (self.end is not None and self.end <= self.first):
            raise ValueError(f"first is {self.first} and end {self.end}, expected layers from 0 on")
        if self.steps < 0 or (self.steps and self.to != FAST):
            raise ValueError(f"steps is {self.steps}, expected at least 1, with to={FAST}")
        if not 0 <= self.seed < 1 << 31:
            raise ValueError(f"seed is {self.seed}, expected 0 to {(1 << 31) - 1:,}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_units(op, self.name)
        if not remark_no_contractions(self, op, self.only):
            return
        found = False
        for func in training_functions(op):
            found |= self._convert(func)
        if not found:
            remark_idle(self, "no product has such an operand of floats")

    def _convert(self, func: FuncOp) -> bool:
        """Convert the operands of a function's products; whether there were some."""
        kinds, numbers, formats = Kinds(func), layers_in_order(func), formats_of(self.to)
        chosen: list[tuple[ContractOp, Mapping[str, Conversion]]] = []
        for contract in [op for op in func.walk() if isinstance(op, ContractOp)]:
            how = self._of_contract(contract, kinds, numbers, formats)
            if how and not is_free(contract):
                raise refused(contract, "the contraction has a schedule already, or runs with others", self.name)
            if how:
                chosen.append((contract, how))
        if not chosen:
            remark_unused(self, ("first", "end"), f"the program has {len(numbers)} layers with products")
            return False
        draws = self.to == FAST or any(c.rounding == STOCHASTIC for _, how in chosen for c in how.values())
        step = step_number(func) if draws else None
        self._tell(chosen)
        made = Converted()
        for contract, how in chosen:
            convert(contract, how, step, made, PatternRewriter(contract))
        sweep(func.body, LowerView(), LowerMove(), LowerVector())
        return True

    def _of_contract(
        self, contract: ContractOp, kinds: Kinds, numbers: Mapping[str, int], formats: Mapping[str, Attribute]
    ) -> Mapping[str, Conversion]:
        """How the operands of a contraction are converted, those that are, by the names of tensors."""
        layer = layer_of(contract)
        number = numbers[layer]
        inside = self.first <= number and (self.end is None or number < self.end)
        if not inside or not (self.only is None or fnmatchcase(layer, self.only)):
            return {}
        found: dict[str, Conversion] = {}
        for tensor, value in zip(contract.nest.ins, contract.operands, strict=False):
            kind = kinds.of(value)
            if is_wide(value) and self._takes(contract, tensor.name, kind):
                chance = self.rounding == STOCHASTIC or self.rounding == kind
                rounding, seed = (STOCHASTIC, self.seed) if chance else (NEAREST, 0)
                how = Conversion(formats[kind], rounding, seed)
                if self.to == FAST:
                    how = replace(how, low=LOW, layer=number, layers=len(numbers), steps=self.steps)
                found[tensor.name] = how
        return found

    def _takes(self, contract: ContractOp, name: str, kind: str) -> bool:
        if self.of in SIDES:
            return any((s.lhs, s.rhs)[SIDES.index(self.of)] == name for s in contract.nest.statements)
        return self.of in ("all", kind)

    def _tell(self, chosen: list[tuple[ContractOp, Mapping[str, Conversion]]]) -> None:
        """Say how many groups of block floats are not full."""
        short: dict[str, str] = {}
        for contract, how in chosen:
            for tensor, value in zip(contract.nest.ins, contract.operands, strict=False):
                element = how[tensor.name].element if tensor.name in how else None
                if not isinstance(element, BlockFloatType):
                    continue
                size = shape_of(value)[grouping_axis(contract.nest, tensor)]
                if size % element.group.data:
                    short.setdefault(layer_of(contract), f"{size:,} values by {element.group.data}")
        if short:
            layer, example = next(iter(short.items()))
            more = f" and {len(short) - 1:,} more layers" if len(short) > 1 else ""
            remark(f"quantize: groups do not divide what is summed in '{layer}' ({example}){more}: the last is short")
