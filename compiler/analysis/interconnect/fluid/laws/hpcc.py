"""
HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1).

Switches report bytes that wait and bytes sent. With T the round trip of an empty fabric, the use of a flow's busiest
link,

    U = max over links of min(waiting, waiting before) / (C T) + sent / C

is smoothed over T as acknowledgements come. From the window W_c of the round trip before, waiting included,

    W = W_c eta / U + W_AI      where U >= eta, or after `stages` round trips of the other kind
    W = W_c + W_AI              else

and the rate is W / T. For N flows over one link the use settles at eta + N W_AI / (C T), with no queue below 1.
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
)
from npuc.compiler.analysis.interconnect.fluid.routes import Floats, Ints

PUBLISHED_AT = 12.5e9
"""Bytes per second of the links for which the additive step is published (100 Gb/s)."""


@dataclass(frozen=True)
class Hpcc(CongestionLaw):
    """The use `eta` that is aimed at, `stages` of additive increase, and the additive step `w_ai` in bytes."""

    name: ClassVar[str] = "hpcc"
    eta: float = 0.95
    stages: int = 5
    w_ai: float = 80.0

    @classmethod
    def at(cls, bytes_per_s: float) -> Self:
        return cls(w_ai=cls().w_ai * bytes_per_s / PUBLISHED_AT)

    def start(self, context: ControlContext, flows: int) -> FlowControl:
        return HpccControl(self, context, flows)


class HpccControl(FlowControl):
    """Windows, those of one round trip before, the smoothed use, and stages of additive increase."""

    words = 1

    def __init__(self, law: Hpcc, context: ControlContext, flows: int) -> None:
        super().__init__(context, flows)
        self.law = law
        self.window = np.full(flows, context.bdp)
        self.reference: Floats = self.window.copy()
        self.use: Floats = np.ones(flows)
        self.stage: Ints = np.zeros(flows, np.int64)
        self._until: Floats = np.full(flows, np.inf)
        """Bytes sent when the reference was last set: what is acknowledged of them tells of the window before."""

    def begin(self, flows: Ints) -> None:
        super().begin(flows)
        self.window[flows] = self.reference[flows] = self.context.bdp
        self.use[flows] = 1.0
        self.stage[flows] = 0
        self._until[flows] = np.inf

    def tell(self, ports: PortView) -> Floats:
        context = self.context
        waits = np.minimum(ports.waiting, ports.waiting_before) / context.bdp
        return (waits + ports.sent / (context.bytes_per_s * context.step_s))[None]

    def advance(self, seen: Floats, flows: FlowView) -> None:
        law, context = self.law, self.context
        heard = flows.heard
        # a connection goes on with what comes next, whose bytes count from 0
        first = heard & (self._until > flows.sent)
        self._until[first] = flows.sent[first]
        share = min(context.step_s / context.rtt_s, 1.0)
        self.use[heard] += share * (seen[0].max(axis=0) - self.use)[heard]
        falls = (self.use >= law.eta) | (self.stage >= law.stages)
        wanted = np.where(falls, self.reference * law.eta / np.maximum(self.use, 1e-9), self.reference) + law.w_ai
        np.clip(wanted, MIN_SHARE * context.bdp, context.bdp, out=wanted)
        self.window[heard] = wanted[heard]
        turn = heard & ~first & (flows.acknowledged >= self._until)
        self.reference[turn] = self.window[turn]
        self.stage[turn] = np.where(falls, 0, self.stage + 1)[turn]
        self._until[turn] = flows.sent[turn]
        self.rate = self.window / context.rtt_s
        self.bound_rate()
