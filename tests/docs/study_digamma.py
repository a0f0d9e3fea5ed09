"""
The tables of docs/study-digamma.md: the study as it runs, between markers.

    python -m tests.docs.study_digamma [FOLDER]     runs it, some minutes, and writes them anew

A folder keeps what was found, so that an interrupted run goes on.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from npuc.studies.digamma.settings import EVALUATIONS, NETWORKS, OURS, PRESETS, Step
from npuc.studies.digamma.study import METHODS, DigammaResults, plan_points, run_study
from npuc.studies.digamma.view import cases, means, number_text
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

STUDIED: Mapping[Step, Sequence[str]] = {
    "inference": tuple(NETWORKS),
    "training": ("resnet18", "bert_base", "ncf", "dlrm"),
}
"""The networks of the page."""


def design_rows(results: DigammaResults, budget: str) -> Iterator[str]:
    """Cycles of every optimiser's best design, a row a network."""
    ((_, networks),) = [one for one in cases(results).items() if one[0][1] == budget]
    yield f"| cycles | {' | '.join(METHODS)} | gain | our machine |"
    yield f"|---|{'--:|' * (len(METHODS) + 1)}---|"
    for name, rows in networks.items():
        ours, best = rows[OURS], min(rows[method].cycles for method in METHODS if method != OURS)
        cells = " | ".join(number_text(rows[method].cycles) for method in METHODS)
        buffers = f"{ours.l1_bytes} B, {ours.l2_bytes / 1024:.1f} KiB"
        machine = f"{ours.clusters} x {ours.elements // ours.clusters}, {buffers}, {ours.area_mm2:.3g} mm2"
        yield f"| {name} | {cells} | {best / ours.cycles:.2f} | {machine} |"


def gain_rows(results: Mapping[Step, DigammaResults]) -> Iterator[str]:
    """The geometric means beside what is published."""
    yield "| geometric mean | networks | designs each | edge, 0.2 mm2 | cloud, 7 mm2 |"
    yield "|---|--:|--:|--:|--:|"
    yield "| published, inference | 7 | 40,000 | 3.0 | 10.0 |"
    for step, found in results.items():
        cells = " | ".join(f"{one.ours:.2f}" for one in means(found))
        yield f"| ours, {step} | {len(STUDIED[step])} | {found.evaluations:,} | {cells} |"


def tables(results: Mapping[Step, DigammaResults]) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    rows = {
        f"{step} {budget}": design_rows(found, budget)
        for step, found in results.items()
        for budget in ("edge", "cloud")
    }
    return {"gains": gain_rows(results), **rows}


def main() -> None:
    """Write the page's tables."""
    results: dict[Step, DigammaResults] = {}
    for step, networks in STUDIED.items():
        record = None if len(sys.argv) < 2 else str(Path(sys.argv[1]) / f"{step}.rec")
        points = plan_points(PRESETS[step], networks, None, EVALUATIONS, None)
        results[step] = run_study(step, points, lambda name, count: print(name, file=sys.stderr), 1, record)
    page = FOLDER / "study-digamma.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), tables(results)), encoding="utf-8")


if __name__ == "__main__":
    main()
