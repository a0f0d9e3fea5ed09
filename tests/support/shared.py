"""What many tests read and none changes, computed once in a process."""

from functools import cache

from xdsl.dialects.builtin import ModuleOp

from npuc.frontends import read_source, read_text
from npuc.studies.thesis.study import ThesisResults, plan_study, run_study


@cache
def forward_program(sample: str) -> ModuleOp:
    """The forward program of a sample at its own sizes."""
    return read_source(read_text(f"samples:{sample}"), filename=f"samples:{sample}")


@cache
def thesis_results() -> ThesisResults:
    """The roofline study as published."""
    return run_study(plan_study())
