"""
The products of a program on the units of a machine: of each statement of a contraction the shares of units.

Where a pass has said the units, they are those; else the split of the least time. Formats are checked for all products
before any split is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npuc.compiler.analysis.hetero.contractions import product_of, widths_differ
from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.compiler.analysis.hetero.staged import StageTimes, stage_times
from npuc.compiler.analysis.hetero.tiles import TileSplit, best_split, one_share, split_of
from npuc.compiler.analysis.hetero.unit import UnitMachine, takers
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.units import Assignment
from npuc.dialects.provenance import layer_of


@dataclass(frozen=True)
class OnUnits:
    """
    A statement of a contraction on its units: the time that it adds to its stage, the products that all elements do in
    that time, and the stage, None where it runs alone.
    """

    op: ContractOp
    statement: int
    split: TileSplit
    seconds: float
    products: float
    joules: float
    stage: int | None = None


def checked_products(
    ops: Sequence[ContractOp], machine: UnitMachine, element_bytes: int | None
) -> dict[ContractOp, tuple[SparseProduct, ...]]:
    """
    The products of contractions, a statement each. Raises `UsageError`, at its place, for one that no unit takes.
    """
    found: dict[ContractOp, tuple[SparseProduct, ...]] = {}
    for op in ops:
        found[op] = tuple(product_of(op, number, element_bytes) for number in range(len(op.nest.statements)))
        for product in found[op]:
            try:
                takers(machine.units, replace(product, name=layer_of(op) or "product"))
            except UsageError as error:
                raise UsageError(error.message, location=location_of(op), hint=error.hint) from None
    return found


def on_units(
    groups: Sequence[Sequence[ContractOp]], machine: UnitMachine, element_bytes: int | None
) -> dict[ContractOp, list[OnUnits]]:
    """The statements of contractions on their units; those of a group are of one stage."""
    products = checked_products([op for group in groups for op in group], machine, element_bytes)
    found: dict[ContractOp, list[OnUnits]] = {}
    for group in groups:
        works = [(op, number) for op in group for number in range(len(products[op]))]
        splits = [_split(op, products[op][number], machine) for op, number in works]
        # what runs alone runs one after the other, statements too
        times = stage_times(machine, splits) if len(group) > 1 else _alone(splits)
        done = sum(share.products for split in splits for share in split.shares)
        together = max(times.ends)
        for (op, number), split, added in zip(works, splits, times.added, strict=True):
            own = sum(share.products for share in split.shares)
            own = own if len(group) == 1 else done * added / together
            joules = sum(share.joules for share in split.shares) + machine.idle_w * added
            stage = None if op.units_attr is None or len(group) == 1 else op.units_attr.data.stage
            found.setdefault(op, []).append(OnUnits(op, number, split, added, own, joules, stage))
    return found


def _alone(splits: Sequence[TileSplit]) -> StageTimes:
    ends = [sum(split.seconds for split in splits[: number + 1]) for number in range(len(splits))]
    return StageTimes(tuple(ends), tuple(split.seconds for split in splits))


def _split(op: ContractOp, product: SparseProduct, machine: UnitMachine) -> TileSplit:
    """The split of a product: what its units say, else the one of the least time."""
    if op.units_attr is None:
        return best_split(machine, product)
    return assigned_split(op, op.units_attr.data, product, machine)


def assigned_split(op: ContractOp, own: Assignment, product: SparseProduct, machine: UnitMachine) -> TileSplit:
    """A product in the parts of its units. Raises `UsageError`, at its place, for units that do not have or take it."""
    units = {unit.name: unit for unit in machine.units}
    unknown = own.unknown(list(units))
    if unknown is not None:
        raise UsageError(
            f"{layer_of(op) or 'a product'} runs on unit '{unknown}', which {machine.name} does not have",
            location=location_of(op),
            hint=f"its units are {', '.join(units)}; assign-units for the same machine",
        )
    for part in own.parts:
        try:
            takers((units[part.unit],), replace(product, name=layer_of(op) or "product"))
        except UsageError as error:
            message = error.message.replace("no unit takes", f"unit '{part.unit}' does not take")
            raise UsageError(message, location=location_of(op), hint=error.hint) from None
    shares = [one_share(machine, units[part.unit], product, own.axis, part.size) for part in own.parts]
    return split_of(machine, product, own.axis, max(part.size for part in own.parts), shares)


def several_widths(ops: Sequence[ContractOp]) -> int:
    """How many contractions have values of several widths."""
    return sum(widths_differ(op) for op in ops)
