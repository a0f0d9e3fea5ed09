"""
The tables of docs/study-igo.md: the study as it runs, between markers.

    python -m tests.docs.study [-j N]                   runs it under every preset and writes them anew
    python -m tests.docs.study [-j N] FILE.json …       takes what `npuc study igo --json FILE.json` wrote in its place

That takes seven minutes of one core, less by N processes: half a minute for the preset `lru`, two for `paper`, three
and a half for `explicit`, one for the other assumptions. Where that cannot be had at once, `npuc study igo --preset
NAME --json FILE.json` makes it preset by preset.
"""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from npuc.compiler.cli.progress import progress
from npuc.studies.igo.claims import PremiseRow
from npuc.studies.igo.layers import PRESETS, in_processes
from npuc.studies.igo.lru import BY_ROWS, PAPER, PROTOTYPE, Assumptions, LruCosts
from npuc.studies.igo.networks import MODELS, workloads
from npuc.studies.igo.products import Size
from npuc.studies.igo.rivals import RIVALS
from npuc.studies.igo.settings import AVERAGE, LARGE, SETTINGS, SMALL, STEPS, Setting, published
from npuc.studies.igo.study import IgoPlan, IgoResults, RivalRow, TimeRow, TrafficRow, run_study
from npuc.studies.igo.times import LayerPartition, layer_steps
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

Studies = Mapping[str, IgoResults]
"""The study under each preset."""
LAST = STEPS[-1]
ONE_CHANNEL = (Setting("large", cores=2, gb_per_s=75.0), Setting("large", cores=4, gb_per_s=37.5))
"""Cores that share what is one core's bandwidth in the paper's settings."""
CHANGES: Mapping[str, Assumptions] = {
    "`paper`": PAPER,
    "tiles of the array's side": replace(PAPER, sides=1),
    "tiles of three sides": replace(PAPER, sides=3),
    "dX by rows, dW by columns": replace(PAPER, loops=tuple(BY_ROWS.items())),
    "half of the SPM": replace(PAPER, pool=Fraction(1, 2)),
    "dW finds what dX left": replace(PAPER, fresh=False),
    "elements of 1 byte": replace(PAPER, width=1),
    "elements of 4 bytes": replace(PAPER, width=4),
    "`lru`": PROTOTYPE,
    "`lru`, dX by columns, dW by rows": replace(PROTOTYPE, loops=PAPER.loops),
}
"""Assumptions of the preset `paper` with one of them changed, and those of `lru`."""
PROGRAMS = {
    "blocking": "dX, then dW, each at its best tiles",
    "dY kept": "the same, dY kept in SPM between the two where it fits",
    "one nest": "both in one nest, or sequential where that is faster",
    "dY free": "sequential, the second dY for nothing",
}


def read_study(path: str) -> IgoResults:
    """What `npuc study igo --json` wrote."""
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    return IgoResults(
        data["preset"],
        tuple(TimeRow(**row) for row in data["rows"]),
        tuple(RivalRow(**line) for line in data["lines"]),
        traffic=tuple(TrafficRow(**row) for row in data["traffic"]),
        claims=tuple(PremiseRow(**row) for row in data["claims"]),
    )


def mean_rows(studies: Studies) -> Iterator[str]:
    """The steps on both NPUs: the paper's means and ours."""
    yield "| NPU | whose | interleaving | rearrangement | best of three | partitioning | guarded |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for setting in (LARGE, SMALL):
        theirs = [_cell(published(setting, step, AVERAGE)) for step in STEPS]
        yield f"| {setting.npu} | the paper's | {' | '.join(theirs)} |  |"
        for preset, study in studies.items():
            ours = [*(study.of(setting, step)[AVERAGE].ours for step in STEPS), _line(study, setting, "guarded")]
            yield f"| {setting.npu} | `{preset}` | {' | '.join(map(_cell, ours))} |"


