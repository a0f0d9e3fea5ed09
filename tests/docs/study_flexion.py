"""
The tables of docs/study-flexion.md: the study as it runs, between markers.

    python -m tests.docs.study_flexion            runs it, two minutes, and writes them anew
"""

from collections.abc import Iterator, Mapping

from npuc.studies.flexion.settings import NAMES
from npuc.studies.flexion.study import FlexionResults, MachineResult, plan_study, run_study
from npuc.studies.flexion.view import cells_of
from tests.docs.pages import FOLDER
from tests.docs.tables import filled


def gain_rows(machine: MachineResult) -> Iterator[str]:
    """A row a network: gains of the classes, of a machine designed for it, and what is over the bound."""
    heads = (*(name.split()[0] for name in NAMES[1:]), "designed for it", "all, over bound", "fixed, over bound")
    yield f"| {machine.name}, {machine.elements:,} elements | {' | '.join(heads)} |"
    yield f"|---|{'--:|' * len(heads)}"
    for cells in cells_of(machine):
        yield f"| {' | '.join(cells)} |"


def mapping_rows(study: FlexionResults) -> Iterator[str]:
    """The one mapping of each machine: rows and columns of the array, tiles and loops, outermost first."""
    yield "| machine | level | sub-clusters | spreads | loops, with tiles |"
    yield "|---|---|--:|---|---|"
    for machine in study.machines:
        for name, level in zip(("rows", "columns"), machine.mapping.levels, strict=True):
            spread = ", ".join(loop.dim for loop in level.loops if loop.parts > 1)
            loops = " ".join(f"{loop.dim}:{loop.spatial}" for loop in level.loops)
            yield f"| {machine.name} | {name} | {level.fanout} | {spread} | `{loops}` |"


def tables(study: FlexionResults) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    return {"mappings": mapping_rows(study), **{machine.name: gain_rows(machine) for machine in study.machines}}


def main() -> None:
    """Write the page's tables."""
    page = FOLDER / "study-flexion.md"
    found = tables(run_study(plan_study()))
    page.write_text(filled(page.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
