"""What a network is under a strategy, and what results are together: ratios and means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from npuc.compiler.core.options import Convention
from npuc.studies.hypar.settings import peak_flops
from npuc.studies.hypar.steps import Cost, Step

Quantity = Literal["performance", "energy"]


@dataclass(frozen=True)
class Result:
    """
    A network under a strategy: the letters of its layers at each level, what a step moves, the step itself.

    `gb` is of 10^9 bytes by the study's convention, `others` by the other ones, each with its own plan.
    """

    choices: tuple[str, ...]
    gb: float
    others: Mapping[Convention, float]
    step: Step


def gain(base: Result, other: Result, quantity: Quantity) -> float | None:
    """How many times faster, or more thrifty, a step is than the base's; None where there is no program of one."""
    a, b = base.step.cost, other.step.cost
    if a is None or b is None:
        return None
    return amount(a, quantity) / amount(b, quantity)


def amount(cost: Cost, quantity: Quantity) -> float:
    """The seconds or the joules of a step."""
    return cost.seconds if quantity == "performance" else cost.joules


def peak_seconds(step: Step) -> float:
    """The time of a step's products at the rate that the paper states."""
    return 2 * step.macs / peak_flops()


def needed_seconds(base: Result, other: Result, performance: float) -> float | None:
    """
    The time of work, the same for both, with which the gain would be `performance` beside the communication that ours
    moves; None where no time would do, since the communication alone gains less.
    """
    a, b = base.step.cost, other.step.cost
    if a is None or b is None or performance == 1:
        return None
    # (a + work) / (b + work) = performance, of seconds between accelerators a and b
    work = (a.communication - performance * b.communication) / (performance - 1)
    return work if work > 0 else None
