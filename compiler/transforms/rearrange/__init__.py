"""
Pass `rearrange`: sets the order of loops, in which tiles are visited.

    npu.contract … do(dX += dY * W, dW += X * dY) loops [m : 2, n : 2, k : 2] keep(dY = 1) spm 320 bytes
      -> rearrange{order=n,k,m} ->
    npu.contract … do(dX += dY * W, dW += X * dY) loops [n : 2, k : 2, m : 2] keep(dY = 1) spm 320 bytes

Steps and keep depths of an existing schedule do not change; without one, the best schedule of that order is searched.
Loops over dimensions that are not named come inside in their order, batch outside. Loops over cores and partitions over
time (`partition`) remain outermost.

`rule` chooses the order of dX and dW of one product, in one nest or in turn, and leaves all others as they are:

- `published` is Algorithm 1 of Kim, Na, Lee, Lee and Huh, MICRO 2023: by the shape alone in turn, dX-major (m, k, n) or
  dW-major (n, k, m). Where it takes an order, round-robin contractions become one nest.
- `best` compares the cost of the nests as they are, where they run round-robin, with that of one nest in both orders,
  or with `orders=all` in any order, and takes the cheapest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import contract_widths
from npuc.compiler.analysis.nest.gemm import forward_view
from npuc.compiler.analysis.programs.cheapest import (
    CostedProgram,
    FusedNest,
    cheapest,
    fused_program,
    round_robin_program,
)
from npuc.compiler.analysis.programs.published_order import major_orders, published_order
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.options import DEFAULT_TOLERANCE
from npuc.compiler.transforms.keep_resident.spans import refuse_residents
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.rearrange.loop_order import permuted
from npuc.compiler.transforms.rearrange.patterns import OneNest, PermuteLoops, dims_in_order
from npuc.compiler.transforms.schedule.by_hand import apply_by_hand
from npuc.compiler.transforms.schedule.patterns import SetJointSchedule, SetSchedule
from npuc.compiler.transforms.schedule.pins import (
    contracts_of,
    dim_names,
    fits,
    named,
    require_known,
    settled,
    together_of,
    usage_error,
)
from npuc.compiler.transforms.schedule.searches import (
    Goal,
    goal_of,
    joint_schedule_for,
    known_machine,
    problem_of,
    schedule_for,
)
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions, remark_unused
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Nest, Schedule

ORDERS = ("published", "all")


@dataclass(frozen=True)
class RearrangePass(ModulePass):
    """
    Set the order of loops: `order` is dimensions, outermost first (m,k,n), or `rule` chooses it (published, best) for
    gradients; `only` is a glob of layer names.
    """

    name = "rearrange"
    EXAMPLE: ClassVar = 'lower-to-npu,tile{steps="m:8,n:8,k:16"},rearrange{order=n,k,m}'

    order: tuple[str, ...] = ()
    """Dimensions, outermost first: `m,k,n`."""
    rule: str | None = None
    """What chooses the order of gradients: published or best."""
    orders: str = "published"
    """Which orders rule=best tries: published or all."""
    objective: str = "time"
    """What schedules minimise: time, traffic, energy or edp."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""
    tolerance: float = DEFAULT_TOLERANCE
    """How much more than the least may be spent for the next measure, as a fraction."""

    def __post_init__(self) -> None:
        goal_of(self.objective, self.tolerance)
        if bool(self._names) == (self.rule is not None):
            raise ValueError("expected either an order, such as order=m,k,n, or a rule")
        if self.rule is not None and self.rule not in RULES:
            raise ValueError(f"rule is '{self.rule}', expected {' or '.join(RULES)}")
        if self.orders not in ORDERS:
            raise ValueError(f"orders is '{self.orders}', expected {' or '.join(ORDERS)}")
        if self.orders != "published" and self.rule != "best":
            raise ValueError(f"orders is '{self.orders}', which only rule=best takes")
        for name in self._names:
            if self._names.count(name) > 1:
                raise ValueError(f"order names {name} twice")

    @property
    def _names(self) -> list[str]:
        return [name.strip() for text in self.order for name in text.split(",") if name.strip()]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_residents(op, self.name)
        contracts = contracts_of(op, self.only)
        goal = goal_of(self.objective, self.tolerance)
        if not contracts:
            remark_no_contractions(self, op, self.only)
            return
        if self.rule is not None:
            self._apply_rule(op, contracts, goal, RULES[self.rule])
            return
        require_known(contracts, self._names, dim_names, "loop")
        self._remark_goal(any(contract.schedule_attr is None for contract in contracts))
        for contract in contracts:
            if contract.schedule_attr is None and (order := dims_in_order(contract, self._names)):
                self._schedule(op, contract, order, goal)
        apply_by_hand(PermuteLoops(self._names, only=self.only), contracts)

    def _apply_rule(self, module: ModuleOp, contracts: Sequence[ContractOp], goal: Goal, rule: "Rule") -> None:
        """Let a rule choose the order of the gradients among some contractions."""
        places = list(dict.fromkeys(together_of(contract) or contract for contract in contracts))
        pairs = [place for place in places if isinstance(place, InterleaveOp) or is_pair(place.nest)]
        if not pairs:
            remark_idle(self, "no gradients of a product run together: it comes after interleave")
            return
        searched = False
        for place in pairs:
            first = place if isinstance(place, ContractOp) else place.contracts[0]
            machine = known_machine(module, f"rule={self.rule} depends on it", first)
            searched |= rule(place, machine, goal, self.orders == "all")
        self._remark_goal(searched)

    def _remark_goal(self, searched: bool) -> None:
        """Tell that what schedules minimise has no effect, where none was searched."""
        if not searched:
            remark_unused(self, ("objective", "tolerance"), "no schedule is searched for contractions that have one")

    def _schedule(self, module: ModuleOp, contract: ContractOp, order: tuple[str, ...], goal: Goal) -> None:
        """Give a contraction the best schedule of an order."""
        if together_of(contract) is not None:
            raise usage_error(
                contract, f"{named(contract)} runs round-robin and has no schedule", "tile or schedule before it"
            )
        machine = known_machine(module, f"{named(contract)} has no schedule", contract)
        apply_pattern(SetSchedule(lambda op: schedule_for(op, machine, goal, order)), contract)


