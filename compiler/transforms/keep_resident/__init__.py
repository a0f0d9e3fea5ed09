"""
Pass `keep-resident`: values that stay in SPM from one operation to the next.

    %dx = npu.contract (…) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W) loops […] spm 4194304 bytes
    %dw = npu.contract (…) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY) loops […] spm 4194304 bytes
      ->
    %dx = npu.contract (…) … loops […] spm 4194304 bytes resident(out dY)
    %dw = npu.contract (…) … loops […] spm 4194304 bytes resident(in dY)

A value that the next operation that reads it finds in SPM is not read again, and a result that all of them find there
is never written. Its room is gone for all operations between. The pass looks at each value and each next operation,
searches the schedules of all contractions that are concerned once more, and takes what makes the objective less, best
first. So it never makes a program worse. Contractions without a schedule, in turn, over cores, or with fused work stay
as they are.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.programs.resident import refusal
from npuc.compiler.core.errors import UsageError
from npuc.compiler.transforms.keep_resident.search import Event, Staying, Wanted
from npuc.compiler.transforms.schedule.searches import known_machine, objective_named
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.provenance import Role, layer_of, role_of

_BACKWARD = frozenset((Role.DX, Role.DW, Role.DXDW))


def _is_gradient(first: Event, second: Event) -> bool:
    return role_of(first.op) in _BACKWARD and role_of(second.op) in _BACKWARD


def _is_pair(first: Event, second: Event) -> bool:
    """Whether a product of the backward pass hands an input on to the other one of its layer, or to work between."""
    reads = not first.makes and layer_of(first.op) == layer_of(second.op)
    return reads and isinstance(first.op, ContractOp) and _is_gradient(first, second)


WHAT: dict[str, Wanted] = {"all": lambda first, second: True, "gradients": _is_gradient, "pairs": _is_pair}


@dataclass(frozen=True)
class KeepResidentPass(ModulePass):
    """Let values stay in SPM: `what` says which, `only` is a glob of the layers of both operations."""

    name = "keep-resident"

    what: str = "all"
    objective: str = "time"
    only: str | None = None

    def __post_init__(self) -> None:
        objective_named(self.objective)
        if self.what not in WHAT:
            raise ValueError(f"what is '{self.what}', expected {', '.join(WHAT)}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = known_machine(op, f"{self.name} depends on it")
        problem = refusal(machine)
        if problem is not None:
            raise PassFailedException(f"{self.name}: {problem}")
        objective = objective_named(self.objective)
        blocks = dict.fromkeys(inner.parent for inner in op.walk() if isinstance(inner, ContractOp))
        for block in blocks:
            if block is not None and not isinstance(block.parent_op(), InterleaveOp):
                staying = Staying(block, machine, objective)
                try:
                    staying.choose(self._wanted)
                except UsageError as e:
                    raise PassFailedException(f"{self.name}: {e.message}") from e
                staying.write()

    def _wanted(self, first: Event, second: Event) -> bool:
        named = self.only is None or all(fnmatchcase(layer_of(e.op), self.only) for e in (first, second))
        return named and WHAT[self.what](first, second)
