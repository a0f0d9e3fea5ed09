"""
What a backend says about a program: the report, its totals, and its forms for machines (JSON, CSV, a timeline).

    rows = [OpRow(index=0, name="fc1", op="npu.contract", phase="forward", kind="matrix", macs=25690112, …)]
    report = make_report("cycle", hardware.as_dict(), rows)
    report.totals["seconds"]; report.to_json(); report.to_csv()

The fields and their units are those of `docs/report.md`, schema `npuc.report/1`; `report_schema.json` beside this file
is their JSON Schema. The table for people is `npuc.compiler.report.text.table`.
"""

from npuc.compiler.report.model import (
    SCHEMA,
    CertifiedProducts,
    HardwareDict,
    Kind,
    LayerCertificate,
    OpRow,
    Parallel,
    ParallelLevel,
    ParallelPair,
    ParallelTotal,
    Partition,
    Phase,
    PlanCost,
    Report,
    Scalar,
    ScheduleRow,
    StepMemory,
    TensorBytes,
    Totals,
)
from npuc.compiler.report.totals import make_report, total
from npuc.compiler.report.trace_events import to_trace
from npuc.compiler.report.write import Comparison, report_from_json, to_csv, to_json

__all__ = [
    "SCHEMA",
    "CertifiedProducts",
    "Comparison",
    "HardwareDict",
    "Kind",
    "LayerCertificate",
    "OpRow",
    "Parallel",
    "ParallelLevel",
    "ParallelPair",
    "ParallelTotal",
    "Partition",
    "Phase",
    "PlanCost",
    "Report",
    "Scalar",
    "ScheduleRow",
    "StepMemory",
    "TensorBytes",
    "Totals",
    "make_report",
    "report_from_json",
    "to_csv",
    "to_json",
    "to_trace",
    "total",
]
