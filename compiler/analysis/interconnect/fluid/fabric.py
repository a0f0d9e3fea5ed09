"""
A two-level Clos fabric: hosts under leaf switches, each of which has a link to each spine switch.

All links have the same rate and delay. A port is the sending end of a link, numbered in this order:

    host -> leaf      one for each host, with the host's number
    leaf -> spine     by leaf, then by spine
    spine -> leaf     by spine, then by leaf
    leaf -> host      by host

and `nowhere`, the number after the last one, stands for no port. A switch splits its buffer evenly over the links that
enter it. Of its share a link keeps headroom for what arrives after the switch has told the sender to pause: what the
link carries while the message travels and the sender reacts, what is then on the wire, and a packet on either side.
Beyond the rest (X_off) the sender is paused; two packets below that (X_on) it goes on (Zhu et al., "Congestion Control
for Large-Scale RDMA Deployments", SIGCOMM 2015, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from npuc.compiler.core.errors import UsageError

NANOSECONDS = 10**9
SwitchTier = Literal["leaf", "spine"]


@dataclass(frozen=True)
class ClosFabric:
    """
    `leaves` switches with `hosts` hosts each, and `spines` switches above; bytes per second and nanoseconds of a link.

    `buffer` is the bytes of a leaf switch for each of its links, a spine switch has the same for each of its; `mtu` the
    bytes of the largest packet; `response_ns` the time after which a sender that is told to pause does. The defaults
    are 100 Gb/s with 1 us a link and 32 MB for 64 links (Li et al., "HPCC", SIGCOMM 2019, section 5.1). Raises
    `UsageError` for sizes below 1, and for a buffer that headroom leaves nothing of.
    """

    leaves: int
    hosts: int
    spines: int
    bytes_per_s: int = 12_500_000_000
    delay_ns: int = 1000
    buffer: int = 500_000
    mtu: int = 1000
    response_ns: int = 1000

    def __post_init__(self) -> None:
        for name in ("leaves", "hosts", "spines", "bytes_per_s", "delay_ns", "buffer", "mtu", "response_ns"):
            value: object = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise UsageError(f"fabric.{name}: found {value!r}, expected a whole number from 1")
        if self.x_on < 1:
            raise UsageError(
                f"fabric.buffer: {self.buffer:,} bytes for a link, of which headroom takes {self.headroom:,}, leave no "
                f"room to queue",
                hint=f"at least {self.headroom + 2 * self.mtu + 1:,}, or shorter links",
            )

    @property
    def all_hosts(self) -> int:
        """The number of hosts."""
        return self.leaves * self.hosts

    @property
    def headroom(self) -> int:
        """Bytes of a link's share of the buffer for what arrives after a pause was sent, rounded up."""
        late = self.bytes_per_s * (2 * self.delay_ns + self.response_ns)
        return -(-late // NANOSECONDS) + 2 * self.mtu

    @property
    def x_off(self) -> int:
        """The bytes from a link that a switch holds when it pauses the sender."""
        return self.buffer - self.headroom

    @property
    def x_on(self) -> int:
        """The bytes from a link that a switch holds when it lets the sender go on."""
        return self.x_off - 2 * self.mtu

    @property
    def nowhere(self) -> int:
        """The number that stands for no port, which is the number of ports."""
        return 2 * self.all_hosts + 2 * self.leaves * self.spines

    @property
    def base_rtt_ns(self) -> int:
        """The time from sending over the longest route to hearing of its arrival, in an empty fabric."""
        return 2 * self.delay_ns * (2 if self.leaves == 1 else 4)

    def up(self, leaf: int, spine: int) -> int:
        """The port of a leaf switch to a spine switch."""
        return self.all_hosts + leaf * self.spines + spine

    def down(self, spine: int, leaf: int) -> int:
        """The port of a spine switch to a leaf switch."""
        return self.all_hosts + self.leaves * self.spines + spine * self.leaves + leaf

    def to_host(self, host: int) -> int:
        """The port of a leaf switch to a host."""
        return self.all_hosts + 2 * self.leaves * self.spines + host

    def port_name(self, port: int) -> str:
        """A port in words: `leaf 0 -> spine 1`."""
        links = self.leaves * self.spines
        if port < self.all_hosts:
            return f"host {port} -> leaf {port // self.hosts}"
        port -= self.all_hosts
        if port < links:
            return f"leaf {port // self.spines} -> spine {port % self.spines}"
        port -= links
        if port < links:
            return f"spine {port // self.leaves} -> leaf {port % self.leaves}"
        port -= links
        return f"leaf {port // self.hosts} -> host {port}"
