"""The figure of the study: times of each network, ours as bars and the paper's as marks; means over all settings."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.core.drawing.figure import Axes, Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, GREEN, INK, ORANGE, RIM, SKY
from npuc.studies.igo.settings import AVERAGE, LARGE, SETTINGS, SMALL, STEPS, Setting
from npuc.studies.igo.study import IgoResults
from npuc.studies.igo.view import NAMES, PUBLISHED, model_name

COLOURS = dict(zip(STEPS, (SKY, BLUE, ORANGE, GREEN), strict=True))
FOOTNOTE = (
    "Forward and backward, matrix products only; lower is better; the axes do not begin at 0. "
    "Steps are cumulative. Published: Kim et al., MICRO 2023."
)
WIDTH = 0.19
"""The width of a bar; four of them a network."""


def draw(study: IgoResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    shown = [setting for setting in (LARGE, SMALL) if study.of(setting, STEPS[0])]

    def fill(figure: Figure) -> None:
        axes: list[Axes] = list(figure.subplots(len(shown) + 1, 1))
        for setting, one in zip(shown, axes, strict=False):
            _networks(one, study, setting)
        _means(axes[-1], study)
        handles, labels = axes[0].get_legend_handles_labels()
        order = [*(n for n, label in enumerate(labels) if label != PUBLISHED), labels.index(PUBLISHED)]
        handles, labels = [handles[n] for n in order], [labels[n] for n in order]
        figure.legend(handles, labels, loc="outside upper left", ncols=5)

    title = f"Interleaved gradients: time over the sequential program's (preset {study.preset})"
    return picture(kind, (11, 2.9 * (len(shown) + 1) + 1.0), fill, title=title, about=FOOTNOTE)


def _networks(axes: Axes, study: IgoResults, setting: Setting) -> None:
    models = list(study.of(setting, STEPS[0]))
    names = [model_name(model) for model in models]
    _bars(
        axes,
        [
            [(study.of(setting, step)[model].ours, study.of(setting, step)[model].published) for model in models]
            for step in STEPS
        ],
    )
    axes.set_title(setting.title)
    axes.set_xticks(range(len(models)), names)
    axes.axvline(models.index(AVERAGE) - 0.5, color=RIM, linewidth=0.8)


def _means(axes: Axes, study: IgoResults) -> None:
    settings = [setting for setting in SETTINGS if study.of(setting, STEPS[0])]
    rows = [[study.of(setting, step)[AVERAGE] for setting in settings] for step in STEPS]
    _bars(axes, [[(row.ours, row.published) for row in own] for own in rows])
    axes.set_title("means over the networks: cores, bandwidth and batch of a core")
    names = [
        f"{s.npu}, {s.cores} core{'s' if s.cores > 1 else ''}\n{s.gb_per_s:g} GB/s\nbatch {s.batch}" for s in settings
    ]
    axes.set_xticks(range(len(settings)), names, fontsize=8)


def _bars(axes: Axes, steps: Sequence[Sequence[tuple[float, float | None]]]) -> None:
    """A group of bars per place, one per step, and marks where the paper has a number."""
    marks: list[tuple[float, float]] = []
    for number, (step, values) in enumerate(zip(STEPS, steps, strict=True)):
        at = [place + (number - 1.5) * WIDTH for place in range(len(values))]
        axes.bar(at, [ours for ours, _ in values], WIDTH * 0.92, color=COLOURS[step], label=NAMES[step])
        marks += [(x, paper) for x, (_, paper) in zip(at, values, strict=True) if paper is not None]
    axes.plot(
        [x for x, _ in marks], [y for _, y in marks], linestyle="none", marker="D", markersize=4.2,
        color=INK, markeredgecolor="white", markeredgewidth=0.6, label=PUBLISHED,
    )  # fmt: skip
    highest = max(ours for own in steps for ours, _ in own)
    lowest = min(min(ours, ours if paper is None else paper) for own in steps for ours, paper in own)
    axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_ylim(max(0.0, lowest - 0.1) // 0.1 * 0.1, max(1.05, highest + 0.03))
    axes.set_xlim(-0.55, len(steps[0]) - 0.45)
    axes.set_ylabel("time / sequential")
    axes.grid(False, axis="x")
    axes.tick_params(axis="x", length=0)
