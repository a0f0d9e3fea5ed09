"""The results of a network under a strategy, and ratios of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from npuc.compiler.core.options import Convention
from npuc.studies.hypar.steps import AcceleratorStep, StepCost

Quantity = Literal["performance", "energy"]


@dataclass(frozen=True)
class NetworkResult:
    """
    A network under a strategy: the partition types of its layers at each level, a step's traffic, the step itself.

    `gb` is in 10^9 bytes by the study's convention, `others` by the other conventions, each with its own plan.
    """

    choices: tuple[str, ...]
    gb: float
    others: Mapping[Convention, float]
    step: AcceleratorStep


def gain(base: NetworkResult, other: NetworkResult, quantity: Quantity) -> float | None:
    """How many times faster, or more thrifty, a step is than the base's; None where one is not known."""
    a, b = base.step.cost, other.step.cost
    if a is None or b is None:
        return None
    base_amount, other_amount = amount(a, quantity), amount(b, quantity)
    return None if base_amount is None or other_amount is None else base_amount / other_amount


def amount(cost: StepCost, quantity: Quantity) -> float | None:
    """The seconds or the joules of a step, None where they are not known."""
    return cost.seconds if quantity == "performance" else cost.joules


def peak_seconds(step: AcceleratorStep, peak_flops: float) -> float:
    """The time of a step's products at the rate that an accelerator is stated to have."""
    return 2 * step.macs / peak_flops


def needed_seconds(base: NetworkResult, other: NetworkResult, performance: float) -> float | None:
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
