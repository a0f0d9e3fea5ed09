"""
The phases of a training: which programs run, for how many steps.

    training = Training("adagp.toml", (PhaseProgram("gp", {"inference": True}),), (Phase("warm-up", ...), ...), ...)
    steps_by_program(phase, 20)         # {"gp": 16, "step": 4} of the mix 4:1

Steps and epochs are counted from 0; a span holds its first and not its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Unit = Literal["epochs", "steps"]
UNITS: tuple[Unit, ...] = ("epochs", "steps")
STEP = "step"
"""The program that a source and the options of a call say, of phases that name none."""


@dataclass(frozen=True)
class PhaseProgram:
    """
    A program of a training: a name, what of the call's options differs for it (keywords of `compile_file`), and its
    source, where that is another than the call's.
    """

    name: str
    options: Mapping[str, Any]
    source: str | None = None


@dataclass(frozen=True)
class Phase:
    """
    Epochs or steps `first` to below `end`, of which each takes the programs of `mix` in turn, so many steps of each.

    The turns begin with the phase; the last one may be cut short.
    """

    name: str
    unit: Unit
    first: int
    end: int
    mix: Mapping[str, int]

    @property
    def length(self) -> int:
        """Its epochs or steps."""
        return self.end - self.first


@dataclass(frozen=True)
class Training:
    """
    A training: its programs but for `step`, and its phases, which follow each other without a gap.

    An epoch is `samples_per_epoch` samples, or `steps_per_epoch` steps of any program; both are None where nobody says.
    """

    name: str
    programs: tuple[PhaseProgram, ...]
    phases: tuple[Phase, ...]
    samples_per_epoch: int | None = None
    steps_per_epoch: int | None = None

    @property
    def used(self) -> tuple[str, ...]:
        """The programs that phases run, in the order in which they come first."""
        return tuple(dict.fromkeys(name for phase in self.phases for name in phase.mix))


def steps_by_program(mix: Mapping[str, int], steps: int) -> dict[str, int]:
    """How many of so many steps each program of a mix has, in turns from the first program on."""
    turns, rest = divmod(steps, sum(mix.values()))
    found: dict[str, int] = {}
    for name, share in mix.items():
        own = min(share, rest)
        found[name] = turns * share + own
        rest -= own
    return found


def programs_in_turn(mix: Mapping[str, int], steps: int) -> Iterator[tuple[str, int]]:
    """The same in their order: a program, and how many steps of it come next."""
    if len(mix) == 1:
        (name,) = mix
        yield name, steps
        return
    while steps:
        for name, share in mix.items():
            if own := min(share, steps):
                yield name, own
            steps -= own


def steps_per_epoch(training: Training, samples_of_a_step: Sequence[int]) -> int | None:
    """
    The steps of an epoch of programs that take so many samples each; None where they differ.

    The last step of an epoch may have fewer samples, and costs as much.
    """
    if training.steps_per_epoch is not None or training.samples_per_epoch is None:
        return training.steps_per_epoch
    if len(set(samples_of_a_step)) != 1 or not samples_of_a_step[0]:
        return None
    return -(-training.samples_per_epoch // samples_of_a_step[0])
