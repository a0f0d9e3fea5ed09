"""
What follows from the keys of a machine: values of keys that its description does not have.

    peak = rule_value("compute.tflops", hardware.get)       # Derived(34.4064, "2 x 16,384 MACs x 1,050 MHz")

A rule reads only what is written, and the defaults of choices; nothing is derived from what is derived itself. Numbers
are computed exactly from the decimal numbers that were written, and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction

from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Scalar, Value, WrongValue
from npuc.compiler.core.numbers import as_written
from npuc.hardware.memories import MEMORIES
from npuc.hardware.schema import KEYS
from npuc.hardware.technology import (
    LEAKAGE_W_PER_MM2,
    Number,
    mac_area,
    mac_energy,
    pass_energy,
    sram_area,
    sram_energy,
    vector_energy,
    wire_energy,
)

Look = Callable[[str], Value | None]
"""The value of a key, else its default, else None."""
Answer = tuple[Fraction, str]
"""A value, and in numbers how it comes about."""


@frozen
class Derived:
    """A value that follows, and what from, in words."""

    value: Scalar
    how: str


@frozen
class Rule:
    """
    How the value of `key` follows where all of `inputs` are known: `words` say it for people.

    `compute` gets the inputs in their order, exact, and says the value and, in numbers, how it comes about.
    """

    key: str
    inputs: tuple[str, ...]
    words: str
    compute: Callable[..., Answer | None]
    """Of inputs from which nothing follows it is None."""


def _peak(rows: Fraction, cols: Fraction, cores: Fraction, operations: Fraction, clock: Fraction) -> Answer:
    elements = rows * cols * cores
    return operations * elements * clock / 10**6, f"{operations} x {int(elements):,} MACs x {_text(clock)} MHz"


def _peak_of_elements(elements: Fraction, lanes: Fraction, operations: Fraction, clock: Fraction) -> Answer:
    return _peak(elements, lanes, Fraction(1), operations, clock)


def _clock(tflops: Fraction, rows: Fraction, cols: Fraction, cores: Fraction, operations: Fraction) -> Answer:
    elements = rows * cols * cores
    how = f"{_text(tflops)} TFLOPS over {operations} x {int(elements):,} MACs"
    return tflops * 10**6 / (operations * elements), how


def _cache(spm_kib: Fraction, cores: Fraction) -> Answer:
    return spm_kib * cores / 1024, f"{_text(spm_kib)} KiB of SPM x {cores} {'core' if cores == 1 else 'cores'}"


def _scratchpad(cache_mib: Fraction, cores: Fraction) -> Answer:
    return cache_mib * 1024 / cores, f"{_text(cache_mib)} MiB of cache over {cores} {'core' if cores == 1 else 'cores'}"


def _elements(rows: Fraction, cols: Fraction, cores: Fraction) -> Answer:
    more = f" x {cores} cores" if cores > 1 else ""
    return rows * cols * cores, f"{rows} rows x {cols} columns{more}"


def _bandwidth(words: Fraction, size: Fraction, clock: Fraction, cores: Fraction) -> Answer:
    how = f"{_text(words)} elements a cycle x {size} bytes x {_text(clock)} MHz"
    return words * size * clock / 1000 / cores, how + (f" over {cores} cores" if cores > 1 else "")


def _number_of_bytes(size: Fraction) -> Number:
    """What MACs multiply where a float has so many bytes: integers of one byte, else floats."""
    return "int8" if size == 1 else "f16" if size == 2 else "f32"


def _number_of_precision(precision: str) -> Number:
    """The same by float types; networks are f32 where nobody says."""
    return "bf16" if precision in ("bf16", "mixed") else "f16" if precision == "f16" else "f32"


def _told(value: float) -> Fraction:
    """A number of a table, of four digits."""
    return Fraction(f"{value:.4g}")


def _by_bytes(of: Callable[..., Answer]) -> Callable[..., Answer]:
    def by(size: Fraction, *more: Fraction) -> Answer:
        return of(_number_of_bytes(size), *more)

    return by


def _by_precision(of: Callable[..., Answer]) -> Callable[..., Answer]:
    def by(precision: str, *more: Fraction) -> Answer:
        return of(_number_of_precision(precision), *more)

    return by


def _mac_of_model(model: str) -> Answer | None:
    return None if model == "npuc" else (as_written(1000 * NANOJOULES), "MAESTRO's table: 0.23 pJ a MAC")


def _mac(number: Number, node: Fraction) -> Answer:
    return _told(mac_energy(number, float(node))), f"a MAC of {number} at {_text(node)} nm"


def _pass(bits: Fraction, node: Fraction) -> Answer:
    return _told(pass_energy(int(bits), float(node))), f"a pass of {bits} bits at {_text(node)} nm"


def _edge(number: Number, node: Fraction, rows: Fraction, cols: Fraction) -> Answer:
    length = math.sqrt(float(rows * cols) * mac_area(number, float(node))) / 2
    return _told(wire_energy(length, float(node))), f"wires of {length:.3g} mm at {_text(node)} nm"


def _spm(node: Fraction, kib: Fraction) -> Answer:
    return _told(sram_energy(float(kib), float(node))), f"an SRAM of {_text(kib)} KiB at {_text(node)} nm"


def _vector(node: Fraction) -> Answer:
    return _told(vector_energy(float(node))), f"the mean of a f32 multiplication and addition at {_text(node)} nm"


def _memory_energy(kind: str) -> Answer:
    return _told(8 * MEMORIES[kind].pj_per_bit), f"{kind}: {MEMORIES[kind].pj_per_bit} pJ a bit"


def _memory_rate(kind: str, channels: Fraction, cores: Fraction) -> Answer:
    rate = as_written(MEMORIES[kind].gb_per_s)
    over = f" over {cores} cores" if cores > 1 else ""
    return rate * channels / cores, f"{channels} x {kind} of {_text(rate)} GB/s{over}"


def _one_channel(kind: str, cores: Fraction) -> Answer:
    return _memory_rate(kind, Fraction(1), cores)


def _array_area(number: Number, node: Fraction, rows: Fraction, cols: Fraction, cores: Fraction) -> Answer:
    elements = rows * cols * cores
    area = float(elements) * mac_area(number, float(node))
    return _told(area), f"{int(elements):,} MACs of {number} at {_text(node)} nm"


def _vector_area(node: Fraction, lanes: Fraction, cores: Fraction) -> Answer:
    return _told(
        float(lanes * cores) * mac_area("f32", float(node))
    ), f"{int(lanes * cores):,} lanes at {_text(node)} nm"


def _spm_area(node: Fraction, kib: Fraction, cores: Fraction) -> Answer:
    return _told(sram_area(float(kib * cores), float(node))), f"{_text(kib * cores)} KiB of SRAM at {_text(node)} nm"


def _memory_area(kind: str, mib: Fraction) -> Answer:
    memory = MEMORIES[kind]
    return _told(memory.mm2_per_mib * float(mib) if memory.on_chip else 0.0), f"{kind}, {_text(mib)} MiB"


def _idle(area: Callable[..., Answer]) -> Callable[..., Answer]:
    def power(*inputs: Fraction | Number) -> Answer:
        size, how = area(*inputs)
        return _told(LEAKAGE_W_PER_MM2 * float(size)), f"{LEAKAGE_W_PER_MM2} W a mm2 of {how}"

    return power


def _memory_idle(kind: str, mib: Fraction) -> Answer:
    return _told(MEMORIES[kind].idle_w_per_gib * float(mib) / 1024), f"{kind}, {_text(mib)} MiB"


NANOJOULES = 0.00023
"""Energy of a MAC in MAESTRO's table, nJ."""
NODE, BYTES, PRECISION, KIND = "technology.node_nm", "memory.element_bytes", "precision", "dram.kind"
_ARRAY = ("array.rows", "array.cols", "array.cores")
_TYPED: tuple[tuple[str, Callable[[Callable[..., Answer]], Callable[..., Answer]]], ...] = (
    (BYTES, _by_bytes),
    (PRECISION, _by_precision),
)
_MAC_WORDS = "a multiplication, and an addition of 32 bits"
_AREA_WORDS = "MACs, the arithmetic alone"
_SIDE, _LEAK = "wires half as long as a side of the array", "leakage of its area"
_TECHNOLOGY = (
    Rule("energy.mac_pj", ("technology.model",), "MAESTRO's constant, where not npuc's model holds", _mac_of_model),
    Rule("energy.mac_pj", ("array.mantissa_bits", NODE), "a pass: its multiplication, an addition of 32 bits", _pass),
    *(Rule("energy.mac_pj", (key, NODE), _MAC_WORDS, by(_mac)) for key, by in _TYPED),
    Rule("energy.spm_pj_per_byte", (NODE, "memory.spm_kib"), "an SRAM of that size", _spm),
    *(Rule("energy.edge_pj_per_byte", (key, NODE, *_ARRAY[:2]), _SIDE, by(_edge)) for key, by in _TYPED),
    Rule("energy.vector_pj", (NODE,), "the mean of a multiplication and an addition of f32", _vector),
    Rule("energy.dram_pj_per_byte", (KIND,), "the kind of memory", _memory_energy),
    Rule("dram.gb_per_s", (KIND, "dram.channels", "array.cores"), "a core's part of all channels", _memory_rate),
    Rule("dram.gb_per_s", (KIND, "array.cores"), "a core's part of one channel", _one_channel),
    *(Rule("area.array_mm2", (key, NODE, *_ARRAY), _AREA_WORDS, by(_array_area)) for key, by in _TYPED),
    Rule("area.vector_mm2", (NODE, "vector.lanes", "array.cores"), "f32 arithmetic alone", _vector_area),
    Rule("area.spm_mm2", (NODE, "memory.spm_kib", "array.cores"), "SRAM cells over their part of a memory", _spm_area),
    Rule("area.dram_mm2", (KIND, "dram.capacity_mib"), "that of a kind on the chip, else 0", _memory_area),
    *(Rule("energy.array_idle_w", (key, NODE, *_ARRAY), _LEAK, by(_idle(_array_area))) for key, by in _TYPED),
    Rule("energy.vector_idle_w", (NODE, "vector.lanes", "array.cores"), _LEAK, _idle(_vector_area)),
    Rule("energy.spm_idle_w", (NODE, "memory.spm_kib", "array.cores"), _LEAK, _idle(_spm_area)),
    Rule("energy.dram_idle_w", (KIND, "dram.capacity_mib"), "the kind of memory", _memory_idle),
)
RULES = (
    *_TECHNOLOGY,
    Rule(
        "compute.tflops",
        (*_ARRAY, "compute.ops_per_mac", "clock_mhz"),
        "operations of all elements of all cores in a second",
        _peak,
    ),
    Rule(
        "compute.tflops",
        ("maestro.num_pes", "maestro.num_simd_lanes", "compute.ops_per_mac", "clock_mhz"),
        "operations of all elements in a second",
        _peak_of_elements,
    ),
    Rule(
        "clock_mhz",
        ("compute.tflops", *_ARRAY, "compute.ops_per_mac"),
        "the clock at which all elements reach the peak",
        _clock,
    ),
    Rule("memory.cache_mib", ("memory.spm_kib", "array.cores"), "the scratchpads of all cores", _cache),
    Rule("memory.spm_kib", ("memory.cache_mib", "array.cores"), "a core's part of the cache", _scratchpad),
    Rule("maestro.num_pes", _ARRAY, "the elements of the arrays of all cores", _elements),
    Rule(
        "dram.gb_per_s",
        ("maestro.offchip_bw", "memory.element_bytes", "clock_mhz", "array.cores"),
        "a core's part of the elements that come in a cycle",
        _bandwidth,
    ),
)
"""All rules; of several for one key the first whose inputs are known holds."""


