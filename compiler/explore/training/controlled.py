"""
What a step costs whose number formats were chosen while it ran: FAST's controller gives each tensor 2 or 4 bits.

The program is priced four times, with few and many bits on each side of every product. A step costs what the first of
the four costs, with each product exchanged for that of the bits that its two sides were given, and each conversion for
that of its own; a conversion that a program shares otherwise stays one to few bits.
On backends that add up what operations cost by themselves that is what a program of these formats costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum
from typing import TYPE_CHECKING

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
    return {**options, "quantize": f"lhs:{of[left]}; rhs:{of[right]}"}


@dataclass(frozen=True)
class ControlledPrice:
    """The rows of a program by the bits of both sides of its products, and what it costs with few bits everywhere."""

    rows: Mapping[tuple[int, int], Mapping[Place, OpRow]]
    least: StepCost
    devices: int

    def of_step(self, module: ModuleOp, chosen: Mapping[Operation, int]) -> StepCost:
        """
        The cost of a step of the executed program `module`, whose conversions were given the bits `chosen`.

        Raises `UsageError` for a program whose products are not those that were priced.
        """
        least = self.rows[LOW, LOW]
        bits: dict[Place, tuple[int, int]] = {
            place: (chosen[lhs], chosen[rhs])
            for place, (lhs, rhs) in _products(module).items()
            if {lhs, rhs} <= chosen.keys()
        }
        missing = next((place for place in bits if place not in least), None)
        if missing is not None:
            raise UsageError(
                f"the products of '{missing[0]}' do not run as they were converted, so that they have no price each",
                hint="-O 0",
            )
        conversions = _numbered([(layer_of(op), role_of(op).value, False) for op in chosen])
        bits |= {place: (own, own) for place, own in zip(conversions, chosen.values(), strict=True) if place in least}
        taken = [(least[place], self.rows[sides][place]) for place, sides in bits.items()]
        seconds = fsum(new.repeat * ((new.seconds or 0.0) - (old.seconds or 0.0)) for old, new in taken)
        energy = fsum(new.repeat * ((new.energy_j or 0.0) - (old.energy_j or 0.0)) for old, new in taken)
        known = None if self.least.energy_j is None else self.least.energy_j + energy * self.devices
        return StepCost(self.least.seconds + seconds, known)


def controlled_price(source: Source, backend: str, options: CompileKeywords, devices: int) -> ControlledPrice:
    """The prices of a program of `--quantize fast` on a backend. Raises what compilations raise."""
    rows: dict[tuple[int, int], Mapping[Place, OpRow]] = {}
    least = StepCost(0.0, None)
    for sides in product((LOW, HIGH), (LOW, HIGH)):
        made = compile_program(source, [backend], formats_by_side(options, *sides), None, costs_alone=True)
        rows[sides] = _places(made.reports[0].ops, made.modules[0])
        if sides == (LOW, LOW):
            totals = made.reports[0].totals
            energy = None if totals.energy_j is None else totals.energy_j * devices
            least = StepCost(totals.seconds or 0.0, energy)
    return ControlledPrice(rows, least, devices)


def _places(rows: Sequence[OpRow], module: ModuleOp) -> dict[Place, OpRow]:
    """
    The rows of products and conversions by what they are, known from the program that they are of.

    Raises `UsageError` where vector work of a layer that has conversions has not a row each.
    """
    work: dict[tuple[str, str], list[bool]] = {}
    for op in module.walk():
        if isinstance(op, VectorOp):
            work.setdefault((layer_of(op), role_of(op).value), []).append(op.kind == "quantize")
    own: dict[tuple[str, str], list[OpRow]] = {}
    for row in rows:
        if row.kind == "vector":
            own.setdefault((row.name, row.phase), []).append(row)
    products = [row for row in rows if row.kind == "matrix"]
    found = dict(zip(_numbered([(row.name, row.phase, True) for row in products]), products, strict=True))
    for (layer, phase), flags in work.items():
        if not any(flags):
            continue
        if len(own.get((layer, phase), ())) != len(flags):
            raise UsageError(f"not each conversion of '{layer}' has a row, so that they have no price each")
        made = [row for row, flag in zip(own[layer, phase], flags, strict=True) if flag]
        found |= {(layer, phase, False, number): row for number, row in enumerate(made)}
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
