"""
A report's rows gathered by layer, equal neighbours as one, and long networks folded by block, as tables show them.

`stage2.0.conv1`, `stage2.0.bn1`, `stage2.1.conv1`, … fold into `stage2.0` and `stage2.1`, or into `stage2`; `h.0`,
`h.1` and `h.2` of equal costs into `h.0-2`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from npuc.compiler.report.numbered import follows, name_of_all, template
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import PassFacts
from npuc.compiler.report.sparse import SparseFacts

MOST_LINES = 40


@dataclass
class Line:
    """
    One line of the table: a layer, or several that were folded into one.

    `phases` maps a phase to its time in seconds; counts include repetitions. None: the backend does not model it.
    `count` is the number of lines of equal costs that are one; `rest` says that it is of all that have no line.
    """

    name: str
    layers: int = 1
    rows: list[OpRow] = field(default_factory=list[OpRow])
    count: int = 1
    rest: bool = False

    @property
    def label(self) -> str:
        """The name with the number of equal lines (x12), and of the layers of each ((23))."""
        text = self.name if self.count == 1 else f"{self.name} x{self.count:,}"
        each = self.layers // self.count
        return text if each <= 1 or self.rest else f"{text} ({each:,})"

    @property
    def names(self) -> list[str]:
        """The names of the layers, in their order."""
        return list(dict.fromkeys(row.name for row in self.rows))

    @property
    def phases(self) -> dict[str, float]:
        """Time by phase, in seconds."""
        times: dict[str, float] = {}
        for row in self.rows:
            if row.seconds is not None:
                times[row.phase] = times.get(row.phase, 0.0) + row.repeat * row.seconds
        return times

    @property
    def seconds(self) -> float | None:
        """Time of all phases."""
        known = [row.repeat * row.seconds for row in self.rows if row.seconds is not None]
        return math.fsum(known) if known else None

    @property
    def macs(self) -> int:
        """MACs of all phases."""
        return sum(row.repeat * row.macs for row in self.rows if row.macs is not None)

    @property
    def dram_bytes(self) -> int | None:
        """Bytes read from and written to DRAM."""
        known = [
            row.repeat * ((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0))
            for row in self.rows
            if row.dram_read_bytes is not None or row.dram_write_bytes is not None
        ]
        return sum(known) if known else None

    @property
    def utilization(self) -> float | None:
        """Share of the array's peak over the line's time; None without matrix work."""
        work = [row for row in self.rows if row.utilization is not None and row.macs]
        if not work or not self.seconds:
            return None
        return math.fsum(r.repeat * (r.seconds or 0.0) * (r.utilization or 0.0) for r in work) / self.seconds

    @property
    def limit(self) -> str | None:
        """The resource that sets most of the line's time."""
        shares = time_by_limit(self.rows)
        return max(shares, key=lambda name: shares[name]) if shares else None


def time_by_limit(rows: Iterable[OpRow]) -> dict[str, float]:
    """Seconds by the resource that limits them."""
    times: dict[str, float] = {}
    for row in rows:
        if row.limit is not None and row.seconds is not None:
            times[row.limit] = times.get(row.limit, 0.0) + row.repeat * row.seconds
    return times


def by_layer(rows: Sequence[OpRow]) -> list[Line]:
    """
    One line per layer, in the order of the program.

    The update of a parameter (`fc1.weight`) counts to its layer (`fc1`).
    """
    layers = {row.name for row in rows if row.phase != "update"}
    lines: dict[str, Line] = {}
    for row in rows:
        owner = row.name.rpartition(".")[0]
        name = owner if row.phase == "update" and owner in layers else row.name
        lines.setdefault(name, Line(name)).rows.append(row)
    return list(lines.values())


def costing(lines: Sequence[Line]) -> list[Line]:
    """The lines with any known value; all lines if there are none."""
    return [line for line in lines if line.macs or line.seconds is not None] or list(lines)


def folded(lines: Sequence[Line], most: int = MOST_LINES) -> list[Line]:
    """
    At most `most` lines and one for the rest: neighbours of equal costs as one, and layers of a block as one, at the
    deepest level of names that is short enough.

    Where even whole blocks are too many, lines of equal costs whose names differ in numbers are one, neighbours or
    not; where these are too many, the slowest are kept in their order.
    """
    result = _neighbours(lines)
    if len(result) <= most:
        return result
    deepest = max(line.name.count(".") for line in lines)
    for depth in range(deepest, 0, -1):
        result = _neighbours(_blocks(lines, depth))
        if len(result) <= most:
            return result
    result = equal_as_one(result)
    if len(result) <= most:
        return result
    slowest = sorted(result, key=lambda line: -(line.seconds or 0.0))[: most - 1]
    kept = {id(line) for line in slowest}
    rest = [line for line in result if id(line) not in kept]
    count = sum(line.layers for line in rest)
    others = Line(f"({count:,} others)", count, [row for line in rest for row in line.rows], rest=True)
    return [line for line in result if id(line) in kept] + [others]


def _blocks(lines: Sequence[Line], depth: int) -> list[Line]:
    """Lines whose names agree in their first `depth` parts as one."""
    blocks: dict[str, Line] = {}
    for line in lines:
        name = ".".join(line.name.split(".")[:depth])
        block = blocks.setdefault(name, Line(name, 0))
        block.layers += line.layers
        block.rows += line.rows
    return list(blocks.values())


def _neighbours(lines: Sequence[Line]) -> list[Line]:
    """Lines of equal costs, one behind the other, whose names count on in one place, as one."""
    runs: list[list[Line]] = []
    costs = [_costs(line) for line in lines]
    for number, line in enumerate(lines):
        ends = [runs[-1][0].name, runs[-1][-1].name] if runs else []
        if ends and costs[number] == costs[number - 1] and follows(ends, line.name):
            runs[-1].append(line)
        else:
            runs.append([line])
    return [_as_one(run, name_of_all([line.name for line in run])) for run in runs]


def equal_as_one(lines: Sequence[Line]) -> list[Line]:
    """Lines of equal costs whose names differ in numbers alone as one, in the order of their first."""
    groups: dict[Hashable, list[Line]] = {}
    for line in lines:
        groups.setdefault((template(line.name), _costs(line)), []).append(line)
    named = ((group, name_of_all([line.name for line in group])) for group in groups.values())
    return [_as_one(group, name.replace("*-*", "*")) for group, name in named]


def _as_one(lines: Sequence[Line], name: str) -> Line:
    if len(lines) == 1:
        return lines[0]
    rows = [row for line in lines for row in line.rows]
    return Line(name, sum(line.layers for line in lines), rows, sum(line.count for line in lines))


def _costs(line: Line) -> Hashable:
    """What two lines that are shown as one have alike: all that a table says of them."""
    return (line.layers, line.count, *map(_told, line.rows))


def _told(row: OpRow) -> Hashable:
    moved = row.dram_read_bytes, row.dram_write_bytes
    return row.phase, row.kind, row.repeat, row.seconds, row.macs, moved, row.limit, row.utilization


def passes_of(row: OpRow) -> float:
    """The passes of a row's MACs that are carried out through multipliers; as many as its MACs where each takes one."""
    sparse = SparseFacts.found_in(row)
    if sparse is not None:
        return sparse.carried_passes
    facts = PassFacts.found_in(row)
    return (row.macs or 0) if facts is None else facts.mac_passes
