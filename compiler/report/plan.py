"""The movement of a plan for many devices, layer by layer: the JSON of `npuc explain --devices`."""

from __future__ import annotations

import msgspec

from npuc.compiler.report.parallel import ParallelTotal
from npuc.compiler.report.rows import Define

Count = int | str
"""A number that is not whole is an exact string (`"3/2"`)."""


class PlanPart(msgspec.Struct, frozen=True, kw_only=True):
    """
    One source of a layer's movement: elements of one direction at each level, all pairs together.

    `what` is the sum of `weight_gradients`, `outputs` or `input_gradients`, or the reshard of `weights`, values
    (`forward`) or gradients (`gradient`); `maker` is the layer with which they are exchanged.
    """

    what: str
    maker: str | None
    levels: list[Count]
    total: ParallelTotal


class PlanOther(msgspec.Struct, frozen=True, kw_only=True):
    """The movement of the whole step with another choice for a layer; `bound` is its lower bound over such plans."""

    choices: list[str]
    cuts: list[str | None] | None
    total: ParallelTotal
    lower_bound_elements: Count


class PlanLayer(msgspec.Struct, frozen=True, kw_only=True):
    """
    A layer's type at each level, its movement, and its best other types: `other` with all else as planned, `adapted`
    with all else free; null where there is none, or where it was not looked for.

    `cuts` holds for each level in `mp` the channels that are split, `input` or `output`; null where the type leaves no
    choice.
    """

    layer: str
    weights: bool
    choices: list[str]
    cuts: list[str | None] | None
    parts: list[PlanPart]
    total: ParallelTotal
    other: PlanOther | None
    adapted: PlanOther | None


class PlanReport(msgspec.Struct, frozen=True, kw_only=True):
    """
    A plan and its layers; the movement of all of a network's layers adds up to `total`.

    So does that of `sources`, the movement of all layers by kind, largest first. `training` is false for the plan of a
    forward pass.
    """

    npuc: str
    source: str
    network: str
    defines: dict[str, Define]
    strategy: str
    convention: str
    devices: int
    total: ParallelTotal
    lower_bound_elements: Count | None
    sources: list[PlanPart]
    layers: list[PlanLayer]
    training: bool = True
