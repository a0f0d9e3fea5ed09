"""
The tables of docs/study-flexion.md: the study as it runs, between markers.

    python -m tests.docs.study_flexion            runs it, two minutes, and writes them anew
    python -m tests.docs.study_flexion machines   those of machines under constraints alone
    python -m tests.docs.study_flexion training   those of training alone, six minutes
"""

import sys
from collections.abc import Iterator, Mapping
from functools import cache

from npuc.compiler import Flexibility, flexibility_file
from npuc.studies.flexion.settings import MACHINES, NAMES
from npuc.studies.flexion.study import FlexionResults, MachineResult, geometric_mean, plan_study, run_study
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


UNDER = ("eyeriss", "nvdla", "tpu")
"""Constraints of machines whose flexion is published, relative to each other's."""
ON = ("resnet50", "mobilenet_v2")
PUBLISHED_RATIOS = {"nvdla": 2.2, "tpu": 17.0}
"""How many times as flexible a machine like Eyeriss is published to be."""


@cache
def constrained(network: str, constraints: str) -> Flexibility:
    """The flexibility of the small machine, all of whose axes are free but for constraints, for an image."""
    free = {f"flexibility.{axis}": "any" for axis in ("order", "parallel", "shape")}
    return flexibility_file(
        f"samples:{network}",
        budget=10,
        samples=20_000,
        constraints=constraints,
        hardware=MACHINES[0],
        overrides=free,
        inference=True,
        defines={"batch": 1},
    )


def share_of(found: Flexibility, axes: tuple[int, ...]) -> float:
    """The geometric mean over distinct contractions of the workload flexion of axes, as a product."""
    shares = ([one.workload.axes[at].share for at in axes] for one in found.found)
    return geometric_mean([one.value for each in shares for one in each if one is not None]) ** len(axes)


def machine_rows() -> Iterator[str]:
    """Flexions of tiles and orders under constraints, and how many times that of one is another one's."""
    yield "| constraints | network | T tiles | O order | T x O |"
    yield "|---|---|--:|--:|--:|"
    axes = ((0,), (1,), (0, 1))
    shares = {(name, on): [share_of(constrained(on, name), at) for at in axes] for on in ON for name in UNDER}
    for (name, on), values in shares.items():
        yield f"| {name} | {on} | {' | '.join(f'{value:.2g}' for value in values)} |"
    for other, published in PUBLISHED_RATIOS.items():
        for on in ON:
            ratios = [a / b for a, b in zip(shares["eyeriss", on], shares[other, on], strict=True)]
            cells = " | ".join(f"{one:.2g}" for one in ratios)
            yield f"| eyeriss over {other} (published {published}) | {on} | {cells} |"


def tables(study: FlexionResults) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    return {"mappings": mapping_rows(study), **{machine.name: gain_rows(machine) for machine in study.machines}}


def training_tables(study: FlexionResults) -> Mapping[str, Iterator[str]]:
    """The gains of a training step, a table a machine."""
    return {f"training {machine.name}": gain_rows(machine) for machine in study.machines}


def main() -> None:
    """Write the page's tables."""
    page = FOLDER / "study-flexion.md"
    if "training" in sys.argv[1:]:
        found = dict(training_tables(run_study(plan_study("training"))))
    else:
        found = {} if "machines" in sys.argv[1:] else dict(tables(run_study(plan_study())))
        found["constrained"] = machine_rows()
    page.write_text(filled(page.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
