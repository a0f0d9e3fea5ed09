"""
TIMELY (Mittal et al., SIGCOMM 2015) by its fluid model (Zhu, Ghobadi, Misra, Padhye, "ECN or Delay", CoNEXT 2016).

A segment takes t = max(segment / R, t_min); with r the round trip and x its gradient over t_min,

    R' = d / t                              r < t_low, or x <= 0 between the two
    R' = - b R (1 - t_high / r) / t         r > t_high
    R' = - b R x / t                        else
    x' = a / t (- x + (r - r one segment before) / t_min)

After `hai` segments of increases they are `hai` times as large, below t_low as well, as in the ns-3 code of HPCC (in
the paper only those by the gradient). There is no fixed point: where the gradient is 0 rates rise. `patched` is the
cure of CoNEXT 2016: between the thresholds, with w(x) from 0 at x = -1/4 to 1 at 1/4,

    R' = (d (1 - w) - b w R (r - t_low) / t_low) / t

whose fixed point, for N flows over a link of C, is R = C / N at r = t_low (1 + N d / (b C)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from npuc.compiler.analysis.interconnect.fluid.law import (
    CongestionLaw,
    ControlContext,
    FlowControl,
    FlowView,
    PortView,
)
from npuc.compiler.analysis.interconnect.fluid.routes import Floats, Ints

PUBLISHED_AT = 1.25e9
"""Bytes per second of the links for which the additive step is published (10 Gb/s)."""
REMEMBERED = 1e-3
"""Seconds for which round trips are remembered; the segment of a slower flow counts as so long."""


@dataclass(frozen=True)
class Timely(CongestionLaw):
    """
    Thresholds `t_low` and `t_high` of the round trip and the least one `t_min`, in seconds; `delta`, the additive step
    in bytes per second, the decrease `beta`, the weight `alpha` of a new gradient, bytes of a `segment`, and how many
    segments of increase come before they grow, `hai` (0: they never do); `patched`: with the cure of CoNEXT 2016.
    """

    name: ClassVar[str] = "timely"
    t_low: float = 50e-6
    t_high: float = 500e-6
    t_min: float = 20e-6
    delta: float = 1.25e6
    beta: float = 0.8
    alpha: float = 0.875
    segment: float = 16e3
    hai: float = 5.0
    patched: bool = False

    @classmethod
    def at(cls, bytes_per_s: float) -> Self:
        return cls(delta=cls().delta * bytes_per_s / PUBLISHED_AT)

    def start(self, context: ControlContext, flows: int) -> FlowControl:
        return TimelyControl(self, context, flows)


class TimelyControl(FlowControl):
    """Rates, gradients, and round trips of the last millisecond."""

    words = 1

    def __init__(self, law: Timely, context: ControlContext, flows: int) -> None:
        super().__init__(context, flows)
        self.law = law
        self.gradient: Floats = np.zeros(flows)
        self.risen: Floats = np.zeros(flows)
        """Segments since the rate last fell."""
        self._past: Floats = np.zeros((int(REMEMBERED / context.step_s) + 2, flows))
        self._at = 0
        self._fresh = np.ones(flows, np.bool_)

    def begin(self, flows: Ints) -> None:
        super().begin(flows)
        self.gradient[flows] = 0.0
        self.risen[flows] = 0.0
        self._fresh[flows] = True

    def tell(self, ports: PortView) -> Floats:
        return (ports.waiting / self.context.bytes_per_s)[None]

    def advance(self, seen: Floats, flows: FlowView) -> None:
        law, step = self.law, self.context.step_s
        trip, known = flows.rtt_s + seen[0].sum(axis=0), self.hear(flows)
        if (fresh := self._fresh & known).any():
            self._past[:, fresh] = trip[fresh]
            self._fresh[fresh] = False
        self._past[self._at] = trip
        segment = np.maximum(law.segment / self.rate, law.t_min)
        back = np.minimum((segment / step).astype(np.int64), len(self._past) - 1)
        before = self._past[(self._at - back) % len(self._past), np.arange(len(trip))]
        self._at = (self._at + 1) % len(self._past)
        weight = np.where(known, np.minimum(law.alpha * step / segment, 1.0), 0.0)
        self.gradient += weight * ((trip - before) / law.t_min - self.gradient)
        change = np.where(known, self._changes(trip), 0.0)
        self.risen = np.where(known & (change >= 0), self.risen + step / segment, 0.0)
        if law.hai:
            change = np.where((change > 0) & (self.risen > law.hai), law.hai * change, change)
        self.rate += step / segment * change
        self.bound_rate()

    def _changes(self, trip: Floats) -> Floats:
        """The change of each rate in one segment, from the round trips."""
        law = self.law
        if law.patched:
            weight = np.clip(2 * self.gradient + 0.5, 0.0, 1.0)
            between = law.delta * (1 - weight) - law.beta * weight * self.rate * (trip - law.t_low) / law.t_low
        else:
            between = np.where(self.gradient <= 0, law.delta, -law.beta * self.rate * self.gradient)
        above = -law.beta * self.rate * (1 - law.t_high / trip)
        return np.where(trip < law.t_low, law.delta, np.where(trip > law.t_high, above, between))
