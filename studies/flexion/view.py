"""The study as tables, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.dialects.mapping import ClusterLevel
from npuc.studies.flexion.settings import ALL, CLASSES, MACHINES_EACH, NAMES, PUBLISHED_GAIN
from npuc.studies.flexion.study import MEAN, FlexionResults, FlexionRow, MachineResult, geometric_mean
from npuc.studies.rows import rows_csv, rows_json

if TYPE_CHECKING:
    from rich.console import Console

DIFFERENCES = (
    "the paper's machine and networks are not known here; costs are npuc's exact ones, not MAESTRO's own; a fixed "
    "mapping is one by roles of dimensions, the best of those tried, whose tiles are cut where they do not fit"
)
"""What keeps our figure from being the paper's."""


def to_json(study: FlexionResults) -> str:
    """The rows, and the machines: their elements, their wired mappings, and gains of machines made for a network."""
    machines = [
        {
            "machine": one.name,
            "elements": one.elements,
            "evaluations": study.evaluations,
            "machines_tried": MACHINES_EACH * study.evaluations,
            "mapping": [level_json(level) for level in one.mapping.levels],
            "designed_for_it": dict(one.refitted),
        }
        for one in study.machines
    ]
    return rows_json("flexion", study.preset, {"rows": [asdict(row) for row in study.rows], "machines": machines})


def level_json(level: ClusterLevel) -> dict[str, object]:
    """A level of a wired mapping: its sub-clusters, its loops, outermost first, and the tile of each."""
    loops = [{"role": loop.dim, "step": loop.temporal, "tile": loop.spatial} for loop in level.loops]
    return {"sub_clusters": level.fanout, "loops": loops}


def to_csv(study: FlexionResults) -> str:
    """The rows, one per line."""
    return rows_csv([field.name for field in fields(FlexionRow)], [asdict(row) for row in study.rows])


def print_study(study: FlexionResults, console: Console) -> None:
    """A table for each machine, and a verdict."""
    text = f"Flexibility of a machine of 2014 (Kao et al., SIGMETRICS 2022), {study.preset}, {study.evaluations:,}"
    print_note(f"{text} mappings a class and contraction: gains over all axes fixed", console, style="bold")
    console.print()
    for machine in study.machines:
        print_grid(columns_of(list(_lines(machine)), left=(0,), ranks={7: 1, 8: 2}), console, gap=2)
    for name, text in summary(study):
        print_line(name, text, console)


def _lines(machine: MachineResult) -> Iterator[Sequence[str]]:
    yield (
        f"{machine.name}: {machine.elements:,} elements",
        *NAMES[1:],
        "designed\nfor it",
        "all, over\nbound",
        "fixed, over\nbound",
    )
    yield from cells_of(machine)


def cells_of(machine: MachineResult) -> Iterator[Sequence[str]]:
    """A line for each network: gains of the classes, of a machine designed for it, and what is over the bound."""
    for name, _ in (*machine.networks, (MEAN, "later")):
        own = {row.free: row for row in machine.rows if row.network == name}
        refitted = machine.refitted.get(name) or mean_refitted(machine)
        rows = list(own.values())
        gains = [f"{row.gain:.2f}" for row in rows[1:]]
        yield (name, *gains, f"{refitted:.2f}", f"{rows[-1].over_bound:.2f}", f"{rows[0].over_bound:.2f}")


def mean_refitted(machine: MachineResult) -> float:
    """The geometric mean over the later networks of what a machine designed for each gains."""
    return geometric_mean([machine.refitted[name] for name, age in machine.networks if age == "later"])


def summary(study: FlexionResults) -> Iterator[tuple[str, str]]:
    """The lines below the tables: a heading and a text each."""
    yield "mean", "over the later networks; the machine was designed for the networks of 2014"
    for machine in study.machines:
        gains = {name: machine.gain(MEAN, supports) for name, supports in zip(NAMES, CLASSES, strict=True)}
        single = max(NAMES[1:-1], key=lambda name: gains[name])
        yield (
            machine.name,
            f"all axes gain {gains['all']:.2f}, of single ones {single} most, {gains[single]:.2f}; a machine that is "
            f"fixed, but designed for each network, {mean_refitted(machine):.2f}",
        )
    ours = " and ".join(f"{machine.gain(MEAN, ALL):.2f}" for machine in study.machines)
    yield "verdict", f"Published: {PUBLISHED_GAIN}; ours: {ours}. Not to be compared as equal: {DIFFERENCES}."
