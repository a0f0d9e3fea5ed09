"""Reading a mapping file."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from npuc.compiler.core.errors import SourceError
from npuc.frontends.maestro.body import Body, Written, read_body
from npuc.frontends.maestro.check import Checker
from npuc.frontends.maestro.model import MappedLayer, MappingFile, WrongLayer
from npuc.frontends.maestro.outline import Block, outline
from npuc.frontends.maestro.words import Word
from npuc.frontends.source_text import Diagnostics, SourceText

_FOREIGN = re.compile(r"[^A-Za-z0-9_\-+./]")


@lru_cache(maxsize=8)
def read_mapping_file(text: str, filename: str) -> MappingFile:
    """
    The mapping file that a text holds.

    A layer with mistakes is a `WrongLayer`, whose `checked` raises them; `MappingFile.checked` raises those of chosen
    layers. A layer without Dataflow takes the directives of the layer before it. Raises `SourceError` or `SourceErrors`
    here for mistakes that concern the whole file: words outside of layers, braces, Constants.
    """
    source = SourceText(text, filename)
    found = outline(source)
    layers: list[MappedLayer | WrongLayer] = []
    before: list[Written] = []
    for block in found.blocks:
        layer, before = _layer(source, block, before)
        layers.append(layer)
    networks = tuple(clean_name(name) for name in found.networks)
    return MappingFile(tuple(found.constants.items()), networks, tuple(layers))


def clean_name(name: str) -> str:
    """A name with `_` for each character that names of layers do not have."""
    return _FOREIGN.sub("_", name)


def _layer(source: SourceText, block: Block, before: list[Written]) -> tuple[MappedLayer | WrongLayer, list[Written]]:
    """A layer, and the directives for the next one if that has none."""
    name, place = clean_name(block.name.text), source.location(block.name.at)
    if block.mistake is not None:
        return WrongLayer(name, place, (block.mistake,)), []
    diagnostics = Diagnostics()
    body = Body()
    try:
        body = read_body(source, block, diagnostics)
    except SourceError as e:
        diagnostics.add(e)
    directives = body.directives
    inherited = not directives and not len(diagnostics)
    if inherited:
        directives = [_moved(written, block.name) for written in before]
        if not directives:
            hint = "the layer before it, whose directives it would take, has none or is wrong"
            diagnostics.add(source.error(block.name.at, f"layer {block.name} has no Dataflow", hint))
    mapping = None
    if not len(diagnostics):
        mapping = Checker(source, block.name, body, diagnostics).mapping(directives, inherited=inherited)
    if mapping is None:
        return WrongLayer(name, place, diagnostics.found), directives
    warnings = (f"{place}: layer {block.name} has no Dataflow; it takes that of the layer before it",) * inherited
    places = tuple(source.location(written.at.at) for written in directives)
    return MappedLayer(name, place, mapping, places, warnings), directives


def _moved(written: Written, to: Word) -> Written:
    """A directive of the layer before, whose mistakes are shown at the name of the one that takes it."""
    return replace(written, at=to, size=to, offset=to, dim=to)
