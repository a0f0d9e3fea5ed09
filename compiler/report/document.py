"""A report as frozen data: the rows, the totals over them, and their program, backend and machine."""

from __future__ import annotations

import msgspec

from npuc.compiler.report.certificates import LayerCertificate
from npuc.compiler.report.parallel import Parallel
from npuc.compiler.report.rows import Define, HardwareDict, OpRow, Scalar
from npuc.compiler.report.totals import Totals

SCHEMA = "npuc.report/1"


class StepMemory(msgspec.Struct, frozen=True, kw_only=True):
    """
    The memory of a step's tensors, in bytes, before any lowering.

    `peak_bytes` is the most at any time, which is reached in `peak_layer`; `activation_bytes` is what the forward pass
    keeps for the backward pass, `argument_bytes` inputs, parameters, optimizer states and constants. `gradient_bytes`
    are the gradients of all parameters together; `totals.memory` counts those that are live at the peak.
    """

    peak_bytes: int
    peak_layer: str
    activation_bytes: int
    argument_bytes: int
    gradient_bytes: int = 0


class ReportData(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a report; `npuc.compiler.report.Report` is one that can be written."""

    schema: str = SCHEMA
    npuc: str = ""
    source: str = ""
    network: str = ""
    backend: str
    hardware: HardwareDict
    precision: str = "as-written"
    pipeline: str = ""
    tolerance: float | None = None
    defines: dict[str, Define] = msgspec.field(default_factory=dict[str, Define])
    warnings: list[str] = msgspec.field(default_factory=list[str])
    totals: Totals
    memory: StepMemory | None = None
    ops: list[OpRow]
    native: dict[str, Scalar] = msgspec.field(default_factory=dict[str, Scalar])
    certificates: list[LayerCertificate] | None = None
    parallel: Parallel | None = None
