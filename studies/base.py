"""
What a study is, and how studies are found: what `npuc study NAME` repeats.

npuc's own are the folders beside this file with an `entry.py` that holds a `STUDY`; others are published by any
installed distribution through the entry point group `npuc.studies`:

    [project.entry-points."npuc.studies"]
    mine = "my_package:MyStudy"            # a class, or a function without arguments that returns a study

`entry.py` is small: what computes is imported when a study is planned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from npuc.compiler.core.registry import Registry

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[str, int], None]
"""Told what was done, and how many of a plan's points that were."""
Option = Literal["networks", "defines", "settings", "plot", "figures"]


@dataclass(frozen=True)
class Asked:
    """What is asked of a study: a preset that it has, and values of the options that it takes, else empty."""

    preset: str
    networks: Sequence[str] = ()
    defines: Mapping[str, int | str] | None = None
    settings: Mapping[str, object] | None = None
    figures: Sequence[str] = ()
    draws: bool = False


class Outcome(ABC):
    """What a study found."""

    @property
    def warnings(self) -> Sequence[str]:
        """What is to be told of it."""
        return ()

    @abstractmethod
    def json(self) -> str:
        """The rows as JSON (schema `npuc.study/1`)."""

    @abstractmethod
    def csv(self) -> str:
        """The rows as CSV."""

    @abstractmethod
    def show(self, console: Console) -> None:
        """Print the numbers of the study beside ours."""

    def draw(self, kind: str) -> bytes:
        """A picture of a kind (`png`, `pdf`, `svg`); of a study that takes `plot`."""
        raise NotImplementedError

    def draw_all(self, kinds: Sequence[str]) -> Mapping[str, bytes]:
        """Pictures by file name, for a folder; of a study whose `folder` is set."""
        raise NotImplementedError


@dataclass(frozen=True)
class Plan:
    """A study that can be run: how many points it has, what to say before, and what runs it."""

    points: int
    run: Callable[[Advance], Outcome]
    notice: str | None = None


class Study(ABC):
    """
    A published study, repeated; the first line of a class's documentation says which.

    `presets` are sets of assumptions by name, the default first; `takes` the options that it has a use for. With
    `folder` it draws several files into one.
    """

    presets: tuple[str, ...]
    takes: frozenset[Option] = frozenset()
    folder: bool = False

    @abstractmethod
    def plan(self, asked: Asked) -> Plan:
        """What will be computed. Raises `UsageError` before any time is spent."""


STUDIES = Registry[Study](Study, "study", "npuc.studies", "STUDY", "npuc.studies", file="entry")
