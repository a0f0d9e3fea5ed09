"""
The pass `nm-recipe`: products of weights of which N of each M are kept, as recipes of N:M training prune them.

    %y = npu.contract … ins(X = %x[m, k], W = %w[k, n]) … : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
      ->
    %w_p = npu.vector prune(%w) … : (tensor<32x8xf32>) -> tensor<32x8x!npu.sparse<f32, 1/2, nm<2, 4, 0>>>
    %y = npu.contract … ins(X = %x[m, k], W = %w_p[k, n]) … : (tensor<4x32xf32>, tensor<32x8x!npu.sparse<…>>) -> …

The weights stay dense beside it, and their updates: gradients of pruned weights pass straight through (STE). The groups
run along the axis that the forward product sums. dX sums another axis of the weights: it reads the same pruned values,
and skips none of them unless the mask is N:M along that axis as well (`transposable`). While a mask fades in
(`kind=linear`, `kind=exponential`) what it drops is beta times itself, so that weights are stored, read and multiplied
as dense ones until the mask is hard. With `strength` the gradient of what is dropped pulls it towards zero (SR-STE).

Sources: pruning masks that decay: Kao et al., "Training recipe for N:M structured sparsity with decaying pruning mask",
2022 (arXiv 2209.07617); SR-STE: Zhou et al., ICLR 2021 (arXiv 2102.04010); transposable masks: Hubara et al., NeurIPS
2021 (arXiv 2102.08124).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import isfinite
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.core.stages import remark
from npuc.compiler.core.verify import refused
from npuc.compiler.transforms.lower_to_npu.work import LowerMove, LowerVector, LowerView
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.nm_recipe.pruned import Pruning, prune_operand, pull
from npuc.compiler.transforms.quantize.formats import WEIGHTS
from npuc.compiler.transforms.quantize.operands import Kinds, grouping_axis, is_wide
from npuc.compiler.transforms.quantize.patterns import is_free
from npuc.compiler.transforms.shared_units import refuse_units
from npuc.compiler.transforms.step_number import step_number
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.recipes import EXPONENTIAL, LINEAR
from npuc.dialects.train.signature import training_functions

HARD = "hard"
KINDS = (HARD, LINEAR, EXPONENTIAL)


@dataclass(frozen=True)
class NmRecipePass(ModulePass):
    """
    Prune the weights of products to N of each M along the axis that the forward product sums.

    `kind` is hard, or linear or exponential: what the mask drops fades by a factor from `start` on, in `steps` steps or
    by `rate`. `transposable`: the mask is N:M for dX, too. `strength` is that of SR-STE's pull. `only` is a glob of
    layers. It comes after lower-to-npu.
    """

    name = "nm-recipe"
    CHANGES_NUMBERS: ClassVar = "it prunes weights"
    EXAMPLE: ClassVar = 'autodiff,lower-to-npu,nm-recipe{pattern="2:4"}'

    pattern: str
    """N:M: how many of each group of how many are kept."""
    kind: str = HARD
    """hard, linear or exponential."""
    start: int = 0
    """The step at which a mask begins to fade in."""
    steps: int = 0
    """With linear: in so many steps what is dropped falls to zero."""
    rate: float = 0.0
    """With exponential: by e^-rate a step."""
    transposable: bool = False
    """Whether one mask is N:M along the axes that forward and dX sum."""
    strength: float = 0.0
    """The pull of SR-STE on what is dropped; its authors take 0.0002."""
    only: str | None = None
    """A glob of the layers whose weights are pruned."""

    def __post_init__(self) -> None:
        kept, of = numbers_of(self.pattern)
        if not 1 <= kept < of <= 64:
            raise ValueError(f"pattern is {self.pattern}, expected N:M with 1 <= N < M <= 64")
        if self.kind not in KINDS:
            raise ValueError(f"kind is '{self.kind}', expected {', '.join(KINDS)}")
        if self.start < 0 or (self.start and self.kind == HARD):
            raise ValueError(f"start is {self.start}, expected at least 0, with kind=linear or kind=exponential")
        if (self.steps < 1) if self.kind == LINEAR else self.steps:
            raise ValueError(f"steps is {self.steps}, expected at least 1 with kind=linear, and with nothing else")
        if not isfinite(self.rate) or ((self.rate <= 0) if self.kind == EXPONENTIAL else self.rate):
            raise ValueError(f"rate is {self.rate}, expected above 0 with kind=exponential, and with nothing else")
        if not (isfinite(self.strength) and self.strength >= 0):
            raise ValueError(f"strength is {self.strength}, expected at least 0")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_units(op, self.name)
        if remark_no_contractions(self, op, self.only) and not sum(map(self._prune, training_functions(op))):
            remark_idle(self, "no product reads weights of floats whose layer has a forward product")

    def _prune(self, func: FuncOp) -> int:
        """Prune the weights of a function's products; how many products read some."""
        readers = list(self._readers(func))
        prunings = self._prunings(func, readers)
        taken = [(op, name) for op, name in readers if _operand(op, name) in prunings]
        for op, _ in taken:
            if not is_free(op):
                raise refused(op, "the contraction has a schedule already, or runs with others", self.name)
        if not taken:
            return 0
        if self.strength:
            for value, pruning in prunings.items():
                pull(func, value, pruning, self.strength, self.name)
        step = None if self.kind == HARD else step_number(func)
        made: dict[SSAValue, SSAValue] = {}
        for op, name in taken:
            value = _operand(op, name)
            prune_operand(op, name, prunings[value], step, made, PatternRewriter(op))
        sweep(func.body, LowerView(), LowerMove(), LowerVector())
        return len(taken)

    def _readers(self, func: FuncOp) -> Iterator[tuple[ContractOp, str]]:
        """The products that read weights, and the names of these."""
        kinds = Kinds(func)
        for op in [op for op in func.walk() if isinstance(op, ContractOp)]:
            if self.only is None or fnmatchcase(layer_of(op), self.only):
                for tensor, value in zip(op.nest.ins, op.operands, strict=False):
                    if is_wide(value) and kinds.of(value) == WEIGHTS:
                        yield op, tensor.name

    def _prunings(self, func: FuncOp, readers: list[tuple[ContractOp, str]]) -> Mapping[SSAValue, Pruning]:
        """How each value of weights is pruned: along the axis that its first forward product sums."""
        kept, of = numbers_of(self.pattern)
        forward = {_operand(op, name): _axis(op, name) for op, name in reversed(readers) if role_of(op) is Role.FORWARD}
        across: dict[SSAValue, int] = {}
        for op, name in readers:
            value = _operand(op, name)
            if self.transposable and value in forward and _axis(op, name) != forward[value]:
                across.setdefault(value, _axis(op, name))
        short = {value: axis for value, axis in forward.items() if shape_of(value)[axis] % of}
        if short:
            value, axis = next(iter(short.items()))
            more = f" and {len(short) - 1:,} more" if len(short) > 1 else ""
            name = value.name_hint or "weights"
            remark(
                f"nm-recipe: groups of {of} do not divide the {shape_of(value)[axis]:,} values that are summed of "
                f"'{name}'{more}: the last is padded with zeros"
            )
        decay = None if self.kind == HARD else {"kind": self.kind, **self._decay()}
        return {value: Pruning(kept, of, axis, across.get(value), decay) for value, axis in forward.items()}

    def _decay(self) -> dict[str, int | float]:
        own = {"steps": self.steps} if self.kind == LINEAR else {"rate": float(self.rate)}
        return {"start": self.start, **own}


def numbers_of(pattern: str) -> tuple[int, int]:
    """N and M of a pattern. Raises a ValueError for other texts."""
    found = re.fullmatch(r"([0-9]{1,3}):([0-9]{1,3})", pattern)
    if found is None:
        raise ValueError(f"pattern is '{pattern}', expected N:M as in 2:4")
    return int(found[1]), int(found[2])


def _operand(op: ContractOp, name: str) -> SSAValue:
    return op.operands[[tensor.name for tensor in op.nest.ins].index(name)]


def _axis(op: ContractOp, name: str) -> int:
    return grouping_axis(op.nest, op.nest.tensors[name])
