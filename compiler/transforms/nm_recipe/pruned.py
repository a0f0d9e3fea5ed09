"""What the pass puts in front of products and of updates."""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from npuc.compiler.core.verify import refused
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import Role, derive, role_of
from npuc.dialects.sparse import sparse_type
from npuc.dialects.sparse_formats import Structured
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import Param
from npuc.dialects.train.recipes import MaskDecayOp, SrSteOp
from npuc.dialects.train.sparse import N_OF_M, PruneOp


@dataclass(frozen=True)
class Pruning:
    """`kept` of each `of` along an axis, and `across` another one; `decay` are the properties of a fading mask."""

    kept: int
    of: int
    axis: int
    across: int | None
    decay: Mapping[str, Param] | None

    @property
    def params(self) -> dict[str, Param]:
        """The properties of an operation with this mask."""
        said: dict[str, Param] = {"kept": self.kept, "of": self.of, "axis": self.axis}
        return said if self.across is None else said | {"across": self.across}

    def stored(self, element: Attribute) -> Attribute:
        """The elements of what is pruned: sparse ones, unless what is dropped is not zero yet."""
        if self.decay is not None:
            return element
        axes = (self.axis,) if self.across is None else (self.axis, self.across)
        format = Structured(self.kept, self.of, axes)
        return sparse_type(element, format.density, format)


def prune_operand(
    op: ContractOp,
    name: str,
    how: Pruning,
    step: SSAValue | None,
    made: dict[SSAValue, SSAValue],
    rewriter: PatternRewriter,
) -> None:
    """Give a product pruned weights, made in front of the first that reads them; `step` is that of a fading mask."""
    number = [tensor.name for tensor in op.nest.ins].index(name)
    value = op.operands[number]
    if value not in made:
        betas: list[SSAValue] = []
        if how.decay is not None:
            assert step is not None
            beta = MaskDecayOp(step, results=None, **how.decay)
            beta.out.name_hint = "beta"
            rewriter.insert(derive(op, beta), InsertPoint.before(op))
            betas.append(beta.out)
        result = tensor_of(how.stored(tensor_type(value).element_type), shape_of(value))
        pruned = PruneOp(value, *betas, results=[result], pattern=N_OF_M, **how.params)
        pruned.out.name_hint = f"{value.name_hint}_p" if value.name_hint else None
        rewriter.insert(derive(op, pruned), InsertPoint.before(op))
        made[value] = pruned.out
    op.operands[number] = made[value]
    rewriter.notify_op_modified(op)


def pull(func: FuncOp, value: SSAValue, how: Pruning, strength: float, name: str) -> None:
    """Let the update of weights read their gradient with the pull of SR-STE."""
    updates = [use.operation for use in value.uses if use.index == 0 and role_of(use.operation) is Role.UPDATE]
    if not updates:
        owner = next(iter(value.uses)).operation
        raise refused(owner, "strength pulls at parameters, and these weights are made of some, or not updated", name)
    for update in updates:
        pulled = SrSteOp(update.operands[1], value, results=None, strength=strength, **how.params)
        pulled.out.name_hint = f"{value.name_hint}_pull" if value.name_hint else None
        func.body.block.insert_op_before(derive(update, pulled, role=Role.DW), update)
        update.operands[1] = pulled.out
