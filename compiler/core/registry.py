"""
How entries of one kind are found: npuc's own by their files, others by what installed distributions publish.

    ALGORITHMS = Registry(Algorithm, "mapper", "npuc.compiler.explore.mapping.mappers", "MAPPER", "npuc.mappers")
    ALGORITHMS.get("random")

An own entry is an attribute of a module in a package, under the name of its file (`-` for `_`), or of its folder where
`file` says which one of a folder holds it. An entry point names a class, or a function without arguments, that returns
an entry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from npuc.compiler.core.cache import reads
from npuc.compiler.core.errors import SourceError, UsageError, did_you_mean
from npuc.compiler.core.foreign import Foreign, summary
from npuc.compiler.core.frozen import frozen

EntryT = TypeVar("EntryT")


def published(group: str) -> dict[str, str]:
    """What installed distributions publish in an entry point group: where each entry is, by name, sorted."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in sorted(entry_points(group=group))}


def load_published(noun: str, name: str, path: str) -> Any:
    """What an entry point `module:attribute`, or `module`, names. Raises `UsageError` where it cannot be loaded."""
    module, _, attribute = path.partition(":")
    reads.refuse("code of users ran")
    with Foreign(lambda e: UsageError(f"{noun} '{name}' cannot be loaded from {path}: {summary(e)}")):
        found = import_module(module)
        return getattr(found, attribute) if attribute else found


def lazily(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """
    The `__getattr__` of a package that imports a module when one of its names is first used: `names` by the module.

        if TYPE_CHECKING:
            from npuc.frontends.tables.read import read_table
        __getattr__ = lazily(__name__, {"read": ("read_table",)})

    A package that holds a small module which every start needs, beside large ones that few do, imports none of them.
    """
    places = {name: module for module, defined in names.items() for name in defined}

    def load(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{package}.{places[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return load


@frozen
class Registry(Generic[EntryT]):
    """
    Entries of a class `kind`, called a `noun`; those of `package` are the attribute `attribute` of their modules.

    `outside` makes of an entry of another distribution one that npuc's own code may call: what such code raises is
    then reported as its own.
    """

    kind: type[EntryT]
    noun: str
    package: str
    attribute: str
    group: str
    outside: Callable[[str, EntryT], EntryT] = lambda name, entry: entry
    file: str | None = None
    default: str | None = None

    @property
    def own(self) -> tuple[str, ...]:
        """The names of npuc's own entries: the default first, then sorted."""
        places = [Path(place) for place in import_module(self.package).__path__]
        if self.file is None:
            found = {path.stem.replace("_", "-") for place in places for path in place.glob("[!_]*.py")}
        else:
            found = {path.parent.name.replace("_", "-") for place in places for path in place.glob(f"*/{self.file}.py")}
        return tuple(sorted(found, key=lambda name: (name != self.default, name)))

    def names(self) -> tuple[str, ...]:
        """The names of all entries, npuc's own first."""
        return (*self.own, *(name for name in published(self.group) if name not in self.own))

    def get(self, name: str) -> EntryT:
        """The entry of that name; npuc's own win. Raises `UsageError` with the nearest known name."""
        found = self._found(name)
        return found if name in self.own else self.outside(name, found)

    def about(self, name: str) -> str:
        """The first line of the documentation of an entry's class; why not, where it cannot be loaded."""
        try:
            found = self._found(name)
        except UsageError as e:
            return e.message.removeprefix(f"{self.noun} '{name}' ")
        return cleandoc(type(found).__doc__ or "").partition("\n")[0]

    def blamed(self, name: str) -> AbstractContextManager[None]:
        """Where the code of an entry runs: what one from outside raises is reported as its own."""
        if name in self.own:
            return nullcontext()
        hint = "--debug shows where"
        return Foreign(lambda e: SourceError(f"{self.noun} '{name}' failed: {summary(e)}", hint=hint))

    def _found(self, name: str) -> EntryT:
        if name in self.own:
            place = name.replace("-", "_")
            where = place if self.file is None else f"{place}.{self.file}"
            return cast(EntryT, getattr(import_module(f"{self.package}.{where}"), self.attribute))
        others = published(self.group)
        if name not in others:
            raise UsageError(f"there is no {self.noun} '{name}'", hint=did_you_mean(name, self.names()))
        return self._load(name, others[name])

    def _load(self, name: str, path: str) -> EntryT:
        make = load_published(self.noun, name, path)
        with Foreign(lambda e: UsageError(f"{self.noun} '{name}' cannot be made by {path}: {summary(e)}")):
            found = cast("Callable[[], object]", make)()
        if not isinstance(found, self.kind):
            place = f"{self.kind.__module__}.{self.kind.__qualname__}"
            raise UsageError(f"{path}: '{name}' is not a {self.noun}", hint=f"a {self.noun} is a {place}")
        return found
