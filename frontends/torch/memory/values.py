"""The values of a graph by name while it is translated, where calls write in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.weights import Refused


@dataclass(frozen=True)
class View:
    """A value that shares the memory of another: how it is made of that one, and that one of it."""

    base: str
    make: Callable[[object], Name]
    write: Callable[[object, Name], Name]


class Memory:
    """
    The values of a graph by name, where calls write in place.

    A write to a view changes the value that it is a view of, and all other views of that one.
    """

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self._views: dict[str, View] = {}
        self._derived: dict[str, list[str]] = {}
        self._stale: set[str] = set()

    def __getitem__(self, name: str) -> object:
        if name in self._stale:
            view = self._views[name]
            self._values[name] = view.make(self[view.base])
            self._stale.discard(name)
        if name not in self._values:
            raise Refused(f"found the value '{name}', which no call makes")
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def define(self, name: str, value: object, view: View | None = None) -> None:
        """Give a new name its value."""
        self._values[name] = value
        if view is not None:
            self._views[name] = view
            self._derived.setdefault(view.base, []).append(name)

    def write(self, name: str, value: Name) -> None:
        """Change the value of a name in place, and with it all that share its memory."""
        self._values[name] = value
        self._stale.discard(name)
        self._invalidate(name, but=None)
        while name in self._views:
            view = self._views[name]
            value = view.write(self[view.base], value)
            self._values[view.base] = value
            self._invalidate(view.base, but=name)
            name = view.base

    def turn(self, name: str, view: Callable[[str], View]) -> None:
        """
        Let a name be a view of what it was, as where its axes change in place: all that share its memory stay.

        `view` makes it, for the name that the value gets.
        """
        before = f"{name}'"
        while before in self._values:
            before += "'"
        self._values[before] = self[name]
        shared = self._derived.pop(name, [])
        for other in shared:
            self._views[other] = replace(self._views[other], base=before)
        if name in self._views:
            own = self._views[before] = self._views.pop(name)
            self._derived[own.base] = [before if other == name else other for other in self._derived[own.base]]
        self._views[name] = found = view(before)
        self._derived[before] = [*shared, name]
        self._values[name] = found.make(self._values[before])

    def _invalidate(self, name: str, but: str | None) -> None:
        for other in self._derived.get(name, ()):
            if other != but:
                self._stale.add(other)
                self._invalidate(other, but=None)


def itself(whole: object) -> Name:
    """How a value is made of the one that it is."""
    assert isinstance(whole, Name)
    return whole


def new_part(whole: object, part: Name) -> Name:
    """The value whose only part is written."""
    return part
