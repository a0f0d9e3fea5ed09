"""The figure of the study: times of each network, ours as bars and the paper's as marks; means over all settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from npuc.compiler.core.drawing.figure import GRID, Figure, new_figure, picture_bytes
from npuc.studies.igo.settings import AVERAGE, LARGE, SETTINGS, SMALL, STEPS, Setting
from npuc.studies.igo.study import IgoResults
from npuc.studies.igo.view import NAMES, PUBLISHED, model_name

COLOURS = dict(zip(STEPS, ("#9ecae1", "#4292c6", "#f2b447", "#08519c"), strict=True))
MARK = "#c0392b"
FOOTNOTE = (
    "Forward and backward, matrix products only; lower is better; the axes do not begin at 0. "
    "Steps are cumulative. Published: Kim et al., MICRO 2023."
)
WIDTH = 0.19
"""The width of a bar; four of them a network."""


class Axes(Protocol):
    """The part of matplotlib's axes that is used."""

    def bar(self, x: Sequence[float], height: Sequence[float], width: float, **style: object) -> object: ...
    def plot(self, x: Sequence[float], y: Sequence[float], *style: object, **more: object) -> object: ...
    def axhline(self, y: float, **style: object) -> object: ...
    def axvline(self, x: float, **style: object) -> object: ...
    def set_title(self, text: str, **style: object) -> object: ...
    def set_ylabel(self, text: str, **style: object) -> object: ...
    def set_ylim(self, low: float, high: float) -> object: ...
    def set_xlim(self, low: float, high: float) -> object: ...
    def set_xticks(self, at: Sequence[float], labels: Sequence[str], **style: object) -> object: ...
    def tick_params(self, **style: object) -> object: ...
    def grid(self, on: bool, **style: object) -> object: ...
    def set_axisbelow(self, on: bool) -> object: ...
    def get_legend_handles_labels(self) -> tuple[list[object], list[str]]: ...


class _Figure(Figure, Protocol):
    def subplots(self, rows: int, columns: int, **more: object) -> Sequence[Axes]: ...
    def legend(self, handles: list[object], labels: list[str], **style: object) -> object: ...
    def suptitle(self, text: str, **style: object) -> object: ...
    def text(self, x: float, y: float, text: str, **style: object) -> object: ...


def draw(study: IgoResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    shown = [setting for setting in (LARGE, SMALL) if study.of(setting, STEPS[0])]
    figure = cast("_Figure", new_figure(11, 2.9 * (len(shown) + 1) + 1.0))
    axes = figure.subplots(
        len(shown) + 1, 1, gridspec_kw={"hspace": 0.42, "left": 0.07, "right": 0.985, "top": 0.885, "bottom": 0.09}
    )
    for setting, one in zip(shown, axes, strict=False):
        _networks(one, study, setting)
    _means(axes[-1], study)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.suptitle(f"Interleaved gradients: time over the sequential program's (preset {study.preset})", fontsize=12.5)
    order = [*(n for n, label in enumerate(labels) if label != PUBLISHED), labels.index(PUBLISHED)]
    handles, labels = [handles[n] for n in order], [labels[n] for n in order]
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.958), ncols=5, frameon=False, fontsize=9)
    figure.text(0.07, 0.012, FOOTNOTE, fontsize=8, color="#555555")
    return picture_bytes(figure, kind)


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
    axes.set_title(setting.title, loc="left", fontsize=10)
    axes.set_xticks(range(len(models)), names)
    axes.axvline(models.index(AVERAGE) - 0.5, color="#999999", linewidth=0.8)


def _means(axes: Axes, study: IgoResults) -> None:
    settings = [setting for setting in SETTINGS if study.of(setting, STEPS[0])]
    rows = [[study.of(setting, step)[AVERAGE] for setting in settings] for step in STEPS]
    _bars(axes, [[(row.ours, row.published) for row in own] for own in rows])
    axes.set_title("means over the networks: cores, bandwidth and batch of a core", loc="left", fontsize=10)
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
        color=MARK, markeredgecolor="white", markeredgewidth=0.6, label=PUBLISHED,
    )  # fmt: skip
    highest = max(ours for own in steps for ours, _ in own)
    lowest = min(min(ours, ours if paper is None else paper) for own in steps for ours, paper in own)
    axes.axhline(1.0, color="#333333", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_ylim(max(0.0, lowest - 0.1) // 0.1 * 0.1, max(1.05, highest + 0.03))
    axes.set_xlim(-0.55, len(steps[0]) - 0.45)
    axes.set_ylabel("time / sequential")
    axes.grid(True, axis="y", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", length=0)
