"""Where the results of a verb go."""

from __future__ import annotations

from npuc.compiler.core.errors import UsageError


def check_one_on_stdout(**targets: str | None) -> bool:
    """
    Whether one of several results, by the options that say where they go, goes to standard output.

    Raises `UsageError` where several do.
    """
    names = [("-" if len(name) == 1 else "--") + name.replace("_", "-") for name in targets]
    if list(targets.values()).count("-") > 1:
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        raise UsageError(f"only one of {listed} can go to standard output", hint="give the others files")
    return "-" in targets.values()
