"""The costliest layers of a step, what limits each, and what changes gain: the JSON of `npuc explain NET`."""

from __future__ import annotations

import msgspec

from npuc.compiler.report.rows import Define


class CostlyLayer(msgspec.Struct, frozen=True, kw_only=True):
    """
    A layer, or several of equal costs: `count` lines, all of the `names`, together.

    `cost` is in the unit of the objective (s, bytes, J, J s), `share` its part of the step's; `seconds` those of all
    its operations. `spent` are these seconds by cause, the largest first, `limit` is what sets most of them. `change`
    is the index of the change that gains most here, null where none does.
    """

    layer: str
    names: list[str]
    count: int
    cost: float
    share: float
    seconds: float | None
    limit: str | None
    spent: dict[str, float]
    change: int | None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """
    A change that was compiled: `option` as the command line takes it, `what` it is in words.

    `cost` is that of the changed step, or of as many samples of it as the step has where the batch is changed (`per`
    sample); `gain` is the share of the cost that it saves, below 0 where it costs more, and `layers` the same of each
    costly layer, null where it is not there. `error` says why there is no cost.
    """

    option: str
    what: str
    per: str
    cost: float | None
    gain: float | None
    layers: list[float | None]
    error: str | None = None


class CostliestReport(msgspec.Struct, frozen=True, kw_only=True):
    """
    The costliest layers of a step on a machine, and what changes would gain, each compiled by itself.

    `cost` is that of the step in the unit of the objective (time: s, traffic: bytes, energy: J, edp: J s), `spent` its
    seconds by cause. `lines` is how many layers there are, equal ones as one. Changes are in the order of their gain,
    those without a cost last.
    """

    schema: str = "npuc.costliest/1"
    npuc: str
    source: str
    network: str
    backend: str
    hardware: str
    precision: str | None
    pipeline: str
    defines: dict[str, Define]
    devices: int
    training: bool
    objective: str
    cost: float
    seconds: float | None
    spent: dict[str, float]
    lines: int
    layers: list[CostlyLayer]
    changes: list[Change]
