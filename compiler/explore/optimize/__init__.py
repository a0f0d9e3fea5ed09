"""
The points of a sweep that no other one beats in several goals, found without pricing all of them.

    found = optimize_file("net.dsl", vary={"array.rows": "8:128:8"}, goals=("time", "area"))
    for point in found.front:
        print(point.values, point.amounts)

`metrics` are what goals and constraints are about, `machine_facts`, `work` and `floors` say what a point costs at least
without compiling it, `pricing` scores points and `record` keeps them; the search itself is in `explore/pareto/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import Unpack

from npuc.compiler.core.arguments import TEXTS, argument
from npuc.compiler.core.display.progress import watched
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explore.optimize.goals import DEFAULT_GOALS
from npuc.compiler.explore.optimize.result import OptimizedPoint, OptimizeResult
from npuc.compiler.explore.optimize.run import DEFAULT_BUDGET, MOST_POINTS, OptimizeCourse, optimize
from npuc.compiler.explore.sweep.axes import Vary
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import Source, SourceLike, open_source, text_source

__all__ = ["OptimizeResult", "OptimizedPoint", "optimize_file", "optimize_source"]


def optimize_file(
    path: SourceLike,
    *,
    vary: Vary,
    goals: Sequence[str] = DEFAULT_GOALS,
    constraints: Sequence[str] = (),
    budget: int = DEFAULT_BUDGET,
    seed: int = 0,
    backend: str | list[str] | tuple[str, ...] | None = None,
    jobs: int = 1,
    resume: str | None = None,
    progress: bool | None = None,
    **options: Unpack[CompileKeywords],
) -> OptimizeResult:
    """
    The points of the program in a file that no other one beats in `goals`, over all combinations of the values in
    `vary`, which are as in `sweep_file`.

    Goals are names of metrics (`time`, `energy`, `area`, …), `max:NAME` to have most of one; `constraints` are texts
    such as `area < 10`. At most `budget` points are priced, which `seed` chooses where bounds do not exclude enough;
    `jobs` processes work on them, and `resume` is a file that keeps them. `proved` of the result says whether the
    front is that of all points. `progress` shows a bar; by default in notebooks and interactive sessions.
    Everything else is as in `compile_file`; raises as `sweep_file` does.
    """
    course = _course(budget, seed, jobs, resume)
    return _optimize(open_source(path), vary, goals, constraints, course, backend, options, progress)


def optimize_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    vary: Vary,
    goals: Sequence[str] = DEFAULT_GOALS,
    constraints: Sequence[str] = (),
    budget: int = DEFAULT_BUDGET,
    seed: int = 0,
    backend: str | list[str] | tuple[str, ...] | None = None,
    jobs: int = 1,
    resume: str | None = None,
    progress: bool | None = None,
    **options: Unpack[CompileKeywords],
) -> OptimizeResult:
    """The same of the program that a text holds; everything else as `optimize_file`."""
    course = _course(budget, seed, jobs, resume)
    return _optimize(text_source(text, format, filename), vary, goals, constraints, course, backend, options, progress)


def _course(budget: int, seed: int, jobs: int, resume: str | None) -> OptimizeCourse:
    """How the search goes. Raises `TypeError` for what is of no right type, and `UsageError` for what cannot be."""
    seed, jobs = argument("seed", seed, int), argument("jobs", jobs, int)
    if seed < 0:
        raise UsageError(f"found the seed {seed}, expected 0 or more")
    if jobs < 1:
        raise UsageError(f"found {jobs} jobs, expected at least one")
    return OptimizeCourse(argument("budget", budget, int), seed, jobs, argument("resume", resume, str | None))


def _optimize(
    source: Source,
    vary: Vary,
    goals: Sequence[str],
    constraints: Sequence[str],
    course: OptimizeCourse,
    backend: str | list[str] | tuple[str, ...] | None,
    options: CompileKeywords,
    progress: bool | None,
) -> OptimizeResult:
    goals, constraints = argument("goals", goals, TEXTS), argument("constraints", constraints, TEXTS)
    shows = argument("progress", progress, bool | None)
    sweep = Sweep(source, vary, backend, options, most=MOST_POINTS)
    with watched("optimize", min(course.budget, sweep.grid.count), shows) as advance:

        def told(_: SweepPoint) -> None:
            advance(1)

        found = optimize(sweep, replace(course, told=told), goals, constraints)
    if found.interrupt is not None:
        raise found.interrupt
    return found.result
