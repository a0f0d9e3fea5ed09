"""
What a law of congestion control is: how switches tell of their queues, and how fast flows may send then.

The words of a switch reach the sender late: after the rest of the way to the receiver, and all the way back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from npuc.compiler.analysis.interconnect.fluid.fabric import NANOSECONDS, ClosFabric
from npuc.compiler.analysis.interconnect.fluid.routes import Bools, Floats, Ints

MIN_SHARE = 1e-3
"""The least rate to which a law reduces a flow, over the rate of its link: 100 Mb/s of 100 Gb/s (ns-3 code of HPCC)."""


@dataclass(frozen=True)
class ControlContext:
    """What a law knows of the fabric: bytes per second of a link, seconds of a round trip and of a step, packets."""

    bytes_per_s: float
    rtt_s: float
    step_s: float
    mtu: int

    @classmethod
    def of(cls, fabric: ClosFabric, step_ns: int) -> Self:
        """That of a fabric in steps of so many nanoseconds."""
        return cls(float(fabric.bytes_per_s), fabric.base_rtt_ns / NANOSECONDS, step_ns / NANOSECONDS, fabric.mtu)

    @property
    def bdp(self) -> float:
        """Bytes that a link carries in a round trip."""
        return self.bytes_per_s * self.rtt_s


@dataclass(frozen=True)
class PortView:
    """What a port can tell: bytes that wait now and one step before, and bytes sent in the step; [port] each."""

    waiting: Floats
    waiting_before: Floats
    sent: Floats


@dataclass(frozen=True)
class FlowView:
    """
    What a sender knows of its flows: the round trip of an empty route in seconds, whether a window limits, bytes sent
    and acknowledged of what the flow has now, and whether some are acknowledged in this step.
    """

    rtt_s: Floats
    limited: Floats
    sent: Floats
    acknowledged: Floats
    heard: Bools


class FlowControl(ABC):
    """
    The state of a law for all flows: `rate` in bytes per second, and `window`, the most bytes that are sent and not
    acknowledged (infinite where the law has none). Flows begin at the rate of their link.
    """

    words: ClassVar[int] = 0
    """How many numbers a port tells of."""

    def __init__(self, context: ControlContext, flows: int) -> None:
        self.context = context
        self.rate: Floats = np.full(flows, context.bytes_per_s)
        self.window: Floats = np.full(flows, np.inf)
        self._heard: Bools = np.zeros(flows, np.bool_)

    def begin(self, flows: Ints) -> None:
        """Connections that are new."""
        self.rate[flows] = self.context.bytes_per_s
        self._heard[flows] = False

    def hear(self, flows: FlowView) -> Bools:
        """The connections of which something was ever acknowledged: others know nothing of their way yet."""
        self._heard |= flows.heard
        return self._heard

    def tell(self, ports: PortView) -> Floats:
        """What each port says of itself, [word, port]."""
        return np.zeros((0, len(ports.waiting)))

    @abstractmethod
    def advance(self, seen: Floats, flows: FlowView) -> None:
        """One step, from what senders hear in it, [word, hop, flow]: 0 of hops that a flow does not cross."""

    def bound_rate(self) -> None:
        """Keep rates between the least one and that of a link."""
        line = self.context.bytes_per_s
        np.clip(self.rate, MIN_SHARE * line, line, out=self.rate)


@dataclass(frozen=True)
class CongestionLaw(ABC):
    """A law with its constants, which hold for links of a rate."""

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def at(cls, bytes_per_s: float) -> Self:
        """The published constants for links of this rate: thresholds and additive steps grow with it."""

    @abstractmethod
    def start(self, context: ControlContext, flows: int) -> FlowControl:
        """The state for so many flows."""


def marking(waiting: Floats, k_min: float, k_max: float, p_max: float) -> Floats:
    """The part of packets that ports mark (RED on the queue: 0 to `k_min`, up to `p_max` at `k_max`, then 1)."""
    if k_max <= k_min:
        return np.where(waiting > k_min, 1.0, 0.0)
    rising = p_max * (waiting - k_min) / (k_max - k_min)
    return np.where(waiting > k_max, 1.0, np.clip(rising, 0.0, p_max))


def marked(seen: Floats) -> Floats:
    """The part of a flow's packets that any of its ports marks, from that of each, [hop, flow]."""
    return 1.0 - np.prod(1.0 - seen, axis=0)
