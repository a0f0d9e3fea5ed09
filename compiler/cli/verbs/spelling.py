"""
How options may be written: `--zero` with a value or without, and options by the names of the last release.

    present(["--zero", "net.dsl"], "compile")    # ["--zero=3", "net.dsl"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuc.compiler.cli.shared import aside
from npuc.compiler.core.options import ZERO_STAGES

FORMER: Mapping[str, Mapping[str, str]] = {"study": {"--pipeline": "--rewrite"}}
"""By verb the former names of its options, with those of today."""
ZERO = "--zero"


def present(arguments: Sequence[str], verb: str) -> list[str]:
    """The arguments of a verb as they are written today; that one has a former name is said beside the result."""
    given, _, rest = _split(arguments)
    found: list[str] = []
    pending = list(given)
    while pending:
        name, equals, value = pending.pop(0).partition("=")
        now = FORMER.get(verb, {}).get(name)
        if now is not None and not {"-q", "--quiet"} & {*arguments}:
            aside(f"warning: {name} of {verb} is {now} now; the former name goes with the next release")
        if name == ZERO and not equals:
            stage = pending.pop(0) if pending and pending[0].isdecimal() else str(ZERO_STAGES[-1])
            equals, value = "=", stage
        found.append(f"{now or name}{equals}{value}")
    return [*found, *rest]


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], str, Sequence[str]]:
    """The arguments before the one behind which there are no options, and the rest."""
    place = list(arguments).index("--") if "--" in arguments else len(arguments)
    return arguments[:place], "--", arguments[place:]
