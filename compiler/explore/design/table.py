"""The result of a design search as text: a line a machine, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from npuc.compiler.analysis.mapping.flexibility.axes import AXES
from npuc.compiler.explore.design.classes import rank
from npuc.compiler.explore.design.result import DesignedMachine, DesignResult
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.compiler.report.text.quantities import energy_text, three_digits, time_cells, time_text

if TYPE_CHECKING:
    from rich.console import Console

NEAR = 1.01
"""How much above the best value counts as near it."""
GOAL_WORDS = {"time": "least time", "energy": "least energy", "edp": "least energy x delay", "area": "small area"}


def print_result(result: DesignResult, console: Console) -> None:
    """Print the result."""
    settings = result.settings
    goals = ", ".join(GOAL_WORDS[goal] for goal in settings.goals)
    power = "" if settings.power_w is None else f" and {settings.power_w:g} W"
    limit = f"{settings.area_mm2:g} mm2 (area model {settings.area_model}){power}"
    print_note(f"{result.title} ({result.source}): machines of {limit} for {goals}", console, style="bold")
    console.print()
    if len(settings.classes) > 1:
        print_classes(result, console)
    else:
        print_machines(result, console)
    for name, text in _summary(result):
        print_line(name, text, console)


def print_machines(result: DesignResult, console: Console) -> None:
    """Print a line a machine."""
    print_grid(columns_of(_rows(result), ranks={3: 5, 4: 4, 7: 3, 8: 2, 9: 1, 10: 6}), console, gap=2)


def print_classes(result: DesignResult, console: Console) -> None:
    """Print a line for the best machine of each class, subsets first."""
    goal, designs = result.settings.goals[0], sorted(result.designs, key=lambda one: rank(one.flexible))
    heads, *cells = _rows(replace(result, designs=tuple(designs)))
    rows = [("class", "free axes", *heads[1:7], "gain", *heads[7:])]
    for one, own in zip(designs, cells, strict=True):
        free = ", ".join(axis for axis, bit in zip(AXES, one.flexible, strict=True) if bit == "1")
        name = one.flexible + (" <" if one is result.designs[0] else "")
        gain = f"{designs[0].value(goal) / one.value(goal):.2f}"
        rows.append((name, free or "none", *own[1:7], gain, *own[7:]))
    ranks = {1: 1, 4: 5, 5: 4, 9: 7, 10: 3, 11: 2, 12: 6}
    print_grid(columns_of(rows, left=(0, 1), ranks=ranks), console, gap=2)
    note = f"<  the best machine, of equal ones that with the least choice; gains are over {designs[0].flexible}"
    print_note(note, console)
    console.print()


def _rows(result: DesignResult) -> list[tuple[str, ...]]:
    designs = result.designs
    clocked = all(one.seconds is not None for one in designs)
    times = time_cells([one.seconds for one in designs]) if clocked else [f"{one.cycles:,}" for one in designs]
    heads = ("", "elements", "clusters", "L1\nB", "L2\nKiB", "mm2", "time" if clocked else "cycles")
    rows: list[tuple[str, ...]] = [(*heads, "energy\nMACs", "power\nW", "util\n%", "gap\n%")]
    for number, (one, time) in enumerate(zip(designs, times, strict=True), 1):
        rows.append(
            (
                str(number),
                f"{one.num_pes:,}",
                "any" if one.reshaped else " x ".join(f"{count:,}" for count in one.clusters),
                f"{one.l1_bytes:,}",
                three_digits(one.spm_bytes / 1024),
                f"{one.area_mm2:.3g}",
                time,
                f"{one.energy:.3g}",
                "" if one.watts is None else f"{one.watts:.3g}",
                f"{100 * one.utilization:.1f}",
                "" if one.gap is None else f"{100 * one.gap:.1f}",
            )
        )
    return rows


def _summary(result: DesignResult) -> Iterator[tuple[str, str]]:
    """The lines below the table: a heading and a text each."""
    best, given = result.designs[0], result.given
    if result.interrupted:
        count = f"{result.evaluations:,} mappings"
        yield "so far", f"The search was interrupted: the best of {count}, and a longer one may find better ones."
    yield "step", _step(best)
    yield "bound", f"no machine of this area takes less than {result.bound:,.0f} cycles on the clusters that were tried"
    area = "" if given.area_mm2 is None else f" on {given.area_mm2:.3g} mm2"
    yield (
        "given",
        (
            f"{given.name}, whose bandwidths and clock these machines have, takes {given.cycles:,} cycles with "
            f"{given.num_pes:,} elements{area} under its default mappings"
        ),
    )
    if result.rules:
        yield "rules", f"{result.rules.words}, which all mappings meet"
    if len(result.settings.classes) > 1:
        yield "classes", _classes(result)
    for text in best.limits:
        yield "limit", text
    several = len(result.designs) > 1 and len(result.settings.classes) == 1
    front = "" if not several else f", one of {len(result.designs):,} that no other one beats in all goals"
    yield (
        "verdict",
        (
            f"{_counted(best.num_pes, 'element')} in {_clusters(best)}, each with "
            f"{best.l1_bytes:,} B of buffer, beside {three_digits(best.spm_bytes / 1024)} KiB shared: "
            f"{best.area_mm2:.3g} mm2, "
            f"{100 * best.utilization:.0f}% of the peak{front}."
        ),
    )


def _clusters(one: DesignedMachine) -> str:
    return "any clusters" if one.reshaped else _counted(one.clusters[0], "cluster")


def _classes(result: DesignResult) -> str:
    """What each axis gains that is free in the most flexible machine, by the classes that lack it alone."""
    known = {one.flexible: one.value(result.settings.goals[0]) for one in result.designs}
    best, most = result.designs[0], max(known, key=rank)
    least = min(known.values())
    near = min((name for name, value in known.items() if value <= NEAR * least), key=rank)
    close = "" if near == best.flexible else f", and {near} within {100 * (known[near] / least - 1):.2g} % of it"
    lacks = {axis: most[:at] + "0" + most[at + 1 :] for at, axis in enumerate(AXES) if most[at] == "1"}
    parts = [f"{axis} {known[other] / known[most]:.2f}" for axis, other in lacks.items() if other in known]
    each = f"; {most} is so many times as good as without an axis: {', '.join(parts)}" if parts else ""
    return f"{best.flexible} is the best{close}{each}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def _step(one: DesignedMachine) -> str:
    """A design's step in words."""
    time = "" if one.seconds is None else f", {time_text(one.seconds)}"
    energy = "" if one.energy_j is None else f", {energy_text(one.energy_j)}"
    return f"{one.cycles:,} cycles{time}; the energy of {one.energy:,.0f} MACs{energy}"
