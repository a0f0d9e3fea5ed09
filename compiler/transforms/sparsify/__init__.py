"""
The pass `sparsify`: sparse operands of matrix products, weights pruned, activations and gradients as stated.

    %y = npu.contract … ins(X = %x[m, k], W = %w[k, n]) … : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
      -> sparsify{rules="weights=0.1"}
    %w_s = npu.vector prune(%w) … : (tensor<32x8xf32>) -> tensor<32x8x!npu.sparse<f32, 1/10, bitmap>>
    %y = npu.contract … ins(X = %x[m, k], W = %w_s[k, n]) … : (…, tensor<32x8x!npu.sparse<…>>) -> tensor<4x8xf32>

Weights are pruned where the first product reads them: all products, forward and dX, read the same pruned values, and
the gradient of a weight passes to all of it. Of activations and gradients a density is a statement: their values stay
as they are, and what is there is counted when the program runs. Each conversion is vector work of its own, once for all
products that read it. N:M is along the axis that the first product sums.

A rule that names layers or parameters wins over one that names a kind, and both over the density that the program says
of a parameter. A density of 1 leaves operands as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.stages import remark
from npuc.compiler.core.verify import refused
from npuc.compiler.transforms.lower_to_npu.work import LowerMove, LowerVector, LowerView
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.quantize.formats import WEIGHTS
from npuc.compiler.transforms.quantize.operands import Kinds, grouping_axis
from npuc.compiler.transforms.shared_units import refuse_units
from npuc.compiler.transforms.sparsify.rules import (
    AS_IS,
    BLOCKWISE,
    BY_CHANCE,
    EXAMPLE,
    Rule,
    by_precedence,
    parse_density,
    parse_rules,
)
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import derive, layer_of
from npuc.dialects.sparse import SparseType, sparse_type
from npuc.dialects.sparse_formats import Blocks, SparseFormat, Structured
from npuc.dialects.tensors import is_float, shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import Param, TrainOp
from npuc.dialects.train.signature import DENSITY, ArgumentKind, argument_entries, arguments_of, training_functions
from npuc.dialects.train.sparse import BLOCKS, N_OF_M, UNIFORM, CompressOp, PruneOp


@dataclass(frozen=True)
class SparsifyPass(ModulePass):
    """
    Prune weights that products read, and state the densities of activations and gradients.

    `rules` are those of `--density`, separated by semicolons: `weights=0.1; fc.*=2:4; activations=0.5 csr`. Without
    them the densities that the program says of its parameters apply alone. `seed` is for weights that are pruned by
    chance (`weights=0.1 uniform`).
    """

    name = "sparsify"
    CHANGES_NUMBERS: ClassVar = "it prunes weights"
    EXAMPLE: ClassVar = 'autodiff,lower-to-npu,sparsify{rules="weights=0.1"}'

    rules: str | None = None
    """Densities of operands, by kind or by a glob of layers or parameters: `weights=0.1; fc.*=2:4`."""
    seed: int = 0
    """A number that chance begins with."""

    def __post_init__(self) -> None:
        parse_rules(self.rules)
        if not 0 <= self.seed < 1 << 31:
            raise ValueError(f"seed is {self.seed}, expected 0 to {(1 << 31) - 1:,}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_units(op, self.name)
        if not remark_no_contractions(self, op, None):
            return
        rules, found, used = parse_rules(self.rules), 0, set[str]()
        for func in training_functions(op):
            _check_globs(rules, func)
            work = Sparsified(func, rules, self.seed)
            found += work.run()
            used |= work.used
            work.remarks()
        idle = [rule.key for rule in rules if rule.key not in used and not rule.is_glob]
        if idle:
            remark(f"sparsify: {' and '.join(idle)} have no effect: no product has such an operand of floats")
        if not found and not used:
            remark_idle(self, "no product has an operand of floats that a rule, or the program, says a density of")


def _check_globs(rules: tuple[Rule, ...], func: FuncOp) -> None:
    """Raise `UsageError` for a glob that names no layer with products and no parameter."""
    layers = [layer_of(op) for op in func.walk() if isinstance(op, ContractOp)]
    params = [one.name for one in arguments_of(func) if one.kind is ArgumentKind.PARAM]
    known = list(dict.fromkeys([*params, *layers]))
    for rule in rules:
        if rule.is_glob and not any(fnmatchcase(name, rule.key) for name in known):
            raise UsageError(
                f"density {rule.key}={rule.density}: no layer with products and no parameter is named so",
                hint=did_you_mean(rule.key, known),
            )


@dataclass
class Sparsified:
    """The operands of a function's products that become sparse, each once."""

    func: FuncOp
    rules: tuple[Rule, ...]
    seed: int
    used: set[str] = field(default_factory=set[str], init=False)
    _made: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue], init=False)
    _axes: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int], init=False)
    _turned: dict[str, str] = field(default_factory=dict[str, str], init=False)
    _short: dict[str, str] = field(default_factory=dict[str, str], init=False)

    def run(self) -> int:
        """Convert the operands; how many values are."""
        kinds, stated, params = Kinds(self.func), _stated(self.func), _parameters(self.func)
        globs, by_kind = by_precedence(self.rules)
        for contract in [op for op in self.func.walk() if isinstance(op, ContractOp)]:
            for number, tensor in enumerate(contract.nest.ins):
                value = contract.operands[number]
                if value not in self._made and not _is_dense_float(value):
                    continue
                kind = kinds.of(value)
                param = params.get(_source(value)) if kind == WEIGHTS else None
                rule = _rule_of(contract, kind, param, globs, by_kind, stated)
                if rule is None:
                    continue
                self.used.add(rule.key)
                if rule.is_dense:
                    continue
                axis = grouping_axis(contract.nest, tensor)
                self._convert(contract, number, rule, kind, axis)
        if self._made:
            sweep(self.func.body, LowerView(), LowerMove(), LowerVector())
        return len(self._made)

    def _convert(self, contract: ContractOp, number: int, rule: Rule, kind: str, axis: int) -> None:
        """Give a contraction a sparse operand, made in front of the first product that reads it."""
        value = contract.operands[number]
        if contract.schedule_attr is not None or contract.parent_op() is not self.func:
            raise refused(contract, "the contraction has a schedule already, or runs with others", "sparsify")
        if value not in self._made:
            self._made[value] = self._sparse(contract, value, rule, kind, axis)
            self._axes[value] = axis
        new = self._made[value]
        element = tensor_type(new).element_type
        assert isinstance(element, SparseType)
        if axis != self._axes[value] and not element.format.any_order:
            self._turned.setdefault(rule.format, layer_of(contract))
        contract.operands[number] = new

    def _sparse(self, contract: ContractOp, value: SSAValue, rule: Rule, kind: str, axis: int) -> SSAValue:
        shape = shape_of(value)
        try:
            format = rule.format_of(shape, axis)
        except ValueError as wrong:
            raise refused(contract, f"{rule.key}={rule.density}: {wrong}", "sparsify") from None
        result = tensor_of(sparse_type(tensor_type(value).element_type, rule.density, format), shape)
        op: TrainOp
        if kind != WEIGHTS or rule.pattern == AS_IS:
            op = CompressOp(value, results=[result])
        else:
            op = PruneOp(value, results=[result], **self._said(rule, format, axis))
        if rule.nm is not None and shape[axis] % rule.nm[1]:
            self._short.setdefault(layer_of(contract), f"{shape[axis]:,} by {rule.nm[1]}")
        PatternRewriter(contract).insert(derive(contract, op), InsertPoint.before(contract))
        op.results[0].name_hint = f"{value.name_hint}_s" if value.name_hint else None
        return op.results[0]

    def _said(self, rule: Rule, format: SparseFormat, axis: int) -> dict[str, Param]:
        """The properties of a pruning; of chance each tensor has a seed of its own."""
        if isinstance(format, Structured) or rule.nm is not None:
            assert rule.nm is not None
            return {"pattern": N_OF_M, "axis": axis, "kept": rule.nm[0], "of": rule.nm[1]}
        counts: dict[str, Param] = {"kept": rule.density.numerator, "of": rule.density.denominator}
        if rule.pattern == BLOCKWISE and isinstance(format, Blocks):
            return {"pattern": BLOCKS, "block": format.sizes, **counts}
        if rule.pattern == BY_CHANCE:
            return {"pattern": UNIFORM, "seed": self.seed + len(self._made), **counts}
        return counts

    def remarks(self) -> None:
        """Say which groups are not full, and what is read in another order than it is stored in."""
        if self._short:
            layer, example = next(iter(self._short.items()))
            more = f" and {len(self._short) - 1:,} more layers" if len(self._short) > 1 else ""
            remark(
                f"sparsify: groups do not divide the axis in '{layer}' ({example}){more}: the last is padded by zeros"
            )
        if self._turned:
            layer = next(iter(self._turned.values()))
            remark(
                f"sparsify: {' and '.join(self._turned)}: products read some along another axis than they are stored "
                f"in, first in '{layer}': rewriting them is not priced; blocks are read in any order"
            )


