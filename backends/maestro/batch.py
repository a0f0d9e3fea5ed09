"""
Many mappings of one layer on one machine at once: what mapping searches live on.

    table = evaluate(
        {"type": "CONV", "dims": {"K": 64, "C": 64, "R": 3, "S": 3, "Y": 58, "X": 58}, "stride": {"Y": 1, "X": 1}},
        {"dim": …, "size": …, "offset": …, "spatial": …, "cluster": …},
        {"maestro.num_pes": 256, "maestro.noc_bw": 32},
    )
    table["runtime_cycles"]                        float64 [B], NaN where a mapping is refused
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from npuc.backends.maestro.machine import Mode, array_of, mode_of
from npuc.compiler.analysis.mapping.batch.arrays import Mappings, read_levels
from npuc.compiler.analysis.mapping.batch.build import mapping_arrays as build_arrays
from npuc.compiler.analysis.mapping.batch.build import mapping_of
from npuc.compiler.analysis.mapping.batch.evaluate import evaluate_part
from npuc.compiler.analysis.mapping.columns import COLUMNS, columns
from npuc.compiler.analysis.mapping.exact.columns import evaluate_exact
from npuc.compiler.analysis.mapping.exact.contraction import contraction_of
from npuc.compiler.analysis.mapping.exact.directives import cluster_levels
from npuc.compiler.analysis.mapping.levels import Unmappable
from npuc.compiler.analysis.mapping.parity import PeArray, analyse
from npuc.compiler.core.arguments import argument
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.dialects.mapping import KINDS, KindName, Mapping, Problem
from npuc.hardware import Hardware, load_hardware

if TYPE_CHECKING:
    from npuc.compiler.core.options import HardwareLike

Floats = NDArray[np.float64]
BATCH = 1_000
"""Mappings that are analysed at a time: numpy's calls are few, and their arrays stay in the cache."""
MOST_LEVELS = 4
LARGEST = (1 << 31) - 1
"""The largest size and stride, as in a mapping file: MAESTRO's integers have 32 bits."""


def evaluate(
    problem: Table[str, object] | Problem, mappings: Table[str, object] | Mappings, hardware: HardwareLike | Hardware
) -> dict[str, Floats]:
    """
    The columns of MAESTRO's table for each of B mappings of a layer, float64 arrays of length B.

    `problem` has `type`, `dims` (input-centric: Y and X are of the input) and, where it is not 1, `stride`. `mappings`
    has integer arrays `dim`, `size`, `offset` and boolean `spatial`, all [B, L, D], and integer `cluster` [B, L - 1]:
    L levels from the top, at most 4, up to D directives each, outermost first; `dim` is a position in the order of
    `problem["dims"]`, -1 fills a level. `hardware` is a preset's name, a file, a mapping of keys or a `Hardware`;
    what it does not say is MAESTRO's default, `maestro.mode` being `parity`. Bandwidth off chip is that of
    `maestro.offchip_bw`, else of `dram.gb_per_s` where the clock and `memory.element_bytes` tell it in elements.

    NaN is a mapping that is refused: sizes below 1, R or S cut over time; in mode parity what MAESTRO dies of, in mode
    exact what does not compute everything exactly once or has no cluster form. Memory does not grow with B, but for
    the result. Raises `UsageError`; `TypeError` for an argument of another type.
    """
    layer, order = _problem(problem)
    rows = _mappings(mappings, layer, order)
    machine = hardware if isinstance(hardware, Hardware) else load_hardware(hardware)
    return evaluate_on(layer, rows, array_of(machine), mode_of(machine, "parity"))


def evaluate_on(layer: Problem, rows: Mappings, array: PeArray, mode: Mode) -> dict[str, Floats]:
    """`evaluate` of what has been read."""
    table = {name: np.full(len(rows), np.nan) for name in COLUMNS}
    part = _parity if mode == "parity" else _exact
    for start in range(0, len(rows), BATCH):
        some = slice(start, start + BATCH)
        for name, values in part(layer, rows.part(some), array).items():
            table[name][some] = values
    return table


