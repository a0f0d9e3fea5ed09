"""
The network of a described machine: `network.levels` as the `Interconnect` of collectives and as the attribute that
passes read, `network.groups` as devices.

`npuc.hardware` does not import this module, so that a hardware description can be read without the IR.
"""

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.interconnect.chunks.events import LATENCIES, Latency
from npuc.compiler.analysis.interconnect.described import NETWORK, level_of_row, network_attr
from npuc.compiler.analysis.interconnect.topology import Interconnect
from npuc.compiler.analysis.sharding.heterogeneous.fleet import Device
from npuc.compiler.core.kinds import Entry, real
from npuc.compiler.core.numbers import as_written
from npuc.hardware.description import Hardware


def network_of(hardware: Hardware, *, backend: str) -> Interconnect:
    """The network between devices, outermost level first. Raises `UsageError` if the machine has none."""
    rows = hardware.require("network.levels", backend=backend)
    assert isinstance(rows, list), "network.levels is read as a list"
    return Interconnect(tuple(map(level_of_row, rows)))


def latency_of(hardware: Hardware) -> Latency:
    """Whether latencies hold up a level of the network, or overlap with what it sends for other chunks."""
    written = hardware.get("network.latency")
    return next(known for known in LATENCIES if known == written)


def stamp_network(module: ModuleOp, hardware: Hardware) -> None:
    """Write the network of a machine into a module, for passes; nothing where the machine says none."""
    rows = hardware.get("network.levels")
    if isinstance(rows, list):
        element_bytes = hardware.get("memory.element_bytes", int)
        module.attributes[NETWORK] = network_attr(rows, latency_of(hardware), element_bytes)


def groups_of(rows: Sequence[Mapping[str, Entry]]) -> list[Device]:
    """The devices of `network.groups`, one of each group, in operations and bytes a second."""
    return [Device(as_written(real(row["tflops"])) * 10**12, as_written(real(row["gb_per_s"])) * 10**9) for row in rows]