def _is_dense_float(value: SSAValue) -> bool:
    return is_float(value) and not isinstance(tensor_type(value).element_type, SparseType)


def _stated(func: FuncOp) -> Mapping[str, Rule]:
    """What the program itself says of its parameters, by name. Raises `UsageError` for what is no density."""
    entries, found = list(argument_entries(func)), dict[str, Rule]()
    for one in arguments_of(func):
        said = entries[one.index].get(DENSITY)
        if one.kind is ArgumentKind.PARAM and isinstance(said, StringAttr):
            try:
                found[one.name] = parse_density(one.name, said.data)
            except ValueError as wrong:
                raise UsageError(f"the density of {one.name}: {wrong}", hint=EXAMPLE) from None
    return found


def _parameters(func: FuncOp) -> dict[SSAValue, str]:
    """The parameters of a function, by value."""
    args = func.body.block.args
    return {args[one.index]: one.name for one in arguments_of(func) if one.kind is ArgumentKind.PARAM}


def _source(value: SSAValue) -> SSAValue:
    """What a weight is converted from: the parameter, of which views and conversions are the first operands."""
    while isinstance(value.owner, Operation) and value.owner.operands:
        value = value.owner.operands[0]
    return value


def _rule_of(
    contract: ContractOp,
    kind: str,
    param: str | None,
    globs: list[Rule],
    by_kind: Mapping[str, Rule],
    stated: Mapping[str, Rule],
) -> Rule | None:
    """The rule of an operand: a glob of its layer or parameter, that of its kind, or what the program says."""
    if kind == WEIGHTS:
        names = [name for name in (param, layer_of(contract)) if name]
        for rule in globs:
            if any(fnmatchcase(name, rule.key) for name in names):
                return rule
    found = by_kind.get(kind)
    return stated.get(param) if found is None and kind == WEIGHTS and param is not None else found


__all__ = ["SparsifyPass"]
