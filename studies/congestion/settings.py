"""
The fabric, the schemes, and all constants, which `--set` replaces: `fabric.spines=4`, `dcqcn.g=0.01`.

The constants of a scheme are those of its paper, thresholds and additive steps in proportion to the rate of links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from npuc.compiler.analysis.interconnect.fluid.fabric import NANOSECONDS, ClosFabric
from npuc.compiler.analysis.interconnect.fluid.law import CongestionLaw
from npuc.compiler.analysis.interconnect.fluid.laws.dcqcn import Dcqcn
from npuc.compiler.analysis.interconnect.fluid.laws.dctcp import Dctcp
from npuc.compiler.analysis.interconnect.fluid.laws.hpcc import Hpcc
from npuc.compiler.analysis.interconnect.fluid.laws.pfc import PfcOnly
from npuc.compiler.analysis.interconnect.fluid.laws.timely import Timely
from npuc.compiler.core.errors import UsageError, did_you_mean

PRESETS = ("64", "1024")
"""Hosts: 8 leaf switches with 8 hosts each and 8 spine switches, or 32 of each."""
SCHEMES: tuple[type[CongestionLaw], ...] = (PfcOnly, Dcqcn, Dctcp, Timely, Hpcc)
STEP_NS = 1000
SIZE = 16 * 2**20
"""Bytes on each host of the collectives."""
INCAST, INCAST_SIZE = 16, 2_000_000
"""Flows of the incast, and bytes of each."""
MOST_STEPS = 10**7
"""Steps of a run at most, as far as bytes and the rate of links say it."""
_HPCC = "Li et al., SIGCOMM 2019, and their ns-3 code"
_DCQCN = "Zhu et al., SIGCOMM 2015, as in CoNEXT 2016"
_TIMELY = "Mittal et al., SIGCOMM 2015, as in CoNEXT 2016"
SOURCES: Mapping[str, tuple[str, str]] = {
    "fabric.leaves": ("leaf switches", "the preset"),
    "fabric.hosts": ("hosts of a leaf switch", "the preset"),
    "fabric.spines": ("spine switches", "the preset"),
    "fabric.bytes_per_s": ("bytes/s of a link", f"100 Gb/s: {_HPCC}"),
    "fabric.delay_ns": ("ns of a link", _HPCC),
    "fabric.buffer": ("bytes of a switch for each link", f"32 MB: {_HPCC}; for 64 links"),
    "fabric.mtu": ("bytes of a packet", _HPCC),
    "fabric.response_ns": ("ns until a sender that is told to pause does", "recalled; the longest step"),
    "dcqcn.k_min": ("bytes that wait where marking begins", f"5 KB at 40 Gb/s: {_DCQCN}"),
    "dcqcn.k_max": ("bytes above which all packets are marked", f"200 KB at 40 Gb/s: {_DCQCN}"),
    "dcqcn.p_max": ("part of packets marked just below", _DCQCN),
    "dcqcn.g": ("gain of alpha", _DCQCN),
    "dcqcn.t_cnp": ("s between notifications", _DCQCN),
    "dcqcn.t_alpha": ("s between updates of alpha", _DCQCN),
    "dcqcn.timer": ("s between increases", _DCQCN),
    "dcqcn.byte_counter": ("bytes between increases", _DCQCN),
    "dcqcn.r_ai": ("bytes/s of an increase", f"40 Mb/s at 40 Gb/s: {_DCQCN}"),
    "dcqcn.fast_recovery": ("steps before increases add", _DCQCN),
    "dctcp.k": ("bytes that wait where marking begins", "30 KB at 10 Gb/s: the ns-3 code of HPCC"),
    "dctcp.g": ("gain of alpha", "Alizadeh et al., SIGCOMM 2010, and the ns-3 code of HPCC"),
    "timely.t_low": ("s of the round trip below which rates rise", _TIMELY),
    "timely.t_high": ("s of the round trip above which they fall", _TIMELY),
    "timely.t_min": ("s, the least round trip", _TIMELY),
    "timely.delta": ("bytes/s of an increase", f"10 Mb/s at 10 Gb/s: {_TIMELY}"),
    "timely.beta": ("multiplicative decrease", _TIMELY),
    "timely.alpha": ("weight of a new gradient", "the fluid code of CoNEXT 2016, which is not sure of it"),
    "timely.segment": ("bytes between updates", _TIMELY),
    "timely.hai": ("segments before increases grow, and how much; 0: never", "Mittal et al., SIGCOMM 2015; recalled"),
    "timely.patched": ("1 with the cure of CoNEXT 2016 (with beta 0.008; recalled)", "0: as published in 2015"),
    "hpcc.eta": ("use of links that is aimed at", _HPCC),
    "hpcc.stages": ("round trips of additive increase", "Li et al., SIGCOMM 2019; recalled"),
    "hpcc.w_ai": ("bytes of an increase", "Li et al., SIGCOMM 2019; recalled"),
    "run.step_ns": ("ns of a step, a divisor of a link's", "ours"),
    "run.bytes": ("bytes on each host of the collectives", "ours"),
    "run.seed": ("seed of the hash of ECMP", "ours"),
}
"""All keys: their meaning with the unit, and where the value is from."""


@dataclass(frozen=True)
class RunSetup:
    """The step in ns, bytes of collectives, and the seed of ECMP."""

    step_ns: int = STEP_NS
    bytes: int = SIZE
    seed: int = 0


@dataclass(frozen=True)
class CongestionSetup:
    """What a run of the study is about."""

    preset: str
    fabric: ClosFabric
    laws: tuple[CongestionLaw, ...]
    run: RunSetup

    def values(self) -> dict[str, int | float]:
        """The value of each key."""
        parts: dict[str, Any] = {"fabric": self.fabric, "run": self.run, **{law.name: law for law in self.laws}}
        names = (key.split(".") for key in SOURCES)
        return {f"{part}.{name}": getattr(parts[part], name) for part, name in names}


PartT = TypeVar("PartT", ClosFabric, RunSetup, CongestionLaw)


def setup(preset: str, settings: Mapping[str, object]) -> CongestionSetup:
    """
    The fabric and the laws of a preset, with other values of keys.

    Raises `UsageError` for unknown keys, for values that are none, and for a fabric that this study has no hosts in.
    """
    edge = 32 if preset == "1024" else 8
    for key in settings:
        if key not in SOURCES:
            raise UsageError(f"--set {key}: there is no such key", hint=did_you_mean(key, [*SOURCES]))
    fabric = _with(ClosFabric(edge, edge, edge), "fabric", settings)
    if fabric.leaves < 4 or fabric.hosts < 8 or fabric.spines < 2:
        raise UsageError(
            f"the patterns of this study need 4 leaf switches with 8 hosts each and 2 spine switches, not "
            f"{fabric.leaves} with {fabric.hosts} and {fabric.spines}"
        )
    if (hosts := fabric.all_hosts) & (hosts - 1):
        raise UsageError(f"halving and doubling is for a power of two of hosts, not {hosts:,}")
    run = _with(RunSetup(), "run", settings)
    if run.bytes < hosts:
        raise UsageError(f"run.bytes: found {run.bytes}, expected a byte or more for each of {hosts:,} hosts")
    if run.step_ns < 1 or fabric.delay_ns % run.step_ns or run.step_ns > fabric.response_ns:
        raise UsageError(
            f"run.step_ns: found {run.step_ns}, expected a divisor of fabric.delay_ns, {fabric.delay_ns}, and at most "
            f"fabric.response_ns, {fabric.response_ns}"
        )
    for key, size in (("run.bytes", 2 * run.bytes), ("fabric.bytes_per_s", INCAST * INCAST_SIZE)):
        if (steps := size * NANOSECONDS // (fabric.bytes_per_s * run.step_ns)) > MOST_STEPS:
            raise UsageError(
                f"{key}: {size:,} bytes over a link of {fabric.bytes_per_s:,} bytes/s take {steps:,} steps of "
                f"{run.step_ns:,} ns, expected at most {MOST_STEPS:,}",
                hint="fewer bytes, faster links, or longer steps (run.step_ns)",
            )
    laws = tuple(_with(law.at(fabric.bytes_per_s), law.name, settings) for law in SCHEMES)
    return CongestionSetup(preset, fabric, laws, run)


def _with(part: PartT, name: str, settings: Mapping[str, object]) -> PartT:
    """A part with the values of its keys."""
    own = {key.split(".")[1]: key for key in settings if key.startswith(f"{name}.")}
    given: dict[str, Any] = {one: _value(key, settings[key], getattr(part, one)) for one, key in own.items()}
    return cast("PartT", replace(cast("Any", part), **given))


LEAST_IS_0 = ("timely.hai", "run.seed", "hpcc.stages", "dcqcn.fast_recovery")
AT_MOST_1 = ("dcqcn.p_max", "dcqcn.g", "dctcp.g", "timely.beta", "timely.alpha", "hpcc.eta")


def _value(key: str, value: object, before: object) -> bool | int | float:
    """A value in place of another one, of the same kind. Raises `UsageError` for others."""
    if isinstance(before, bool):
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        raise UsageError(f"{key}: found {value!r}, expected 0 or 1")
    if isinstance(value, bool) or not isinstance(value, int if isinstance(before, int) else (int, float)):
        raise UsageError(f"{key}: found {value!r}, expected a {'whole ' if isinstance(before, int) else ''}number")
    least, most = key in LEAST_IS_0, 1 if key in AT_MOST_1 else 10**15
    if not (0 < value <= most or (least and value == 0)):
        bound = "from 0" if least else "above 0"
        raise UsageError(f"{key}: found {value!r}, expected a number {bound} to {most:g}")
    return value if isinstance(before, int) else float(value)
