"""Which parameters are not trained, by patterns of their names."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from npuc.compiler.core.errors import UsageError


class Frozen:
    """Patterns of parameters that are not trained; each must match one."""

    def __init__(self, patterns: Sequence[str]):
        self._found = dict.fromkeys(patterns, False)
        self._names: list[str] = []

    def matches(self, name: str) -> bool:
        """Whether a parameter is not trained."""
        self._names.append(name)
        found = [pattern for pattern in self._found if fnmatchcase(name, pattern)]
        self._found.update(dict.fromkeys(found, True))
        return bool(found)

    def check(self) -> None:
        """Raise `UsageError` for a pattern that no parameter so far has matched."""
        for pattern in (pattern for pattern, found in self._found.items() if not found):
            raise UsageError(
                f"--freeze {pattern}: no parameter has such a name", hint="npuc run lists parameters by name"
            )
