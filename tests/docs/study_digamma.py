"""
The tables of docs/study-digamma.md: the study as it runs, between markers.

    python -m tests.docs.study_digamma [FOLDER]     runs it, hours of a core, and writes them anew

A folder keeps what was found, so that an interrupted run goes on.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from npuc.studies.digamma.settings import AREAS, EVALUATIONS, NETWORKS, OURS, PRESETS, Step
from npuc.studies.digamma.study import METHODS, DigammaResults, plan_points, run_study
from npuc.studies.digamma.view import cases, means, number_text
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

MORE = 4 * EVALUATIONS


@dataclass(frozen=True)
class Run:
    """Searches that the page has: a step of networks, designs that each evaluates, and areas."""

    step: Step
    networks: Sequence[str] = tuple(NETWORKS)
    evaluations: int = EVALUATIONS
    budgets: Sequence[str] = tuple(AREAS)

    def table(self, budget: str) -> str:
        """The name of the table of an area."""
        return f"{self.step} {budget}" + ("" if self.evaluations == EVALUATIONS else f" {self.evaluations}")

    def results(self, networks: Sequence[str] = (), record: str | None = None) -> DigammaResults:
        """What the searches find, or those of some networks."""
        points = plan_points(PRESETS[self.step], networks or self.networks, None, self.evaluations, None)
        points = [one for one in points if one.budget in self.budgets]
        return run_study(self.step, points, lambda name, count: print(name, file=sys.stderr), 1, record)


RUNS = (
    Run("inference"),
    Run("inference", evaluations=MORE, budgets=("edge",)),
    Run("training", ("resnet18", "bert_base", "ncf", "dlrm")),
)


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


def gain_rows(results: Mapping[Run, DigammaResults]) -> Iterator[str]:
    """The geometric means beside what is published."""
    yield "| geometric mean | networks | designs each | edge, 0.2 mm2 | cloud, 7 mm2 |"
    yield "|---|--:|--:|--:|--:|"
    yield "| published, inference | 7 | 40,000 | 3.0 | 10.0 |"
    for run, found in results.items():
        known = dict(zip(run.budgets, (f"{one.ours:.2f}" for one in means(found)), strict=True))
        cells = " | ".join(known.get(budget, "") for budget in AREAS)
        yield f"| ours, {run.step} | {len(run.networks)} | {found.evaluations:,} | {cells} |"


def tables(results: Mapping[Run, DigammaResults]) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    rows = {run.table(budget): design_rows(found, budget) for run, found in results.items() for budget in run.budgets}
    return {"gains": gain_rows(results), **rows}


def main() -> None:
    """Write the page's tables."""
    folder = None if len(sys.argv) < 2 else Path(sys.argv[1])
    records = {run: None if folder is None else str(folder / f"{run.step}-{run.evaluations}.rec") for run in RUNS}
    results = {run: run.results(record=record) for run, record in records.items()}
    page = FOLDER / "study-digamma.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), tables(results)), encoding="utf-8")


if __name__ == "__main__":
    main()
