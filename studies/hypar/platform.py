"""
The machines on which steps are scored: accelerators of one kind, with links as a tree of pairs or as a torus of rings.

The paper gives a link 1.6 Gb/s and its slides a "total link bandwidth" of 25.6 Gb/s, without saying of what. Three
readings, for 16 accelerators of links of r:

    reading       H-tree, a level    torus, a ring    the same for both
    link          r                  2 r              each link of an accelerator, all levels together, the middle cut
    accelerator   r                  r / 2            all links of an accelerator together
    array         r / 4              r / 2            as `link`, of links of r / 4: all levels of the tree have 16 r
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from npuc.compiler.core.kinds import Entry, real
from npuc.hardware import Hardware, load_hardware
from npuc.studies.hypar.settings import Topology

HARDWARE = "hypar16"
Links = Literal["link", "accelerator", "array"]
READINGS: tuple[Links, ...] = get_args(Links)
LEAST = 1e-9
"""
The tolerance of the study: schedules are the best that the search finds, not the most thrifty of the nearly best. At 0
it would search for several times as long, so that a larger machine is never worse.
"""
EXACTLY = f"--tolerance {LEAST:.9f}"
LINK: Links = "link"
"""The reading of the presets."""
EQUAL: Mapping[Links, str] = {
    "link": "each link of an accelerator",
    "accelerator": "all links of an accelerator together",
    "array": "each link, all levels of the tree together 25.6 Gb/s",
}
"""What a reading gives to both topologies alike."""


@dataclass(frozen=True)
class Platform:
    """
    Accelerators and their links: `hardware` is what the command line calls the machine of one, `machine` that machine,
    `link` the outermost level of its network, or that of the paper's platform where it has none.
    """

    hardware: str
    machine: Hardware
    link: Mapping[str, Entry]

    @property
    def gb_per_s(self) -> float:
        """The rate of one link of an accelerator, in GB/s; along a ring and each dimension of a torus it has two."""
        rate, sizes = real(self.link["gb_per_s"]), self.link.get("sizes")
        if isinstance(sizes, list):
            return rate / (2 * len(sizes))
        return rate / 2 if self.link["kind"] == "ring" else rate

    @property
    def peak_flops(self) -> float | None:
        """Operations a second of one accelerator as its machine states them, if it does."""
        tflops = self.machine.get("compute.tflops", float)
        return None if tflops is None else tflops * 1e12

    def command(self, topology: Topology = "tree") -> str:
        """The options by which the command line scores steps on it."""
        if topology == "torus" and self.hardware != HARDWARE:
            return f"--hw {self.hardware} {EXACTLY}, links as a torus"
        return f"--hw {self.hardware}{'-torus' if topology == 'torus' else ''} {EXACTLY}"

    def machine_of(self, topology: Topology, devices: int, links: Links = LINK) -> Hardware:
        """So many accelerators in a tree of halves, or in a torus as near to square as can be."""
        levels = devices.bit_length() - 1
        shape = [2] * levels if topology == "tree" else rings(devices)
        kind, speed = ("pair" if topology == "tree" else "ring"), self.rate(topology, devices, links)
        kept = {key: self.link[key] for key in ("latency_ns", "pj_per_byte") if key in self.link}
        rows = [{"kind": kind, "size": size, "gb_per_s": speed, **kept} for size in shape]
        return load_hardware(self.machine.values, {"network.levels": rows} if rows else {})

    def rate(self, topology: Topology, devices: int, links: Links = LINK) -> float:
        """The rate at which an accelerator sends along each level or ring, in GB/s."""
        levels = max(1, devices.bit_length() - 1)
        if topology == "tree":
            return self.gb_per_s / levels if links == "array" else self.gb_per_s
        if links == "link":
            return 2 * self.gb_per_s
        return 2 * self.gb_per_s / levels if links == "array" else self.gb_per_s / max(1, len(rings(devices)))


def rings(devices: int) -> list[int]:
    """The sizes of the dimensions of a torus of so many devices, a power of two."""
    levels = devices.bit_length() - 1
    rows = 2 ** (levels - levels // 2)
    return [size for size in (rows, devices // rows) if size > 1]


def platform_of(hardware: str | None = None) -> Platform:
    """The paper's platform, or accelerators of another machine. Raises `UsageError` for a machine that is wrong."""
    name = hardware or HARDWARE
    machine = load_hardware(name)
    machine.require("array.rows", backend="cycle")
    for known in (machine, load_hardware(HARDWARE)):
        levels = known.get("network.levels")
        if isinstance(levels, list) and levels:
            return Platform(name, machine, levels[0])
    raise AssertionError(f"{HARDWARE} has a network")
