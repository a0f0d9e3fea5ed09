"""
Helpers of the passes that set schedules by hand: selecting contractions, naming dimensions, and checking the result.

A dimension is referred to by its own name. The letters m, n and k stand for all dimensions of M, N and K of the forward
product Y = X W that a nest is, or is a gradient of: for a convolution m is `b`, `y`, `x`, n is `o`, k is `i`, `r`, `s`;
for a linear layer over [batch, length, width] m is `b`, `m`.

A contraction without the named dimensions or tensors is not changed, so that one pass serves all contractions of a
network; a name that none of them has is an error.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import contract_widths, footprint_bytes, whole_bytes
from npuc.compiler.analysis.nest.gemm import forward_view
from npuc.compiler.core.errors import CapacityError, UsageError, did_you_mean
from npuc.compiler.core.numbers import BLANKS, integer_of
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.shared import joint_footprint
from npuc.dialects.npu.widths import PLAIN
from npuc.dialects.provenance import layer_of

LETTERS = ("m", "n", "k")
FITTING = "smaller steps, less to keep, or a larger scratchpad"


def contracts_of(module: ModuleOp, only: str | None) -> list[ContractOp]:
    """
    The contractions whose layers match a glob, in program order; all contractions if it is None.

    Raises `UsageError` if the program has contractions, but none of a matching layer.
    """
    every = [op for op in module.walk() if isinstance(op, ContractOp)]
    found = [op for op in every if only is None or fnmatchcase(layer_of(op), only)]
    if every and not found and only is not None:
        layers = list(dict.fromkeys(layer_of(op) for op in every))
        raise UsageError(f"only={only}: no contraction is of such a layer", hint=did_you_mean(only, layers))
    return found


def together_of(contract: ContractOp) -> InterleaveOp | None:
    """The operation that runs a contraction in turn with others, or None."""
    parent = contract.parent_op()
    return parent if isinstance(parent, InterleaveOp) else None


def named(contract: ContractOp) -> str:
    """A contraction as messages name it: its outputs and its layer."""
    outs = ", ".join(out.name for out in contract.nest.outs)
    layer = layer_of(contract)
    return f"{outs} of '{layer}'" if layer else outs


def usage_error(contract: ContractOp, message: str, hint: str | None = None) -> UsageError:
    """An error about an option that does not fit a contraction, at the contraction's place."""
    return UsageError(message, location=location_of(contract), hint=hint)


def dims_of(nest: Nest, name: str) -> tuple[str, ...]:
    """The dimensions that a name stands for, in the nest's order; those of size 1 only if there are no others."""
    view = forward_view(nest)
    dims = {"m": view.m, "n": view.n, "k": view.k}.get(name, ())
    if name in nest.sizes and name not in dims:
        return (name,)
    return tuple(d for d in dims if nest.sizes[d] > 1) or dims


def require_known(
    contracts: Sequence[ContractOp], names: Iterable[str], known: Callable[[Nest], Iterable[str]], what: str
) -> None:
    """Raise `UsageError`, at the first contraction, for a name that none of the contractions has."""
    if not contracts:
        return
    every = dict.fromkeys(name for op in contracts for name in known(op.nest))
    for name in names:
        if name not in every:
            message = f"there is no {what} '{name}' in {named(contracts[0])}"
            if len(contracts) > 1:
                message += f" or the {len(contracts) - 1} other contractions"
            raise usage_error(contracts[0], message, did_you_mean(name, list(every)))


def dim_names(nest: Nest) -> list[str]:
    """All names of a nest's dimensions, including the letters of the forward product."""
    return [*nest.sizes, *(letter for letter in LETTERS if letter not in nest.sizes and dims_of(nest, letter))]


def pairs_of(option: str, text: str) -> dict[str, int]:
    """`m:64,n:128` as a dictionary; raises `ValueError` for another text and for a name that comes twice."""
    found: dict[str, int] = {}
    for item in text.split(","):
        name, colon, value = (part.strip(BLANKS) for part in item.partition(":"))
        number = integer_of(value)
        if not (name and colon and number is not None):
            raise ValueError(
                f"{option} has '{item.strip()}', expected name:number, for example {option}=\"m:64,n:128\""
            )
        if name in found:
            raise ValueError(f"{option} names {name} twice")
        found[name] = number
    return found


def settle(contracts: Iterable[ContractOp], machine: Machine | None) -> None:
    """
    Check the schedules of contractions that were changed, and write their SPM budgets (`spm`).

    An existing budget is kept; otherwise it is the machine's SPM, if the machine is known and schedules control
    residency. Raises `UsageError` for loops that are no schedule of the nest, and `CapacityError` for blocks that
    exceed the budget, both at the contraction's place.
    """
    changed = list(contracts)
    for op in changed:
        check_legal(op, op.schedule)
    for together in dict.fromkeys(together_of(op) for op in changed):
        if together is not None:
            _settle_together(together, machine)
    for op in changed:
        if together_of(op) is None:
            op.schedule = settled(op, op.schedule, machine)


def check_legal(op: ContractOp, schedule: Schedule) -> None:
    """Raise `UsageError`, at the contraction, for loops that are no schedule of its nest."""
    for problem in schedule.problems(op.nest):
        raise usage_error(op, f"{named(op)}: {problem}")


def fits(op: ContractOp, schedule: Schedule, machine: Machine) -> bool:
    """Whether a schedule of a contraction is legal and its blocks fit its budget, or the machine."""
    budget = _budget_of(schedule, machine)
    legal = next(schedule.problems(op.nest), None) is None
    return legal and (budget is None or footprint_bytes(op.nest, schedule, contract_widths(op, machine)) <= budget)


def _budget_of(schedule: Schedule, machine: Machine | None) -> int | None:
    """The SPM budget in bytes: that of the schedule, otherwise the machine's; None if there is no limit."""
    if schedule.spm is not None or machine is None or machine.policy == "lru":
        return schedule.spm
    return machine.spm_bytes


def settled(op: ContractOp, schedule: Schedule, machine: Machine | None) -> Schedule:
    """
    A schedule of a contraction that runs alone, with its SPM budget.

    Raises `CapacityError`, at the contraction's place, for blocks that exceed the budget.
    """
    budget = _budget_of(schedule, machine)
    _check_room(op, [footprint(op.nest, schedule)], budget, machine)
    return replace(schedule, spm=budget)


def _settle_together(op: InterleaveOp, machine: Machine | None) -> None:
    budget = op.spm
    if budget is None and machine is not None and machine.policy != "lru":
        budget = machine.spm_bytes
    _check_room(op, joint_footprint(op.round_robin), budget, machine)
    op.spm = budget


def _check_room(
    op: ContractOp | InterleaveOp, footprints: Sequence[dict[str, int]], budget: int | None, machine: Machine | None
) -> None:
    contracts = op.contracts if isinstance(op, InterleaveOp) else [op]
    rooms = [contract_widths(one, machine or PLAIN).occupied(one.nest) for one in contracts]
    taken = [
        {n: whole_bytes(bits[n] * count) for n, count in own.items()}
        for own, bits in zip(footprints, rooms, strict=True)
    ]
    total = sum(sum(own.values()) for own in taken)
    if budget is None or total <= budget:
        return
    parts = "; ".join(", ".join(f"{name} {count}" for name, count in own.items()) for own in taken)
    who = named(op) if isinstance(op, ContractOp) else f"the round-robin contractions of '{layer_of(op)}'"
    message = f"the blocks of {who} take {total:,} bytes of SPM ({parts}), a schedule may use {budget:,}"
    raise CapacityError(message, location=location_of(op), hint=FITTING)
