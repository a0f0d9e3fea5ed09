"""The networks of the study, or others in their place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.sweep.axes import read_parameters
from npuc.frontends.source import Source, open_source

Settings: TypeAlias = tuple[tuple[str, int | str], ...]
BATCH = "batch"
"""The name of the parameter that sets a network's batch."""


@dataclass(frozen=True)
class ThesisNetwork:
    """
    A program with values of its parameters (`defines`) and of hardware keys (`keys`); `name` is its name in figures.
    """

    name: str
    source: str
    defines: Settings = ()
    keys: Settings = ()

    @property
    def command(self) -> str:
        """The arguments of the command line that name it."""
        return " ".join([self.source, *(f"-D {name}={value}" for name, value in self.defines)])

    def open(self) -> Source:
        """The program's text. Raises `NpucError`s as `open_source`."""
        return open_source(self.source)


STUDIED: Mapping[str, ThesisNetwork] = {
    network.name: network
    for network in (
        ThesisNetwork("resnet50", "samples:resnet50"),
        ThesisNetwork("mobilenet_v2", "samples:mobilenet_v2"),
        # the layers with which the reference data were made
        ThesisNetwork("gnmt", "samples:gnmt", (("variant", "prototype"),), (("roofline.compat", "prototype"),)),
        ThesisNetwork("transformer", "samples:transformer", (("variant", "thesis_fit"),)),
    )
}
"""The study's networks by name, as the reference data have them."""


def studied(*, own: bool) -> dict[str, ThesisNetwork]:
    """The study's networks by name; `own`: as their papers define them, not the variants fitted to the study."""
    if not own:
        return dict(STUDIED)
    plain = {one.name: (("variant", "standard"),) if one.defines else () for one in STUDIED.values()}
    return {name: replace(one, defines=plain[name], keys=()) for name, one in STUDIED.items()}


def networks_of(texts: list[str], defines: Mapping[str, int | str], *, own: bool) -> tuple[ThesisNetwork, ...]:
    """
    The networks that texts mean: names of the study's, else sources as the command line takes them.

    Parameters are set for all of them; without texts these are the study's. Raises `NpucError`s for a source that
    cannot be read, and `UsageError` for `-`, since a source is read several times.
    """
    known = studied(own=own)
    found = [known[text] if text in known else _network(text) for text in dict.fromkeys(texts or known)]
    return tuple(replace(one, defines=tuple({**dict(one.defines), **defines}.items())) for one in found)


def _network(text: str) -> ThesisNetwork:
    if text == "-":
        raise UsageError("--network -: a study reads its networks several times", hint="name a file")
    open_source(text)
    return ThesisNetwork(os.path.splitext(os.path.basename(text.removeprefix("samples:")))[0], text)


def has_batch(network: ThesisNetwork) -> bool:
    """Whether the batch is a parameter of the network."""
    parameters = read_parameters(network.open())
    return parameters is not None and BATCH in parameters.names
