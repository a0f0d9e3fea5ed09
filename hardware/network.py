"""
The network of a described machine: `network.levels` as the `Interconnect` of collectives, `network.groups` as devices.

`npuc.hardware` does not import this module, so that a hardware description can be read without the IR.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from npuc.compiler.analysis.interconnect.topology import Interconnect, Kind, NetworkLevel
from npuc.compiler.analysis.machine.table import as_written
from npuc.compiler.analysis.sharding.heterogeneous.fleet import Device
from npuc.compiler.core.kinds import Scalar
from npuc.hardware.description import Hardware


def network_of(hardware: Hardware, *, backend: str) -> Interconnect:
    """The network between devices, outermost level first. Raises `UsageError` if the machine has none."""
    rows = hardware.require("network.levels", backend=backend)
    assert isinstance(rows, list), "network.levels is read as a list"
    return Interconnect(tuple(_level(row) for row in rows))


def _level(row: Mapping[str, Scalar]) -> NetworkLevel:
    """A level in bytes and seconds."""
    energy, algorithm = row.get("pj_per_byte"), row.get("algorithm")
    return NetworkLevel(
        cast("Kind", row["kind"]),
        int(row["size"]),
        as_written(float(row["gb_per_s"])) * 10**9,
        as_written(float(row["latency_ns"])) / 10**9,
        None if energy is None else as_written(float(energy)),
        None if algorithm is None else str(algorithm),
    )


def groups_of(rows: Sequence[Mapping[str, Scalar]]) -> list[Device]:
    """The devices of `network.groups`, one of each group, in operations and bytes a second."""
    return [
        Device(as_written(float(row["tflops"])) * 10**12, as_written(float(row["gb_per_s"])) * 10**9) for row in rows
    ]
