"""
Pass `fuse-vector`: vector work as the epilogue of a contraction, on each completed block of its output.

    %dw = npu.contract (m = 64, n = 512, k = 784) ins(…) outs(dW[k, n]) do(dW += X * dY) loops [k : 64, n : 128] …
    …
    %w1, %v1 = npu.vector sgd(%w, %dw, %v) ops 1605632
      ->
    %dw = npu.contract (m = 64, n = 512, k = 784) ins(…) outs(dW[k, n]) do(dW += X * dY) loops [k : 64, n : 128] …
    %w1, %v1 = npu.vector sgd(%w, %dw, %v) ops 1605632 fused
    …

dW is consumed in SPM and never reaches DRAM; the input of an activation is not stored and read back. The work moves to
its contraction. That must be legal: its other operands are available, and memory that it overwrites (W for an update)
is not read afterwards. The schedule must complete the output block by block, and the blocks of the other operands must
fit in SPM; where the schedule leaves no room for them, another is searched. Work that would save neither time nor
traffic is not fused, nor is work on contractions without a schedule.

A search chooses for each contraction in turn; the pattern `fuse-epilogue` writes what it chooses.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.timing.epilogue import refusal
from npuc.compiler.transforms.fuse_vector.candidates import Fusing, Wanted
from npuc.compiler.transforms.fuse_vector.patterns import Epilogue, FuseEpilogue
from npuc.compiler.transforms.keep_resident.spans import refuse_residents
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.schedule.searches import known_machine
from npuc.compiler.transforms.unused import NO_SCHEDULES, remark_idle, remark_no_contractions, remark_unused
from npuc.dialects.npu import ContractOp, GroupOp, InterleaveOp, VectorOp
from npuc.dialects.provenance import Role, layer_of, role_of


def _is_update(op: VectorOp) -> bool:
    return role_of(op) is Role.UPDATE


WHAT: dict[str, Wanted] = {
    "all": lambda op: True,
    "updates": _is_update,
    "elementwise": lambda op: not _is_update(op),
}


@dataclass(frozen=True)
class FuseVectorPass(ModulePass):
    """Fuse vector work with its contraction: `what` says which, `only` is a glob of the contraction's layer."""

    name = "fuse-vector"
    EXAMPLE: ClassVar = "autodiff,lower-to-npu,schedule,fuse-vector{what=updates}"

    what: str = "all"
    """Which vector work: all, updates (of optimizers) or elementwise (the rest)."""
    only: str | None = None
    """A glob of the contraction's layer."""

    def __post_init__(self) -> None:
        if self.what not in WHAT:
            raise ValueError(f"what is '{self.what}', expected {', '.join(WHAT)}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = known_machine(op, f"{self.name} depends on it")
        problem = refusal(machine)
        if problem is not None:
            raise PassFailedException(f"{self.name}: {problem}")
        refuse_residents(op, self.name)
        contracts = frozenset(self._contracts(op))
        if contracts:
            if not any(WHAT[self.what](inner) for inner in op.walk() if isinstance(inner, VectorOp)):
                remark_unused(self, ("what",), "the program has no such vector work")
        elif remark_no_contractions(self, op, self.only):
            remark_idle(self, NO_SCHEDULES)
        blocks: dict[Block, Fusing] = {}

        def choose(contract: ContractOp) -> Epilogue | None:
            block = contract.parent
            if block is None or contract not in contracts:
                return None
            if block not in blocks:
                blocks[block] = Fusing(block, machine, WHAT[self.what])
            return blocks[block].choose(contract)

        sweep(op.body, FuseEpilogue(choose))

    def _contracts(self, module: ModuleOp) -> list[ContractOp]:
        """The contractions with a schedule whose layer matches; those in turn take no epilogue."""
        return [
            op
            for op in module.walk()
            if isinstance(op, ContractOp)
            and op.schedule_attr is not None
            and not isinstance(op.parent_op(), InterleaveOp | GroupOp)
            and (self.only is None or fnmatchcase(layer_of(op), self.only))
        ]
