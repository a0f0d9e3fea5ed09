"""What a hardware description asks of the roofline backend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, cast

from npuc.backends.roofline.iteration.steps import Conventions
from npuc.compiler.core.errors import CapacityError
from npuc.hardware import Hardware
from npuc.hardware.kinds import Value
from npuc.hardware.schema import KEYS

NAME = "roofline"
MIB = 1 << 20

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
"""What a profile sets; a key that the hardware description has itself wins."""
PROTOTYPE: dict[str, Value] = {"roofline.overlap": False}
"""What `roofline.compat = "prototype"` sets besides, in any profile, as the reference data have it."""


@dataclass(frozen=True)
class Options:
    """
    The machine and the model's choices: cache in bytes, 10^12 operations and 10^9 bytes a second.

    `retain`: what is kept after a step that does not fit; `best`: the best plan of any capacity up to this one;
    `overlap`: steps that fit compute beside their transfers; `optimal`: the plan is that of the integer program.
    """

    capacity: int
    tflops: float
    gb_per_s: float
    retain: bool
    best: bool
    overlap: bool
    optimal: bool
    bound: bool
    conventions: Conventions

    def without_capacity(self) -> Options:
        """Equal for machines that differ in capacity alone."""
        return replace(self, capacity=0)

    @property
    def ridge(self) -> float:
        """The operational intensity from which on the machine is limited by computation, operations a byte."""
        return self.tflops * 1e3 / self.gb_per_s


def resolved(hardware: Hardware) -> Hardware:
    """The description with what its profile sets where it says nothing itself."""
    profile = PROFILES[str(hardware.get("roofline.profile") or "default")]
    compat = hardware.get("roofline.compat") or profile["roofline.compat"]
    values = {**profile, **(PROTOTYPE if compat == "prototype" else {}), **hardware.values}
    return Hardware({path: values[path] for path in KEYS if path in values})


def read_options(hardware: Hardware) -> Options:
    """The options of a description. Raises `UsageError` for a missing key."""
    value = resolved(hardware).get
    prototype = value("roofline.compat") == "prototype"
    policy, plan = value("roofline.policy"), value("roofline.plan")
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
    return Options(
        capacity=int(capacity),
        tflops=hardware.require("compute.tflops", float, backend=NAME),
        gb_per_s=hardware.require("dram.gb_per_s", float, backend=NAME),
        retain=value("roofline.oversize") == "retain",
        best=plan == "best" and policy == "belady",
        overlap=bool(value("roofline.overlap")),
        optimal=policy == "optimal",
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
