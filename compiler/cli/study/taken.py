"""What a study takes: its presets and its options. What it does not take is refused."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.studies.base import STUDIES, Option, Study


def chosen_preset(study: Study, preset: str | None) -> str:
    """The preset that was asked for, the first one by default. Raises `UsageError` for one that is not the study's."""
    chosen = preset or study.presets[0]
    if chosen not in study.presets:
        raise UsageError(f"--preset {chosen}: there is no such preset", hint=did_you_mean(chosen, study.presets))
    return chosen


SPELT: dict[Option, str] = {
    "networks": "--network",
    "hardware": "--hw",
    "defines": "-D",
    "pipelines": "--rewrite",
    "load": "--load",
    "settings": "--set",
    "jobs": "--jobs",
    "plot": "--plot",
    "figures": "--figure",
    "area_mm2": "--area-mm2",
    "evaluations": "--evaluations",
    "resume": "--resume",
    "total_gb_per_s": "--total-gb-per-s",
}


def require_taken(name: str, study: Study, given: Sequence[Option]) -> None:
    """Raise `UsageError` for options that the study does not take."""
    unused: list[Option] = [option for option in given if option not in study.takes]
    if "plot" in unused or ("figures" in unused and "plot" not in study.takes):
        raise UsageError(f"the study {name} draws nothing", hint="--json and --csv write its rows")
    for option in unused:
        others = [other for other in STUDIES.own if option in STUDIES.get(other).takes]
        text = f"studies {', '.join(others[:-1])} and {others[-1]}" if len(others) > 1 else f"study {others[0]}"
        raise UsageError(f"{SPELT[option]} is an option of the {text}")