def mapping_arrays(mappings: Sequence[Mapping]) -> dict[str, NDArray[np.int64] | NDArray[np.bool_]]:
    """
    Mappings as `evaluate` takes them, `Sz(DIM)` in numbers and X' and Y' as X and Y.

    They must be of one layer and have equally many levels. Raises `UsageError`.
    """
    if not mappings:
        raise UsageError("expected at least one mapping")
    try:
        found = build_arrays(mappings)
    except ValueError as e:
        raise UsageError(str(e)) from None
    dims = mappings[0].problem.sizes
    to_order = np.array([list(dims).index(d) for d in mappings[0].problem.named] + [-1])
    return {
        "dim": to_order[found.dim],
        "size": found.size,
        "offset": found.offset,
        "spatial": found.spatial,
        "cluster": found.cluster,
    }


def _parity(problem: Problem, mappings: Mappings, array: PeArray) -> dict[str, Floats]:
    """MAESTRO's columns: of regular mappings at once, of the others one by one."""
    with np.errstate(all="ignore"):
        table, good = evaluate_part(problem, mappings, array)
    refused, levels = _rejected(problem, mappings), mappings.dim.shape[1]
    for row in np.flatnonzero(refused | ~good):
        found = None if refused[row] else _alone(mapping_of(problem, mappings, int(row)), array, levels)
        for name in COLUMNS:
            value = None if found is None else found[name]
            table[name][row] = np.nan if value is None else value
    return table


def _alone(mapping: Mapping, array: PeArray, levels: int) -> dict[str, int | float | None] | None:
    """The columns of one mapping, None if it is refused."""
    try:
        return columns(analyse(mapping, array), array, levels)
    except Unmappable:
        return None


def _rejected(problem: Problem, mappings: Mappings) -> NDArray[np.bool_]:
    """Which mappings MAESTRO does not read: those with sizes below 1 and those that cut R or S over time."""
    written = mappings.dim >= 0
    found: NDArray[np.bool_] = np.logical_or.reduce(
        written & ((mappings.size < 1) | (mappings.offset < 1)), axis=(1, 2)
    )
    found |= (mappings.cluster < 1).any(axis=1)
    for window in "RS" if problem.slides else "":
        here = (mappings.dim == problem.named.index(window)) & ~mappings.spatial
        cut = (mappings.size != mappings.offset) | (mappings.size != problem.sizes[window])
        found |= (here & cut).any(axis=(1, 2))
    return found


def _exact(problem: Problem, mappings: Mappings, array: PeArray) -> dict[str, Floats]:
    """The exact columns of the mappings that compute everything once."""
    with np.errstate(all="ignore"):
        levels, good = read_levels(problem, mappings, array.num_pes)
        tiles, once = cluster_levels(problem, mappings, levels)
        rows = np.flatnonzero(good & once & ~_rejected(problem, mappings))
        table = {name: np.full(len(mappings), np.nan) for name in COLUMNS}
        if len(rows):
            found = evaluate_exact(contraction_of(problem), [level.at(rows) for level in tiles], array)
            for name in COLUMNS:
                table[name][rows] = found[name]
    return table


def _problem(problem: Table[str, object] | Problem) -> tuple[Problem, tuple[str, ...]]:
    """The layer, and its dimensions in the order in which they were given."""
    if isinstance(problem, Problem):
        return problem, tuple(problem.sizes)
    argument("problem", problem, Table[str, object])
    unknown = [key for key in problem if key not in ("type", "dims", "stride")]
    if unknown:
        raise UsageError(f"problem: unknown key {unknown[0]!r}", hint="known: type, dims, stride")
    given = str(problem.get("type"))
    kind: KindName | None = next((known for known in KINDS if known == given), None)
    if kind is None:
        raise UsageError(f"problem: unknown type '{given}'", hint=did_you_mean(given, KINDS))
    dims, strides = _sizes(problem, "dims"), _sizes(problem, "stride")
    for name, known in (("dims", Problem.possible(kind)), ("stride", ("Y", "X"))):
        for dim in dims if name == "dims" else strides:
            if dim not in known:
                raise UsageError(f"problem: {name}: a {kind} has no {dim!r}", hint=did_you_mean(dim, known))
    layer = Problem(kind, tuple(dims.items()), tuple((d, s) for d, s in strides.items() if s != 1))
    for sentence in layer.problems():
        raise UsageError(f"problem: {sentence}")
    return layer, tuple(dims)


