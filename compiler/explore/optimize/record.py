"""
The file of `--resume`: rows of a sweep, in the order in which points were priced, so that none is priced twice.

What a point costs depends on neither goals, constraints, budget nor seed: a search with others takes what it needs from
the same file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.partial import Partial
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.report.as_csv import cell


class PointRecord(Partial):
    """
    The priced points of a grid, in any order, a context; `points` are those that the file had, `add` writes one more.

    Raises `UsageError` as `Partial` does.
    """

    head: ClassVar[str] = "# npuc optimize "
    what: ClassVar[str] = "record of npuc optimize"
    anew: ClassVar[str] = "give --resume a new name"
    rename: ClassVar[str] = "give --resume a new name"

    def __init__(self, path: str, grid: Grid, digest: str):
        self.points: list[SweepPoint] = []
        super().__init__(path, grid, digest, self.points.append)
        self.shown, self.file = path, Path(os.path.realpath(path))
        self._places = [{cell(value): at for at, value in reversed([*enumerate(axis.values)])} for axis in grid.axes]

    def _index(self, number: int, cells: Sequence[str]) -> int:
        index = 0
        for axis, places, text in zip(self.grid.axes, self._places, cells, strict=True):
            if text not in places:
                raise self._damaged(number, f"{axis.key} has no value '{text}'")
            index = index * len(axis.values) + places[text]
        return index
