"""
The interface of a study, which `npuc study NAME` runs, and the registry that finds studies.

npuc's own are the folders beside this file with an `entry.py` that holds a `STUDY`; others are published by any
installed distribution through the entry point group `npuc.studies`:

    [project.entry-points."npuc.studies"]
    mine = "my_package:MyStudy"            # a class, or a function without arguments that returns a study

`entry.py` imports the modules that compute only when a study is planned, so that listing studies stays fast.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.frame import DataFrame, read_frame
from npuc.compiler.core.display.shown import Shown, table_of
from npuc.compiler.core.registry import Registry

if TYPE_CHECKING:
    from rich.console import Console

ResultsT = TypeVar("ResultsT", contravariant=True)
Advance = Callable[[str, int], None]
"""A callback of progress: the name of what was computed, and how many points of the plan that were."""
Option = Literal[
    "networks",
    "hardware",
    "defines",
    "pipelines",
    "load",
    "settings",
    "jobs",
    "plot",
    "figures",
    "area_mm2",
    "evaluations",
    "resume",
    "total_gb_per_s",
]


@dataclass(frozen=True)
class Asked:
    """A request: one of the study's presets, and values of the options that it takes; other options are empty."""

    preset: str
    networks: Sequence[str] = ()
    defines: Mapping[str, int | str] | None = None
    settings: Mapping[str, object] | None = None
    figures: Sequence[str] = ()
    hardware: str | None = None
    pipelines: Sequence[str] = ()
    load: Sequence[str] = ()
    jobs: int = 1
    draws: bool = False
    area_mm2: float | None = None
    evaluations: int | None = None
    resume: str | None = None
    total_gb_per_s: float | None = None


class Outcome(Displayed, ABC):
    """The results of a study."""

    def shown(self) -> Shown:
        head, *rows = csv.reader(io.StringIO(self.csv()))
        return Shown("Outcome", "of a study", f"{len(rows):,} rows", table=table_of(head, rows, "rows"))

    def to_pandas(self) -> DataFrame:
        """The rows as a table of pandas, as it reads their CSV. Raises `UsageError` without pandas."""
        return read_frame(self.csv())

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings for the user."""
        return ()

    @abstractmethod
    def json(self) -> str:
        """The rows as JSON (schema `npuc.study/1`)."""

    @abstractmethod
    def csv(self) -> str:
        """The rows as CSV."""

    @abstractmethod
    def show(self, console: Console) -> None:
        """Print the published numbers beside ours."""


class View(Protocol[ResultsT]):
    """What the results of a study look like: its module `view.py`, without what draws."""

    def to_json(self, results: ResultsT, /) -> str:
        """The rows as JSON (schema `npuc.study/1`)."""
        ...

    def to_csv(self, results: ResultsT, /) -> str:
        """The rows as CSV."""
        ...

    def print_study(self, results: ResultsT, console: Console, /) -> None:
        """Print the published numbers beside ours."""
        ...


@dataclass(frozen=True, repr=False)
class ViewedOutcome(Outcome, Generic[ResultsT]):
    """Results and the module that shows them; what else a study warns of is in `warned`."""

    found: ResultsT
    view: View[ResultsT]
    warned: Sequence[str] = ()

    @property
    def warnings(self) -> Sequence[str]:
        return self.warned

    def json(self) -> str:
        return self.view.to_json(self.found)

    def csv(self) -> str:
        return self.view.to_csv(self.found)

    def show(self, console: Console) -> None:
        self.view.print_study(self.found, console)


class DrawnOutcome(Outcome):
    """The results of a study that takes `plot`."""

    @abstractmethod
    def draw(self, kind: str) -> bytes:
        """The figure as `png`, `pdf` or `svg`."""


class FolderOutcome(DrawnOutcome):
    """The results of a study with `folder`, which writes several figures."""

    @abstractmethod
    def draw_all(self, kinds: Sequence[str]) -> Mapping[str, bytes]:
        """The figures in each of these formats, by file name."""


@dataclass(frozen=True)
class Plan:
    """A validated study: the number of its points, a notice to print first, and the function that runs it."""

    points: int
    run: Callable[[Advance], Outcome]
    notice: str | None = None


class Study(ABC):
    """
    A published study that npuc repeats; the first line of the class's docstring names it.

    `presets` are the names of sets of assumptions, the default first; `takes` are the options that the study reads.
    With `folder`, `--plot` names a folder into which it draws several files. `source` is the publication, as a list of
    references has it; empty where there is none.
    """

    presets: tuple[str, ...]
    takes: frozenset[Option] = frozenset()
    folder: bool = False
    source: str = ""

    @abstractmethod
    def plan(self, asked: Asked) -> Plan:
        """Validate a request and plan its computation. Raises `UsageError` before anything is computed."""


STUDIES = Registry[Study](Study, "study", "npuc.studies", "STUDY", "npuc.studies", file="entry")
