"""
Plans for heterogeneous devices: the groups of a machine, and the plan as the report's `parallel` object.

The search is `compiler/analysis/sharding/heterogeneous/plan_search.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from npuc.compiler.analysis.sharding.graph.chain import Layer
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES
from npuc.compiler.analysis.sharding.heterogeneous.fleet import Fleet, fleet_of
from npuc.compiler.analysis.sharding.heterogeneous.plan_search import (
    Pair,
    Row,
    moved_in_all,
    plan_heterogeneous,
    rows_of,
)
from npuc.compiler.analysis.sharding.heterogeneous.shares import REPLICATED, Workload
from npuc.compiler.analysis.sharding.heterogeneous.workload import workload_of_chain
from npuc.compiler.analysis.sharding.search.planning import unique_names
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import WrongValue
from npuc.compiler.core.options import Convention, Strategy, is_joint, names_three_types
from npuc.compiler.distributed.plan import ELEMENT_BYTES, exact_number, movement
from npuc.compiler.report import Parallel, ParallelLevel, ParallelPair
from npuc.hardware.network import groups_of
from npuc.hardware.schema import KEYS

OPS_PER_MAC = 2
ACCPAR: Strategy = "accpar"
TABLE2: Convention = "table2"


def plan_heterogeneous_chain(
    chain: Sequence[Layer],
    macs: Sequence[int],
    devices: int,
    strategy: str,
    convention: str,
    groups: Sequence[Mapping[str, object]],
) -> Parallel:
    """The plan of a chain of layers on groups of different devices. Raises `UsageError`."""
    check_heterogeneous(strategy, convention)
    try:
        rows = KEYS["network.groups"].kind.read(list(groups))
    except WrongValue as e:
        raise UsageError(f"groups: {e}") from None
    assert isinstance(rows, list), "network.groups is read as a list"
    fleet = fleet_of(groups_of(rows), devices)
    step = workload_of_chain(chain, macs, ELEMENT_BYTES, OPS_PER_MAC)
    return heterogeneous_plan(step, [layer.name for layer in chain], fleet, plan_heterogeneous(step, fleet).best)


def check_heterogeneous(strategy: str, convention: str) -> None:
    """Raise `UsageError` for strategies and conventions that have no unequal shares."""
    if is_joint(strategy) and names_three_types(strategy):
        raise UsageError(
            "accpar-joint: found network.groups, expected homogeneous devices: what is below a pair of different "
            "groups depends on its shares, so that the levels cannot be chosen together",
            hint="accpar takes unequal shares level by level",
        )
    if strategy != ACCPAR:
        raise UsageError(
            f"{strategy}: found network.groups, expected homogeneous devices: it knows equal parts only",
            hint="accpar takes unequal shares",
        )
    if convention != TABLE2:
        raise UsageError(f"--convention {convention} says nothing of unequal shares", hint="use table2")


def heterogeneous_plan(step: Workload, names: Sequence[str], fleet: Fleet, plan: Pair) -> Parallel:
    """The report's object of a plan; `names` are those of the layer groups."""
    rows, named = list(rows_of(step, plan)), unique_names(names)
    levels: list[ParallelLevel] = []
    for number in range(fleet.devices.bit_length() - 1):
        pairs = [_pair(row, named) for row in rows if row.level == number]
        levels.append(
            ParallelLevel(
                level=f"H{number + 1}",
                choices=pairs[0].choices,
                elements=pairs[0].elements,
                shares=pairs[0].shares,
                pairs=pairs,
            )
        )
    return Parallel(
        strategy=ACCPAR,
        convention=TABLE2,
        devices=fleet.devices,
        levels=levels,
        total=movement(moved_in_all(rows), moved_in_all(rows) * step.element_bytes),
        lower_bound_elements=None,
        seconds=plan.step_seconds,
    )


def _pair(row: Row, names: Sequence[str]) -> ParallelPair:
    types, shares = row.pair.choice.types.tolist(), row.pair.choice.shares.tolist()
    return ParallelPair(
        groups=list(row.groups),
        count=row.count,
        choices={name: PARTITION_TYPES[type] for name, type in zip(names, types, strict=True)},
        shares={
            name: str(Fraction(share))
            for name, type, share in zip(names, types, shares, strict=True)
            if type != REPLICATED
        },
        elements=exact_number(row.elements),
        seconds=row.pair.seconds,
        side_seconds=list(row.pair.sides),
    )
