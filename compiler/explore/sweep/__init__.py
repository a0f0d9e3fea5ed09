"""
Many points of a design at once: the step's cost for every combination of values of hardware keys, network parameters
and options.

    for point in sweep_file("net.dsl", vary={"memory.spm_kib": "1024:8192:1024", "batch": [8, 16]}):
        print(point.values, point.totals.seconds if point.totals else point.error)
    sweep_file("net.dsl", vary={"batch": [8, 16]}).collect().to_pandas()

`values` parses ranges, `axes` the varied keys, `points` scores, `parallel` scores in several processes, `devices`
handles points with several devices; `partial` is the file from which a long sweep continues, `table` and `picture`
show the result.
"""

from __future__ import annotations

from typing_extensions import Unpack

from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explore.sweep.axes import Vary
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.result import SweepPoints, SweepResult
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import SourceLike, open_source, text_source

__all__ = ["SweepPoint", "SweepPoints", "SweepResult", "sweep_file", "sweep_source"]


def sweep_file(
    path: SourceLike,
    *,
    vary: Vary,
    backend: str | list[str] | tuple[str, ...] | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    **options: Unpack[CompileKeywords],
) -> SweepPoints:
    """
    Score the program in a file at every combination of the values in `vary`, of which the last key varies fastest.

    A key is a hardware key (`memory.spm_kib`), a parameter of the network (`batch`), or one of `backend`, `hw`,
    `opt_level`, `objective`, `tolerance`, `mapping`, `recompute`, `quantize`, `density`, `fuse_layers`, `devices`,
    `parallel`, `convention`, `plan_objective`, `zero`; its values are a sequence, or a text as the command line takes
    it (`1024:8192:1024`, HI included). Several backends are varied last. Points come in order, each as soon as it is
    known; `jobs` processes work on them, or with `dask` the workers of the Dask cluster at that address (`local`: a
    cluster of `jobs` processes on this machine). Everything else is as in `compile_file`.

    The points are an iterator; its `collect` has them all as a `SweepResult`, with a table of pandas and the front.
    A point where the program does not fit the machine has an `error` in place of totals, and so has one whose network
    parameters make no program. Raises `UsageError` before the first point for keys and values that cannot be, and
    `NpucError`s for what is wrong with the whole.
    """
    return SweepPoints(Sweep(open_source(path), vary, backend, options), jobs=jobs, dask=dask)


def sweep_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    vary: Vary,
    backend: str | list[str] | tuple[str, ...] | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    **options: Unpack[CompileKeywords],
) -> SweepPoints:
    """Score the program that a text holds at many points; everything else as `sweep_file`."""
    return SweepPoints(Sweep(text_source(text, format, filename), vary, backend, options), jobs=jobs, dask=dask)
