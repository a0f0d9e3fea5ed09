"""The picture: losses over the modelled time where the methods were executed, else time and energy beside plain."""

from __future__ import annotations

from npuc.compiler.core.drawing.figure import Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, QUIET, VERMILION
from npuc.compiler.explore.training.picture import draw as draw_trainings
from npuc.studies.training_methods.study import MethodsResults


def draw(study: MethodsResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    if study.seeds:
        return draw_trainings(study.trainings, kind)
    return picture(
        kind,
        (8.0, 0.36 * len(study.rows) + 1.6),
        lambda figure: _fill(figure, study),
        title=f"Methods of training: {study.network} on {study.hardware}",
        about="how many times as fast, and with how many times less energy, as plain training in f32",
    )


def _fill(figure: Figure, study: MethodsResults) -> None:
    rows = [row for row in study.rows if row.gain is not None]
    axes = figure.subplots()
    places = range(len(rows))
    axes.barh([place - 0.2 for place in places], [row.gain or 0.0 for row in rows], 0.38, color=BLUE, label="time")
    energies = [row.energy_gain or 0.0 for row in rows]
    if any(energies):
        axes.barh([place + 0.2 for place in places], energies, 0.38, color=VERMILION, label="energy")
    axes.axvline(1.0, color=QUIET, linewidth=1)
    axes.set_yticks([*places], [row.method for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("plain training over the method")
    axes.legend(fontsize=8)
