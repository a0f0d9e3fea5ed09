"""The result of a mapping search as text: one line per distinct contraction, the most expensive ones, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuc.compiler.explore.mapping.best import MappingCost, Objective
from npuc.compiler.explore.mapping.result import Found, MappedRow, SearchResult, mapping_text
from npuc.compiler.report.layers import MOST_LINES
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.dialects.mapping import Clusters, MappingAttr

if TYPE_CHECKING:
    from rich.console import Console

UNITS: dict[Objective, str] = {"time": "cycles", "energy": "MACs' worth", "edp": "cycle x MAC"}
TOO_LARGE = "*"
"""The mark of a default mapping that the machine cannot run as it costs."""
DISALLOWED = "!"
"""The mark of a default mapping that does not meet the constraints."""
PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def print_result(result: SearchResult, console: Console, *, all_rows: bool) -> None:
    """Print the result."""
    settings = result.settings
    heading = f"{result.title} ({result.source}): mappings for least {settings.objective} on {result.hardware}"
    print_note(f"{heading}, mode {result.mode}", console, style="bold")
    console.print()
    prefix, scale = _prefix(result)
    unit = f"{prefix} {UNITS[settings.objective]}".strip()
    costs = (f"default\n{unit}", f"best\n{unit}", "default\nover best")
    groups = _groups(result)
    shown = groups if all_rows or len(groups) <= MOST_LINES else _largest(result, groups)
    rows = [("layer", "phase", "times", *costs, "gap\n%", "util\n%", "mapping")] + [
        _cells(result, own, scale) for own in shown
    ]
    note = f"the {len(shown)} that take most of {len(groups)} distinct contractions: --rows all shows all"
    columns = columns_of(rows, left=(0, 1, 8), ranks={1: 3, 2: 2, 5: 1, 6: 6, 7: 4, 8: 5})
    print_grid(columns, console, gap=2, notes=[note] if len(shown) < len(groups) else [])
    for name, text in _summary(result):
        print_line(name, text, console)


def _groups(result: SearchResult) -> list[list[MappedRow]]:
    """Rows with the same search together, in the order of their first."""
    groups: dict[int, list[MappedRow]] = {}
    for row in result.rows:
        groups.setdefault(row.number, []).append(row)
    return list(groups.values())


def _largest(result: SearchResult, groups: list[list[MappedRow]]) -> list[list[MappedRow]]:
    """The groups that cost most, in the order of the program."""
    costs = [_times(rows) * result.of(rows[0]).best.of(result.settings.objective) for rows in groups]
    ranked = sorted(range(len(groups)), key=lambda n: -costs[n])[:MOST_LINES]
    return [groups[n] for n in sorted(ranked)]


def _times(rows: list[MappedRow]) -> int:
    return sum(row.repeat for row in rows)


def _prefix(result: SearchResult) -> tuple[str, float]:
    """The largest unit prefix in which no cost is below 1, and its factor."""
    least = min(found.best.of(result.settings.objective) for found in result.found)
    return next(((name, size) for name, size in PREFIXES if size <= least), ("", 1.0))


def _cells(result: SearchResult, rows: list[MappedRow], scale: float) -> tuple[str, ...]:
    first, found, objective = rows[0], result.of(rows[0]), result.settings.objective
    layers = list(dict.fromkeys(row.layer for row in rows))
    times, ratio = _times(rows) / scale, result.ratio(found)
    digits = 0 if scale == 1 else 1
    return (
        layers[0] + (f" (+{len(layers) - 1})" if len(layers) > 1 else ""),
        "/".join(dict.fromkeys(row.phase for row in rows)),
        f"{_times(rows):,}",
        _default_cell(found, times, objective, digits),
        f"{times * found.best.of(objective):,.{digits}f}",
        "" if ratio is None else f"{ratio:,.2f}",
        _gap_cell(result.gap(found)),
        f"{100 * result.utilization(first):.1f}",
        short_text(found.mapping),
    )


def _gap_cell(gap: float | None) -> str:
    """How far a cost may be above the least one, in percent; `optimal` where it is proved to be the least."""
    if gap is None or gap == 0:
        return "" if gap is None else "optimal"
    return f"{100 * gap:.2f}" if gap >= 5e-5 else "< 0.01"


def _default_cell(found: Found, times: float, objective: Objective, digits: int) -> str:
    """The cost of the default mapping, marked where it is not comparable."""
    if found.default is None:
        return ""
    marks = ("" if found.default_fits else TOO_LARGE) + ("" if found.default_allowed else DISALLOWED)
    return f"{times * found.default.of(objective):,.{digits}f}{marks}"


def short_text(mapping: MappingAttr) -> str:
    """A mapping in a few words: what each level spreads, and the loops outside in their order."""
    data = mapping.data
    if not isinstance(data, Clusters):
        return mapping_text(mapping)
    levels: list[str] = []
    for level in data.levels:
        spread = " ".join(f"{loop.dim}/{loop.parts}" for loop in level.loops if loop.parts > 1)
        levels.append(f"{level.fanout}: {spread or '-'}")
    tiles = " ".join(f"{loop.dim}{loop.temporal}" for loop in data.levels[0].loops)
    return f"{', '.join(levels)}; {tiles}" if tiles else ", ".join(levels)


def _summary(result: SearchResult) -> Iterator[tuple[str, str]]:
    """The lines below the table: a heading and a text each."""
    default, best = result.total(default=True), result.total(default=False)
    if best is None:
        return
    if result.interrupted:
        count = f"{result.evaluations:,} mappings"
        yield "so far", f"The search was interrupted: the best of {count}, and a longer one may find better ones."
    yield "total", _total(best, result)
    if result.rules:
        yield "rules", _rules(result)
    if default is None:
        yield "verdict", "The default mapping cannot be run on every contraction, so that there is nothing to compare."
        return
    yield "default", _total(default, result)
    unfit, count = result.unfit
    if unfit:
        text = f"The default mappings of {unfit:,} of {count:,} contractions do not fit into the machine's buffers,"
        yield "*", f"{text} or bring more than its network carries in their time."
    yield "verdict", _verdict(result)


def _rules(result: SearchResult) -> str:
    """The constraints, and whether the default mappings meet them."""
    text = result.rules.words
    if not result.disallowed:
        return f"{text}, which all mappings meet."
    return (
        f"{text}, which all mappings meet; the default mappings of {result.disallowed:,} of {len(result.rows):,} "
        f"contractions do not ({DISALLOWED})."
    )


def _verdict(result: SearchResult) -> str:
    """The default mappings against the best ones, for contractions whose default mapping is comparable."""
    default, best = (result.total(default=which, comparable=True) for which in (True, False))
    if not result.comparable or default is None or best is None:
        return f"{_none(result)}, so that there is nothing to compare."
    objective = result.settings.objective
    names = {"time": "The time", "energy": "The energy", "edp": "Energy x delay"}
    ratio = default.of(objective) / best.of(objective)
    others = [f"{name} {_change(getattr(default, field), getattr(best, field))}" for name, field in _OTHERS[objective]]
    why = [text for text, lacks in ((_RUNS, result.unfit[0]), (_MEETS, result.disallowed)) if lacks]
    contractions = f"{result.comparable:,} contraction{'s' if result.comparable != 1 else ''}"
    among = f" in the {contractions} where {' and '.join(why)}" if why else ""
    text = f"{names[objective]} of the default mappings is {ratio:,.2f} times the best ones'"
    return f"{text}{among}; {', '.join(others)}."


def _none(result: SearchResult) -> str:
    """Why no default mapping is comparable."""
    if result.disallowed == len(result.rows):
        return "None of the default mappings meets the constraints"
    that = " that meet the constraints" if result.disallowed else ""
    return f"The machine can run none of the default mappings{that}"


_RUNS, _MEETS = "the machine can run them", "they meet the constraints"
_OTHERS: dict[Objective, tuple[tuple[str, str], ...]] = {
    "time": (("energy", "energy"),),
    "energy": (("time", "cycles"),),
    "edp": (("time", "cycles"), ("energy", "energy")),
}


def _change(before: float, after: float) -> str:
    if after == before:
        return "stays"
    if max(before, after) < 1.005 * min(before, after):  # which would be 1.00
        return f"{'falls' if after < before else 'grows'} by less than 0.5%"
    return f"falls to 1/{before / after:,.2f}" if after < before else f"grows to {after / before:,.2f} times as much"


def _total(cost: MappingCost, result: SearchResult) -> str:
    peak = sum(row.repeat * row.macs for row in result.rows) / (cost.cycles * result.peak)
    buffers = f"buffers of up to {cost.l1:,.0f} (L1) and {cost.l2:,.0f} (L2) elements"
    return f"{cost.cycles:,.0f} cycles, energy of {cost.energy:,.0f} MACs, {peak:.1%} of the peak; {buffers}"
