"""
Pass `fuse-layers`: neighbouring operations run by micro-batches, with what passes between them in SPM.

    %h = npu.vector relu(%x) ops 48 : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %h[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops […]
      ->
    %y = npu.group micro 2 of 6 ins(%x[0], %w held) outs([0]) { … }

Where not all that passes in one sample fits, a group walks bands of rows of it; rows that two bands read stay in SPM
or are computed again, whatever is cheaper.

    %y = npu.group micro 1 of 6 rows 4 of 56 axis 2 keep ins(%x[0], %w held) outs([0]) { … }

A mapper chooses the groups and their micro-batches: `dp`, a dynamic program that is exact for the prices, `genetic`, a
seeded search, or `learned`, a network that proposes groups and has only a few of them priced. Prices are those of the
backend `cycle`, so that no program becomes worse. The search looks at all operations of a function.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.fusion.dynamic_program import best_plan
from npuc.compiler.analysis.fusion.genetic import genetic_plan
from npuc.compiler.analysis.fusion.learned import learned_plan
from npuc.compiler.analysis.fusion.problem import FusedGroup, Mapper, summed
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.programs.resident import refusal
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.stages import remark
from npuc.compiler.transforms.fuse_layers.again import in_groups, repeatable, run_again
from npuc.compiler.transforms.fuse_layers.chain import Chain, chain_of
from npuc.compiler.transforms.fuse_layers.design import Designs
from npuc.compiler.transforms.fuse_layers.layout import Design
from npuc.compiler.transforms.fuse_layers.write import write_group
from npuc.compiler.transforms.keep_resident.spans import refuse_residents
from npuc.compiler.transforms.schedule.searches import known_machine, objective_named
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions, remark_unmatched
from npuc.dialects.copies import copied
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.groups.walk import HALOS
from npuc.dialects.npu.widths import whole_bytes
from npuc.dialects.provenance import layer_of

MAPPERS: Mapping[str, Mapper] = {"dp": best_plan, "genetic": genetic_plan, "learned": learned_plan}
"""The mappers by name."""

ROUNDING = 1e-12
"""The part of a cost by which sums of the same energies may differ."""

ROWS: Mapping[str, tuple[str, ...]] = {"any": HALOS, **{halo: (halo,) for halo in HALOS}, "off": ()}
"""What may become of rows that two bands of a group read, by the value of the option."""


@dataclass(frozen=True)
class FuseLayersPass(ModulePass):
    """Run neighbouring operations by micro-batches where that improves the objective."""

    name = "fuse-layers"
    EXAMPLE: ClassVar = "lower-to-npu,schedule,fuse-layers"

    mapper: str = "dp"
    """What chooses the groups: dp (exact for the prices), genetic (seeded) or learned (fast)."""
    budget_kib: int | None = None
    """KiB of SPM that a group may use; by default all that a schedule may."""
    objective: str = "time"
    """What is minimised: time, traffic, energy or edp."""
    only: str | None = None
    """A glob of layers; operations of others are in no group."""
    rows: str = "any"
    """Whether groups walk rows of a sample, halos kept or recomputed: any of these, keep, recompute or off."""

    recompute: bool = False
    """Whether elementwise forward work may run again for the backward pass, where that is cheaper than a load."""

    def __post_init__(self) -> None:
        objective_named(self.objective)
        if self.mapper not in MAPPERS:
            raise ValueError(f"mapper is '{self.mapper}', expected {', '.join(MAPPERS)}")
        if self.rows not in ROWS:
            raise ValueError(f"rows is '{self.rows}', expected {', '.join(ROWS)}")
        if self.budget_kib is not None and self.budget_kib < 1:
            raise ValueError(f"budget-kib is {self.budget_kib}, expected at least 1")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = known_machine(op, f"{self.name} depends on it")
        problem = refusal(machine)
        if problem is not None:
            raise PassFailedException(f"{self.name}: {problem}")
        refuse_residents(op, self.name)
        room = machine.spm_bytes if self.budget_kib is None else self.budget_kib * 1024
        if room > machine.spm_bytes:
            raise PassFailedException(
                f"{self.name}: budget-kib is {self.budget_kib}, a schedule may use {machine.spm_bytes // 1024:,}"
            )
        best = self._best(op, machine, room) if self.recompute else None
        if best is None:
            self._remark(op, self._fuse_all(op, machine, room)[0])
            return
        for inner in reversed(list(op.body.block.ops)):
            inner.detach()
            inner.erase()
        for inner in list(best.body.block.ops):
            inner.detach()
            op.body.block.add_op(inner)

    def _best(self, module: ModuleOp, machine: Machine, room: int) -> ModuleOp | None:
        """The program with forward work that runs again, where it is better fused than without; None where none is."""
        objective = objective_named(self.objective)
        numbers = frozenset(range(len(repeatable(module))))
        best, found = None, self._fuse_all(copied(module), machine, room)[1].score(objective)
        while numbers:
            copy = copied(module)
            run_again(copy, numbers)
            score = self._fuse_all(copy, machine, room)[1].score(objective)
            useful = in_groups(copy)
            if score < found:
                best, found = copy, score
            # Copies that are in no group move all that they read: once more without those.
            numbers = useful if useful < numbers else frozenset[int]()
        if best is None:
            remark_idle(self, f"no forward work that runs again improves the {self.objective}")
        return best

    def _fuse_all(self, module: ModuleOp, machine: Machine, room: int) -> tuple[int, ReportedCost]:
        """Fuse the layers of all functions: the number of groups, and what all operations cost then."""
        found = [(0, ReportedCost(0, 0, 0.0))]
        for func in [inner for inner in module.walk() if isinstance(inner, FuncOp)]:
            try:
                found.append(self._fuse(func, machine, room))
            except UsageError as e:
                raise PassFailedException(f"{self.name}: {e.message}") from e
        return sum(count for count, _ in found), summed(cost for _, cost in found)

    def _fuse(self, func: FuncOp, machine: Machine, room: int) -> tuple[int, ReportedCost]:
        """Fuse the layers of a function: the number of groups, and what its operations cost then."""
        chain = chain_of(func.body.block, machine, least=1 if ROWS[self.rows] else 2)
        if chain is None:
            return 0, ReportedCost(0, 0, 0.0)
        if self.only is not None:
            chain = _only(chain, self.only)
        objective = objective_named(self.objective)
        designs = Designs(chain, machine, room, objective, ROWS[self.rows])
        plan = MAPPERS[self.mapper](chain.problem(designs.machine, objective), designs)
        plan = tuple(group for group in plan if _saves(designs, group, objective))
        costs: list[ReportedCost] = []
        left = set(range(len(chain.steps)))
        # From the last to the first, so that a group still reads what the steps before it compute.
        for group in reversed(plan):
            design = _write(chain, designs, group)
            left -= {group.first + number for number in design.frame.members}
            costs.append(design.cost)
        return len(plan), summed([*costs, *(designs.alone(number) for number in sorted(left))])

    def _remark(self, module: ModuleOp, groups: int) -> None:
        """Tell why there are no groups, where there are none."""
        if groups or not remark_no_contractions(self, module, None):
            return
        if all(one.schedule_attr is None for one in module.walk() if isinstance(one, ContractOp)):
            remark(f"pass '{self.name}' leaves out the contractions: none has a schedule yet, it comes after schedule")
        elif remark_unmatched(self, self.only, (layer_of(inner) for inner in module.walk()), "operation"):
            remark_idle(self, f"no group of layers improves the {self.objective} within its room")


def _saves(designs: Designs, group: FusedGroup, objective: Objective) -> bool:
    """Whether a group is better than its operations by themselves by more than what sums of floats are apart."""
    design = _design(designs, group)
    alone = summed(designs.alone(group.first + number) for number in design.frame.members)
    counted: Sequence[Objective] = ("time", "energy") if objective == "edp" else (objective,)
    return any(design.cost.score(one) < alone.score(one) * (1 - ROUNDING) for one in counted)


def _design(designs: Designs, group: FusedGroup) -> Design:
    found = designs.design(group.first, group.last, group.micro)
    assert found is not None, "a plan has possible groups only"
    return found


def _write(chain: Chain, designs: Designs, group: FusedGroup) -> Design:
    """Write a group, with what it saves against its operations by themselves."""
    design = designs.refined(group.first, group.micro, _design(designs, group))
    alone = summed(designs.alone(group.first + number) for number in design.frame.members)
    rewriter = PatternRewriter(chain.steps[group.first].op)
    new = write_group(chain, group.first, group.last, group.micro, design, rewriter)
    new.attributes["saved_cycles"] = IntegerAttr(alone.cycles - design.cost.cycles, i64)
    new.attributes["saved_bytes"] = IntegerAttr(whole_bytes(alone.moved) - whole_bytes(design.cost.moved), i64)
    return design


def _only(chain: Chain, glob: str) -> Chain:
    """A chain in which only the operations of some layers may be in a group."""
    steps = (s if fnmatchcase(layer_of(s.op), glob) else replace(s, axes=None, kind=None) for s in chain.steps)
    return replace(chain, steps=tuple(steps))
