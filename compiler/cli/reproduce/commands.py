"""The commands that make the files of a study that is handed on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from npuc.studies.base import Asked, Study

KINDS = ("svg", "pdf")
"""The file formats of a figure."""
FIGURES = "figures"


@dataclass(frozen=True)
class Reproduced:
    """A study by its name, what its class says of it, and what was asked of it."""

    name: str
    about: str
    study: Study
    asked: Asked

    @property
    def draws(self) -> bool:
        """Whether it has figures here: it draws, and what draws them is installed."""
        return self.asked.draws

    @property
    def again(self) -> str:
        """What the commands make, in words."""
        return "text, rows and figures" if self.draws else "text and rows"

    @property
    def words(self) -> tuple[str, ...]:
        """The words that commands of all files have in common; the number of processes changes none of them."""
        return ("npuc", "study", self.name, "--preset", self.asked.preset, "-q")

    @property
    def commands(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Commands as a shell reads them, each with the files that it makes."""
        rows = ("--json", "rows.json", "--csv", "rows.csv")
        if not self.draws:
            return ((("study.txt", "rows.json", "rows.csv"), f"{shlex.join((*self.words, *rows))} > study.txt"),)
        plot = ("--plot", FIGURES if self.study.folder else f"figure.{KINDS[0]}")
        drawn = (f"{FIGURES}/",) if self.study.folder else (f"figure.{KINDS[0]}",)
        others = KINDS if self.study.folder else KINDS[1:]
        return (
            (
                ("study.txt", "rows.json", "rows.csv", *drawn),
                f"{shlex.join((*self.words, *rows, *plot))} > study.txt",
            ),
            *(
                ((f"figure.{kind}",), f"{shlex.join((*self.words, '--plot', f'figure.{kind}'))} > /dev/null")
                for kind in others
            ),
        )


def script(made: Reproduced) -> str:
    """The commands as a script of a shell."""
    lines = [
        "#!/bin/sh",
        f"# Makes {made.again} of the study {made.name} again, in the folder in which it is run: sh commands.sh",
        "set -e",
        "unset COLUMNS  # tables are as wide as they need to be",
        *(command for _, command in made.commands),
    ]
    return "\n".join(lines) + "\n"
