"""
A backend's result for a program: the report, its totals, and its machine-readable forms (JSON, CSV, a timeline).

    rows = [OpRow(index=0, name="fc1", op="npu.contract", phase="forward", kind="matrix", macs=25690112, …)]
    report = make_report("cycle", hardware.as_dict(), rows)
    report.totals["seconds"]; report.to_json(); report.to_csv()

The fields and their units are those of `docs/report.md`, schema `npuc.report/1`; `report_schema.json` beside this file
is their JSON Schema. `npuc.compiler.report.text.table` renders it as text.
"""

from npuc.compiler.report.as_csv import to_csv
from npuc.compiler.report.as_json import to_json
from npuc.compiler.report.as_trace import to_trace
from npuc.compiler.report.certificates import CertifiedProducts, LayerCertificate
from npuc.compiler.report.document import SCHEMA, StepMemory
from npuc.compiler.report.parallel import Parallel, ParallelLevel, ParallelPair, ParallelTotal, PlanCost
from npuc.compiler.report.report import Comparison, Report, make_report, report_from_json
from npuc.compiler.report.rows import HardwareDict, Kind, OpRow, Partition, Phase, Scalar, ScheduleRow, TensorBytes
from npuc.compiler.report.totals import Totals, total

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
