"""The network language as a format of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.frontends.base import Frontend, Program, Request, Source

if TYPE_CHECKING:
    from npuc.frontends.dsl.elaborate import NetworkParameters


class NetworkLanguage(Frontend):
    """Networks in npuc's language."""

    name = "dsl"
    title = "a network"
    parametric = True

    def read(self, source: Source, request: Request) -> Program:
        """The forward graph, in training restricted to what the loss needs; see `Frontend`."""
        from npuc.frontends.dsl.elaborate import read_dsl

        training = not request.inference
        module = read_dsl(
            source.text, source.filename, defines=request.defines, training=training, max_ops=request.max_ops
        )
        return Program(module)

    def parameters(self, source: Source) -> NetworkParameters:
        """See `Frontend`."""
        from npuc.frontends.dsl.elaborate import NetworkParameters

        return NetworkParameters(source.text, source.filename)


FRONTEND = NetworkLanguage()
