"""Networks of darknet as a format of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.frontends.base import Frontend, Program, Request, Source

if TYPE_CHECKING:
    from npuc.frontends.darknet.read import SizesOfCfg


class DarknetNetwork(Frontend):
    """Networks of darknet: YOLO and its classifiers, by their sections."""

    name = "cfg"
    title = "a network of darknet"
    parametric = True
    lacks_step = True

    def read(self, source: Source, request: Request) -> Program:
        """The forward graph, in training with the loss that is asked for; see `Frontend`."""
        from npuc.frontends.darknet.read import read_cfg

        return read_cfg(source, request)

    def parameters(self, source: Source) -> SizesOfCfg:
        """See `Frontend`."""
        from npuc.frontends.darknet.read import SizesOfCfg

        return SizesOfCfg(source)


FRONTEND = DarknetNetwork()
