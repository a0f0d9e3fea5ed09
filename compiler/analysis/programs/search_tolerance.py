"""What a program says of the search of its schedules, for those who search others to compare with."""

from xdsl.dialects.builtin import FloatAttr, ModuleOp, f64
from xdsl.ir import Operation

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.core.options import DEFAULT_TOLERANCE

TOLERANCE = "npu.tolerance"
"""The attribute of a module whose schedules were searched with this tolerance, a fraction, where that is thorough."""


def write_tolerance(module: ModuleOp, machine: Machine, tolerance: float) -> None:
    """
    Write a tolerance on a module whose schedules were searched with it: on one core where it is not the default, over
    several where a quick search would do.
    """
    told = tolerance != DEFAULT_TOLERANCE
    if machine.cores > 1:
        from npuc.compiler.analysis.schedule.over_cores.search import QUICK

        told = tolerance < QUICK
    if told:
        module.attributes[TOLERANCE] = FloatAttr(tolerance, f64)


def thorough_tolerance(op: Operation, machine: Machine) -> float | None:
    """
    The tolerance with which the schedules around an operation were searched; None if they were searched quickly, as
    they are over several cores unless the program says so.
    """
    around: Operation | None = op
    while around is not None:
        found = around.attributes.get(TOLERANCE)
        if isinstance(found, FloatAttr):
            return found.value.data
        around = around.parent_op()
    return DEFAULT_TOLERANCE if machine.cores == 1 else None
