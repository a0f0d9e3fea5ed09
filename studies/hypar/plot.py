"""The figures of the study on one sheet: bytes, times and energy of the networks, scaling, and the space of choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuc.compiler.core.drawing.figure import Axes, Figure, picture
from npuc.compiler.core.drawing.palette import BLACK, BLUE, GREEN, INK, ORANGE, SCALE, SKY, VERMILION
from npuc.compiler.core.options import Strategy
from npuc.studies.hypar.claims import VARIANT, FigureRow
from npuc.studies.hypar.settings import BASE, OURS, STUDIED_STRATEGIES, TOPOLOGIES, TOPOLOGY_NAMES, TREE
from npuc.studies.hypar.study import HyparResults
from npuc.studies.hypar.view import tables_of

COLOURS: Mapping[Strategy, str] = {
    "dp": BLACK,
    "mp": ORANGE,
    "owt": SKY,
    "hypar": BLUE,
    "joint": GREEN,
}
MARK = VERMILION
WIDTH = 0.16
"""The width of a bar; five of them a network."""
RATIO = f" over {BASE}, x"
"""The end of the titles of gains, whose bars begin at 1."""


def draw(study: HyparResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    title = f"Layers over 16 accelerators; plans by the convention {study.preset}"
    return picture(kind, (13, 12.5), lambda figure: _fill(figure, study), title=title)


def _fill(figure: Figure, study: HyparResults) -> None:
    """All figures."""
    grid = figure.add_gridspec(3, 2, height_ratios=[1, 1, 1.35])
    (moved, networks), *others = tables_of(study.rows).items()
    _bars(figure.add_subplot(grid[0, :]), moved, networks)
    figure.axes[0].legend(loc="upper left", ncols=6, fontsize=8.5)
    gains = [(claim, table) for claim, table in others if claim.endswith(RATIO) and not claim.startswith(VARIANT)]
    for number, (claim, networks) in enumerate(gains):
        _bars(figure.add_subplot(grid[1, number]), claim, networks)
    _scaling(figure.add_subplot(grid[2, 0] if study.space else grid[2, :]), study)
    if study.space:
        _space(figure, figure.add_subplot(grid[2, 1]), study)


def _bars(axes: Axes, claim: str, networks: Mapping[str, Mapping[str, FigureRow]]) -> None:
    """A group of bars a network on a scale of powers, and marks where the paper has a number."""
    groups = list(networks.items())
    start = 1.0 if claim.endswith(RATIO) else 0.0
    marks: list[tuple[float, float]] = []
    for number, strategy in enumerate(STUDIED_STRATEGIES):
        at: list[float] = []
        heights: list[float] = []
        for place, (_, rows) in enumerate(groups):
            row, x = rows.get(strategy), place + (number - 2) * WIDTH
            if row is not None and isinstance(row.ours, float):
                at.append(x)
                heights.append(row.ours)
            if row is not None and isinstance(row.published, float):
                marks.append((x, row.published))
        style = {"color": COLOURS[strategy], "label": strategy, "bottom": start}
        axes.bar(at, [height - start for height in heights], WIDTH * 0.92, **style)
    axes.plot(
        [x for x, _ in marks], [y for _, y in marks], linestyle="none", marker="D", markersize=4,
        color=MARK, markeredgecolor="white", markeredgewidth=0.6, label="published",
    )  # fmt: skip
    axes.set_yscale("log")
    if start:
        axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.margins(y=0.16)
    _dress(axes, claim)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.set_xticks(range(len(groups)), [name for name, _ in groups], fontsize=7 if start else 8)
    axes.tick_params(axis="x", length=0)


def _scaling(axes: Axes, study: HyparResults) -> None:
    """The speed-up over one accelerator."""
    strategies: tuple[Strategy, ...] = (BASE, OURS)
    shown: list[int] = []
    for strategy in strategies:
        own = [scale for scale in study.scales if scale.strategy == strategy and scale.seconds]
        shown = [scale.devices for scale in study.scales if scale.strategy == strategy]
        for topology in TOPOLOGIES:
            axes.plot(
                [scale.devices for scale in own],
                [own[0].seconds[topology] / scale.seconds[topology] for scale in own],
                marker="o" if topology == TREE else "s", markersize=4.5, color=COLOURS[strategy],
                linestyle="-" if topology == TREE else (0, (4, 2)), label=f"{strategy}, {TOPOLOGY_NAMES[topology]}",
            )  # fmt: skip
    axes.plot(shown, shown, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), label="one for each accelerator")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(shown, [str(devices) for devices in shown])
    axes.set_yticks(shown, [str(devices) for devices in shown])
    axes.minorticks_off()
    axes.set_xlabel("accelerators")
    axes.legend(frameon=False, fontsize=8.5)
    _dress(axes, f"speed of {study.scaled} over one accelerator")


def _space(figure: Figure, axes: Axes, study: HyparResults) -> None:
    """Bytes by the choices at the top level and at the bottom one; a star at HyPar's."""
    words = list(dict.fromkeys(choice.top for choice in study.space))
    table: list[list[float]] = [[0.0] * len(words) for _ in words]
    for choice in study.space:
        table[words.index(choice.bottom)][words.index(choice.top)] = choice.gb
    image = axes.imshow(table, cmap=f"{SCALE}_r", origin="lower", aspect="auto")
    own = [choice for choice in study.space if choice.chosen]
    axes.plot(
        [words.index(choice.top) for choice in own], [words.index(choice.bottom) for choice in own], linestyle="none",
        marker="*", markersize=15, color=MARK, markeredgecolor="white",
    )  # fmt: skip
    for choice in own:
        axes.annotate(
            "HyPar's", (words.index(choice.top), words.index(choice.bottom)), (10, 0), textcoords="offset points",
            va="center", fontsize=8.5, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5},
        )  # fmt: skip
    _words(axes, words)
    axes.set_xlabel("layers at H1")
    axes.set_ylabel("layers at H4")
    axes.set_title("communication of Lenet-c, GB; H2 and H3 as HyPar's")
    axes.grid(False)
    figure.colorbar(image, ax=axes, pad=0.02)


def _words(axes: Axes, words: Sequence[str]) -> None:
    """The choices along both axes."""
    axes.set_xticks(range(len(words)), words, rotation=90, fontsize=7.5)
    axes.set_yticks(range(len(words)), words, fontsize=7.5)


def _dress(axes: Axes, title: str) -> None:
    axes.set_title(title)
    axes.grid(False, axis="x")
