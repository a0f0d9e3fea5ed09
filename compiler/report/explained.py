"""A layer explained, as data: the JSON of `npuc explain NET LAYER`."""

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
