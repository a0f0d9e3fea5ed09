"""A report as frozen data: the rows, the totals over them, and their program, backend and machine."""

from __future__ import annotations

import msgspec

from npuc.compiler.report.certificates import LayerCertificate
from npuc.compiler.report.energy import EnergyReport
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
    """bytes; the most at any time"""
    peak_layer: str
    """the layer during which that is reached first"""
    activation_bytes: int
    """bytes; what the forward pass makes and the backward pass reads"""
    argument_bytes: int
    """bytes; inputs, parameters, optimizer states, statistics and constants, there throughout"""
    gradient_bytes: int = 0
    """bytes; the gradients of all parameters together, wherever the peak is"""


class ReportData(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a report; `npuc.compiler.report.Report` is one that can be written."""

    schema: str = SCHEMA
    """`npuc.report/1`"""
    npuc: str = ""
    """version of npuc"""
    source: str = ""
    """file or `samples:NAME`"""
    network: str = ""
    """name of the network"""
    backend: str
    """name of the cost model"""
    hardware: HardwareDict
    """the machine as it was resolved, by hardware keys"""
    derived: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """keys of `hardware` that the backend needs and the description does not have: what each value follows from"""
    precision: str = "as-written"
    """the float types that the program was given: as-written, f32, f16, bf16 or mixed"""
    products: str | None = None
    """the number formats that operands of matrix products were given, by the passes quantize; null without"""
    pipeline: str = ""
    """the passes that ran, in a form that `-p` reads"""
    tolerance: float | None = None
    """
    how much more than the least a schedule may cost for less by the next measure; the largest of the passes that ran,
    null where none chose schedules
    """
    defines: dict[str, Define] = msgspec.field(default_factory=dict[str, Define])
    """network parameters that were set"""
    warnings: list[str] = msgspec.field(default_factory=list[str])
    """texts"""
    totals: Totals
    """sums over the rows, and ratios of sums"""
    memory: StepMemory | None = None
    """what tensors take in memory before the program is lowered; null where that is not known"""
    energy: EnergyReport | None = None
    """energy by component, area and what was reached for them; null where the backend has no energy"""
    ops: list[OpRow]
    """the rows, in program order"""
    native: dict[str, Scalar] = msgspec.field(default_factory=dict[str, Scalar])
    """what the backend says of the whole beside the totals"""
    certificates: list[LayerCertificate] | None = None
    """how far each layer with products is from what has to move; null where the backend has no bounds"""
    parallel: Parallel | None = None
    """how the step is split over devices; null on one device"""
