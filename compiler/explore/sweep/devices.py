"""
The options of a point with several devices, and the traffic of its plan between them.

At `devices=1` all other options of this kind are left out, so that a sweep over devices can begin there. Where
strategies are varied, the objective of a plan is left out for those that are rules without an objective, and its proof
for those that have one plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import BEST_BUCKETS, ZERO_STAGES, CompileKeywords, is_joint, mesh_sizes
from npuc.compiler.driver.levels.asked import density_pass, quantize_pass, recompute_pass
from npuc.compiler.driver.levels.fused import fuse_pass
from npuc.compiler.driver.options import PLAN_OPTIONS, check_options, has_one_plan
from npuc.compiler.report import Report
from npuc.compiler.report.sections import CommunicationTime

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

FLAGS: Mapping[str, str] = {
    "devices": "--devices",
    "parallel": "--parallel",
    "convention": "--convention",
    "plan_objective": "--plan-objective",
    "zero": "--zero",
    "collectives": "--collectives",
    "chunks": "--chunks",
    "bucket_mib": "--bucket-mib",
}
"""The keywords of the options of several devices, with their names on the command line."""
MOVED = (
    "parallel.total.elements",
    "parallel.total.bytes",
    "parallel.lower_bound_elements",
    "native.overlapped_seconds",
)
"""The figures of a plan, by their places in a report."""
Moved = Mapping[str, int | float | None]


def check_shared(target: str, value: object) -> None:
    """Raise `UsageError` for a value that an option does not take: one of `FLAGS`, or of a pass such as recompute."""
    if target == "recompute":
        recompute_pass(str(value))
    elif target == "quantize":
        quantize_pass(str(value))
    elif target == "density":
        density_pass(str(value))
    elif target == "fuse_layers":
        fuse_pass(str(value))
    elif target == "zero":
        if not isinstance(value, int) or value not in ZERO_STAGES:
            raise UsageError(f"found {value}, expected 0 to 3, true or false")
    elif target == "devices":
        if isinstance(value, bool) or not isinstance(value, int):
            raise UsageError(f"found {value}, expected a power of two")
        check_options({"devices": value})
    elif target == "parallel":
        check_options({"devices": 2, "parallel": str(value)})
    elif target == "convention":
        check_options({"devices": 2, "convention": str(value)})
    elif target == "collectives":
        check_options({"devices": 2, "collectives": str(value)})
    elif target == "chunks":
        if isinstance(value, bool) or not isinstance(value, int):
            raise UsageError(f"found {value}, expected a number of chunks")
        check_options({"devices": 2, "chunks": value})
    elif target == "bucket_mib":
        if value == BEST_BUCKETS:
            return
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"found {value}, expected a number of MiB, or {BEST_BUCKETS}")
        check_options({"devices": 2, "bucket_mib": value})
    else:
        check_options({"devices": 2, "plan_objective": str(value)})


def devices_of(options: CompileKeywords) -> int:
    """How many devices share a step."""
    mesh = options.get("mesh")
    return options.get("devices", 1) if mesh is None else prod(mesh_sizes(mesh))


def shared(options: CompileKeywords, *, strategies: bool) -> CompileKeywords:
    """The options of a point, without those that have no meaning there; `strategies`: whether these are varied."""
    kept = options.copy()
    if devices_of(options) == 1:
        for name in PLAN_OPTIONS:
            kept.pop(name, None)
    elif strategies:
        if not is_joint(str(kept.get("parallel"))):
            kept.pop("plan_objective", None)
        if has_one_plan(kept):
            kept.pop("exact_plan", None)
    return kept


def moved_by(report: Report, module: ModuleOp) -> Moved:
    """The movement of a program's plan, and the time with gradient sums overlapped with other work."""
    from npuc.compiler.distributed.plan import plan_of_program

    plan = plan_of_program(module)
    if plan is None:
        return dict(zip(MOVED, (0, 0, 0, report.totals.seconds), strict=True))
    said = (plan.total.elements, plan.total.bytes, plan.lower_bound_elements)
    time = CommunicationTime.found_in(report)
    seconds = None if time is None else time.overlapped_seconds
    return dict(zip(MOVED, (*map(_number, said), seconds), strict=True))


def _number(value: int | str | None) -> int | float | None:
    """An exact number as the report has it, a fraction as a float."""
    return float(Fraction(value)) if isinstance(value, str) else value
