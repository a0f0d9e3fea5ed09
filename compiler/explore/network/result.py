"""
The bandwidths that were chosen for a network, as plain data, JSON (`npuc.network/1`) and CSV.

Levels are outermost first. Bandwidths are in GB/s that a device sends, prices in USD of all devices.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.frame import DataFrame, frame
from npuc.compiler.core.display.shown import Shown, table_of
from npuc.compiler.report.as_csv import csv_text
from npuc.compiler.report.text.quantities import time_cell

SCHEMA = "npuc.network/1"
NetworkObjective = Literal["time", "time-cost"]
OBJECTIVES: tuple[NetworkObjective, ...] = ("time", "time-cost")
Stages = Literal["serial", "pipelined"]
STAGES: tuple[Stages, ...] = ("serial", "pipelined")
Overlap = Literal["none", "gradients"]
OVERLAPS: tuple[Overlap, ...] = ("none", "gradients")


@dataclass(frozen=True)
class NetworkSettings:
    """What was asked for, and by which model; constraints as they were written."""

    total_gb_per_s: float | None
    budget_usd: float | None
    objective: NetworkObjective
    constraints: tuple[str, ...]
    stages: Stages
    overlap: Overlap


@dataclass(frozen=True)
class LevelChoice:
    """
    A level with its devices, also along each dimension, of which a torus or mesh has several; the bytes of a step at
    the busiest of a device's links, times its links, and the price of a GB/s of a device, None: not known.

    Where links share bytes evenly these are those that the device sends; where a collective crowds some of them, more.
    """

    kind: str
    size: int
    dimensions: tuple[int, ...]
    sent_bytes: float
    usd_per_gb_per_s: float | None


@dataclass(frozen=True)
class SplitChoice:
    """
    A split: bandwidths by level, the seconds of a step, and the price of the network.

    `split` is `given`, that of the machine, `equal`, or `best`. `meets` says whether it is within what was asked for.
    """

    split: str
    gb_per_s: tuple[float, ...]
    seconds: float
    usd: float | None
    meets: bool


@dataclass(frozen=True)
class ShapeChoice:
    """
    Levels of other sizes for as many devices, outermost first, with the best split of each.

    `dimensions` are the devices along each dimension of a level.
    """

    kinds: tuple[str, ...]
    sizes: tuple[int, ...]
    dimensions: tuple[tuple[int, ...], ...]
    gb_per_s: tuple[float, ...]
    seconds: float
    usd: float | None
    gap: float


@dataclass(frozen=True)
class CurvePoint:
    """The shortest step of any split at a price of the network, or at a total where not each level has a price."""

    usd: float | None
    total_gb_per_s: float | None
    seconds: float


@dataclass(frozen=True, repr=False)
class NetworkResult(Displayed):
    """
    The splits of a step. `training` says whether it is more than a forward pass; it has `work_seconds` of a device's
    own work, and takes `floor_seconds` where no level limits it: of work and latencies.

    `gap` is by what share the best one's objective may be above the least, `method` how it was found. `shapes` are
    empty where nobody asked for them; `unfit` of them do not hold the mesh. `curve` is empty where nobody draws it.
    """

    title: str
    source: str
    hardware: str
    mesh: tuple[int, ...]
    settings: NetworkSettings
    training: bool
    work_seconds: float
    floor_seconds: float
    levels: tuple[LevelChoice, ...]
    splits: tuple[SplitChoice, ...]
    gap: float
    method: str
    shapes: tuple[ShapeChoice, ...] = ()
    unfit: int = 0
    curve: tuple[CurvePoint, ...] = ()

    def split(self, name: str) -> SplitChoice:
        """The split of a name."""
        return next(one for one in self.splits if one.split == name)

    def to_pandas(self) -> DataFrame:
        """The rows of `to_csv` as a table of pandas. Raises `UsageError` without pandas."""
        return frame(NAMES, table_rows(self), {"network": self.title, "hardware": self.hardware})

    def shown(self) -> Shown:
        times = ", ".join(f"{one.split} {time_cell(one.seconds)}" for one in self.splits)
        table = table_of(NAMES, table_rows(self), "splits and shapes")
        return Shown("NetworkResult", f"for {self.title} on {self.hardware}", times, table=table)


def to_json(result: NetworkResult, version: str) -> str:
    """The result as JSON."""
    facts = {
        "schema": SCHEMA,
        "npuc": version,
        "source": result.source,
        "network": result.title,
        "hardware": result.hardware,
        "mesh": list(result.mesh),
        **asdict(result.settings),
        "training": result.training,
        "work_seconds": result.work_seconds,
        "floor_seconds": result.floor_seconds,
        "gap": result.gap,
        "method": result.method,
        "levels": [asdict(one) for one in result.levels],
        "splits": [asdict(one) for one in result.splits],
        "shapes": [asdict(one) for one in result.shapes],
        "shapes_without_room": result.unfit,
        "curve": [asdict(one) for one in result.curve],
    }
    return json.dumps(facts, indent=1, allow_nan=False) + "\n"


NAMES = ("split", "kinds", "sizes", "gb_per_s", "seconds", "usd", "meets", "gap")


def to_csv(result: NetworkResult) -> str:
    """A row a split, then a row a shape; lists by level with `x` between them."""
    return csv_text(NAMES, *table_rows(result))


def table_rows(result: NetworkResult) -> list[tuple[object, ...]]:
    """The values of `NAMES`, for each split and each shape."""
    kinds, sizes = tuple(one.kind for one in result.levels), tuple(one.size for one in result.levels)
    rows: list[tuple[object, ...]] = [
        (
            one.split,
            *map(_joined, (kinds, sizes, one.gb_per_s)),
            one.seconds,
            one.usd,
            one.meets,
            result.gap if one.split == "best" else None,
        )
        for one in result.splits
    ]
    rows += [
        ("shape", *map(_joined, (one.kinds, one.sizes, one.gb_per_s)), one.seconds, one.usd, True, one.gap)
        for one in result.shapes
    ]
    return rows


def _joined(values: tuple[object, ...]) -> str:
    return "x".join(map(str, values))
