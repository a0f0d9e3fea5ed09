"""
How a chain of weighted layers is split over accelerators: the report's `parallel` object.

    plan_parallel([{"name": "fc1", "kind": "fc", "input": 2048, "weight": 4096, "output": 1024}], devices=16)

The search is `compiler/analysis/sharding`; here are its options, its names and its errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, get_args

from msgspec.structs import replace
from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, StringAttr
from xdsl.utils.hints import isa

from npuc.compiler.analysis.sharding.graph.chain import Kind, Layer
from npuc.compiler.analysis.sharding.reference.strategies import has_cuts, names_three_types
from npuc.compiler.analysis.sharding.search.planning import PLAN, plan_chain, total_of, unique_names
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.options import CONVENTIONS, STRATEGIES
from npuc.compiler.report import Parallel, ParallelLevel, ParallelTotal, PlanCost

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

KINDS: tuple[Kind, ...] = get_args(Kind)
ELEMENT_BYTES = 4
"""Bytes of an element of a chain of which only sizes are known, as in HyPar's evaluation."""
DIRECTIONS = 2
"""Bytes are those that both sides of a pair read, as in HyPar's evaluation, too."""
TYPES_SHOWN: dict[str, str] = {"I": "dp", "II": "mp", "III": "mp"}
"""The types of layers with weights by the names of the strategies that have two."""
CUTS_SHOWN: dict[str, str] = {"II": "input", "III": "output"}
"""Along which channels a layer in mp is cut."""


def plan_parallel(
    layers: Sequence[Mapping[str, object]],
    devices: int,
    strategy: str = "hypar",
    convention: str = "table2",
    *,
    groups: Sequence[Mapping[str, object]] | None = None,
) -> Parallel:
    """
    The types of a chain of layers on `devices` accelerators, a power of two, and what a training step moves.

    A layer has `name`, `kind` (`conv` or `fc`) and the elements of its `input`, `weight` and `output`, whole batch.
    `strategy` is one of dp, mp, owt (fc layers mp), hypar (level by level), joint (the optimum), accpar and
    accpar-joint (the same with a third type). Bytes are of elements of 4 bytes, both directions.
    With `groups` of unlike devices, as many in each (`tflops` and `gb_per_s` of one device), layers need the `macs` of
    their forward product, too; accpar then takes shares that need not be equal, for the least time. Raises
    `UsageError`.
    """
    chain = [_layer(number, layer) for number, layer in enumerate(layers)]
    if not chain:
        raise UsageError("expected at least one layer")
    if isinstance(devices, bool) or devices < 1 or devices & (devices - 1):
        raise UsageError(f"devices {devices}: expected a power of two", hint="halves of halves: 2, 4, 8, 16 …")
    if strategy not in STRATEGIES:
        raise UsageError(f"unknown strategy '{strategy}'", hint=did_you_mean(strategy, STRATEGIES))
    if convention not in CONVENTIONS:
        raise UsageError(f"unknown convention '{convention}'", hint=did_you_mean(convention, CONVENTIONS))
    if groups is not None:
        from npuc.compiler.distributed.heterogeneous import plan_unequal_chain

        macs = [_count(number, "macs", layer) for number, layer in enumerate(layers)]
        return plan_unequal_chain(chain, macs, devices, strategy, convention, groups)
    levels = devices.bit_length() - 1
    plan = plan_chain(chain, strategy, convention, levels)
    named = dict(zip(unique_names([layer.name for layer in chain]), plan.patterns, strict=True))
    return _report(named, plan.levels, plan.bound, strategy, convention)


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

    words, entries = _texts(plan), plan.data.get("layers")
    ways = _texts(entries) if isinstance(entries, DictionaryAttr) else {}
    levels = [Fraction(amount) for amount in words.get("elements", "").split()]
    layers = {name: tuple(text.split()) for name, text in ways.items()}
    bound = Fraction(words["bound"]) if "bound" in words else None
    moved = Fraction(words["bytes"]) if "bytes" in words else None
    strategy, convention = words.get("strategy", ""), words.get("convention", "")
    cuts = has_cuts(strategy, convention, words.get("objective", "bytes"))
    report = _report(layers, levels, bound, strategy, convention, sizes, moved, cuts=cuts)
    return replace(report, planned=_planned(plan), training="forward" not in plan.data)


