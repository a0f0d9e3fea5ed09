"""
A layer or a collective explained, as data: the JSON of `npuc explain NET LAYER` and `… --collective NAME`.

Of a collective these are its chunks and their orders, when each level of the network works, and a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from npuc.compiler.report.causes import Parts
from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import Define, OpRow


class ExplainedLayer(msgspec.Struct, frozen=True, kw_only=True):
    """
    A layer with the rows of the report that are explained.

    `spent` are the seconds of each row by cause, of one of its repetitions; `text` are the lines that a terminal shows.
    """

    schema: str = "npuc.layer/1"
    npuc: str
    source: str
    network: str
    backend: str
    hardware: str
    precision: str
    pipeline: str
    defines: dict[str, Define]
    layer: str
    rows: list[OpRow]
    spent: list[dict[str, float]]
    text: list[str]


def explained_layer(
    report: Report, machine: str, layer: str, rows: Sequence[OpRow], parts: Callable[[OpRow], Parts], text: str
) -> ExplainedLayer:
    """A layer of a report on a machine, by its rows, the causes of their time, and what is said of them."""
    return ExplainedLayer(
        npuc=report.npuc,
        source=report.source,
        network=report.network,
        backend=report.backend,
        hardware=machine,
        precision=report.precision,
        pipeline=report.pipeline,
        defines=report.defines,
        layer=layer,
        rows=list(rows),
        spent=[{**parts(row)} for row in rows],
        text=text.splitlines(),
    )


class CollectiveLevel(msgspec.Struct, frozen=True, kw_only=True):
    """
    A level of the network, 0 the outermost: its `kind` and devices, the rate at which a device sends, what it sends.

    `sizes` are the devices along each dimension, of which a torus or mesh has several. `busy_seconds` are those in
    which the level is occupied, `use` is the part of the collective's time.
    """

    level: int
    kind: str
    size: int
    sizes: list[int]
    gb_per_s: float
    sent_bytes: float
    busy_seconds: float
    use: float

    @property
    def shown(self) -> str:
        """The level in words: 1: torus of 4 x 4."""
        return f"{self.level + 1}: {self.kind} of {' x '.join(f'{size:,}' for size in self.sizes)}"


class CollectiveOrder(msgspec.Struct, frozen=True, kw_only=True):
    """
    So many chunks, one after another, that cross levels of the network in an order, 0 the outermost, and `back`.

    `mesh` are the levels of the mesh on the way there, H1 the outermost.
    """

    chunks: int
    levels: list[int]
    back: list[int]
    mesh: list[str]


class CollectiveStage(msgspec.Struct, frozen=True, kw_only=True):
    """
    A stage of a chunk: its number, the level of the network, and whether it reduces or gathers.

    It occupies the level from `begin` to `end`, and its result is there at `done`, in seconds.
    """

    chunk: int
    level: int
    part: str
    begin: float
    end: float
    done: float


class CollectivePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the collective takes by a policy, in so many chunks."""

    policy: str
    chunks: int
    seconds: float


class OtherCollective(msgspec.Struct, frozen=True, kw_only=True):
    """Another collective of the same name."""

    layer: str
    of: str
    op: str
    operand_bytes: int
    seconds: float


class ExplainedCollective(msgspec.Struct, frozen=True, kw_only=True):
    """
    A collective of a step; `of` is the role of the work that it is for, `over` are levels of the mesh.

    `queue` says which chunk goes first where several wait. No order of as many chunks takes less than `bound_seconds`;
    `utilisation` is what a device sends over what it could send over all levels in the time. `policies` are what other
    orders take, `others` the collectives of the same name, which are not explained.
    """

    schema: str = "npuc.collective/1"
    source: str
    hardware: str
    devices: int
    layer: str
    of: str
    op: str
    operand_bytes: int
    over: list[str]
    latency: str
    chunks: int
    queue: str
    seconds: float
    bound_seconds: float
    utilisation: float
    orders: list[CollectiveOrder]
    levels: list[CollectiveLevel]
    stages: list[CollectiveStage]
    policies: list[CollectivePolicy]
    others: list[OtherCollective]
