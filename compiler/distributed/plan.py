"""
A plan for many devices as the report has it: the `parallel` object, its names and its units.

    plan_of_program(module)     # of a program that the pass `parallelize` has rewritten

The search is `compiler/analysis/sharding`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from msgspec.structs import replace
from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, StringAttr
from xdsl.utils.hints import isa

from npuc.compiler.analysis.sharding.reference.strategies import has_cuts
from npuc.compiler.analysis.sharding.search.planning import total_of
from npuc.compiler.core.options import names_three_types
from npuc.compiler.report import Parallel, ParallelLevel, ParallelTotal, PlanCost
from npuc.dialects.distributed.base import PLAN

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

ELEMENT_BYTES = 4
"""Bytes of an element of a chain of which only sizes are known, as in HyPar's evaluation."""
DIRECTIONS = 2
"""Bytes are those that both sides of a pair read, as in HyPar's evaluation, too."""
TYPES_SHOWN: dict[str, str] = {"I": "dp", "II": "mp", "III": "mp"}
"""The types of layers with weights by the names of the strategies that have two."""
CUTS_SHOWN: dict[str, str] = {"II": "input", "III": "output"}
"""Along which channels a layer in mp is cut."""
TABLE_TYPE = "II"
"""The type under which a table is cut otherwise than by columns."""


def plan_of_program(module: ModuleOp) -> Parallel | None:
    """The plan that a program was parallelized by, as the pass `parallelize` wrote it down; None if it was not."""
    from xdsl.dialects.func import FuncOp

    from npuc.dialects.distributed.mesh import mesh_of

    for func in (op for op in module.ops if isinstance(op, FuncOp)):
        plan = func.attributes.get(PLAN)
        if isinstance(plan, DictionaryAttr):
            mesh = mesh_of(func)
            return _read(plan, None if mesh is None else mesh.sizes)
    return None


def _read(plan: DictionaryAttr, sizes: tuple[int, ...] | None) -> Parallel:
    """A plan from its attribute, for a mesh of those sizes."""

    words, types, tables = _texts(plan), _entries(plan, "layers"), _entries(plan, "tables")
    levels = [Fraction(amount) for amount in words.get("elements", "").split()]
    layers = {name: tuple(text.split()) for name, text in types.items()}
    bound = Fraction(words["bound"]) if "bound" in words else None
    moved = Fraction(words["bytes"]) if "bytes" in words else None
    strategy, convention = words.get("strategy", ""), words.get("convention", "")
    cuts = has_cuts(strategy, convention, words.get("objective", "bytes"))
    report = plan_report(layers, levels, bound, strategy, convention, sizes, moved, cuts=cuts, tables=tables)
    return replace(report, planned=_planned(plan), training="forward" not in plan.data)


def _planned(plan: DictionaryAttr) -> PlanCost | None:
    """What a plan was searched for, if not movement."""
    objective, cost, bound = (plan.data.get(key) for key in ("objective", "cost", "cost_bound"))
    if not isinstance(objective, StringAttr) or not isa(cost, FloatAttr) or not isa(bound, FloatAttr):
        return None
    name = "time" if objective.data == "time" else "memory"
    return PlanCost(objective=name, value=cost.value.data, lower_bound=bound.value.data)


def _entries(plan: DictionaryAttr, name: str) -> dict[str, str]:
    """The texts of an entry of a plan that has some; none without it."""
    found = plan.data.get(name)
    return _texts(found) if isinstance(found, DictionaryAttr) else {}


def _texts(entries: DictionaryAttr) -> dict[str, str]:
    """The entries that are texts."""
    return {key: value.data for key, value in entries.data.items() if isinstance(value, StringAttr)}


def plan_report(
    layers: Mapping[str, Sequence[str]],
    amounts: Sequence[Fraction],
    bound: Fraction | None,
    strategy: str,
    convention: str,
    sizes: tuple[int, ...] | None = None,
    moved: Fraction | None = None,
    *,
    cuts: bool = False,
    tables: Mapping[str, str] | None = None,
) -> Parallel:
    """
    The report's object; `layers` has the type of each layer at each level, `sizes` the parts of each (None: two),
    `moved` is in bytes, one direction (None: `ELEMENT_BYTES` an element). With `cuts` it says how layers in mp are cut,
    and always how `tables` are, whose cut it has by layer.
    """
    parts = (2,) * len(amounts) if sizes is None else sizes
    three = names_three_types(strategy)
    levels = [
        ParallelLevel(
            level=f"H{h + 1}",
            choices={name: types[h] if three else TYPES_SHOWN[types[h]] for name, types in layers.items()},
            cuts=_cuts(layers, h, tables or {}, channels=cuts) if cuts or tables else None,
            elements=exact_number(amount),
            parts=parts[h],
        )
        for h, amount in enumerate(amounts)
    ]
    total = total_of(amounts, parts)
    return Parallel(
        strategy=strategy,
        convention=convention,
        devices=prod(parts),
        levels=levels,
        total=movement(total, total * ELEMENT_BYTES if moved is None else moved),
        lower_bound_elements=None if bound is None else exact_number(bound),
    )


def _cuts(
    layers: Mapping[str, Sequence[str]], level: int, tables: Mapping[str, str], *, channels: bool
) -> dict[str, str]:
    """How tables are cut at a level, and along which channels the other layers in mp, if that is to be said."""
    found = {
        name: CUTS_SHOWN[types[level]] for name, types in layers.items() if channels and types[level] in CUTS_SHOWN
    }
    return found | {name: own for name, own in tables.items() if layers[name][level] == TABLE_TYPE}


def movement(elements: Fraction, moved: Fraction | None) -> ParallelTotal:
    """Elements and bytes of one direction as the report says them: bytes both ways, None where they are not known."""
    both = None if moved is None else exact_number(moved * DIRECTIONS)
    return ParallelTotal(elements=exact_number(elements), bytes=both)


def exact_number(value: Fraction) -> int | str:
    """A whole number as one, any other as an exact text."""
    return value.numerator if value.denominator == 1 else str(value)
