"""
Pass `partition`: splits one dimension of a nest into equal parts, over time or over cores.

    npu.contract (m = 12, n = 4, k = 8) … loops [m : 2, k : 2, n : 2] keep(dY = 1)
      -> partition{dim=m parts=3} ->
    npu.contract (m = 12, n = 4, k = 8) … loops [m : 4, m : 2, k : 2, n : 2] keep(dY = 1)
      -> partition{dim=n parts=2 over=cores} ->
    npu.contract (m = 12, n = 4, k = 8) … loops [cores n : 2, m : 4, m : 2, k : 2] keep(dY = 1)

The new loop encloses the existing ones; over time it comes inside loops over cores. Inner loops with a step larger than
a part are an error; one with an equal step is dropped, without a change of the resident blocks. A contraction without a
schedule gets the best one for a part. The dimension is given by its name, or by m, n or k of the forward product: of
several dimensions the first that the number of parts divides is split. One part changes nothing.

`rule=best` tries m, n and k in 2, 4 and 8 parts over time, in one part per core, and no partition, and takes the
cheapest; `over` restricts it to time or cores. Round-robin contractions, which run on one core, are all split alike
over time, and are scheduled first if they have no schedule. `rule=knn` tries only the dimension that the published
predictor names (`analysis/schedule/partition_knn.py`), if any.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, cast, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import contract_widths
from npuc.compiler.analysis.nest.gemm import forward_sizes
from npuc.compiler.analysis.programs.interleave_search import joint_cost
from npuc.compiler.analysis.schedule.near_ties import best_of
from npuc.compiler.analysis.schedule.partition import (
    TIME_PARTS,
    EqualParts,
    Over,
    best_partition,
    extent_of,
    partitioned,
    searched_partition,
)
from npuc.compiler.analysis.schedule.partition_knn import labels_for, predict
from npuc.compiler.core.options import DEFAULT_TOLERANCE
from npuc.compiler.transforms.keep_resident.spans import refuse_residents
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.partition.patterns import CutOverCores, CutOverTime, check_possible, equal_parts
from npuc.compiler.transforms.schedule.by_hand import apply_by_hand
from npuc.compiler.transforms.schedule.patterns import JointSchedule, SetJointSchedule, SetSchedule
from npuc.compiler.transforms.schedule.pins import (
    contracts_of,
    dim_names,
    dims_of,
    named,
    require_known,
    together_of,
    usage_error,
)
from npuc.compiler.transforms.schedule.searches import (
    Goal,
    goal_of,
    joint_schedule_for,
    known_machine,
    or_capacity_error,
    problem_of,
)
from npuc.compiler.transforms.unused import remark_no_contractions, remark_unused
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Nest, Schedule

OVER: tuple[Over, ...] = get_args(Over)


@dataclass(frozen=True)
class PartitionPass(ModulePass):
    """
    Cut a dimension in parts: `dim`, `parts` and `over` (time, cores), or `rule` (best, knn) chooses them.

    Of what costs up to `tolerance` more than the least, the next measure decides; `only` is a glob of layer names.
    """

    name = "partition"
    EXAMPLE: ClassVar = 'lower-to-npu,tile{steps="m:8"},partition{dim=m parts=2}'

    dim: str | None = None
    """The dimension: its name, or m, n or k of the forward product."""
    parts: int | None = None
    """How many parts."""
    over: str | None = None
    """Where the parts are: time or cores."""
    rule: str | None = None
    """What chooses them: best (by cost) or knn (the published predictor)."""
    objective: str = "time"
    """What schedules minimise: time, traffic, energy or edp."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""
    tolerance: float = DEFAULT_TOLERANCE
    """How much more than the least may be spent for the next measure, as a fraction."""

    def __post_init__(self) -> None:
        goal_of(self.objective, self.tolerance)
        if self.over is not None and self.over not in OVER:
            raise ValueError(f"over is '{self.over}', expected {' or '.join(OVER)}")
        if self.rule is not None and self.rule not in RULES:
            raise ValueError(f"rule is '{self.rule}', expected {' or '.join(RULES)}")
        by_hand = self.dim is not None, self.parts is not None
        if by_hand != ((self.rule is None),) * 2:
            raise ValueError("expected either a dimension and parts, such as dim=m parts=4, or a rule")
        if self.parts is not None and self.parts < 1:
            raise ValueError(f"parts is {self.parts}, expected at least 1")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_residents(op, self.name)
        contracts = contracts_of(op, self.only)
        goal = goal_of(self.objective, self.tolerance)
        over = cast("Over | None", self.over)  # __post_init__ has checked it
        if not contracts:
            remark_no_contractions(self, op, self.only)
        elif self.dim is not None and self.parts is not None:
            self._remark_by_hand(contracts)
            require_known(contracts, [self.dim], dim_names, "dimension")
            self._cut(op, contracts, self.dim, self.parts, over or "time", goal)
        elif self.rule is not None:
            places = list(dict.fromkeys(together_of(contract) or contract for contract in contracts))
            if over == "cores" and all(isinstance(place, InterleaveOp) for place in places):
                remark_unused(self, ("over",), "contractions that run round-robin are on one core")
            for place in places:
                first = place if isinstance(place, ContractOp) else place.contracts[0]
                machine = known_machine(op, f"rule={self.rule} depends on it", first)
                if over == "cores" and machine.cores == 1 and place is places[0]:
                    remark_unused(self, ("over",), "the machine has one core")
                letters = RULES[self.rule](first.nest, machine)
                if isinstance(place, ContractOp):
                    _best(place, letters, machine, goal, over)
                elif over != "cores":
                    _best_in_turn(place, letters, machine, goal)

    def _remark_by_hand(self, contracts: Sequence[ContractOp]) -> None:
        """Tell which options have no effect beside a dimension and parts."""
        if self.parts == 1:
            remark_unused(self, ("over", "objective", "tolerance"), "one part changes nothing")
        elif all(contract.schedule_attr is not None for contract in contracts):
            why = "the contractions have schedules, of which the parts have what they had"
            remark_unused(self, ("objective", "tolerance"), why)

    def _cut(
        self, module: ModuleOp, contracts: Sequence[ContractOp], dim: str, parts: int, over: Over, goal: Goal
    ) -> None:
        """Cut contractions by hand; those without a schedule get the best one of a part."""
        scheduled: list[ContractOp] = []
        for contract in contracts:
            cut = equal_parts(contract, dim, parts, over)
            if cut is None:
                continue
            check_possible(contract, cut)
            if contract.schedule_attr is None:
                apply_pattern(SetSchedule(_searched(module, contract, cut, goal)), contract)
            else:
                scheduled.append(contract)
        time = CutOverTime(dim, parts, in_front=True, only=self.only)
        apply_by_hand(time if over == "time" else CutOverCores(dim, parts, only=self.only), scheduled)


