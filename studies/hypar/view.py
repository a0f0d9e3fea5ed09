"""The study as tables, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.studies.hypar.claims import VARIANT, FigureRow, Value
from npuc.studies.hypar.platform import EQUAL, READINGS, Links
from npuc.studies.hypar.settings import (
    BASE,
    DEVICES,
    OURS,
    SCALES,
    STUDIED_STRATEGIES,
    TOPOLOGIES,
    TOPOLOGY_NAMES,
)
from npuc.studies.hypar.space import best_of
from npuc.studies.hypar.study import HyparResults
from npuc.studies.hypar.topology import TopologyRow, mean_of
from npuc.studies.rows import rows_csv, rows_json

if TYPE_CHECKING:
    from rich.console import Console


def to_json(study: HyparResults) -> str:
    """The rows; `scaling` and `space` have the other two figures, `topology` the plans on tree and torus."""
    tables = {
        "rows": [asdict(row) for row in study.rows],
        "scaling": [{"network": study.scaled, **asdict(scale)} for scale in study.scales],
        "space": [asdict(choice) for choice in study.space],
        "topology": [asdict(row) for row in study.topology],
    }
    return rows_json("hypar", study.preset, tables)


def to_csv(study: HyparResults) -> str:
    """The rows, one per line; choices as one word per level."""
    rows: list[dict[str, object]] = [
        asdict(row) | {"published": _cell(row.published), "ours": _cell(row.ours)} for row in study.rows
    ]
    return rows_csv([field.name for field in fields(FigureRow)], rows)


def _cell(value: Value | None) -> object:
    return " ".join(value) if isinstance(value, tuple) else value


def value_text(value: Value | None) -> str:
    """A value as text: words, or four digits."""
    if value is None or isinstance(value, str):
        return value or "-"
    return " ".join(value) if isinstance(value, tuple) else f"{value:.4g}"


def cell_text(row: FigureRow) -> str:
    """Ours, with the paper's in brackets; an exclamation mark where it is not reproduced."""
    if row.published is None:
        return value_text(row.ours)
    return f"{value_text(row.ours)} ({value_text(row.published)}){'' if row.reproduced else ' !'}"


def tables_of(rows: Sequence[FigureRow]) -> dict[str, dict[str, dict[str, FigureRow]]]:
    """The rows of numbers by claim, network and strategy."""
    found: dict[str, dict[str, dict[str, FigureRow]]] = {}
    for row in rows:
        if row.unit:
            claim = f"{row.claim}, {row.unit}"
            found.setdefault(claim, {}).setdefault(row.network, {})[row.strategy] = row
    return found


def print_study(study: HyparResults, console: Console) -> None:
    """Tables with ours and the paper's, the scaling, the space, and a verdict."""
    text = f"Hybrid parallelism (Song et al., HPCA 2019), {DEVICES} accelerators, convention {study.preset}"
    print_note(f"{text}: ours (the paper's; ! not reproduced)", console, style="bold")
    console.print()
    _print_choices(study, console)
    for claim, networks in tables_of(study.rows).items():
        _print_numbers(claim, networks, console)
    _print_links(study, console)
    _print_scaling(study, console)
    for label, text in [*_space(study), *verdict(study.rows)]:
        print_line(label, text, console)


def _print_choices(study: HyparResults, console: Console) -> None:
    """The choices of the strategies that choose, one column per level."""
    rows: list[Sequence[str]] = [["choices", "by", *(f"H{level + 1}" for level in range(4))]]
    for row in study.rows:
        if isinstance(row.ours, tuple) and row.strategy in (OURS, "joint"):
            rows.append([row.network, row.strategy + ("" if row.reproduced is not False else " !"), *row.ours])
    print_grid(columns_of(rows, left=range(6)), console, gap=2)


def _print_numbers(claim: str, networks: dict[str, dict[str, FigureRow]], console: Console) -> None:
    """One line per network and one column per strategy; comparisons with owt stand in the verdict only."""
    known = {strategy for rows in networks.values() for strategy in rows}
    shown = [strategy for strategy in STUDIED_STRATEGIES if strategy in known]
    table = [[claim, *shown]]
    for name, rows in networks.items():
        table.append([name, *(cell_text(rows[strategy]) if strategy in rows else "" for strategy in shown)])
    print_grid(columns_of(table, ranks={n: n for n in range(2, len(table[0]))}), console, gap=2)