def rule_value(key: str, look: Look) -> Derived | None:
    """The value of a key that follows from what `look` knows; None where nothing does, or where no machine has it."""
    for rule in RULES:
        if rule.key != key:
            continue
        inputs = [look(path) for path in rule.inputs]
        if any(value is None or isinstance(value, bool | list) for value in inputs):
            continue
        answer = rule.compute(*(value if isinstance(value, str) else _exact(value) for value in inputs))
        if answer is None:
            continue
        value, how = answer
        with suppress(WrongValue):
            return Derived(_read(key, value), how)
    return None


def _read(key: str, value: Fraction) -> Scalar:
    """A value as the key takes it. Raises `WrongValue`."""
    found = KEYS[key].kind.read(int(value) if value.denominator == 1 else float(value))
    assert not isinstance(found, list), "no list follows from numbers"
    return found


def _exact(value: Value | None) -> Fraction:
    assert isinstance(value, int | float)
    return Fraction(value) if isinstance(value, int) else as_written(value)


def _text(value: Fraction) -> str:
    """A number in a text: whole or with up to six digits."""
    return f"{float(value):,g}" if value.denominator > 1 else f"{int(value):,}"


FOLLOWERS = {
    "technology.model": ("energy.mac_pj", "area.chip_mm2"),
    "dram.kind": ("dram.gb_per_s", "energy.dram_pj_per_byte", "energy.dram_idle_w", "area.dram_mm2"),
    "technology.node_nm": (
        *("energy.mac_pj", "energy.spm_pj_per_byte", "energy.edge_pj_per_byte", "energy.vector_pj"),
        *("energy.array_idle_w", "energy.vector_idle_w", "energy.spm_idle_w"),
        *("area.array_mm2", "area.vector_mm2", "area.spm_mm2", "area.chip_mm2"),
    ),
}
"""Keys that give way to what follows from another key where that one is given later."""


def without_followers(values: Mapping[str, Value], own: Mapping[str, Value]) -> dict[str, Value]:
    """What a description says, without the values that another kind of memory or another node make others of."""
    gone = {key for given, keys in FOLLOWERS.items() if given in own for key in keys}
    return {key: value for key, value in values.items() if key not in gone}
