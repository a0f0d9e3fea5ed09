"""
A whole training: phases of steps, each of one program or of several in turn, priced together.

    found = training_file("net.dsl", ["phases.toml"], hardware="tpu-v4")
    found.trainings[0].seconds

    phases.py        programs, phases and spans; how many steps of each program a phase has
    phases_file.py   the same from a TOML file, with the place of what is wrong
    price.py         each program once on a backend, and what all steps cost
    execution.py     the same trainings executed in the interpreter, to a target (target.py)
    result.py        the cost of a training as plain data, JSON and CSV
    table.py         the same as text
    picture.py       epochs over time, a line a training
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from typing_extensions import Unpack

from npuc.backends.registry import get_backend
from npuc.compiler.core.arguments import argument
from npuc.compiler.core.display.progress import watched
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.machine import backend_for
from npuc.compiler.explore.training.asked import AskedRuns
from npuc.compiler.explore.training.phases_file import read_phases
from npuc.compiler.explore.training.price import Pricing
from npuc.compiler.explore.training.result import TrainingResult
from npuc.frontends.source import SourceLike, open_source

__all__ = ["TrainingResult", "training_file"]


def training_file(
    path: SourceLike,
    phases: Sequence[str | os.PathLike[str]],
    *,
    backend: str | None = None,
    run: bool = False,
    until: str | None = None,
    dataset: str | None = None,
    seeds: int = 3,
    seed: int = 0,
    progress: bool | None = None,
    **options: Unpack[CompileKeywords],
) -> TrainingResult:
    """
    What whole trainings of the program in a file cost, one for each file of `phases` (or name of phases that ship).

    Each program of their phases is priced once on a backend, as `compile_file` does with what the file says of it and
    else with these options; seconds, J and bytes are of all steps together.

    With `run`, or `until` ("loss < 0.1", "accuracy > 0.9" of the mean of the last ten steps), each training is executed
    in the interpreter too, from as many `seeds`, the first `seed`, on a `dataset` ("digits") or on a batch that is
    made; the time of its steps is that of the model. `progress` shows a bar; by
    default in notebooks and interactive sessions. Raises `NpucError`s.
    """
    names: Sequence[str | os.PathLike[str]] = argument("phases", phases, Sequence[str | os.PathLike[str]])
    source = open_source(path)
    name = argument("backend", backend, str | None) or backend_for(source)
    get_backend(name)
    asked = AskedRuns(
        argument("run", run, bool),
        argument("until", until, str | None),
        argument("dataset", dataset, str | None),
        argument("seeds", seeds, int),
        argument("seed", seed, int),
    )
    trainings = [read_phases(os.fspath(one)) for one in names]
    shows = argument("progress", progress, bool | None)
    with watched("training", 1 + sum(len(one.programs) for one in trainings), shows) as advance:
        priced = Pricing(source, name, options, done=lambda: advance(1)).result(trainings)
    if not asked.executes:
        return priced
    steps = asked.seeds * sum(one.steps for one in priced.trainings)
    with watched("executing", steps, shows) as advance:
        return asked.executed(source, options, trainings, priced, advance)
