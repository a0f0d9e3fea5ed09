"""The options that the roofline backend reads from a hardware description."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, cast

from npuc.backends.roofline.iteration.steps import Conventions, Transfers
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.kinds import Value
from npuc.compiler.core.units import MIB
from npuc.hardware import Hardware
from npuc.hardware.schema import KEYS

NAME = "roofline"

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

    def without_capacity(self) -> RooflineOptions:
        """The options without the capacity: equal for machines that differ in it alone."""
        return replace(self, capacity=0)

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
    return Hardware({path: values[path] for path in KEYS if path in values}, hardware.reads)


def read_options(hardware: Hardware) -> RooflineOptions:
    """The options of a description. Raises `UsageError` for a missing key."""
    value = resolved(hardware).get
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
    )
    capacity = hardware.require("memory.cache_mib", float, backend=NAME) * MIB
    return RooflineOptions(
        capacity=int(capacity),
        tflops=hardware.require("compute.tflops", float, backend=NAME),
        gb_per_s=hardware.require("dram.gb_per_s", float, backend=NAME),
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


def check_rows(rows: int, layer: str, capacity: int, machine: str) -> None:
    """Raise `CapacityError` for a cache that does not hold `rows` bytes: one row of each tensor of a layer."""
    if rows > capacity:
        raise CapacityError(
            f"layer '{layer}' needs {rows:,} bytes of cache for one row of each of its tensors, "
            f"{machine} has {capacity:,}",
            hint=f"--set memory.cache_mib={-(-rows // MIB)} or more",
        )
