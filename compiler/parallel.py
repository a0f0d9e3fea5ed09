"""
How a chain of weighted layers is split over accelerators: the report's `parallel` object.

    plan_parallel([{"name": "fc1", "kind": "fc", "input": 2048, "weight": 4096, "output": 1024}], devices=16)

The search is `compiler/analysis/parallel`; here are its options, its names and its errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, get_args

from npuc.compiler.analysis.parallel.chain import TYPES, Convention, Kind, Layer, Type
from npuc.compiler.analysis.parallel.joint import MOST_LEVELS_OF_THREE, joint
from npuc.compiler.analysis.parallel.levels import Choices, greedy, level_amounts
from npuc.compiler.errors import UsageError, did_you_mean
from npuc.compiler.report import Parallel, ParallelLevel, ParallelTotal

Strategy = Literal["dp", "mp", "owt", "hypar", "joint", "accpar", "accpar-joint"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
KINDS: tuple[Kind, ...] = get_args(Kind)
ELEMENT_BYTES = 4
DIRECTIONS = 2
_NAMES: dict[Type, str] = {"I": "dp", "II": "mp", "III": "III"}


def plan_parallel(
    layers: Sequence[Mapping[str, object]], devices: int, strategy: str = "hypar", convention: str = "table2"
) -> Parallel:
    """
    The types of a chain of layers on `devices` accelerators, a power of two, and what a training step moves.

    A layer has `name`, `kind` (`conv` or `fc`) and the elements of its `input`, `weight` and `output`, whole batch.
    `strategy` is one of dp, mp, owt (fc layers mp), hypar (level by level), joint (the optimum), accpar and
    accpar-joint (the same with a third type, `table2` only). Bytes are of elements of 4 bytes, both directions.
    Raises `UsageError`.
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
    levels = devices.bit_length() - 1
    types = _types(strategy, convention, levels)
    choices = _choices(chain, levels, strategy, types, convention)
    bound = choices if strategy in ("joint", "accpar-joint") else joint(chain, levels, types, convention)
    return _plan(chain, choices, bound, strategy, convention)


def _types(strategy: Strategy, convention: Convention, levels: int) -> tuple[Type, ...]:
    """The types that a strategy chooses from. Raises `UsageError` where they have no price."""
    if not strategy.startswith("accpar"):
        return TYPES[:2]
    if convention != "table2":
        raise UsageError(f"--convention {convention} says nothing of AccPar's third type", hint="use table2")
    if levels > MOST_LEVELS_OF_THREE:
        raise UsageError(f"{strategy}: expected at most {2**MOST_LEVELS_OF_THREE:,} devices, got {2**levels:,}")
    return TYPES


def _choices(
    chain: Sequence[Layer], levels: int, strategy: Strategy, types: tuple[Type, ...], convention: Convention
) -> Choices:
    match strategy:
        case "dp" | "mp" | "owt":
            batch = {"dp": ("conv", "fc"), "mp": (), "owt": ("conv",)}[strategy]
            row: tuple[Type, ...] = tuple("I" if layer.kind in batch else "II" for layer in chain)
            return (row,) * levels
        case "hypar" | "accpar":
            return greedy(chain, levels, types, convention)
        case "joint" | "accpar-joint":
            return joint(chain, levels, types, convention)


def _plan(
    chain: Sequence[Layer], choices: Choices, bound: Choices, strategy: Strategy, convention: Convention
) -> Parallel:
    amounts = level_amounts(chain, choices, convention)
    names = _unique([layer.name for layer in chain])
    three = strategy.startswith("accpar")
    levels = [
        ParallelLevel(
            level=f"H{number}",
            choices={name: kind if three else _NAMES[kind] for name, kind in zip(names, row, strict=True)},
            elements=_number(amount),
        )
        for number, (row, amount) in enumerate(zip(choices, amounts, strict=True), 1)
    ]
    total, least = _total(amounts), _total(level_amounts(chain, bound, convention))
    return Parallel(
        strategy=strategy,
        convention=convention,
        devices=2 ** len(choices),
        levels=levels,
        total=ParallelTotal(elements=_number(total), bytes=_number(total * ELEMENT_BYTES * DIRECTIONS)),
        lower_bound_elements=_number(least),
    )


def _total(amounts: Sequence[Fraction]) -> Fraction:
    """The sum over all pairs of groups: 2^h of them at level h."""
    return sum((2**h * amount for h, amount in enumerate(amounts)), start=Fraction(0))


def _number(value: Fraction) -> int | str:
    """A whole number as one, any other as an exact text."""
    return value.numerator if value.denominator == 1 else str(value)


def _unique(names: Sequence[str]) -> list[str]:
    """Names of layers, those that come again with their number."""
    seen: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return found


def _layer(number: int, given: Mapping[str, object]) -> Layer:
    """A layer of the arguments. Raises `UsageError`."""
    keys = ("name", "kind", "input", "weight", "output")
    for key in keys:
        if key not in given:
            raise UsageError(f"layer {number}: missing '{key}'", hint=f"expected {', '.join(keys)}")
    kind = str(given["kind"])
    if kind not in KINDS:
        raise UsageError(f"layer {number}: unknown kind '{kind}'", hint=did_you_mean(kind, KINDS))
    sizes: list[int] = []
    for key in keys[2:]:
        size = given[key]
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UsageError(f"layer {number}: {key}: expected elements, an integer from 1, got {size!r}")
        sizes.append(size)
    return Layer(str(given["name"]), kind, *sizes)
