"""
Pass `keep-resident`: values that are resident in scratchpad from one operation to another.

    %dx = npu.contract (…) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W) loops […] spm 4194304 bytes
    %dw = npu.contract (…) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY) loops […] spm 4194304 bytes
      ->
    %dx = npu.contract (…) … loops […] spm 4194304 bytes resident(out dY)
    %dw = npu.contract (…) … loops […] spm 4194304 bytes resident(in dY)

A value that its next reader finds in SPM is not reread, and a result that all its readers find there is never written.
All operations in between lose its room. The pass considers each pair of consecutive accesses of each value, searches
the schedules of all affected contractions anew, and greedily takes what improves the objective, most beneficial first,
so that it never makes a program worse. Contractions without a schedule, interleaved ones, those over cores and
those with an epilogue are left as they are; a program with groups of layers (`fuse-layers`) is refused. The search
looks at all operations of a block; the pattern `keep-in-spm` writes what it chooses.
"""

from fnmatch import fnmatchcase
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.programs.resident import refusal
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.stages import remark
from npuc.compiler.transforms.keep_resident.patterns import KeepInSpm, Residency
from npuc.compiler.transforms.keep_resident.search import ResidencySearch
from npuc.compiler.transforms.keep_resident.spans import Access, SpanFilter
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.schedule.searches import known_machine, objective_named
from npuc.compiler.transforms.unused import options_given, remark_idle, remark_no_contractions, remark_unmatched
from npuc.dialects.npu import ContractOp, GroupOp, InterleaveOp, VectorOp
from npuc.dialects.npu.resident import HasResidency
from npuc.dialects.provenance import Role, layer_of, role_of

_BACKWARD = frozenset((Role.DX, Role.DW, Role.DXDW))


def _is_gradient(first: Access, second: Access) -> bool:
    return role_of(first.op) in _BACKWARD and role_of(second.op) in _BACKWARD


def _is_pair(first: Access, second: Access) -> bool:
    """Whether the first is a gradient product that hands an operand on to other backward work of its layer."""
    reads = not first.defines and layer_of(first.op) == layer_of(second.op)
    return reads and isinstance(first.op, ContractOp) and _is_gradient(first, second)


WHAT: dict[str, SpanFilter] = {"all": lambda first, second: True, "gradients": _is_gradient, "pairs": _is_pair}


@frozen
class KeepResidentPass(ModulePass):
    """Make values resident in SPM: `what` says which, `only` is a glob of the layers of both operations."""

    name = "keep-resident"
    EXAMPLE: ClassVar = "autodiff,lower-to-npu,schedule,keep-resident{what=pairs}"

    what: str = "all"
    """Between which operations: all, gradients (backward work), or pairs (dX and dW of a layer)."""
    objective: str = "time"
    """What schedules minimise: time, traffic, energy or edp."""
    only: str | None = None
    """A glob of the layers of both operations."""

    def __post_init__(self) -> None:
        objective_named(self.objective)
        if self.what not in WHAT:
            raise ValueError(f"what is '{self.what}', expected {', '.join(WHAT)}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = known_machine(op, f"{self.name} depends on it")
        problem = refusal(machine)
        if problem is not None:
            raise PassFailedException(f"{self.name}: {problem}")
        group = next((inner for inner in op.walk() if isinstance(inner, GroupOp)), None)
        if group is not None:
            raise PassFailedException(
                f"{self.name}: groups of layers (from {layer_of(group)} on) keep values in SPM themselves: leave out "
                "fuse-layers or keep-resident"
            )
        objective = objective_named(self.objective)
        searches: dict[Block, ResidencySearch] = {}
        candidates = 0
        for block in dict.fromkeys(inner.parent for inner in op.walk() if isinstance(inner, ContractOp)):
            if block is not None and not isinstance(block.parent_op(), InterleaveOp):
                searches[block] = search = ResidencySearch(block, machine, objective)
                try:
                    candidates += search.choose(self._wanted)
                except UsageError as e:
                    raise PassFailedException(f"{self.name}: {e.message}") from e

        def choose(inner: ContractOp | VectorOp) -> Residency | None:
            search = None if inner.parent is None else searches.get(inner.parent)
            return None if search is None else search.residency(inner)

        sweep(op.body, KeepInSpm(choose))
        self._remark(op, candidates)

    def _remark(self, module: ModuleOp, candidates: int) -> None:
        """Tell why there is nothing to keep, where options or the place in the pipeline are the reason."""
        if not remark_no_contractions(self, module, None):
            return
        layers = (layer_of(op) for op in module.walk() if isinstance(op, HasResidency))
        if all(op.schedule_attr is None for op in module.walk() if isinstance(op, ContractOp)):
            remark(f"pass '{self.name}' leaves out the contractions: none has a schedule yet, it comes after schedule")
        elif not candidates and remark_unmatched(self, self.only, layers, "operation") and options_given(self):
            remark_idle(self, "between no such operations a value may be resident")

    def _wanted(self, first: Access, second: Access) -> bool:
        named = self.only is None or all(fnmatchcase(layer_of(e.op), self.only) for e in (first, second))
        return named and WHAT[self.what](first, second)
