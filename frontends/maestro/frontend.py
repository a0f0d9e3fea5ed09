"""Mapping files of MAESTRO as a format of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.frontends.base import Frontend, Program, Request, Source

if TYPE_CHECKING:
    from npuc.dialects.mapping import Mapping


class MappingFiles(Frontend):
    """Layers with their mappings, as MAESTRO reads them."""

    name = "m"
    title = "a mapping file"
    lists_layers = True
    backend = "maestro"

    def read(self, source: Source, request: Request) -> Program:
        """The forward products of the layers, with their gradients where training is asked for. See `Frontend`."""
        from npuc.frontends.maestro.build import read_mapping_program

        program = read_mapping_program(
            source.text,
            source.filename,
            training=request.inference is False,
            max_ops=request.max_ops,
            choose=request.choose,
            is_legal=_is_legal,
        )
        return Program(program.module, program.warnings)


def _is_legal(mapping: Mapping) -> bool:
    from npuc.compiler.analysis.mapping.coverage import is_legal

    return is_legal(mapping)


FRONTEND = MappingFiles()
