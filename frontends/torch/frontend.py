"""Exported PyTorch programs as a format of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.frontends.base import Frontend, Program, Request, Source

if TYPE_CHECKING:
    from npuc.frontends.torch.read import SizeParameters


class TorchProgram(Frontend):
    """Programs that PyTorch's torch.export.save wrote."""

    name = "pt2"
    title = "an exported PyTorch program"
    binary = True
    parametric = True
    lacks_step = True
    prices_unknown = True

    def read(self, source: Source, request: Request) -> Program:
        """The forward graph, in training with the loss that is asked for; see `Frontend`."""
        from npuc.frontends.torch.read import read_pt2

        return read_pt2(source, request)

    def parameters(self, source: Source) -> SizeParameters:
        """See `Frontend`."""
        from npuc.frontends.torch.read import SizeParameters

        return SizeParameters(source.data, source.filename)


FRONTEND = TorchProgram()
