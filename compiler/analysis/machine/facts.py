"""
The facts of a machine that schedules and their costs depend on, and their form in the IR.

The module carries them as the dictionary attribute `npu.target`, so that a pass needs nothing but the program:

    builtin.module attributes {npu.target = {rows = 128 : i64, cols = 128 : i64, dataflow = "os", …}} { … }
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import Literal

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr, f64, i1, i64
from xdsl.ir import Attribute

from npuc.compiler.analysis.machine.array import Array, Dataflow, Drain, Fill
from npuc.compiler.analysis.machine.overlap import OVERLAPS, Overlap
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.options import UNLIMITED
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu.sums import ACCUMULATOR_BITS
from npuc.dialects.npu.widths import TARGET as TARGET

Fact = bool | int | float | str
Transpose = Literal["none", "explicit"]
Policy = Literal["explicit", "lru"]
Reduction = Literal["dram", "on-chip"]


@dataclass(frozen=True)
class Energy:
    """Picojoules: a MAC, a byte from or to SPM, a byte from or to DRAM."""

    mac_pj: float
    spm_pj_per_byte: float
    dram_pj_per_byte: float

    def joules(self, macs: int, spm_bytes: float, dram_bytes: float) -> float:
        """Energy of that much work, in joules."""
        return 1e-12 * (macs * self.mac_pj + spm_bytes * self.spm_pj_per_byte + dram_bytes * self.dram_pj_per_byte)


@dataclass(frozen=True)
class Machine:
    """
        A chip of equal cores, each with an array, an SPM and a vector unit; one DRAM channel serves them all.

    All facts are those of one core, `bytes_per_cycle`, which is exact, its part of the channel. `multicast`: what
    several cores read comes from DRAM once; `reduction` "on-chip": partial sums pass from core to core without DRAM.
    `spm_bytes` is what a schedule may use: half of the SPM where it is double buffered, since the other half is being
    filled. `element_bytes` counts for every float element; None: the size of its type. `energy` is None where the
    machine does not say all three values. `transpose` "explicit": an in-place array that gets W for dX and X for dW
    transposed through memory, for comparison. `policy` says what stays in SPM: what the schedules keep, or the least
    recently used tiles. `accumulator_bits` are those of a partial sum until it is finished, wherever it lives.
    """

    array: Array
    spm_bytes: int
    bytes_per_cycle: Fraction
    clock_mhz: float
    lanes: int
    double_buffer: bool = True
    element_bytes: int | None = None
    energy: Energy | None = None
    transpose: Transpose = "none"
    policy: Policy = "explicit"
    cores: int = 1
    multicast: bool = False
    reduction: Reduction = "dram"
    accumulator_bits: int = ACCUMULATOR_BITS[0]

    @property
    def channel(self) -> Fraction:
        """Bytes a cycle of the DRAM channel of all cores."""
        return self.bytes_per_cycle * self.cores

    @property
    def channel_bits(self) -> Fraction:
        """Bits a cycle of the DRAM channel of all cores."""
        return 8 * self.channel

    @property
    def spm_bits(self) -> int:
        """The bits of SPM that a schedule may use."""
        return 8 * self.spm_bytes

    @property
    def elements(self) -> int:
        """MACs a cycle of all arrays."""
        return self.array.elements * self.cores

    @property
    def bounding_spm(self) -> int:
        """
        The bytes of one SPM whose lower bound of traffic holds for the chip.

        That of a core, since what it computes comes through its own; all together where one transfer serves several.
        """
        shared = self.multicast or self.reduction == "on-chip"
        return self.spm_bytes * (self.cores if shared else 1)

    def core(self, among: int) -> "Machine":
        """One core where `among` of them share the DRAM channel."""
        return replace(self, cores=1, bytes_per_cycle=self.channel / among, multicast=False, reduction="dram")

    def transfer_cycles(self, moved: int) -> int:
        """The cycles in which the DRAM channel moves that many bytes."""
        rate = self.channel
        return -(-moved * rate.denominator // rate.numerator)

    def seconds(self, cycles: int) -> float:
        """The time of that many cycles."""
        return cycles / (self.clock_mhz * 1e6)


REQUIRED: dict[str, type[bool] | type[int] | type[float] | type[str]] = {
    "rows": int,
    "cols": int,
    "dataflow": str,
    "fill": str,
    "drain": str,
    "spm_bytes": int,
    "double_buffer": bool,
    "clock_mhz": float,
    "gb_per_s": float,
    "lanes": int,
}
ENERGIES = ("mac_pj", "spm_pj_per_byte", "dram_pj_per_byte")
CHIP = ("cores", "multicast", "reduction")
PES = "num_pes"
"""Processing elements that mappings are for; a machine with no other fact has no schedules."""
CHOICES = ("transpose", "overlap", "tile_m", "edge_elements", "policy", "accumulator_bits")
OPTIONAL = ("name", "element_bytes", *CHOICES, PES, *CHIP, *ENERGIES)


def machine_from(facts: Mapping[str, Fact]) -> Machine:
    """
    The machine that flat facts describe: keys and units as in a hardware file, the last part of each name.

    `spm_bytes` is what a schedule may use. Raises `UsageError` for a fact that is missing, unknown or of a wrong type.
    """
    for key in facts:
        if key not in REQUIRED and key not in OPTIONAL:
            raise UsageError(f"{TARGET} has an unknown key '{key}'", hint=did_you_mean(key, [*REQUIRED, *OPTIONAL]))
    dataflows: dict[str, Dataflow] = {"os": "os", "ws": "ws", "is": "is", "in-place": "in-place"}
    fills: dict[str, Fill] = {"per-fold": "per-fold", "overlap": "overlap"}
    drains: dict[str, Drain] = {"hidden": "hidden", "full": "full"}
    transposes: dict[str, Transpose] = {"none": "none", "explicit": "explicit"}
    policies: dict[str, Policy] = {"explicit": "explicit", "lru": "lru"}
    reductions: dict[str, Reduction] = {"dram": "dram", "on-chip": "on-chip"}
    energies = [facts[key] for key in ENERGIES if key in facts]
    element = facts.get("element_bytes")
    overlaps: dict[str, Overlap] = {overlap: overlap for overlap in OVERLAPS}
    if "overlap" in facts and facts.get("dataflow") != "ws":
        raise UsageError("overlap is of a weight-stationary array", hint="dataflow ws")
    return Machine(
        array=Array(
            _whole(facts, "rows"),
            _whole(facts, "cols"),
            dataflows[_text(facts, "dataflow", dataflows)],
            fills[_text(facts, "fill", fills)],
            drains[_text(facts, "drain", drains)],
            overlaps[_text(facts, "overlap", overlaps)] if "overlap" in facts else None,
            _whole(facts, "tile_m") if "tile_m" in facts else 16,
            _edge_elements(facts),
        ),
        spm_bytes=_whole(facts, "spm_bytes"),
        bytes_per_cycle=as_written(_real(facts, "gb_per_s")) * 1000 / as_written(_real(facts, "clock_mhz")),
        clock_mhz=_real(facts, "clock_mhz"),
        lanes=_whole(facts, "lanes"),
        double_buffer=_flag(facts, "double_buffer"),
        element_bytes=None if element is None else _whole(facts, "element_bytes"),
        energy=Energy(*(_real(facts, key) for key in ENERGIES)) if len(energies) == len(ENERGIES) else None,
        transpose=transposes[_text(facts, "transpose", transposes)] if "transpose" in facts else "none",
        policy=policies[_text(facts, "policy", policies)] if "policy" in facts else "explicit",
        cores=_whole(facts, "cores") if "cores" in facts else 1,
        multicast="multicast" in facts and _flag(facts, "multicast"),
        reduction=reductions[_text(facts, "reduction", reductions)] if "reduction" in facts else "dram",
        accumulator_bits=_accumulator(facts),
    )


def _fact(facts: Mapping[str, Fact], key: str) -> Fact:
    if key not in facts:
        raise UsageError(f"{TARGET} has no {key}", hint=f"it needs {', '.join(REQUIRED)}")
    return facts[key]


def _text(facts: Mapping[str, Fact], key: str, known: Mapping[str, object]) -> str:
    value = _fact(facts, key)
    if value not in known:
        raise UsageError(f"{key} is '{value}', expected {', '.join(known)}")
    return str(value)


def _edge_elements(facts: Mapping[str, Fact]) -> int | None:
    """What a port of the array's edge takes in a cycle; None without limit."""
    value = facts.get("edge_elements", 1)
    if value == UNLIMITED:
        return None
    if isinstance(value, str):
        raise UsageError(f"edge_elements is {value!r}, expected an integer from 1 on, or '{UNLIMITED}'")
    return _whole({"edge_elements": value}, "edge_elements")


