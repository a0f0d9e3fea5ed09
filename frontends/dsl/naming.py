"""The names of layers: the path of block instances and loop iterations, then the name that the value is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from npuc.compiler.core.errors import Location
from npuc.frontends.dsl.values import Poison, Value
from npuc.frontends.source_text import Place, SourceText


def join(prefix: str, name: str) -> str:
    """A path one component longer."""
    return f"{prefix}.{name}" if prefix else name


class Names:
    """The layer names in use; a second layer of one name becomes `name_2`."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._next: dict[str, int] = {}
        self._paths: set[str] = set()

    def unique(self, name: str) -> str:
        """`name`, or `name_2`, … if it is taken; taken from now on."""
        candidate = name
        while candidate in self._used:
            number = self._next.get(name, 2)
            self._next[name] = number + 1
            candidate = f"{name}_{number}"
        self._used.add(candidate)
        return candidate

    def mark(self, path: str) -> None:
        """Note that a name is the path of a block call, which one layer inside may have."""
        self._paths.add(path)

    def own(self, path: str) -> str:
        """The path of a block as the name of a layer inside."""
        if path not in self._paths:
            return self.unique(path)
        self._paths.remove(path)
        return path


OWN = "."
"""The name that a layer of a block says to have that of the block's call."""


@dataclass
class Frame:
    """
    One run of a network's or block's body.

    `prefix` is the path of what is built now. In a loop, `carried` holds the variables that existed before it, and
    `plain` is true until a block call of this iteration has taken the iteration's own path as its name. `caller` is
    set in a block of the library: the call in the program that it runs for, which stands for all that it builds.
    """

    source: SourceText
    prefix: str
    frozen: bool = False
    variables: dict[str, Value | Poison] = field(default_factory=dict[str, "Value | Poison"])
    carried: frozenset[str] = frozenset()
    plain: bool = False
    caller: tuple[SourceText, Place] | None = None

    def blamed(self, at: Place) -> tuple[SourceText, Place]:
        """The place in the program that is blamed for a place in this body."""
        return self.caller or (self.source, at)

    def location(self, at: Place) -> Location:
        """The location in the program of an operation that is built at a place of this body."""
        source, place = self.blamed(at)
        return source.location(place)


class Slot:
    """
    Names the layers of one statement.

    With a target `h` the outermost call is layer `h`, a call inside it `h.linear`. Without one (`return`, `loss`) a
    call is named by its function. `several` says that the target is the first of several, `given` that the call says
    its name itself.
    """

    def __init__(
        self, names: Names, frame: Frame, target: str | None = None, *, several: bool = False, given: bool = False
    ):
        self._names = names
        self._named = target is not None and not several
        self._given = given
        self._frame = frame
        self._target = target
        self._own: str | None = None

    def given(self, name: str) -> Slot:
        """The slot of a call that says its name, below the path of the body."""
        return Slot(self._names, self._frame, name, given=True)

    def layer(self, function: str, outermost: bool) -> str:
        """The name of a layer made by a call of `function`."""
        if self._target is None:
            return self._names.unique(join(self._frame.prefix, function))
        if self._own is None and self._given and self._target == OWN:
            self._own = self._names.own(self._frame.prefix)
        elif self._own is None:
            self._own = self._names.unique(join(self._frame.prefix, self._target))
        return self._own if outermost else self._names.unique(f"{self._own}.{function}")

    def block(self, function: str, outermost: bool, *, is_part: bool = False) -> str:
        """
        The prefix of the layers of a block call.

        The first call of an iteration that renews a loop-carried variable, `x = bottleneck(x)`, adds no name. Neither
        does the call of a part of a block of the library, unless its value gets a name: `return _rest(x)`, or
        `a, b = _step(x)`. A name that the call says is taken as it is, so that several calls may share a path.
        """
        frame = self._frame
        if self._given and outermost:
            return frame.prefix if self._target == OWN else join(frame.prefix, self._target or "")
        if is_part and outermost and not self._named:
            return frame.prefix
        if outermost and frame.plain and self._target in frame.carried:
            frame.plain = False
            return frame.prefix
        path = self.layer(function, outermost)
        self._names.mark(path)
        return path
