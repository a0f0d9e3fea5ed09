"""Priority flow control alone: a flow sends at the rate of its link unless the next switch pauses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from npuc.compiler.analysis.interconnect.fluid.law import CongestionLaw, ControlContext, FlowControl, FlowView
from npuc.compiler.analysis.interconnect.fluid.routes import Floats


@dataclass(frozen=True)
class PfcOnly(CongestionLaw):
    """No law; it has no constants."""

    name: ClassVar[str] = "pfc"

    @classmethod
    def at(cls, bytes_per_s: float) -> Self:
        return cls()

    def start(self, context: ControlContext, flows: int) -> FlowControl:
        return LineRate(context, flows)


class LineRate(FlowControl):
    """Flows at the rate of their link."""

    def advance(self, seen: Floats, flows: FlowView) -> None:
        pass
