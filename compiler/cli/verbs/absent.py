"""
Which options of the groups a verb does not take, and why: what an error says of one, and a test compares.

Whatever has no line here is taken by each of these verbs, under the same name and with the same meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from npuc.compiler.cli.groups import Group

_ONE_POINT = "a sweep has many programs; npuc compile shows the passes of one"
_SEVERAL_PROGRAMS = "a training has several programs; npuc compile shows the passes of one"
_TEXT = "its result is the text that it prints"
_CHECKED = "every pass is verified before it is checked"
_NO_SCORE = "what is executed is not scored"
_SEARCHED = "mappings take the place of schedules, which it sets"
_UNGROUPED = "each contraction is mapped by itself, and groups are of several"
_COLLECTIVES = dict.fromkeys(
    ("collectives", "chunks", "bucket_mib"),
    "collectives are costed beside mappings; npuc compile -b maestro costs both",
)
_KEPT = dict.fromkeys(("cache_dir", "no_cache"), "what it has found is kept by --resume")
_NO_PAGE = {"html": "pages are of compile, diff, sweep, map, study and check"}
_NO_TABLE = {"table": "tables for papers are of compile, diff, sweep, map and study"}
_PASSES = ("print_after", "print_changed", "time_passes", "statistics", "statistics_json", "debug_only")

ABSENT: Mapping[str, Mapping[str, str]] = {
    "compile": {},
    "diff": {
        **dict.fromkeys(_PASSES, "it has two programs; npuc compile shows the passes of one"),
        "plot": "npuc compile --plot draws each of the steps",
        "plot_as": "npuc compile --plot draws each of the steps",
        "output": "it has two programs; npuc compile -o writes one",
    },
    "run": {
        **_NO_PAGE,
        **_NO_TABLE,
        "only": "a step runs as a whole",
        "csv": "losses go to a file by --json, arrays by --outputs",
        "output": "arrays go to a file by --outputs, programs by npuc opt -o",
    },
    "check": {
        "only": "a step runs as a whole",
        "mapping": "mappings change costs, and nothing that is computed",
        "verify_each": _CHECKED,
        "json": _TEXT,
        "csv": _TEXT,
        "plot": _TEXT,
        "plot_as": _TEXT,
        "table": _TEXT,
        "output": "programs are written by npuc opt -o",
        "backend": _NO_SCORE,
    },
    "explain": {
        **_NO_PAGE,
        **_NO_TABLE,
        "csv": "npuc compile --csv has the figures of all layers",
        "output": "programs are written by npuc compile -o",
    },
    "sweep": {
        **dict.fromkeys(_PASSES, _ONE_POINT),
        "output": _ONE_POINT,
    },
    "optimize": {
        **_NO_PAGE,
        **_NO_TABLE,
        **dict.fromkeys(_PASSES, "it has many programs; npuc compile shows the passes of one"),
        "output": "it has many programs; npuc compile -o writes one",
    },
    "map": {
        "opt_level": "each contraction is mapped by itself, and levels are about how several share the scratchpad",
        "tolerance": _SEARCHED,
        "fuse_layers": _UNGROUPED,
        **_COLLECTIVES,
        **_KEPT,
        "backend": "its mappings are those of the backend maestro",
    },
    "design": {
        **_NO_PAGE,
        **_NO_TABLE,
        "opt_level": "each contraction is mapped by itself, and levels are about how several share the scratchpad",
        "tolerance": _SEARCHED,
        "fuse_layers": _UNGROUPED,
        **_COLLECTIVES,
        **_KEPT,
        "backend": "its machines are those of the backend maestro",
    },
    "flexibility": {
        **_NO_PAGE,
        **_NO_TABLE,
        "opt_level": "each contraction is mapped by itself, and levels are about how several share the scratchpad",
        "tolerance": _SEARCHED,
        "fuse_layers": _UNGROUPED,
        **_COLLECTIVES,
        **_KEPT,
        "output": "it sets several mappings of each contraction side by side; npuc map -o writes the best one",
        "backend": "its mappings are those of the backend maestro",
    },
    "training": {
        **_NO_PAGE,
        **_NO_TABLE,
        **dict.fromkeys(
            (*_PASSES, "verify_each"), "a training has several programs; npuc compile shows the passes of one"
        ),
        "only": "a step is priced as a whole",
        "output": "programs are written by npuc compile -o",
    },
    "opt": {
        **_NO_PAGE,
        **_NO_TABLE,
        "mapping": "it scores nothing; the pass map of -p sets mappings",
        "verify_each": "it verifies the program after every pass; --disable-verify does not",
        "json": "its result is the program of -o",
        "csv": "its result is the program of -o",
        "plot": "its pictures are those of --emit svg",
        "plot_as": "its pictures are those of --emit svg",
        "backend": "it scores nothing",
    },
}
"""By verb and field of a group the reason why the verb has no such option."""


def without(verb: str, group: type[Group]) -> tuple[str, ...]:
    """The options of a group that a verb does not take."""
    return tuple(option.name for option in fields(group) if option.name in ABSENT[verb])


def absence(verb: str, option: str) -> str | None:
    """Why a verb does not take an option of another, by its name on the command line; None where nobody says."""
    name = name_of(option)
    reason = None if name is None else ABSENT.get(verb, {}).get(name)
    return None if reason is None else f"npuc {verb} has none: {reason}"


def name_of(option: str) -> str | None:
    """The field of a group that an option is, by its name on the command line; None for any other."""
    from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program

    if option in ("-b", "--backend"):
        return "backend"
    for group in (Program, Machine, Optimisation, Devices, Output):
        for name, spelt in group.names().items():
            if option in spelt:
                return name
    return None
