"""Which parameters are not trained, by patterns of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import islice

from msgspec.structs import replace

from npuc.compiler.core.errors import UsageError
from npuc.frontends.dsl.syntax import Assignment, Call, Statement


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


class FrozenLayers:
    """Statements as the language says that their parameters are not trained; `is_frozen` says it by their names."""

    def __init__(self, is_frozen: Callable[[str], bool] | None):
        self._is_frozen = is_frozen
        self._halves: tuple[str, str] | None = None

    def marked(self, statement: Statement, names: Iterable[str], before: int) -> Statement:
        """
        A statement with its call `frozen` where none of the parameters that it made is trained.

        These are the `names` of all parameters so far but the first ones, those from `before`.
        """
        made = list(islice(names, before, None))
        chosen = [] if self._is_frozen is None else [name for name in made if self._is_frozen(name)]
        call = statement.value if isinstance(statement, Assignment) else None
        if not chosen or (isinstance(call, Call) and call.frozen):
            return statement
        if not isinstance(statement, Assignment) or not isinstance(call, Call) or len(chosen) < len(made):
            self._halves = chosen[0], next((name for name in made if name not in chosen), "others")
            return statement
        return replace(statement, value=replace(call, frozen=True))

    def check(self) -> None:
        """Raise `UsageError` where some parameters of one layer are trained, which the language has no word for."""
        if self._halves is not None:
            frozen, trained = self._halves
            raise UsageError(
                f"--freeze: '{frozen}' is not trained, but '{trained}' of its layer is: text freezes whole layers",
                hint="freeze both, or give --freeze to the verbs that read the file itself",
            )
