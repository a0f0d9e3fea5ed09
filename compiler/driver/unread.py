"""Hardware keys that were set for one compilation and change nothing in it: no backend reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from npuc.backends.base import Backend
from npuc.compiler.analysis.machine.table import TABLE
from npuc.compiler.report import Report
from npuc.hardware import Hardware
from npuc.hardware.level_keys import LEVELS, SAME, outer_rows, parts_of, rows_of
from npuc.hardware.outer import READ

ACCUMULATOR = "array.accumulator_bits"
"""The key on which sums of a program that is executed depend."""


def unread_keys(overrides: Mapping[str, object], scored: Sequence[tuple[Backend, Hardware]]) -> dict[str, str]:
    """
    The keys of `overrides` that none of the backends has read on its machine, or that change nothing there since
    another key says so: why. A hardware file may hold keys of all backends, so that those are not asked for.
    """
    found: dict[str, str] = {}
    for key in keys_of(overrides):
        if key == LEVELS:
            found |= _unread_levels(scored)
            continue
        reasons = [_reason(key, model, machine) for model, machine in scored]
        if len(scored) > 1 and all(key not in machine.reads for _, machine in scored):
            names = [f"'{model.name}'" for model, _ in scored]
            found[key] = f"none of the backends {', '.join(names[:-1])} and {names[-1]} reads it here"
        elif all(reasons):
            found[key] = _joined(filter(None, reasons))
    return found


def unread_in_sweep(overrides: Mapping[str, object], model: Backend, machine: Hardware) -> dict[str, str]:
    """`unread_keys` at a point of a sweep, whose rows have no column for what stands beside the totals."""
    beside = {key: "a sweep has no column for what it adds to a report" for key in model.beside_totals}
    unread = unread_keys(overrides, [(model, machine)])
    return unread | {key: reason for key, reason in beside.items() if key in overrides}


def unread_in_run(overrides: Mapping[str, object], *, lowered: bool, double: bool) -> dict[str, str]:
    """
    The keys of `overrides` on which nothing in the execution of a program depends: why.

    `lowered`: passes run that may read the machine; `double`: every float is computed in float64.
    """
    read = {"precision", *((row.key.path for row in TABLE) if lowered else () if double else (ACCUMULATOR,))}
    reason = "no pass reads it" if lowered else "the numbers do not depend on it"
    return {key: reason for key in keys_of(overrides) if not _stands_for(key) & read}


def unread_in_target(overrides: Mapping[str, object]) -> dict[str, str]:
    """The keys of `overrides` that are not among the facts of the machine which a program has for its passes: why."""
    facts = {row.key.path for row in TABLE}
    return {key: "no pass reads it" for key in keys_of(overrides) if not _stands_for(key) & facts}


@dataclass
class Unread:
    """The unread keys of any number of compilations, which are added one after another."""

    _reasons: dict[str, dict[str, None]] | None = None

    def add(self, unread: Mapping[str, str]) -> None:
        """Take those of one more."""
        if self._reasons is None:
            self._reasons = {key: {} for key in unread}
        self._reasons = {key: reasons for key, reasons in self._reasons.items() if key in unread}
        for key, reasons in self._reasons.items():
            reasons.setdefault(unread[key])

    def at_all(self) -> dict[str, str]:
        """The keys that had an effect in none."""
        return {key: _joined(reasons) for key, reasons in (self._reasons or {}).items()}


def unread_at_all(points: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Of several compilations, the keys that had an effect in none."""
    unread = Unread()
    for point in points:
        unread.add(point)
    return unread.at_all()


def warnings_of(unread: Mapping[str, str]) -> list[str]:
    """The warnings of keys that have no effect, with the reasons."""
    return [f"{key} has no effect: {reason}" for key, reason in unread.items()]


def unread_warnings(overrides: Mapping[str, object], scored: Sequence[tuple[Backend, Hardware]]) -> list[str]:
    """The warnings of `unread_keys`."""
    return warnings_of(unread_keys(overrides, scored))


def with_warnings(report: Report, warnings: Sequence[str]) -> Report:
    """A report with more warnings."""
    import msgspec

    return msgspec.structs.replace(report, warnings=[*report.warnings, *warnings]) if warnings else report


def _unread_levels(scored: Sequence[tuple[Backend, Hardware]]) -> dict[str, str]:
    """The levels of which no backend reads anything, neither as a level nor by the keys that say the same."""
    rows = rows_of(scored[0][1].values)
    part_of = {number: part for part, number in parts_of(rows).items()}
    outer, found = outer_rows(rows), dict[str, str]()
    for number, row in enumerate(rows):
        part = part_of.get(number)
        keys = {same.key for same in SAME if same.part == part and same.field in row}
        if part in ("local", "scratchpad"):
            keys.add(LEVELS)
        elif number in outer:
            keys.add(READ)
        if not any(keys & machine.reads for _, machine in scored):
            names = " and ".join(f"'{model.name}'" for model, _ in scored)
            said = "the backend" if len(scored) == 1 else "none of the backends"
            verb = "does not read it here" if len(scored) == 1 else "reads it here"
            found[f"{row['name']} of {LEVELS}"] = f"{said} {names} {verb}"
    return found


def _stands_for(key: str) -> set[str]:
    """A key, and those that say the same as it."""
    return {key, *(same.key for same in SAME if key == LEVELS)}


def _joined(reasons: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(reasons))


def keys_of(overrides: Mapping[str, object]) -> Iterator[str]:
    """The dotted keys of overrides, which may be nested."""
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            yield from (f"{key}.{inner}" for inner in keys_of(cast("Mapping[str, object]", value)))
        else:
            yield key


def _reason(key: str, model: Backend, machine: Hardware) -> str | None:
    """Why a key has no effect; None where it may have one."""
    if key not in machine.reads:
        return f"the backend '{model.name}' does not read it here"
    return model.without_effect(machine).get(key)