LINK_HEADS = (
    "GB/s, level",
    "ring",
    f"torus/tree, {BASE}",
    OURS,
    f"{OURS}/{BASE}, tree",
    "torus",
)
"""What a reading gives an accelerator along a level and a ring, then what is how many times faster, means."""


def _print_links(study: HyparResults, console: Console) -> None:
    """The readings of the links: what each gives to both topologies, and what comes of it."""
    rows = [["equal in H-tree and torus", *LINK_HEADS]]
    rows += [[EQUAL[links], *links_cells(study.topology, links)] for links in READINGS]
    print_grid(columns_of(rows, ranks={n: n for n in range(2, len(rows[0]))}), console, gap=2)


def links_cells(rows: Sequence[TopologyRow], links: Links) -> list[str]:
    """A reading's bandwidths; the gains of the torus by plan, and those of HyPar's plan by topology: means."""
    own = [row for row in rows if row.links == links]
    by = {plan: {row.network: row for row in own if row.plan == plan} for plan in (BASE, OURS)}
    torus = [mean_of([_over(row.tree_seconds, row.torus_seconds) for row in found.values()]) for found in by.values()]
    pairs = [(by[BASE][name], row) for name, row in by[OURS].items()]
    gains = [
        mean_of([_over(base.tree_seconds, row.tree_seconds) for base, row in pairs]),
        mean_of([_over(base.torus_seconds, row.torus_seconds) for base, row in pairs]),
    ]
    rates = [f"{own[0].tree_gb_per_s:.4g}", f"{own[0].torus_gb_per_s:.4g}"]
    return [*rates, *(value_text(value) for value in (*torus, *gains))]


def _over(base: float | None, other: float | None) -> float | None:
    return None if base is None or other is None else base / other


def _print_scaling(study: HyparResults, console: Console) -> None:
    """Bytes and times by the number of accelerators."""
    rows = [[f"{study.scaled} on accelerators", *(f"{devices}" for devices in SCALES)]]
    for strategy in (BASE, OURS):
        own = [scale for scale in study.scales if scale.strategy == strategy]
        rows.append([f"{strategy}, GB", *(f"{scale.gb:.4g}" for scale in own)])
        for topology in TOPOLOGIES:
            cells = [value_text(scale.seconds.get(topology)) for scale in own]
            rows.append([f"{strategy}, s on the {TOPOLOGY_NAMES[topology]}", *cells])
    print_grid(columns_of(rows, ranks={n: 99 - n for n in range(1, len(rows[0]))}), console, gap=2)


def _space(study: HyparResults) -> Iterator[tuple[str, str]]:
    """The text on the explored choices."""
    if study.space:
        best, own = best_of(study.space), next(choice for choice in study.space if choice.chosen)
        text = f"{len(study.space)} choices at H1 and H4: HyPar's, {own.top} and {own.bottom}, moves {own.gb:.4g} GB"
        least = "the least" if best.chosen else f"the least is {best.gb:.4g}, {best.top} and {best.bottom}"
        yield "space", f"{text}, {least}"


def verdict(rows: Sequence[FigureRow]) -> Iterator[tuple[str, str]]:
    """
    The count of reproduced numbers, and the reasons for the others: each reason once, with its numbers. Variants of a
    number do not count.
    """
    known = [row for row in rows if row.published is not None and not row.claim.startswith(VARIANT)]
    missed = [row for row in known if not row.reproduced]
    yield "verdict", f"{len(known) - len(missed)} of {len(known)} of the paper's numbers reproduced"
    reasons: dict[str, dict[str, list[str]]] = {}
    for row in missed:
        reason = row.note.rpartition("; ")[2]
        reasons.setdefault(reason, {}).setdefault(f"{row.network} {row.strategy}", []).append(row.claim)
    for reason, which in reasons.items():
        claims = dict.fromkeys(claim for group in which.values() for claim in group)
        yield "", f"{' and '.join(claims)}, {', '.join(which)}: {reason}"
