"""
What follows from the keys of a machine: values of keys that its description does not have.

    peak = rule_value("compute.tflops", hardware.get)       # Derived(34.4064, "2 x 16,384 MACs x 1,050 MHz")

A rule reads only what is written, and the defaults of choices; nothing is derived from what is derived itself. Numbers
are computed exactly from the decimal numbers that were written, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from npuc.compiler.analysis.machine.table import as_written
from npuc.compiler.core.kinds import Scalar, Value, WrongValue
from npuc.hardware.schema import KEYS

Look = Callable[[str], Value | None]
"""The value of a key, else its default, else None."""
Answer = tuple[Fraction, str]
"""A value, and in numbers how it comes about."""


@dataclass(frozen=True)
class Derived:
    """A value that follows, and what from, in words."""

    value: Scalar
    how: str


@dataclass(frozen=True)
class Rule:
    """
    How the value of `key` follows where all of `inputs` are known: `words` say it for people.

    `compute` gets the inputs in their order, exact, and says the value and, in numbers, how it comes about.
    """

    key: str
    inputs: tuple[str, ...]
    words: str
    compute: Callable[..., Answer]


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


_ARRAY = ("array.rows", "array.cols", "array.cores")
RULES = (
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
        if any(value is None or isinstance(value, bool | str | list) for value in inputs):
            continue
        value, how = rule.compute(*(_exact(value) for value in inputs))
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
