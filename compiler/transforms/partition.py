"""
Pass `partition`: cuts one dimension of a nest in equal parts, over time or over cores.

    npu.contract (m = 12, n = 4, k = 8) … loops [m : 2, k : 2, n : 2] keep(dY = 1)
      -> partition{dim=m parts=3} ->
    npu.contract (m = 12, n = 4, k = 8) … loops [m : 4, m : 2, k : 2, n : 2] keep(dY = 1)
      -> partition{dim=n parts=2 over=cores} ->
    npu.contract (m = 12, n = 4, k = 8) … loops [cores n : 2, m : 4, m : 2, k : 2] keep(dY = 1)

The cut comes in front of the loops there are, over time inside those over cores. Loops inside it whose step is larger
than a part are an error; one of the same step goes, and what is kept stays the same. A contraction without a schedule
gets the best one for a part. The dimension goes by its name, or by m, n or k of the forward product: of several
dimensions the first that the number of parts divides. One part is no cut.

`rule=best` tries m, n and k in 2, 4 and 8 parts over time and in as many as there are cores, and no cut, and takes the
cheapest; `over` leaves only those over time or over cores. It leaves contractions in turn as they are.
`rule=knn` tries only the dimension that the published predictor names (`analysis/partition_knn.py`), if any.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.cores import core_count
from npuc.compiler.analysis.elements import contract_widths
from npuc.compiler.analysis.gemm import forward_sizes
from npuc.compiler.analysis.machine import Machine, machine_of
from npuc.compiler.analysis.partition import Cut, Over, best_cut, dividing, extent_of, in_parts, searched
from npuc.compiler.analysis.partition_knn import labels_for, predict
from npuc.compiler.analysis.prices import Objective
from npuc.compiler.errors import CapacityError
from npuc.compiler.transforms._pinning import (
    contracts_of,
    dim_names,
    dims_of,
    machine_for,
    named,
    require_known,
    settle,
    together_of,
    usage_error,
)
from npuc.compiler.transforms._scheduling import objective_named, or_capacity_error
from npuc.compiler.verify import location_of
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Schedule

OVER: dict[str, Over] = {"time": "time", "cores": "cores"}


@dataclass(frozen=True)
class PartitionPass(ModulePass):
    """
    Cut a dimension in parts: `dim`, `parts` and `over` (time, cores), or `rule` (best, knn) chooses them.

    `only` is a glob of layer names.
    """

    name = "partition"

    dim: str | None = None
    parts: int | None = None
    over: str | None = None
    rule: str | None = None
    objective: str = "time"
    only: str | None = None

    def __post_init__(self) -> None:
        objective_named(self.objective)
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
        contracts = contracts_of(op, self.only)
        objective = objective_named(self.objective)
        over = None if self.over is None else OVER[self.over]
        if self.dim is not None and self.parts is not None:
            require_known(contracts, [self.dim], dim_names, "dimension")
            changed = [c for c in contracts if self._cut(op, c, self.dim, self.parts, over or "time", objective)]
            settle(changed, machine_of(op))
        elif self.rule is not None:
            for contract in contracts:
                if together_of(contract) is None:
                    machine = machine_for(op, contract, f"rule={self.rule} depends on it")
                    contract.schedule = RULES[self.rule](contract, machine, objective, over)

    def _cut(self, module: ModuleOp, op: ContractOp, name: str, parts: int, over: Over, objective: Objective) -> bool:
        """Cut a contraction; whether that changed it."""
        dims = dims_of(op.nest, name)
        if not dims or parts == 1:
            return False
        extents = {dim: extent_of(op.nest, op.schedule, dim, over) for dim in dims}
        dim = next((dim for dim, extent in extents.items() if extent % parts == 0), None)
        if dim is None:
            sizes = ", ".join(f"{dim} = {extent}" for dim, extent in extents.items())
            near = ", ".join(map(str, dividing(extents.values(), parts)))
            raise usage_error(op, f"{parts} parts do not divide {sizes} of {named(op)}", f"nearest that do: {near}")
        op.schedule = _with_cut(module, op, Cut(dim, parts, over), objective)
        return True


def _with_cut(module: ModuleOp, op: ContractOp, cut: Cut, objective: Objective) -> Schedule:
    """The schedule of a contraction with a cut. Raises `UsageError` and `CapacityError` at its place."""
    in_turn = together_of(op) is not None
    if in_turn and cut.over == "cores":
        raise usage_error(op, f"{named(op)} runs in turn with others, which is on one core", "over=time")
    if cut.over == "cores" and cut.dim in {loop.dim for loop in op.schedule.loops if loop.cores}:
        raise usage_error(op, f"{cut.dim} of {named(op)} is cut over cores already", "over=time, or another dimension")
    machine = machine_of(module)
    if cut.over == "cores" and machine is not None:
        cores = cut.parts * core_count(op.nest, op.schedule)
        if cores > machine.cores:
            message = f"the parts of {named(op)} take {cores:,} cores, the machine has {machine.cores:,}"
            raise CapacityError(message, location=location_of(op), hint=f"fewer parts, or array.cores={cores}")
    if op.schedule_attr is not None:
        return in_parts(op.nest, op.schedule, cut)
    if in_turn:
        raise usage_error(op, f"{named(op)} runs in turn and has no schedule", "tile or schedule before it")
    machine = machine_for(module, op, f"{named(op)} has no schedule")
    widths = contract_widths(op, machine.element_bytes)
    return or_capacity_error(op, lambda: searched(op.nest, machine, objective, widths, cut))


def _best(op: ContractOp, machine: Machine, objective: Objective, over: Over | None) -> Schedule:
    """The cheapest of all cuts."""
    widths = contract_widths(op, machine.element_bytes)
    fixed = None if op.schedule_attr is None else op.schedule
    return or_capacity_error(op, lambda: best_cut(op.nest, fixed, machine, objective, widths, over))


def _knn(op: ContractOp, machine: Machine, objective: Objective, over: Over | None) -> Schedule:
    """The cheapest cut of the predicted dimension, or none."""
    _, m, n, k = forward_sizes(op.nest)
    scheme = predict(m, n, k, labels_for(machine))
    dims = () if scheme == "whole" else dims_of(op.nest, scheme)
    widths = contract_widths(op, machine.element_bytes)
    fixed = None if op.schedule_attr is None else op.schedule
    return or_capacity_error(op, lambda: best_cut(op.nest, fixed, machine, objective, widths, over, dims))


Rule = Callable[[ContractOp, Machine, Objective, Over | None], Schedule]
RULES: dict[str, Rule] = {"best": _best, "knn": _knn}
"""What the option `rule` names: the schedule of a contraction with the cut that the rule chooses."""
