"""
npuc's public interface: compile a network, run it, look at it.

    from npuc.compiler import compile_file, run_file
    report = compile_file("net.dsl", backend="cycle", hardware="igo-large", defines={"batch": 8})
    report.totals["seconds"]

Names are imported when they are first used, so that a program pays only for what it needs.
"""

from __future__ import annotations

from importlib import import_module

from npuc.compiler.core import former_names

TYPE_CHECKING = False  # not that of typing, which takes longer to load than all that stands here
if TYPE_CHECKING:
    from npuc.compiler.core.cache.searches import keep_results
    from npuc.compiler.core.errors import (
        CapacityError,
        CheckError,
        InternalError,
        Location,
        NpucError,
        SourceError,
        SourceErrors,
        UsageError,
    )
    from npuc.compiler.distributed.chain import plan_parallel
    from npuc.compiler.driver.compile import compile_file, compile_source
    from npuc.compiler.driver.import_text import import_file
    from npuc.compiler.driver.run import describe_file, describe_source, run_file, run_source
    from npuc.compiler.driver.running.checks import PassChecks, check_file, check_source
    from npuc.compiler.explain.difference import diff_reports
    from npuc.compiler.explore.flexibility import Flexibility, flexibility_file, flexibility_source
    from npuc.compiler.explore.optimize import OptimizedPoint, OptimizeResult, optimize_file, optimize_source
    from npuc.compiler.explore.sweep import SweepPoint, SweepPoints, SweepResult, sweep_file, sweep_source
    from npuc.compiler.explore.training import TrainingResult, training_file
    from npuc.compiler.interpreter.execute import Run
    from npuc.compiler.report import Report
    from npuc.compiler.report.difference.result import Difference

former_names.install()

_HOMES = {
    "CapacityError": "core.errors",
    "CheckError": "core.errors",
    "Difference": "report.difference.document",
    "Flexibility": "explore.flexibility",
    "InternalError": "core.errors",
    "Location": "core.errors",
    "NpucError": "core.errors",
    "OptimizeResult": "explore.optimize",
    "OptimizedPoint": "explore.optimize",
    "PassChecks": "driver.running.checks",
    "Report": "report",
    "Run": "interpreter.execute",
    "SourceError": "core.errors",
    "SourceErrors": "core.errors",
    "SweepPoint": "explore.sweep",
    "SweepPoints": "explore.sweep",
    "SweepResult": "explore.sweep",
    "TrainingResult": "explore.training",
    "UsageError": "core.errors",
    "check_file": "driver.running.checks",
    "check_source": "driver.running.checks",
    "compile_file": "driver.compile",
    "compile_source": "driver.compile",
    "describe_file": "driver.run",
    "describe_source": "driver.run",
    "diff_reports": "explain.difference",
    "flexibility_file": "explore.flexibility",
    "flexibility_source": "explore.flexibility",
    "import_file": "driver.import_text",
    "keep_results": "core.cache.searches",
    "optimize_file": "explore.optimize",
    "optimize_source": "explore.optimize",
    "plan_parallel": "distributed.chain",
    "run_file": "driver.run",
    "run_source": "driver.run",
    "sweep_file": "explore.sweep",
    "sweep_source": "explore.sweep",
    "training_file": "explore.training",
}

__all__ = [
    "CapacityError",
    "CheckError",
    "Difference",
    "Flexibility",
    "InternalError",
    "Location",
    "NpucError",
    "OptimizeResult",
    "OptimizedPoint",
    "PassChecks",
    "Report",
    "Run",
    "SourceError",
    "SourceErrors",
    "SweepPoint",
    "SweepPoints",
    "SweepResult",
    "TrainingResult",
    "UsageError",
    "check_file",
    "check_source",
    "compile_file",
    "compile_source",
    "describe_file",
    "describe_source",
    "diff_reports",
    "flexibility_file",
    "flexibility_source",
    "import_file",
    "keep_results",
    "optimize_file",
    "optimize_source",
    "plan_parallel",
    "run_file",
    "run_source",
    "sweep_file",
    "sweep_source",
    "training_file",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
