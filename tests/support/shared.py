"""
What many tests read and none changes, computed once in a process.

Files that read what is expensive are in one entry of `TOGETHER` in scheduling.py.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from xdsl.dialects.builtin import ModuleOp

from npuc.frontends import read_source, read_text
from npuc.studies.base import Advance
from npuc.studies.hypar.study import HyparResults
from npuc.studies.hypar.study import plan_study as plan_hypar
from npuc.studies.hypar.study import run_study as run_hypar
from npuc.studies.thesis.scores import Point
from npuc.studies.thesis.study import ThesisPlan, ThesisResults, plan_study, run_study


@cache
def forward_program(sample: str) -> ModuleOp:
    """The forward program of a sample at its own sizes."""
    return read_source(read_text(f"samples:{sample}"), filename=f"samples:{sample}")


@cache
def hypar_results() -> HyparResults:
    """The study of hybrid parallelism of two networks, of which one has layers that 16 accelerators cannot share."""
    return run_hypar(plan_hypar("published", ["SFC", "samples:lenet_c"]))


@cache
def thesis_results() -> ThesisResults:
    """The roofline study as published."""
    return run_study(plan_study())


@cache
def thesis_at_own_sizes() -> ThesisResults:
    """The roofline study with its networks' own batches and all ideas alone: what its claims P01 to P20 need."""
    plan = plan_study()
    return run_study(replace(plan, points=tuple(p for p in plan.points if p.batch is None and not p.keys)))


def run_thesis_once(
    plan: ThesisPlan, points: Iterable[Point] = (), done: Advance = lambda name, count: None
) -> ThesisResults:
    """`run_study` of the roofline study, where the study as published is computed once."""
    points = tuple(points)
    return run_study(plan, points, done) if points or plan != plan_study() else thesis_results()
