"""The study as a table, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.report.text.grid import columns_of, print_grid, print_note
from npuc.studies.igo.networks import MODELS
from npuc.studies.igo.settings import AVERAGE, LARGE, SETTINGS, SMALL, STEPS, Setting
from npuc.studies.igo.study import IgoResults, TimeRow
from npuc.studies.rows import rows_csv, rows_json

if TYPE_CHECKING:
    from rich.console import Console

NAMES = dict(zip(STEPS, ("interleaving", "+ rearrangement", "best of three orders", "+ partitioning"), strict=True))
"""The steps in words; + where one has those before it."""
PUBLISHED = "published"


def to_json(study: IgoResults) -> str:
    """The rows, the baselines that split the gain, the predictor, the traffic and the claims."""
    tables = {
        "rows": study.rows,
        "lines": study.lines,
        "predictor": study.predictor,
        "traffic": study.traffic,
        "claims": study.claims,
    }
    return rows_json("igo", study.preset, {name: [asdict(row) for row in rows] for name, rows in tables.items()})


def to_csv(study: IgoResults) -> str:
    """The rows, one per line; an empty cell where the paper gives no number."""
    return rows_csv([field.name for field in fields(TimeRow)], [asdict(row) for row in study.rows])


def print_study(study: IgoResults, console: Console) -> None:
    """The tables: each network on the two NPUs, then the means of all settings, the claims, the predictor."""
    title = f"Interleaved gradients, preset {study.preset}: time over the sequential program's, forward and backward"
    print_note(title, console, style="bold")
    print_note(f"{PUBLISHED}: the paper's (MICRO 2023), where it gives a number", console)
    console.print()
    for setting in (LARGE, SMALL):
        if study.of(setting, STEPS[0]):
            _print_networks(study, setting, console)
    _print(_means(study), console, {1: 3, 2: 2, 3: 4, 4: 1})
    if study.claims:
        _print(_claims(study), console, {3: 1}, notes=["-: the paper gives no number there"])
    if study.predictor:
        about = (
            "the dimension to cut by K nearest neighbours, of layers held out (1,000 random splits); gradients alone"
        )
        _print(_predictor(study), console, {3: 1, 4: 1}, notes=[about])


def _print(
    rows: Iterable[Sequence[str]], console: Console, ranks: Mapping[int, int], notes: Sequence[str] = ()
) -> None:
    """A table, its first row the headings, with the ranks of its columns."""
    print_grid(
        columns_of(list(rows), ranks={n: rank for n, rank in ranks.items() if rank}), console, gap=2, notes=notes
    )


def _print_networks(study: IgoResults, setting: Setting, console: Console) -> None:
    """The steps of a setting, a column a network; where there is no room the mean stays, and the first networks."""
    models = list(study.of(setting, STEPS[0]))
    print_note(setting.title, console, style="bold")
    rows = [["", *map(model_name, models)]]
    for step in STEPS:
        found = list(study.of(setting, step).values())
        rows.append([NAMES[step], *(_cell(row.ours) for row in found)])
        rows.append([f"  {PUBLISHED}", *(_cell(row.published) for row in found)])
    for pipeline in study.own.pipelines:
        rows.append([pipeline.name, *(_cell(row.ours) for row in study.of(setting, pipeline.name).values())])
    for program, name in PROGRAMS.items():
        found = [line.ours for line in study.lines if (line.npu, line.program) == (setting.npu, program)]
        rows.append([name, *(_cell(ours) for ours in found)])
    _print(rows, console, {1 + n: 0 if model == AVERAGE else 1 + n for n, model in enumerate(models)})


def model_name(model: str) -> str:
    """What a model is called in full."""
    return "mean" if model == AVERAGE else MODELS.get(model, model)


MEANS = ("inter-\nleaved", "+ re-\nordered", "best of\nthree", "+ parti-\ntioned", "gain\n%", "published\n%")
"""The headings of the table of means."""
PREDICTOR = "the dimension to cut by K nearest neighbours, of layers held out (1,000 random splits); gradients alone"
PREDICTED = ("right\n%", "excess\n%", "predicted", "best")
"""The columns of the predictor's table."""
PROGRAMS = {
    "guarded": "last step, guarded",
    "blocking": "own best tiles: dX, dW",
    "dY kept": "  dY kept between them",
    "dY free": "  second dY for nothing",
    "one nest": "  one nest",
}
"""The lines in the order in which they are shown, with their titles."""


def _means(study: IgoResults) -> Iterator[Sequence[str]]:
    yield "means over the networks\nNPU, cores, GB/s, batch", *MEANS
    for setting in SETTINGS:
        means = [study.of(setting, step).get("avg") for step in STEPS]
        if all(means):
            rows = [row for row in means if row is not None]
            paper, ours = rows[-1].published, rows[-1].ours
            gains = [f"{100 * (1 - ours):.1f}", "" if paper is None else f"{100 * (1 - paper):.1f}"]
            label = f"{setting.npu}, {setting.cores}, {setting.gb_per_s:g}, {setting.batch}"
            yield label, *(_cell(row.ours) for row in rows), *gains


def _claims(study: IgoResults) -> Iterator[Sequence[str]]:
    yield "what the paper says", PUBLISHED, "ours", "reproduced"
    for row in study.claims:
        title = f"{row.claim}, {row.npu}" + ("" if row.model == AVERAGE else f", {model_name(row.model)}")
        mark = "" if row.reproduced is None else "yes" if row.reproduced else "no"
        yield title, _cell(row.published) or "-", _cell(row.ours), mark


def _predictor(study: IgoResults) -> Iterator[Sequence[str]]:
    yield "NPU, cores", *PREDICTED
    for row in study.predictor:
        shares = [f"{100 * share:.1f}" for share in (row.accuracy, row.regret)]
        yield f"{row.npu}, {row.cores}", *shares, _cell(row.predicted), _cell(row.oracle)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
