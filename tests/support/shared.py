"""
What many tests read and none changes, computed once in a process.

Files that read what is expensive are in one entry of `TOGETHER` in scheduling.py.
"""

from collections.abc import Iterable
from functools import cache

from xdsl.dialects.builtin import ModuleOp

from npuc.frontends import read_source, read_text
from npuc.studies.base import Advance
from npuc.studies.thesis.scores import Point
from npuc.studies.thesis.study import ThesisPlan, ThesisResults, plan_study, run_study


@cache
def forward_program(sample: str) -> ModuleOp:
    """The forward program of a sample at its own sizes."""
    return read_source(read_text(f"samples:{sample}"), filename=f"samples:{sample}")


@cache
def thesis_results() -> ThesisResults:
    """The roofline study as published."""
    return run_study(plan_study())


def run_thesis_once(
    plan: ThesisPlan, points: Iterable[Point] = (), done: Advance = lambda name, count: None
) -> ThesisResults:
    """`run_study` of the roofline study, where the study as published is computed once."""
    points = tuple(points)
    return run_study(plan, points, done) if points or plan != plan_study() else thesis_results()
