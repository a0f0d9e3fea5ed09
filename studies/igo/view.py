"""The study as a table, as JSON (schema `npuc.study/1`) and as CSV."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields

from npuc.studies.igo.networks import MODELS
from npuc.studies.igo.settings import AVERAGE, LARGE, SETTINGS, SMALL, STEPS, Setting
from npuc.studies.igo.study import IgoResults, TimeRow
from npuc.studies.rows import rows_csv, rows_json

LABEL = 26
"""Characters of a table's first column."""
CELL = 7
"""The fewest of the others."""
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


def to_text(study: IgoResults) -> str:
    """The tables: each network on the two NPUs, then the means of all settings."""
    lines = [
        f"Interleaved gradients, preset {study.preset}: time over the sequential program's, forward and backward",
        f"{PUBLISHED}: the paper's (MICRO 2023), where it gives a number",
    ]
    for setting in (LARGE, SMALL):
        if study.of(setting, STEPS[0]):
            lines += ["", *_networks(study, setting)]
    lines += ["", *_means(study)]
    if study.claims:
        lines += ["", *_claims(study)]
    if study.predictor:
        lines += ["", *_predictor(study)]
    return "\n".join(lines) + "\n"


def _networks(study: IgoResults, setting: Setting) -> Iterator[str]:
    names = [model_name(model) for model in study.of(setting, STEPS[0])]
    yield _line(setting.title, [])
    yield _line("", names)
    for step in STEPS:
        rows = list(study.of(setting, step).values())
        yield _line(f"  {NAMES[step]}", [_cell(row.ours) for row in rows], names)
        yield _line(f"    {PUBLISHED}", [_cell(row.published) for row in rows], names)
    for pipeline in study.own.pipelines:
        rows = list(study.of(setting, pipeline.name).values())
        yield _line(f"  {pipeline.name}", [_cell(row.ours) for row in rows], names)
    yield from _lines(study, setting.npu, names)


def model_name(model: str) -> str:
    """What a model is called in full."""
    return "mean" if model == AVERAGE else MODELS.get(model, model)


MEANS = ("inter-", "ordered", "best of", "+ parti-", "gain", "published")
"""The headings of the table of means, which set the widths of its columns."""
PREDICTED = ("right %", "excess %", "predicted", "best")
"""The columns of the predictor's table."""
PROGRAMS = {
    "guarded": "last step, guarded",
    "blocking": "own best tiles: dX, dW",
    "dY kept": "  dY kept between them",
    "dY free": "  second dY for nothing",
    "one nest": "  one nest",
}
"""The lines in the order in which they are shown, with their titles."""


def _lines(study: IgoResults, npu: str, names: Sequence[str]) -> Iterator[str]:
    for program, name in PROGRAMS.items():
        found = [line.ours for line in study.lines if (line.npu, line.program) == (npu, program)]
        yield _line(f"  {name}", [_cell(ours) for ours in found], names)


def _means(study: IgoResults) -> Iterator[str]:
    yield "means over the networks"
    yield _line("", ["inter-", "+ re-", "best of", "+ parti-", "gain", "published"], MEANS)
    yield _line("  NPU, cores, GB/s, batch", ["leaved", "ordered", "three", "tioned", "%", "%"], MEANS)
    for setting in SETTINGS:
        means = [study.of(setting, step).get("avg") for step in STEPS]
        if all(means):
            rows = [row for row in means if row is not None]
            paper, ours = rows[-1].published, rows[-1].ours
            gains = [f"{100 * (1 - ours):.1f}", "" if paper is None else f"{100 * (1 - paper):.1f}"]
            label = f"  {setting.npu}, {setting.cores}, {setting.gb_per_s:g}, {setting.batch}"
            yield _line(label, [*(_cell(row.ours) for row in rows), *gains], MEANS)


CLAIM = 68
"""Characters of a claim with its NPU."""


def _claims(study: IgoResults) -> Iterator[str]:
    yield f"{'what the paper says (- : it gives no number there)':<{CLAIM}} published    ours"
    for row in study.claims:
        title = f"{row.claim}, {row.npu}" + ("" if row.model == AVERAGE else f", {model_name(row.model)}")
        mark = "" if row.reproduced is None else "  reproduced" if row.reproduced else "  not reproduced"
        yield f"  {title:<{CLAIM - 2}} {_cell(row.published) or '-':>9}{row.ours:>8.3f}{mark}"


def _predictor(study: IgoResults) -> Iterator[str]:
    yield "the dimension to cut by K nearest neighbours, of layers held out (1,000 random splits); gradients alone"
    yield _line("  NPU, cores", PREDICTED)
    for row in study.predictor:
        shares = [f"{100 * share:.1f}" for share in (row.accuracy, row.regret)]
        yield _line(f"  {row.npu}, {row.cores}", [*shares, _cell(row.predicted), _cell(row.oracle)], PREDICTED)


def _line(label: str, cells: Sequence[str], heads: Sequence[str] = ()) -> str:
    """A line of a table, in columns as wide as their heads."""
    widths = [max(CELL, len(head) + 2) for head in heads or cells]
    return (f"{label:<{LABEL}}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))).rstrip()


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
