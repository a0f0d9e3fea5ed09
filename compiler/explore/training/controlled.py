"""
What a step costs whose number formats were chosen while it ran: FAST's controller gives each tensor 2 or 4 bits.

The program is priced four times, with few and many bits on each side of every product. A step costs each product with
the bits that its two sides were given, each conversion with its own, and everything else as in the first of the four.
On backends that add up what operations cost by themselves that is what a program of these formats costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Block

from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.transforms.quantize import LOW
from npuc.compiler.transforms.quantize.formats import FAST, PRESETS, WEIGHTS
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.provenance import layer_of, role_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.report import OpRow
    from npuc.frontends.source import Source

HIGH = 4
Place = tuple[str, str, bool, int]
"""Work of a program: its layer, its phase, whether it is a product, and its number among those alike."""


@dataclass(frozen=True)
class StepCost:
    """The time of a step, and its energy where it is known."""

    seconds: float
    energy_j: float | None


def formats_by_side(options: CompileKeywords, left: int, right: int) -> CompileKeywords:
    """The options of a program of `--quantize fast` with so many bits on the two sides of each product."""
    highest = PRESETS[FAST][WEIGHTS]
    of = {HIGH: highest, LOW: highest.replace(f"<{HIGH},", f"<{LOW},")}
    passes = f'quantize{{to="{of[left]}" of=lhs}},quantize{{to="{of[right]}" of=rhs}}'
    made: dict[str, Any] = {**options, "quantize": None}
    made["after"] = [f"lower-to-npu={passes}", *(options.get("after") or ())]
    return cast("CompileKeywords", made)


@dataclass(frozen=True)
class ControlledPrice:
    """The rows of a program by the bits of both sides of its products."""

    rows: Mapping[tuple[int, int], Mapping[Place, OpRow]]
    devices: int

    def of_step(self, module: ModuleOp, chosen: Mapping[Operation, int]) -> StepCost:
        """
        The cost of a step of the executed program `module`, whose conversions were given the bits `chosen`.

        Raises `UsageError` for a program whose products are not those that were priced.
        """
        places = _products(module)
        conversions = _numbered([(layer_of(op), role_of(op).value, False) for op in chosen])
        bits: dict[Place, tuple[int, int]] = {
            place: (chosen[lhs], chosen[rhs]) for place, (lhs, rhs) in places.items() if {lhs, rhs} <= chosen.keys()
        }
        bits |= {place: (own, own) for place, own in zip(conversions, chosen.values(), strict=True)}
        least = self.rows[LOW, LOW]
        missing = next((place for place in bits if place not in least), None)
        if missing is not None:
            raise UsageError(
                f"the products of '{missing[0]}' do not run as they were converted, so that they have no price each",
                hint="-O 0",
            )
        taken = [self.rows[bits.get(place, (LOW, LOW))].get(place, row) for place, row in least.items()]
        energies = [one.energy_j for one in taken]
        known = [one for one in energies if one is not None]
        energy = fsum(known) * self.devices if len(known) == len(energies) else None
        return StepCost(fsum(one.repeat * (one.seconds or 0.0) for one in taken), energy)


def controlled_price(source: Source, backend: str, options: CompileKeywords, devices: int) -> ControlledPrice:
    """The prices of a program of `--quantize fast` on a backend. Raises what compilations raise."""
    rows: dict[tuple[int, int], Mapping[Place, OpRow]] = {}
    for sides in product((LOW, HIGH), repeat=2):
        made = compile_program(source, [backend], formats_by_side(options, *sides), None, costs_alone=True)
        rows[sides] = _places(made.reports[0].ops, made.modules[0])
    return ControlledPrice(rows, devices)


def _places(rows: Sequence[OpRow], module: ModuleOp) -> dict[Place, OpRow]:
    """Rows by what they are, known from the program that they are of, which has a row for each of its vector works."""
    work = [op for op in module.walk() if isinstance(op, VectorOp)]
    made = iter([op.kind == "quantize" for op in work])
    if len(work) != sum(row.kind == "vector" for row in rows):
        raise UsageError("the program has no row for each of its conversions, so that they have no price each")
    found: dict[Place, OpRow] = {}
    counted: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        kind = row.kind if row.kind != "vector" else "conversion" if next(made) else "other"
        key = (row.name, row.phase, kind)
        number = counted[key]
        counted[key] += 1
        found[
            row.name, row.phase, kind == "matrix", number if kind in ("matrix", "conversion") else -1 - len(found)
        ] = row
    return found


def _numbered(keys: Sequence[tuple[str, str, bool]]) -> list[Place]:
    counted: Counter[tuple[str, str, bool]] = Counter()
    found: list[Place] = []
    for key in keys:
        found.append((*key, counted[key]))
        counted[key] += 1
    return found


def _products(module: ModuleOp) -> dict[Place, tuple[Operation, Operation]]:
    """The conversions that make both sides of each product of a program."""
    contracts = [op for op in module.walk() if isinstance(op, ContractOp)]
    places = _numbered([(layer_of(op), role_of(op).value, True) for op in contracts])
    found: dict[Place, tuple[Operation, Operation]] = {}
    for place, op in zip(places, contracts, strict=True):
        values = dict(zip((t.name for t in op.nest.ins), op.operands, strict=False))
        (statement,) = op.nest.statements
        lhs, rhs = values[statement.lhs].owner, values[statement.rhs].owner
        if not isinstance(lhs, Block) and not isinstance(rhs, Block):
            found[place] = lhs, rhs
    return found
