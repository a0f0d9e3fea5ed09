"""The figure of the study: the incast over time, and what collectives and victims have of each scheme."""

from __future__ import annotations

from npuc.compiler.core.drawing.figure import Axes, Figure, picture
from npuc.compiler.core.drawing.palette import INK, series_colour
from npuc.studies.congestion.settings import INCAST
from npuc.studies.congestion.study import CongestionResults

WIDTH = 0.16
"""The width of a bar; five of them a group."""


def draw(study: CongestionResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    title = f"Congestion control under {INCAST} flows to one host, and under collectives"
    about = f"{study.setup.fabric.all_hosts:,} hosts; a fluid model"
    return picture(kind, (11, 8), lambda figure: _fill(figure, study), title=title, about=about)


def _fill(figure: Figure, study: CongestionResults) -> None:
    axes = figure.subplots(2, 2)
    _curve(axes[0, 0], study, "queue_kb", "KB that wait at the receiver's port")
    _curve(axes[0, 1], study, "local_gbit_per_s", "Gb/s of the flow under the same leaf switch")
    _collectives(axes[1, 0], study)
    _shares(axes[1, 1], study)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels))


def _curve(axes: Axes, study: CongestionResults, name: str, title: str) -> None:
    """A measure of the incast over time by scheme."""
    for number, law in enumerate(study.setup.laws):
        own = [one for one in study.curves if one.scheme == law.name]
        axes.plot(
            [one.us for one in own], [getattr(one, name) for one in own], color=series_colour(number), label=law.name
        )
    axes.set_title(title)
    axes.set_xlabel("microseconds")
    axes.set_ylim(bottom=0)


def _collectives(axes: Axes, study: CongestionResults) -> None:
    """Times over those of the alpha-beta model."""
    groups = list(dict.fromkeys((one.algorithm, one.routing) for one in study.collectives))
    for number, law in enumerate(study.setup.laws):
        own = [one for one in study.collectives if one.scheme == law.name]
        at = [place + (number - 2) * WIDTH for place in range(len(groups))]
        axes.bar(at, [one.us / one.model_us for one in own], WIDTH * 0.92, color=series_colour(number))
    axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_xticks(range(len(groups)), [_group(*group) for group in groups], fontsize=8)
    axes.set_title("collectives: time over the alpha-beta model, by routes")


def _group(algorithm: str, routing: str) -> str:
    """A group of bars in short lines."""
    return algorithm.replace("-", "-\n") + f"\n{routing}"


def _shares(axes: Axes, study: CongestionResults) -> None:
    """Shares of a link of the victim, of the local flow, and of the others."""
    for number, one in enumerate(study.patterns):
        at = [place + (number - 2) * WIDTH for place in range(3)]
        shares = [100 * share for share in (one.victim, one.local, one.remote)]
        axes.bar(at, shares, WIDTH * 0.92, color=series_colour(number))
    axes.set_xticks(range(3), ["victim", "local flow", "others, mean"])
    axes.set_title("% of a link: a victim of pauses, and unequal shares")