def network_row(studies: Studies, setting: Setting, model: str) -> str:
    """A network: every step under `paper`, in brackets the paper's; the last step under the others."""
    cells = [_beside(studies["paper"].of(setting, step)[model]) for step in STEPS]
    cells += [_cell(study.of(setting, LAST)[model].ours) for preset, study in studies.items() if preset != "paper"]
    return f"| {setting.npu} | {MODELS.get(model, 'mean')} | {' | '.join(cells)} |"


def network_rows(studies: Studies) -> Iterator[str]:
    """The networks on both NPUs."""
    others = [f"`{preset}`" for preset in studies if preset != "paper"]
    yield f"| NPU | network | interleaving | rearrangement | best of three | partitioning | {' | '.join(others)} |"
    yield f"|---|---|{'--:|' * (4 + len(others))}"
    for setting in (LARGE, SMALL):
        yield from (network_row(studies, setting, model) for model in (*MODELS, AVERAGE))


def setting_rows(studies: Studies) -> Iterator[str]:
    """The last step in all settings of the large NPU."""
    yield f"| cores | GB/s a core | batch a core | the paper's | {' | '.join(f'`{preset}`' for preset in studies)} |"
    yield f"|--:|--:|--:|{'--:|' * (1 + len(studies))}"
    for setting in (s for s in SETTINGS if s.npu == "large"):
        cells = [published(setting, LAST, AVERAGE), *(s.of(setting, LAST)[AVERAGE].ours for s in studies.values())]
        yield f"| {setting.cores} | {setting.gb_per_s:g} | {setting.batch} | {' | '.join(map(_cell, cells))} |"


def channel_rows(jobs: int) -> Iterator[str]:
    """Cores on one channel under `paper`, beside the paper's of as many cores; by `jobs` processes."""
    yield "| cores | GB/s a core | `paper` | the paper's, 150 GB/s a core |"
    yield "|--:|--:|--:|--:|"
    found = in_processes(ONE_CHANNEL, partial(averages, PAPER, cut=True), jobs)
    for setting, means in zip(ONE_CHANNEL, found, strict=True):
        ours = means[LAST]
        theirs = published(Setting("large", cores=setting.cores), LAST, AVERAGE)
        yield f"| {setting.cores} | {setting.gb_per_s:g} | {_cell(ours)} | {_cell(theirs)} |"


def gain_rows(studies: Studies) -> Iterator[str]:
    """Programs with the best tiles of their own over the sequential program of each preset."""
    heads = [f"{setting.npu}, `{preset}`" for setting in (LARGE, SMALL) for preset in studies]
    yield f"| program | {' | '.join(heads)} |"
    yield f"|---|{'--:|' * len(heads)}"
    for program in sorted(RIVALS, key=list(PROGRAMS).index):
        cells = [_cell(_line(study, setting, program)) for setting in (LARGE, SMALL) for study in studies.values()]
        yield f"| {PROGRAMS[program]} | {' | '.join(cells)} |"


def claim_rows(studies: Studies) -> Iterator[str]:
    """What the paper says of its baseline and its gain, beside ours under each preset; ✓ where within the tolerance."""
    yield f"| what | NPU | the paper's | {' | '.join(f'`{preset}`' for preset in studies)} |"
    yield f"|---|---|--:|{'--:|' * len(studies)}"
    found = {preset: {(row.claim, row.npu): row for row in means(study)} for preset, study in studies.items()}
    for key in dict.fromkeys(key for rows in found.values() for key in rows):
        own = [rows.get(key) for rows in found.values()]
        theirs = next(row.published for row in own if row is not None)
        cells = ["" if row is None else _cell(row.ours) + " ✓" * (row.reproduced is True) for row in own]
        yield f"| {key[0]} | {key[1]} | {_cell(theirs)} | {' | '.join(cells)} |"


def means(study: IgoResults) -> list[PremiseRow]:
    """The claims that are of no single network."""
    return [row for row in study.claims if row.model == AVERAGE]