def _flag(facts: Mapping[str, Fact], key: str) -> bool:
    value = _fact(facts, key)
    if not isinstance(value, bool):
        raise UsageError(f"{key} is {value!r}, expected true or false")
    return value


def _whole(facts: Mapping[str, Fact], key: str) -> int:
    value = _fact(facts, key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{key} is {value!r}, expected an integer from 1 on")
    return value


def _accumulator(facts: Mapping[str, Fact]) -> int:
    bits = _whole(facts, "accumulator_bits") if "accumulator_bits" in facts else ACCUMULATOR_BITS[0]
    if bits not in ACCUMULATOR_BITS:
        raise UsageError(f"accumulator_bits is {bits}, expected {' or '.join(map(str, sorted(ACCUMULATOR_BITS)))}")
    return bits


def _real(facts: Mapping[str, Fact], key: str) -> float:
    value = _fact(facts, key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        raise UsageError(f"{key} is {value!r}, expected a number")
    if value == 0 and key not in ENERGIES:
        raise UsageError(f"{key} is 0, expected a number above 0")
    return float(value)


def as_written(value: float) -> Fraction:
    """The decimal number that was written."""
    return Fraction(repr(value))


def target_attr(facts: Mapping[str, Fact]) -> DictionaryAttr:
    """The facts as an attribute."""
    return DictionaryAttr({key: _fact_attr(value) for key, value in facts.items()})


@lru_cache(maxsize=1024, typed=True)
def _fact_attr(value: Fact) -> Attribute:
    match value:
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value + 0.0, f64)  # -0.0, which is equal, as 0.0
        case _:
            return StringAttr(str(value))


@lru_cache(maxsize=64)
def machine_of_attr(attr: DictionaryAttr) -> Machine:
    """The machine of an `npu.target` attribute. Raises `UsageError` as `machine_from` does."""
    facts: dict[str, Fact] = {}
    for key, value in attr.data.items():
        match value:
            case IntegerAttr():
                facts[key] = bool(value.value.data) if value.type == i1 else value.value.data
            case FloatAttr():
                facts[key] = value.value.data
            case StringAttr():
                facts[key] = value.data
            case _:
                raise UsageError(f"{TARGET}: {key} is {value}, expected a number, a string or a boolean")
    return machine_from(facts)


def processing_elements_of(module: ModuleOp) -> int | None:
    """The processing elements of the machine that a module was compiled for, None where it does not say."""
    attr = module.attributes.get(TARGET)
    found = attr.data.get(PES) if isinstance(attr, DictionaryAttr) else None
    return found.value.data if isinstance(found, IntegerAttr) else None


def machine_of(module: ModuleOp) -> Machine | None:
    """
    The machine that a module was compiled for, None where it does not say.

    One that is described for mappings alone is none here. Raises `UsageError`, at the module's place, as `machine_from`
    does.
    """
    attr = module.attributes.get(TARGET)
    if attr is None or (isinstance(attr, DictionaryAttr) and list(attr.data) == [PES]):
        return None
    try:
        if not isinstance(attr, DictionaryAttr):
            raise UsageError(f"{TARGET} is {attr}, expected a dictionary")
        return machine_of_attr(attr)
    except UsageError as e:
        raise UsageError(e.message, location=location_of(module), hint=e.hint) from None
