"""
How frontends are found.

npuc's own are the packages beside this file with a `frontend.py` that holds a `FRONTEND`; others are published by any
installed distribution through the entry point group `npuc.frontends`:

    [project.entry-points."npuc.frontends"]
    mine = "my_package:MyFrontend"         # a class, or a function without arguments that returns a frontend
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import cast

from npuc.compiler.core.errors import SourceError, UsageError, did_you_mean
from npuc.compiler.core.foreign import Foreign, summary
from npuc.frontends.base import Frontend, Parameters, Program, Request, Source

ENTRY_POINTS = "npuc.frontends"


@dataclass
class _Outside(Frontend):
    """A frontend that is not npuc's: its exceptions are reported as its own, not as defects of npuc."""

    frontend: Frontend

    def __post_init__(self) -> None:
        own = self.frontend
        self.name, self.title = own.name, own.title
        self.suffixes = own.suffixes or (own.name,)
        self.binary, self.lists_layers, self.backend = own.binary, own.lists_layers, own.backend
        self.parametric, self.lacks_step, self.is_ir = own.parametric, own.lacks_step, own.is_ir
        # `trusted` stays False: programs of outside frontends are verified

    def read(self, source: Source, request: Request) -> Program:
        """See `Frontend`."""
        with self._blamed():
            found = cast(object, self.frontend.read(source, request))
        if not isinstance(found, Program):
            raise SourceError(f"frontend '{self.name}' returned {type(found).__name__}, expected a Program")
        return found

    def parameters(self, source: Source) -> Parameters | None:
        """See `Frontend`."""
        with self._blamed():
            return self.frontend.parameters(source)

    def _blamed(self) -> Foreign:
        hint = "--debug shows where"
        return Foreign(lambda e: SourceError(f"frontend '{self.name}' failed: {summary(e)}", hint=hint))


@cache
def own_frontends() -> dict[str, Frontend]:
    """npuc's frontends by the names of their formats, in the order of their folders."""
    found = [_own(folder) for folder in _folders()]
    return {frontend.name: frontend for frontend in found}


def _folders() -> tuple[str, ...]:
    """The folders of npuc's frontends."""
    places = (Path(place) for place in import_module("npuc.frontends").__path__)
    return tuple(sorted(file.parent.name for place in places for file in place.glob("*/frontend.py")))


def _own(folder: str) -> Frontend:
    return cast(Frontend, import_module(f"npuc.frontends.{folder}.frontend").FRONTEND)


def _outside(name: str, path: str) -> Frontend:
    """A frontend of another distribution. Raises `UsageError` where the entry point holds none."""
    module, _, attribute = path.partition(":")
    with Foreign(lambda e: UsageError(f"frontend '{name}' cannot be loaded from {path}: {summary(e)}")):
        found = cast("Callable[[], object]", getattr(import_module(module), attribute))()
    if not isinstance(found, Frontend):
        raise UsageError(f"{path}: '{name}' is not a frontend", hint="a frontend is an npuc.frontends.base.Frontend")
    if getattr(found, "name", None) != name:
        raise UsageError(f"{path}: the frontend '{name}' calls itself {getattr(found, 'name', None)!r}")
    if not hasattr(found, "title"):
        raise UsageError(f"{path}: the frontend '{name}' has no title", hint='title = "a file of mine"')
    return _Outside(found)


def _published() -> dict[str, str]:
    """The entry point of each frontend that installed distributions publish; npuc's own win over others of a name."""
    from importlib.metadata import entry_points

    own = own_frontends()
    return {point.name: point.value for point in sorted(entry_points(group=ENTRY_POINTS)) if point.name not in own}


def frontend_names() -> tuple[str, ...]:
    """The names of all formats, npuc's own first."""
    return (*own_frontends(), *_published())


def get_frontend(name: str) -> Frontend:
    """The frontend of a format. Raises `UsageError` with the nearest known name."""
    if name in _folders() and (own := _own(name)).name == name:  # without a look at the others
        return own
    if name in own_frontends():
        return own_frontends()[name]
    published = _published()
    if name in published:
        return _outside(name, published[name])
    raise UsageError(f"unknown source format '{name}'", hint=did_you_mean(name, frontend_names()))


def all_frontends() -> Iterator[Frontend]:
    """Every frontend that can be loaded, npuc's own first."""
    yield from own_frontends().values()
    for name in _published():
        try:
            yield get_frontend(name)
        except UsageError:
            continue


def about(frontend: Frontend) -> str:
    """The first line of a frontend's documentation."""
    kind = type(frontend.frontend if isinstance(frontend, _Outside) else frontend)
    return cleandoc(kind.__doc__ or "").partition("\n")[0]


def suffixes_of(frontend: Frontend) -> tuple[str, ...]:
    """The suffixes of the files of a format, without the dot."""
    return frontend.suffixes or (frontend.name,)


def frontend_for(suffix: str) -> Frontend | None:
    """The frontend of files with a suffix, without its dot; None where nobody reads them."""
    for frontend in own_frontends().values():  # without a look at installed distributions
        if suffix in suffixes_of(frontend):
            return frontend
    return next((frontend for frontend in all_frontends() if suffix in suffixes_of(frontend)), None)
