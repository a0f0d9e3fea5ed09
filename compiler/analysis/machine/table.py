"""
A machine as schedules and their costs see it, and the table of its facts: hardware keys, `npu.target`, `set-target`.

A fact is a field of `Machine`, `Array`, `RowStationary` or `Energy` with a note (`fact.py`); one more is such a field
and its use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, Literal, cast, get_args

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.fact import Description, Fact, FactRow, FromKey, always, rows_of, values_of
from npuc.compiler.analysis.machine.levels.outer import LEVELS_FACT, OuterLevel, levels_in
from npuc.compiler.analysis.machine.row_stationary import RowStationary
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import BANDWIDTH, COUNT, ENERGY, Flag, Integer, OneOf, Real, Reduction, Text
from npuc.compiler.core.numbers import as_written
from npuc.dialects.products import Passes

Transpose = Literal["none", "explicit"]
Policy = Literal["explicit", "lru"]


def _has(key: str) -> Callable[[Description], bool]:
    """Whether a description has a key, or it follows there."""
    return lambda hardware: hardware.known(key) is not None


def _with_wires(hardware: Description, backend: str) -> float:
    """A byte from or to SPM, and on the wires between SPM and the edges of the array."""
    access, wires = hardware.require(SPM_PJ, backend=backend), hardware.known("energy.edge_pj_per_byte") or 0.0
    return float(cast("float", access)) + float(cast("float", wires))


MAC_PJ, SPM_PJ, DRAM_PJ = "energy.mac_pj", "energy.spm_pj_per_byte", "energy.dram_pj_per_byte"


@frozen
class Energy:
    """Picojoules: a MAC, a byte from or to SPM with the wires to the array, a byte from or to DRAM."""

    mac_pj: Annotated[float, FromKey(MAC_PJ, ENERGY, "energy of a MAC, pJ", _has(MAC_PJ))]
    spm_pj_per_byte: Annotated[
        float, FromKey(SPM_PJ, ENERGY, "energy of an SPM access, pJ per byte", _has(SPM_PJ), derived=_with_wires)
    ]
    dram_pj_per_byte: Annotated[float, FromKey(DRAM_PJ, ENERGY, "energy of a DRAM access, pJ per byte", _has(DRAM_PJ))]

    def joules(self, macs: Passes, spm_bytes: float | Fraction, dram_bytes: float | Fraction) -> float:
        """Energy of that much work, in joules."""
        spm, dram = float(spm_bytes) * self.spm_pj_per_byte, float(dram_bytes) * self.dram_pj_per_byte
        return 1e-12 * (float(macs) * self.mac_pj + spm + dram)


def _has_cores(hardware: Description) -> bool:
    return hardware.get("array.cores") != 1


def _usable_spm(hardware: Description, backend: str) -> int:
    """The bytes of SPM that a schedule may use."""
    size = cast("float", hardware.require("memory.spm_kib", backend=backend)) * 1024
    usable = int(size / 2 if hardware.require("memory.double_buffer", backend=backend) else size)
    if usable < 1:
        raise UsageError(f"memory.spm_kib leaves no byte of SPM to backend '{backend}'", hint="--set memory.spm_kib=64")
    return usable


@frozen
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
    `levels` are the memories between the scratchpads and the channel, from there outwards.
    """

    array: Array
    spm_bytes: Annotated[
        int,
        FromKey(
            "memory.spm_kib",
            Real(1 << 30),
            "scratchpad of one core, KiB",
            always,
            name="spm_bytes",
            derived=_usable_spm,
            kind_of_fact=Integer(1, 1 << 40),
        ),
    ]
    bytes_per_cycle: Annotated[
        Fraction, FromKey("dram.gb_per_s", BANDWIDTH, "DRAM bandwidth of one core, 10^9 bytes per second", always)
    ]
    clock_mhz: Annotated[float, FromKey("clock_mhz", Real(1e5), "clock of the array, MHz", always)]
    lanes: Annotated[int, FromKey("vector.lanes", COUNT, "vector lanes: element operations per cycle", always)]
    double_buffer: Annotated[
        bool,
        FromKey(
            "memory.double_buffer", Flag(), "whether one half of the SPM is filled while the other is in use", always
        ),
    ] = True
    element_bytes: Annotated[
        int | None,
        FromKey(
            "memory.element_bytes",
            Integer(1, 64),
            "bytes per float element, whatever its type; default: the type's width",
        ),
    ] = None
    energy: Energy | None = None
    transpose: Annotated[
        Transpose,
        FromKey(
            "array.transpose",
            Text(("none", "explicit")),
            "how an in-place array gets the transposes of W (for dX) and X (for dW)",
        ),
    ] = "none"
    policy: Annotated[
        Policy,
        FromKey(
            "memory.policy",
            Text(get_args(Policy)),
            "management of the SPM: explicit blocks, or an LRU pool of tiles",
        ),
    ] = "explicit"
    cores: Annotated[
        int, FromKey("array.cores", Integer(1, 1 << 12), "cores, each with its own array and SPM", _has_cores)
    ] = 1
    multicast: Annotated[
        bool,
        FromKey(
            "array.multicast", Flag(), "whether a block that several cores read is fetched from DRAM once", _has_cores
        ),
    ] = False
    reduction: Annotated[
        Reduction,
        FromKey(
            "array.reduction", Text(get_args(Reduction)), "where partial sums of several cores are added", _has_cores
        ),
    ] = "dram"
    accumulator_bits: Annotated[
        int,
        FromKey("array.accumulator_bits", OneOf((16, 32)), "width of the accumulators, bits"),
    ] = 32
    levels: tuple[OuterLevel, ...] = ()

    @property
    def channel(self) -> Fraction:
        """Bytes per cycle of the DRAM channel of all cores."""
        return self.bytes_per_cycle * self.cores

    @property
    def channel_bits(self) -> Fraction:
        """Bits per cycle of the DRAM channel of all cores."""
        return 8 * self.channel

    @property
    def spm_bits(self) -> int:
        """The bits of SPM that a schedule may use."""
        return 8 * self.spm_bytes

    @property
    def elements(self) -> int:
        """MACs per cycle of all arrays."""
        return self.array.elements * self.cores

    @property
    def bounding_spm(self) -> int:
        """
        The bytes of one SPM whose lower bound of traffic holds for the chip.

        That of a core, since what it computes comes through its own; all together where one transfer serves several.
        """
        shared = self.multicast or self.reduction == "on-chip"
        return self.spm_bytes * (self.cores if shared else 1)

    def core(self, among: int) -> Machine:
        """One core where `among` of them share the DRAM channel."""
        return replace(self, cores=1, bytes_per_cycle=self.channel / among, multicast=False, reduction="dram")

    def transfer_cycles(self, moved: int) -> int:
        """The cycles in which the DRAM channel moves that many bytes."""
        rate = self.channel
        return -(-moved * rate.denominator // rate.numerator)

    def seconds(self, cycles: int) -> float:
        """The time of that many cycles."""
        return cycles / (self.clock_mhz * 1e6)


_WRITTEN_ORDER = """
    rows cols dataflow fill drain spm_bytes double_buffer clock_mhz gb_per_s lanes element_bytes mac_pj
    spm_pj_per_byte dram_pj_per_byte transpose overlap cores multicast reduction tile_m accumulator_bits edge_elements
    policy
""".split()
"""The order of facts in texts of `npu.target` that exist; others follow, in the order of their fields."""


def _in_written_order(rows: tuple[FactRow, ...]) -> tuple[FactRow, ...]:
    places = {name: place for place, name in enumerate(_WRITTEN_ORDER)}
    return tuple(sorted(rows, key=lambda row: places.get(row.name, len(places))))


TABLE = _in_written_order((*rows_of(Array), *rows_of(RowStationary), *rows_of(Machine), *rows_of(Energy)))
"""All facts that schedules and their costs depend on, in the order in which `npu.target` has them."""
ENERGIES = tuple(row.name for row in rows_of(Energy))
PES = "num_pes"
"""Processing elements that mappings are for; a machine with no other fact has no schedules."""
REQUIRED = tuple(row.name for row in TABLE if row.required)
KNOWN = (*REQUIRED, "name", *(row.name for row in TABLE if not row.required), LEVELS_FACT, PES)
"""The names of all facts that a target may have."""


def facts_of(hardware: Description, backend: str) -> dict[str, Fact]:
    """
    The facts of a described machine, by name, that a schedule for `backend` depends on.

    Raises one `UsageError` for all required ones that there is none of.
    """
    told = [row for row in TABLE if row.is_told(hardware)]
    hardware.require_all([row.note.path for row in told], backend=backend)
    by_row = {row.name: row.fact_of(hardware, backend) for row in sorted(told, key=lambda row: not row.note.derived)}
    return {row.name: by_row[row.name] for row in told}


def machine_from(facts: Mapping[str, Fact]) -> Machine:
    """
    The machine that flat facts describe: names and units as in a hardware file, the last part of each key.

    `spm_bytes` is what a schedule may use. Raises `UsageError` for a fact that is missing, unknown or of a wrong type.
    """
    for name in facts:
        if name not in KNOWN:
            raise UsageError(f"npu.target has an unknown key '{name}'", hint=did_you_mean(name, KNOWN))
    if "overlap" in facts and facts.get("dataflow") != "ws":
        raise UsageError("overlap is of a weight-stationary array", hint="dataflow ws")
    for name in REQUIRED:
        if name not in facts:
            raise UsageError(f"npu.target has no {name}", hint=f"it needs {', '.join(REQUIRED)}")
    array: dict[str, Any] = values_of(Array, facts) | {"row_stationary": _row_stationary(facts)}
    chip: dict[str, Any] = values_of(Machine, facts)
    energy: dict[str, Any] = values_of(Energy, facts)
    # exact, of the decimal numbers that were written
    chip["bytes_per_cycle"] = as_written(chip["bytes_per_cycle"]) * 1000 / as_written(chip["clock_mhz"])
    if LEVELS_FACT in facts:
        chip["levels"] = levels_in(facts[LEVELS_FACT], chip["spm_bytes"])
        if any(level.pj_per_byte is None for level in chip["levels"]):
            energy = {}  # an energy without one of its parts is none
    return Machine(Array(**array), **chip, energy=Energy(**energy) if len(energy) == len(ENERGIES) else None)


def _row_stationary(facts: Mapping[str, Fact]) -> RowStationary | None:
    """What a row-stationary array has beside its elements; None for another array."""
    if facts.get("dataflow") != "rs":
        for row in rows_of(RowStationary):
            if row.name in facts:
                raise UsageError(f"{row.name} is of a row-stationary array", hint="dataflow rs")
        return None
    if facts.get("policy") == "lru":
        raise UsageError("policy lru does not know row-stationary arrays", hint="policy explicit")
    for row in rows_of(RowStationary):
        if row.name not in facts:
            raise UsageError(f"npu.target has no {row.name}", hint="a row-stationary array needs it (dataflow rs)")
    own: dict[str, Any] = values_of(RowStationary, facts)
    return RowStationary(**own)
