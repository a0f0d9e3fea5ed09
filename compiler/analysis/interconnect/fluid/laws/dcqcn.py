"""
DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015) by its fluid model (Zhu,
Ghobadi, Misra, Padhye, "ECN or Delay", CoNEXT 2016, equations 5 to 7).

With p the part of packets that are marked, R the rate and R_t the target rate in packets per second,

    a' = g / t_alpha (1 - (1 - p)^(t_alpha R) - a)
    R' = - R a / (2 t_cnp) (1 - (1 - p)^(t_cnp R)) + (R_t - R) / 2 (R b + R d)
    R_t' = - (R_t - R) / t_cnp (1 - (1 - p)^(t_cnp R)) + R_AI R (b (1 - p)^(F B) + d (1 - p)^(F T R))
    b = p / ((1 - p)^-B - 1)    d = p / ((1 - p)^-(T R) - 1)

b and d are how often, by packet, the byte counter B and the timer T pass without a mark. For N flows over a link of C
packets per second there is one fixed point: all rates are C / N, and the part of marked packets is near

    p = (R_AI N^2 / (t_alpha C^2) (1 / B + N / (T C))^2)^(1/3)
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
    marked,
    marking,
)
from npuc.compiler.analysis.interconnect.fluid.routes import Floats, Ints

PUBLISHED_AT = 5e9
"""Bytes per second of the links for which the constants are published (40 Gb/s)."""


@dataclass(frozen=True)
class Dcqcn(CongestionLaw):
    """
    `k_min`, `k_max` (bytes) and `p_max` of marking, gain `g`, seconds of a notification `t_cnp`, of the update of alpha
    `t_alpha` and of the increase `timer`, `byte_counter` (bytes), additive step `r_ai` (bytes per second), and steps of
    `fast_recovery` before it.
    """

    name: ClassVar[str] = "dcqcn"
    k_min: float = 5e3
    k_max: float = 200e3
    p_max: float = 0.01
    g: float = 1 / 256
    t_cnp: float = 50e-6
    t_alpha: float = 55e-6
    timer: float = 55e-6
    byte_counter: float = 10e6
    r_ai: float = 5e6
    fast_recovery: float = 5.0

    @classmethod
    def at(cls, bytes_per_s: float) -> Self:
        scale = bytes_per_s / PUBLISHED_AT
        one = cls()
        return cls(k_min=one.k_min * scale, k_max=one.k_max * scale, r_ai=one.r_ai * scale)

    def start(self, context: ControlContext, flows: int) -> FlowControl:
        return DcqcnControl(self, context, flows)

    def fixed_point(self, flows: int, bytes_per_s: float, mtu: int) -> tuple[float, float]:
        """Near the fixed point of so many flows over one link: the part of marked packets, and bytes that wait."""
        link, byte_counter = bytes_per_s / mtu, self.byte_counter / mtu
        often = 1 / byte_counter + flows / (self.timer * link)
        part = (self.r_ai / mtu * flows**2 / (self.t_alpha * link**2) * often**2) ** (1 / 3)
        return part, self.k_min + part / self.p_max * (self.k_max - self.k_min)


class DcqcnControl(FlowControl):
    """Rates, target rates and alpha."""

    words = 1

    def __init__(self, law: Dcqcn, context: ControlContext, flows: int) -> None:
        super().__init__(context, flows)
        self.law = law
        self.target: Floats = self.rate.copy()
        self.alpha: Floats = np.ones(flows)

    def begin(self, flows: Ints) -> None:
        super().begin(flows)
        self.target[flows] = self.context.bytes_per_s
        self.alpha[flows] = 1.0

    def tell(self, ports: PortView) -> Floats:
        return marking(ports.waiting, self.law.k_min, self.law.k_max, self.law.p_max)[None]

    def advance(self, seen: Floats, flows: FlowView) -> None:
        law, mtu, step = self.law, self.context.mtu, self.context.step_s
        part = np.where(self.hear(flows), marked(seen[0]), 0.0)
        packets = self.rate / mtu
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            clear = np.log1p(-part)
            cut = -np.expm1(law.t_cnp * packets * clear)
            count, time = law.byte_counter / mtu, law.timer * packets
            by_count = np.where(part > 0, part / np.expm1(-count * clear), 1 / count)
            by_time = np.where(part > 0, part / np.expm1(-time * clear), 1 / time)
            # powers, since of the logarithm's infinity nothing times is no number
            rise = by_count * (1 - part) ** (law.fast_recovery * count)
            rise += by_time * (1 - part) ** (law.fast_recovery * time)
            alpha = law.g / law.t_alpha * (-np.expm1(law.t_alpha * packets * clear) - self.alpha)
        gap = self.target - self.rate
        rate = -self.rate * self.alpha / (2 * law.t_cnp) * cut + gap / 2 * packets * (by_count + by_time)
        target = -gap / law.t_cnp * cut + law.r_ai * packets * rise
        self.alpha += step * alpha
        self.rate += step * rate
        self.target += step * target
        self.bound_rate()
        np.clip(self.target, self.rate, self.context.bytes_per_s, out=self.target)