def is_pair(nest: Nest) -> bool:
    """Whether a nest is dX and dW of one product."""
    return len(nest.outs) == 2 and {out.name for out in nest.outs} == {"dX", "dW"} and "dY" in nest.tensors


def published_schedule(contract: ContractOp, machine: Machine, goal: Goal) -> Schedule | None:
    """
    The schedule of the gradients of a product in one nest, in the order of Algorithm 1: the one that they have, else
    the best of that order; None where the rule has no order.
    """
    order = published_order(contract.nest)
    if order is None:
        return None
    found = contract.schedule_attr
    schedule = schedule_for(contract, machine, goal, order) if found is None else found.data
    return settled(contract, permuted(contract.nest, schedule, order), machine)


def _published(op: InterleaveOp | ContractOp, machine: Machine, goal: Goal, every: bool) -> bool:
    """Algorithm 1; whether a schedule was searched."""
    searched = list[ContractOp]()

    def choose(contract: ContractOp) -> Schedule | None:
        if contract.schedule_attr is None and published_order(contract.nest) is not None:
            searched.append(contract)
        return published_schedule(contract, machine, goal)

    apply_pattern(OneNest(choose) if isinstance(op, InterleaveOp) else SetSchedule(choose), op)
    return bool(searched)


def _best(op: InterleaveOp | ContractOp, machine: Machine, goal: Goal, every: bool) -> bool:
    """The cheapest of the round-robin nests and one nest in each order; of equal ones the first. Whether it chose."""
    compared = list[CostedProgram]()

    def choose(contract: ContractOp) -> Schedule | None:
        fused = FusedNest(contract.nest, contract_widths(contract, machine))
        compared.extend(fused_program(fused, one, machine) for one in _schedules(contract, machine, goal, every))
        if isinstance(op, InterleaveOp):
            compared[:0] = _in_turn(op, machine, goal)
        best = cheapest(compared, goal.objective, goal.tolerance)
        return None if best.kind == "zip" else best.schedules[0]

    apply_pattern(OneNest(choose) if isinstance(op, InterleaveOp) else SetSchedule(choose), op)
    return bool(compared)


def _in_turn(op: InterleaveOp, machine: Machine, goal: Goal) -> list[CostedProgram]:
    """The program of round-robin nests, which get schedules where they have none; none where those do not fit."""
    try:
        if any(contract.schedule_attr is None for contract in op.contracts):
            apply_pattern(SetJointSchedule(lambda one: joint_schedule_for(one, machine, goal)), op)
    except CapacityError:
        return []
    return [round_robin_program(problem_of(op, machine), tuple(contract.schedule for contract in op.contracts))]


def _schedules(contract: ContractOp, machine: Machine, goal: Goal, every: bool) -> Sequence[Schedule]:
    """The best schedules of a fused nest in each order; an existing one as it is and in each order in which it fits."""
    nest, orders = contract.nest, list(major_orders(contract.nest).values())
    if contract.schedule_attr is not None:
        if every:
            view = forward_view(nest)
            letters = permutations((view.m, view.n, view.k))
            orders = [(*view.batch, *(dim for dims in order for dim in dims)) for order in letters]
        found = [permuted(nest, contract.schedule, order) for order in orders]
        return [contract.schedule, *(schedule for schedule in found if fits(contract, schedule, machine))]
    # For time the search is not exhaustive: without a given order it may miss a schedule that it finds with one.
    # What is near the best of an order may not be near it permuted: both are compared.
    goals = [goal, replace(goal, tolerance=0.0)] if goal.tolerance else [goal]
    found = [permuted(nest, schedule_for(contract, machine, one, order), order) for order in orders for one in goals]
    return [*(schedule_for(contract, machine, one) for one in goals), *found] if every else found


Rule = Callable[[InterleaveOp | ContractOp, Machine, Goal, bool], bool]
RULES: dict[str, Rule] = {"published": _published, "best": _best}
"""
What the option `rule` names: a rewrite of gradients, in one nest or in turn; the last argument: in any order. It
returns whether it has used the goal.
"""
