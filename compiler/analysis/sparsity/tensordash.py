"""
TensorDash: how much of the dense work lanes carry out that choose among the operand pairs of a small window.

`window.py` has the machine and its source. Expected work is simulated on random masks at densities of pairs on a grid,
and interpolated between: the work of independent masks depends on the density of pairs alone. Points of the published
window are in `window_points.csv`, which `python -m npuc.compiler.analysis.sparsity.tensordash` writes again; those of
others are simulated when they are asked for, and remembered.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from npuc.compiler.analysis.sparsity.factor import DENSE, WorkFactor, sampled
from npuc.compiler.analysis.sparsity.window import MOST_LANES, Mask, count_cycles
from npuc.compiler.core.errors import UsageError

LENGTH = 240
"""Rows of a simulated stream, where its length is not said: the emptying window at its end costs below 1 %."""
STREAMS = 128
"""Streams that are simulated at a density."""
GRID = 64
"""Densities are simulated at multiples of 1 / GRID."""
PUBLISHED = (16, 3, 1, LENGTH, 0)
"""Lanes, depth, PEs together, length and seed of the window whose points are in the file."""
FILE = "window_points.csv"
COLUMNS = ("mean", "spread", "error")
TITLE = "cycles over dense cycles at points / 64 of effectual pairs, 16 lanes, 3 rows: tensordash.py writes this file"
INTERPOLATION_ERROR = 0.0005
"""What interpolation adds to a factor's error at most, from the second differences of the simulated factors."""


def work_factor(
    density_a: float,
    density_b: float,
    lanes: int = 16,
    depth: int = 3,
    *,
    rows: int = 1,
    length: int = LENGTH,
    seed: int = 0,
) -> WorkFactor:
    """
    The expected cycles over dense cycles, for operands that are nonzero independently with these densities.

    `rows` PEs advance together (the PEs that share operands of their other side; a side whose zeros are not looked at
    has density 1), `length` is the rows of pairs of one sum. Never below 1 / depth nor below the density of pairs.
    """
    for density in (density_a, density_b):
        if not 0.0 < density <= 1.0:
            raise UsageError(f"the density is {density}, expected above 0 and at most 1")
    if not 1 <= lanes <= MOST_LANES or min(depth, rows, length) < 1:
        text = f"found {lanes} lanes, a window of {depth} rows, {rows} PEs and sums of {length} rows"
        raise UsageError(f"{text}, expected 1 to {MOST_LANES} lanes and at least 1 of the others")
    pairs = density_a * density_b
    if pairs == 1.0 or depth == 1:
        return DENSE
    low = int(pairs * GRID)
    below = _at(low, lanes, depth, rows, length, seed)
    share = pairs * GRID - low
    if share == 0.0:
        return below
    above = _at(low + 1, lanes, depth, rows, length, seed)
    mean, spread, error = (
        (1.0 - share) * one + share * other for one, other in zip(_values(below), _values(above), strict=True)
    )
    return WorkFactor(max(mean, pairs, 1.0 / depth), spread, error + INTERPOLATION_ERROR)


def _values(factor: WorkFactor) -> tuple[float, float, float]:
    return factor.mean, factor.spread, factor.error


@lru_cache(maxsize=4096)
def _at(point: int, lanes: int, depth: int, rows: int, length: int, seed: int) -> WorkFactor:
    """The factor at a point of the grid."""
    if (lanes, depth, rows, length, seed) == PUBLISHED:
        return _published()[point]
    return simulated(point, lanes, depth, rows, length, seed)


@lru_cache(maxsize=1)
def _published() -> dict[int, WorkFactor]:
    """The points of the published window, by number on the grid."""
    lines = (files("npuc.compiler.analysis.sparsity") / FILE).read_text().splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {int(row["point"]): WorkFactor(*(float(row[key]) for key in COLUMNS)) for row in rows}


def write_points(path: Path) -> None:
    """Simulate all points of the published window, and write them to a file; some seconds."""
    lines = [f"# {TITLE}", f"point,{','.join(COLUMNS)}"]
    for point in range(GRID + 1):
        lines.append(",".join(map(str, (point, *_values(simulated(point, *PUBLISHED))))))
    path.write_text("\n".join(lines) + "\n")


def simulated(point: int, lanes: int, depth: int, rows: int, length: int, seed: int) -> WorkFactor:
    """The factor at a point of the grid: streams with the same random numbers at each density."""
    density = point / GRID
    random = np.random.default_rng(seed)
    masks = random.random((STREAMS, rows, length, lanes), np.float32) < density
    return sampled(count_cycles(masks, depth) / length, max(density, 1.0 / depth))


def mask_factor(pairs: Mask, depth: int = 3) -> float:
    """The counted cycles of streams of pairs, as `count_cycles` takes them, over dense cycles."""
    return float(count_cycles(pairs, depth).sum()) / (pairs.shape[0] * pairs.shape[-2])


if __name__ == "__main__":
    write_points(Path(__file__).with_name(FILE))
