"""
DCTCP (Alizadeh et al., SIGCOMM 2010) by its fluid model (Alizadeh, Javanmard, Prabhakar, "Analysis of DCTCP",
SIGMETRICS 2011): with p the part of packets that are marked, 1 where more than K bytes wait, W the window, R the round
trip,

    W' = MSS / R - W a p / (2 R)        a' = g / R (p - a)

The model has no fixed point but a limit cycle. For N flows in step with each other the queue swings between
K + N MSS and (2 N (C R + K) MSS)^(1/2) / 2 below that (SIGCOMM 2010, equations 8 and 10). A window grows only while it
is what limits its flow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from npuc.compiler.analysis.interconnect.fluid.law import (
    MIN_SHARE,
    CongestionLaw,
    ControlContext,
    FlowControl,
    FlowView,
    PortView,
    marked,
    marking,
)
from npuc.compiler.analysis.interconnect.fluid.routes import Floats, Ints

PUBLISHED_AT = 1.25e9
"""Bytes per second of the links for which the threshold is given (10 Gb/s)."""


@dataclass(frozen=True)
class Dctcp(CongestionLaw):
    """Threshold `k` of marking in bytes, and gain `g`."""

    name: ClassVar[str] = "dctcp"
    k: float = 30e3
    g: float = 1 / 16

    @classmethod
    def at(cls, bytes_per_s: float) -> Self:
        return cls(k=cls().k * bytes_per_s / PUBLISHED_AT)

    def start(self, context: ControlContext, flows: int) -> FlowControl:
        return DctcpControl(self, context, flows)


class DctcpControl(FlowControl):
    """Windows and alpha."""

    words = 2

    def __init__(self, law: Dctcp, context: ControlContext, flows: int) -> None:
        super().__init__(context, flows)
        self.law = law
        self.window = np.full(flows, context.bdp)
        self.alpha: Floats = np.zeros(flows)

    def begin(self, flows: Ints) -> None:
        super().begin(flows)
        self.window[flows] = self.context.bdp
        self.alpha[flows] = 0.0

    def tell(self, ports: PortView) -> Floats:
        delay = ports.waiting / self.context.bytes_per_s
        return np.stack([marking(ports.waiting, self.law.k, self.law.k, 1.0), delay])

    def advance(self, seen: Floats, flows: FlowView) -> None:
        part = marked(seen[0])
        trips = np.where(self.hear(flows), self.context.step_s / (flows.rtt_s + seen[1].sum(axis=0)), 0.0)
        grown = self.context.mtu * flows.limited
        self.window += trips * (grown - self.window * self.alpha * part / 2)
        self.alpha += self.law.g * trips * (part - self.alpha)
        np.maximum(self.window, MIN_SHARE * self.context.bdp, out=self.window)