def _searched(module: ModuleOp, op: ContractOp, cut: EqualParts, goal: Goal) -> Callable[[ContractOp], Schedule | None]:
    """The search for a partitioned contraction that has no schedule. Raises `UsageError` where there is none."""
    if together_of(op) is not None:
        raise usage_error(op, f"{named(op)} runs round-robin and has no schedule", "tile or schedule before it")
    machine = known_machine(module, f"{named(op)} has no schedule", op)
    widths = contract_widths(op, machine)
    return lambda one: or_capacity_error(
        one, lambda: searched_partition(one.nest, machine, goal.objective, widths, cut, goal.tolerance)
    )


def _best(op: ContractOp, letters: Sequence[str], machine: Machine, goal: Goal, over: Over | None) -> None:
    """Give a contraction the cheapest partition along these dimensions, or none."""
    nest, widths = op.nest, contract_widths(op, machine)
    fixed = None if op.schedule_attr is None else op.schedule
    dims = tuple(dim for letter in letters for dim in dims_of(nest, letter))

    def search() -> Schedule:
        return best_partition(nest, fixed, machine, goal.objective, widths, over, dims, goal.tolerance)

    apply_pattern(SetSchedule(lambda one: or_capacity_error(one, search)), op)


def _best_in_turn(op: InterleaveOp, letters: Sequence[str], machine: Machine, goal: Goal) -> None:
    """Give round-robin contractions the cheapest partition over time, the same dimension for all of them, or none."""
    if any(contract.schedule_attr is None for contract in op.contracts):
        apply_pattern(SetJointSchedule(lambda one: joint_schedule_for(one, machine, goal)), op)
    problem, whole = problem_of(op, machine), op.round_robin
    budget = problem.budget if op.spm is None else op.spm
    found = [whole]
    for letter, parts in product(letters, TIME_PARTS):
        cut = replace(
            whole, schedules=tuple(_partition_over_time(contract, letter, parts) for contract in op.contracts)
        )
        legal = all(next(s.problems(n), None) is None for n, s in zip(cut.nests, cut.schedules, strict=True))
        if legal and problem.room(cut) <= budget:
            found.append(cut)
    best = best_of(found, lambda cut: joint_cost(cut, problem), goal.objective, goal.tolerance)
    apply_pattern(SetJointSchedule(lambda one: JointSchedule(best.schedules, one.spm)), op)


def _partition_over_time(op: ContractOp, letter: str, parts: int) -> Schedule:
    """The schedule partitioned over time along the first dimension that the parts divide; unchanged if none does."""
    nest, schedule = op.nest, op.schedule
    dims = (dim for dim in dims_of(nest, letter) if extent_of(nest, schedule, dim, "time") % parts == 0)
    dim = next(dims, None)
    return schedule if dim is None else partitioned(nest, schedule, EqualParts(dim, parts))


def _predicted(nest: Nest, machine: Machine) -> Sequence[str]:
    """The dimension that the published predictor names, if any."""
    _, m, n, k = forward_sizes(nest)
    scheme = predict(m, n, k, labels_for(machine))
    return () if scheme == "whole" else (scheme,)


Rule = Callable[[Nest, Machine], Sequence[str]]
RULES: dict[str, Rule] = {"best": lambda nest, machine: "mnk", "knn": _predicted}
"""The values of the option `rule`: the dimensions of the forward product whose partitions are costed."""