def _planned(plan: DictionaryAttr) -> PlanCost | None:
    """What a plan was searched for, if not movement."""
    objective, cost, bound = (plan.data.get(key) for key in ("objective", "cost", "cost_bound"))
    if not isinstance(objective, StringAttr) or not isa(cost, FloatAttr) or not isa(bound, FloatAttr):
        return None
    name = "time" if objective.data == "time" else "memory"
    return PlanCost(objective=name, value=cost.value.data, lower_bound=bound.value.data)


def _texts(entries: DictionaryAttr) -> dict[str, str]:
    """The entries that are texts."""
    return {key: value.data for key, value in entries.data.items() if isinstance(value, StringAttr)}


def _report(
    layers: Mapping[str, Sequence[str]],
    amounts: Sequence[Fraction],
    bound: Fraction | None,
    strategy: str,
    convention: str,
    sizes: tuple[int, ...] | None = None,
    moved: Fraction | None = None,
    *,
    cuts: bool = False,
) -> Parallel:
    """
    The report's object; `layers` has the type of each layer at each level, `sizes` the parts of each (None: two),
    `moved` is in bytes, one direction (None: `ELEMENT_BYTES` an element). With `cuts` it says how layers in mp are cut.
    """
    parts = (2,) * len(amounts) if sizes is None else sizes
    three = names_three_types(strategy)
    levels = [
        ParallelLevel(
            level=f"H{h + 1}",
            choices={name: types[h] if three else TYPES_SHOWN[types[h]] for name, types in layers.items()},
            cuts=_cuts(layers, h) if cuts else None,
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


def _cuts(layers: Mapping[str, Sequence[str]], level: int) -> dict[str, str]:
    """Along which channels the layers in mp are cut at a level."""
    return {name: CUTS_SHOWN[types[level]] for name, types in layers.items() if types[level] in CUTS_SHOWN}


def movement(elements: Fraction, moved: Fraction | None) -> ParallelTotal:
    """Elements and bytes of one direction as the report says them: bytes both ways, None where they are not known."""
    both = None if moved is None else exact_number(moved * DIRECTIONS)
    return ParallelTotal(elements=exact_number(elements), bytes=both)


def exact_number(value: Fraction) -> int | str:
    """A whole number as one, any other as an exact text."""
    return value.numerator if value.denominator == 1 else str(value)


def _layer(number: int, given: Mapping[str, object]) -> Layer:
    """A layer of the arguments. Raises `UsageError`."""
    keys = ("name", "kind", "input", "weight", "output")
    for key in keys:
        if key not in given:
            raise UsageError(f"layer {number}: missing '{key}'", hint=f"expected {', '.join(keys)}")
    kind = str(given["kind"])
    if kind not in KINDS:
        raise UsageError(f"layer {number}: unknown kind '{kind}'", hint=did_you_mean(kind, KINDS))
    return Layer(str(given["name"]), kind, *(_count(number, key, given) for key in keys[2:]))


def _count(number: int, key: str, given: Mapping[str, object]) -> int:
    """A number of elements, or of multiply-accumulates, of a layer. Raises `UsageError`."""
    what = "MACs of the forward product" if key == "macs" else "elements"
    if key not in given:
        raise UsageError(f"layer {number}: missing '{key}'", hint=f"with groups a layer needs its {what}")
    size = given[key]
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise UsageError(f"layer {number}: {key}: expected {what}, an integer from 1, got {size!r}")
    return size
