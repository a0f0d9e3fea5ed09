"""A mapping file as frozen data: layers that can be mapped, and layers with mistakes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

from npuc.compiler.core.errors import Location, SourceError
from npuc.dialects.mapping import Mapping
from npuc.frontends.source_text import Diagnostics


@dataclass(frozen=True)
class MappedLayer:
    """
    A layer with its mapping, and the place of its name and of each directive.

    Directives are as written, `Sz` included, with the numbers of Constants. `warnings` are for the user, with places.
    """

    name: str
    location: Location
    mapping: Mapping
    places: tuple[Location, ...]
    warnings: tuple[str, ...] = ()

    def checked(self) -> MappedLayer:
        """The layer itself."""
        return self


@dataclass(frozen=True)
class WrongLayer:
    """A layer that cannot be mapped, and why, in the order of the places."""

    name: str
    location: Location
    errors: tuple[SourceError, ...]

    def checked(self) -> NoReturn:
        """Raises `SourceError`, or `SourceErrors` where several things are wrong."""
        diagnostics = Diagnostics()
        for error in self.errors:
            diagnostics.add(error)
        diagnostics.raise_if_any()
        raise AssertionError("a wrong layer has an error")


@dataclass(frozen=True)
class MappingFile:
    """A mapping file: its Constants (the last of a name), the names of its networks, the layers of all networks."""

    constants: tuple[tuple[str, int], ...]
    networks: tuple[str, ...]
    layers: tuple[MappedLayer | WrongLayer, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all layers, wrong ones too; a name may occur more than once."""
        return tuple(layer.name for layer in self.layers)

    def checked(self, chosen: Collection[int] | None = None) -> tuple[MappedLayer, ...]:
        """
        The layers of these numbers (from 0), or all of them.

        Raises `SourceError` or `SourceErrors` for what is wrong in them; other layers may be wrong.
        """
        layers = [layer for number, layer in enumerate(self.layers) if chosen is None or number in chosen]
        diagnostics = Diagnostics()
        for layer in layers:
            for error in layer.errors if isinstance(layer, WrongLayer) else ():
                diagnostics.add(error)
        diagnostics.raise_if_any()
        return tuple(layer for layer in layers if isinstance(layer, MappedLayer))