class _Uncut(LruCosts):
    """Without partitions."""

    def cuts(self, size: Size) -> Iterator[LayerPartition]:
        yield from ()


def averages(assumptions: Assumptions, setting: Setting, *, cut: bool = False) -> dict[str, float]:
    """The means over networks of each step."""
    costs = (LruCosts if cut else _Uncut)(setting.machine, assumptions)
    sums = dict.fromkeys(STEPS, 0.0)
    for model in MODELS:
        layers = [
            (p.count, layer_steps(costs, Size(int(p.m * setting.scale), p.n, p.k), p.has_dx))
            for p in workloads()[setting.npu, model]
        ]
        time = {step: sum(count * times.step(step).time for count, times in layers) for step in ("sequential", *STEPS)}
        for step in STEPS:
            sums[step] += float(time[step] / time["sequential"])
    return {step: total / len(MODELS) for step, total in sums.items()}


def assumption_rows(jobs: int) -> Iterator[str]:
    """What each assumption does, without partitioning; the paper's first. By `jobs` processes."""
    heads = [f"{npu}: {step}" for npu in ("large", "small") for step in ("interleaving", "rearr.", "best of three")]
    yield f"| assumptions | {' | '.join(heads)} |"
    yield f"|---|{'--:|' * len(heads)}"
    theirs = [published(setting, step, AVERAGE) for setting in (LARGE, SMALL) for step in STEPS[:3]]
    yield f"| the paper's | {' | '.join(map(_cell, theirs))} |"
    found = in_processes(list(CHANGES.values()), _both_averages, jobs)
    for name, ours in zip(CHANGES, found, strict=True):
        yield f"| {name} | {' | '.join(map(_cell, ours))} |"


def _both_averages(assumptions: Assumptions) -> list[float]:
    means = [averages(assumptions, setting) for setting in (LARGE, SMALL)]
    return [own[step] for own in means for step in STEPS[:3]]


def _line(study: IgoResults, setting: Setting, program: str) -> float:
    (found,) = [x.ours for x in study.lines if (x.npu, x.program, x.model) == (setting.npu, program, AVERAGE)]
    return found


def _beside(row: TimeRow) -> str:
    return _cell(row.ours) + ("" if row.published is None else f" ({_cell(row.published)})")


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


TABLES: Mapping[str, Callable[[Studies], Iterator[str]]] = {
    "means": mean_rows,
    "networks": network_rows,
    "settings": setting_rows,
    "gain": gain_rows,
    "claims": claim_rows,
}
"""The tables of what the study prints."""
OTHERS: Mapping[str, Callable[[int], Iterator[str]]] = {"assumptions": assumption_rows, "channel": channel_rows}
"""Those of other assumptions and settings, by a number of processes."""


def with_tables(text: str, studies: Studies, jobs: int = 1) -> str:
    """The page with its tables made anew."""
    tables = {name: rows(studies) for name, rows in TABLES.items()}
    return filled(text, tables | {name: rows(jobs) for name, rows in OTHERS.items()})


def main(files: Sequence[str], jobs: int) -> None:
    """Write the page's tables, with `jobs` processes."""
    found = {study.preset: study for study in map(read_study, files)}
    studies = {preset: found.get(preset) or _run(preset, jobs) for preset in PRESETS}
    page = FOLDER / "study-igo.md"
    page.write_text(with_tables(page.read_text(encoding="utf-8"), studies, jobs), encoding="utf-8")


def _run(preset: str, jobs: int) -> IgoResults:
    plan = IgoPlan(preset)
    with progress(f"study igo --preset {preset}", plan.count, bar=True) as (advance, _):
        return run_study(preset, done=lambda name, count: advance(count, name), jobs=jobs)


if __name__ == "__main__":
    parser = ArgumentParser(description="Writes the tables of docs/study-igo.md.")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("files", nargs="*")
    given = parser.parse_args()
    main(given.files, given.jobs)
