"""The options that the roofline backend reads from a hardware description."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, cast

from npuc.backends.roofline.iteration.steps import Conventions, Transfers
from npuc.backends.sparse import skipping_of
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.kinds import Value
from npuc.compiler.core.units import MIB
from npuc.hardware import Hardware
from npuc.hardware.derive import rule_value
from npuc.hardware.schema import KEYS

NAME = "roofline"
NEEDED = ("compute.tflops", "memory.cache_mib", "dram.gb_per_s")

NEAR = 0.02
"""How far a published peak may be from what its array and clock give: they are rounded."""

PROFILES: dict[str, dict[str, Value]] = {
    "default": {
        "compute.ops_per_mac": 2,
        "roofline.oversize": "retain",
        "roofline.sgd": True,
        "roofline.order": "dfs",
        "roofline.plan": "best",
        "roofline.overlap": True,
        "roofline.policy": "belady",
        "roofline.backward": "needed",
        "roofline.loss": "layer",
        "roofline.update": "end",
        "roofline.compat": "none",
    },
    # the study's conventions, as far as they are known
    "thesis": {
        "compute.ops_per_mac": 1,
        "memory.element_bytes": 4,
        "roofline.oversize": "flush",
        "roofline.sgd": False,
        "roofline.order": "dfs",
        "roofline.plan": "single",
        "roofline.overlap": False,
        "roofline.policy": "belady",
        "roofline.backward": "table",
        "roofline.loss": "free",
        "roofline.update": "end",
        "roofline.compat": "none",
    },
}
"""The keys that a profile sets; a key in the hardware description wins."""
PROTOTYPE: dict[str, Value] = {"roofline.overlap": False}
"""The keys that `roofline.compat = "prototype"` sets besides, in any profile, as in the reference data."""


@dataclass(frozen=True)
class RooflineOptions:
    """
    The machine and the choices of the model: cache in bytes, 10^12 operations and 10^9 bytes a second.

    `retain`: a streaming step leaves tensors in the cache; `best`: take the best plan of any capacity up to this one;
    `policy`: which tensors leave, where `optimal` is the plan of the integer program.
    """

    capacity: int
    tflops: float
    gb_per_s: float
    retain: bool
    best: bool
    policy: Literal["belady", "optimal", "lru"]
    transfers: Transfers
    bound: bool
    conventions: Conventions

    def without_sizes(self) -> RooflineOptions:
        """The options without the capacity and the speeds: equal for machines that differ in these alone."""
        return replace(self, capacity=0, tflops=1.0, gb_per_s=1.0)

    @property
    def optimal(self) -> bool:
        """Whether the plan is that of the integer program."""
        return self.policy == "optimal"

    @property
    def overlap(self) -> bool:
        """Whether steps that fit compute during their transfers."""
        return self.transfers.overlap

    @property
    def ridge(self) -> float:
        """The operational intensity, in operations per byte, from which on computation limits the machine."""
        return self.tflops * 1e3 / self.gb_per_s


def resolved(hardware: Hardware) -> Hardware:
    """The description, completed by the keys of its profile."""
    profile = PROFILES[str(hardware.get("roofline.profile") or "default")]
    compat = hardware.get("roofline.compat") or profile["roofline.compat"]
    values = {**profile, **(PROTOTYPE if compat == "prototype" else {}), **hardware.values}
    return Hardware({path: values[path] for path in KEYS if path in values}, hardware.reads, hardware.derived)


def read_options(hardware: Hardware) -> RooflineOptions:
    """
    The options of a description. Raises `UsageError` for missing keys.

    `compute.tflops` and `memory.cache_mib` are of the whole chip, `dram.gb_per_s` is a core's part of the channel.
    """
    machine = resolved(hardware)
    machine.require_all(NEEDED, backend=NAME)
    value = machine.get
    prototype = value("roofline.compat") == "prototype"
    policy, plan = cast('Literal["belady", "optimal", "lru"]', value("roofline.policy")), value("roofline.plan")
    width, master = value("memory.element_bytes"), value("roofline.master_bytes")
    update = cast('Literal["end", "eager"]', value("roofline.update"))
    conventions = Conventions(
        ops_per_mac=cast(int, value("compute.ops_per_mac")),
        element_bytes=cast("int | None", width),
        order=cast('Literal["dfs", "listed"]', value("roofline.order")),
        backward=cast('Literal["needed", "table"]', value("roofline.backward")),
        loss=cast('Literal["layer", "free"]', value("roofline.loss")),
        update=update if value("roofline.sgd") else "none",
        master_bytes=cast("int | None", master),
        prototype=prototype,
        mantissa_bits=cast("int | None", value("array.mantissa_bits")),
        skipping=skipping_of(machine, NAME),
    )
    capacity = machine.require("memory.cache_mib", float, backend=NAME) * MIB
    return RooflineOptions(
        capacity=int(capacity),
        tflops=machine.require("compute.tflops", float, backend=NAME),
        gb_per_s=machine.require("dram.gb_per_s", float, backend=NAME) * (machine.get("array.cores", int) or 1),
        retain=value("roofline.oversize") == "retain",
        best=plan == "best" and policy == "belady",
        policy=policy,
        transfers=Transfers(
            overlap=bool(value("roofline.overlap")),
            prefetch=cast('Literal["latency", "next-layer", "none"]', value("roofline.prefetch") or "latency"),
            offload=cast('Literal["look-ahead", "when-full"]', value("roofline.offload") or "look-ahead"),
        ),
        bound=bool(value("roofline.bound")),
        conventions=conventions,
    )


def peak_remarks(hardware: Hardware) -> list[str]:
    """What a report says of a written peak that is not that of the cores: their bandwidth counts together."""
    written, cores = hardware.get("compute.tflops", float), hardware.get("array.cores", int) or 1
    arrays = rule_value("compute.tflops", resolved(hardware).get) if cores > 1 and written is not None else None
    if written is None or arrays is None or abs(float(arrays.value) / written - 1) < NEAR:
        return []
    said = f"compute.tflops = {written:,g} is not the peak of {cores} cores, {arrays.value:,g} ({arrays.how})"
    return [f"{said}: leave it out, and it follows"]


def check_rows(rows: int, layer: str, capacity: int, machine: str) -> None:
    """Raise `CapacityError` for a cache that does not hold `rows` bytes: one row of each tensor of a layer."""
    if rows > capacity:
        raise CapacityError(
            f"layer '{layer}' needs {rows:,} bytes of cache for one row of each of its tensors, "
            f"{machine} has {capacity:,}",
            hint=f"--set memory.cache_mib={-(-rows // MIB)} or more",
        )