def _sizes(problem: Table[str, object], key: str) -> dict[str, int]:
    if not isinstance(problem.get(key, {}), Table):
        raise UsageError(f"problem: expected {key} by name, got {problem[key]!r}")
    sizes: dict[str, int] = {}
    for name, size in cast("Table[object, object]", problem.get(key, {})).items():
        if isinstance(size, bool) or not isinstance(size, Integral):
            raise UsageError(f"problem: {key} of {name}: expected an integer, got {size!r}")
        if int(size) > LARGEST:
            raise UsageError(f"problem: {key} of {name}: expected at most {LARGEST:,}, got {size}")
        sizes[str(name)] = int(size)
    return sizes


def _mappings(mappings: Table[str, object] | Mappings, problem: Problem, order: tuple[str, ...]) -> Mappings:
    """The arrays, checked; dimensions by their place in `Problem.named`."""
    if isinstance(mappings, Mappings):
        return mappings
    argument("mappings", mappings, Table[str, object])
    names = ("dim", "size", "offset", "spatial", "cluster")
    missing = [name for name in names if name not in mappings]
    if missing:
        raise UsageError(f"mappings: missing {missing[0]!r}", hint=f"expected {', '.join(names)}")
    dim, size, offset, cluster = (_integers(mappings, name) for name in ("dim", "size", "offset", "cluster"))
    spatial = _array(mappings, "spatial")
    if spatial.dtype != bool:
        raise UsageError(f"mappings: expected booleans in spatial, got {spatial.dtype}")
    if dim.ndim != 3:
        raise UsageError(f"mappings: expected dim [mapping, level, directive], got {dim.ndim} axes")
    if not 1 <= dim.shape[1] <= MOST_LEVELS:
        raise UsageError(f"mappings: expected 1 to {MOST_LEVELS} levels, got {dim.shape[1]}")
    wanted = {"size": dim.shape, "offset": dim.shape, "spatial": dim.shape, "cluster": (len(dim), dim.shape[1] - 1)}
    for name, array in (("size", size), ("offset", offset), ("spatial", spatial), ("cluster", cluster)):
        if array.shape != wanted[name]:
            raise UsageError(f"mappings: expected {name} of shape {wanted[name]}, got {array.shape}")
    if ((dim < -1) | (dim >= len(order))).any():
        raise UsageError(f"mappings: expected dim from -1 to {len(order) - 1}, the problem has {', '.join(order)}")
    # A dimension that means nothing to this kind of layer, such as K of a depthwise one, is no directive.
    place = np.array([problem.named.index(d) if d in problem.named else -1 for d in order] + [-1])
    return Mappings(place[dim], size, offset, spatial, cluster)


def _integers(mappings: Table[str, object], name: str) -> NDArray[np.int64]:
    array = _array(mappings, name)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise UsageError(f"mappings: expected integers in {name}, got {array.dtype}")
    if array.size and int(array.max()) > LARGEST:
        raise UsageError(f"mappings: expected {name} of at most {LARGEST:,}, got {array.max():,}")
    return array.astype(np.int64)


def _array(mappings: Table[str, object], name: str) -> NDArray[Any]:
    try:
        return np.asarray(mappings[name])
    except ValueError as e:
        raise UsageError(f"mappings: {name} is no array: {e}") from None
