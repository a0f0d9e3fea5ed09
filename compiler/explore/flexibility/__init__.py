"""
How flexible a machine is for a program, and what flexibility would gain.

    found = flexibility_file("net.dsl", hardware="nvdla")
    found.flexible, found.gain(("any", "any", "any", "any"))

    machine.py      what a hardware description supports of the four axes
    own.py          what its dataflow chooses for a contraction
    allowed.py      what constraints leave of its choices
    buffers.py      the shared buffer as a class divides it
    expression.py   the mappings of a class
    classes.py      the best mapping of each class
    find.py         all contractions of a module
    request.py      from a source to a result
    result.py       the result as data, JSON and CSV
    shares.py       means of shares
    table.py        as text
    picture.py      the gain of each class
"""

from __future__ import annotations

from typing_extensions import Unpack

from npuc.compiler.core.arguments import argument
from npuc.compiler.core.display.progress import watched
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explore.flexibility.request import BUDGET, Progress, find_flexibility, named_constraints
from npuc.compiler.explore.flexibility.result import Flexibility
from npuc.frontends.source import SourceLike, open_source, text_source

__all__ = ["Flexibility", "flexibility_file", "flexibility_source"]


def flexibility_file(
    path: SourceLike,
    *,
    budget: int = BUDGET,
    seed: int = 0,
    samples: int | None = None,
    constraints: str | None = None,
    progress: bool | None = None,
    **options: Unpack[CompileKeywords],
) -> Flexibility:
    """
    The flexibility of `hardware` for the training step of the program in a file, and what each class of it would take.

    Of the four axes (tile sizes, order of loops, parallel dimensions, shape of the array) the keys `flexibility.*` say
    what the machine supports; its dataflow, `mapping` or that of the hardware, is its choice on an axis that is fixed.
    Hardware flexion is the share of all choices that it supports, workload flexion that of the choices that a
    contraction can use. Tiles are counted where that is feasible, else by samples, with `samples` by so many in any
    case. For each of the sixteen classes `budget` mappings of each distinct contraction are tried, for the least
    `objective` (time, energy, edp). Mappings meet the machine's own constraints and those of `constraints`, a
    name or a file. `progress` shows a bar; by default in notebooks and interactive sessions. The same seed gives the
    same result. Everything else is as in `compile_file`. Raises `NpucError`s.
    """
    rules, bar = named_constraints(constraints), _bar(progress)
    return find_flexibility(open_source(path), options, budget, seed, samples, rules=rules, progress=bar).result


def _bar(asked: bool | None) -> Progress:
    """The progress of evaluations as a bar. Raises `TypeError`."""
    shows = argument("progress", asked, bool | None)
    return lambda count: watched("flexibility", count, shows)


def flexibility_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    budget: int = BUDGET,
    seed: int = 0,
    samples: int | None = None,
    constraints: str | None = None,
    progress: bool | None = None,
    **options: Unpack[CompileKeywords],
) -> Flexibility:
    """The flexibility of a machine for the program that a text holds; everything else as `flexibility_file`."""
    opened, rules, bar = text_source(text, format, filename), named_constraints(constraints), _bar(progress)
    return find_flexibility(opened, options, budget, seed, samples, rules=rules, progress=bar).result
