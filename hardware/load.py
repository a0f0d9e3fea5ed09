"""
Reading a hardware description: a preset's name, a file (TOML, SCALE-Sim's, MAESTRO's) or a mapping, then overrides.

Everything is checked against the schema; the first thing wrong is a `UsageError` that names the file and the key,
with the line and a caret where the key can be found.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

from npuc.compiler.analysis.mapping.constraints.rules import DIVISORS, RULES, MapRules, rules_of
from npuc.compiler.core.arguments import argument
from npuc.compiler.core.errors import Location, UsageError, did_you_mean, nearest
from npuc.compiler.core.files.texts import text_of_file
from npuc.compiler.core.files.toml import read_toml
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Rows, Text, Value, WrongValue
from npuc.compiler.core.options import HardwareLike
from npuc.hardware.derive import without_followers
from npuc.hardware.description import Hardware
from npuc.hardware.level_keys import LEVELS, Disagreement, check_elements, with_keys_of_levels, without_replaced
from npuc.hardware.network_file import NETWORK, with_network_file
from npuc.hardware.readers.maestro import read_maestro_file
from npuc.hardware.readers.scalesim import read_cfg
from npuc.hardware.readers.toml_places import find_in_entry, find_key
from npuc.hardware.schema import KEYS, TABLES, key_named
from npuc.hardware.together import Contradiction, check_together, with_one_width

PRESETS = Path(__file__).parent / "presets"
CONSTRAINTS = Path(__file__).parent / "constraints"
_FOREIGN = {".cfg": read_cfg, ".m": read_maestro_file}
"""Readers of other tools' files by the end of the file's name."""


@frozen
class _Origin:
    """Where values came from: a file with its text, or a phrase for messages."""

    name: str
    text: str | None = None

    def error(
        self, message: str, path: str, hint: str | None = None, entry: tuple[int | None, str | None] = (None, None)
    ) -> UsageError:
        """An error about the key `path`, or about an entry of its list and a key there."""
        place = None if self.text is None else find_key(self.text, path)
        if place is not None and self.text is not None and entry[0] is not None:
            place = find_in_entry(self.text, path, entry[0], entry[1]) or place
        if place is None or self.text is None:
            return UsageError(f"{self.name}: {message}", hint=hint)
        return self.at(message, *place, hint)

    def disagreement(self, found: Disagreement) -> UsageError:
        """An error about a key and a level that say different things, with both places."""
        other = None if self.text is None else find_in_entry(self.text, LEVELS, found.number, found.field)
        where = "" if other is None else f" (line {other[0]})"
        return self.error(found.message + where, found.key, "write it in one place, or the same in both")

    def at(self, message: str, line: int, col: int, hint: str | None = None) -> UsageError:
        """An error at a place of the file."""
        lines = (self.text or "").split("\n")
        source_line = lines[line - 1] if 0 < line <= len(lines) else ""
        return UsageError(message, location=Location(self.name, line, col), hint=hint, source_line=source_line)


@cache
def constraint_names() -> tuple[str, ...]:
    """The constraints that ship with npuc, sorted."""
    return tuple(sorted(path.stem for path in CONSTRAINTS.glob("*.toml")))


@cache
def preset_names() -> tuple[str, ...]:
    """The machines that ship with npuc, sorted."""
    return tuple(sorted(path.stem for path in PRESETS.glob("*.toml")))


def load_hardware(
    hardware: HardwareLike,
    overrides: Mapping[str, object] | None = None,
    precision: str | None = None,
) -> Hardware:
    """
    The machine that `hardware` names (a preset, a `.toml` file, a SCALE-Sim `.cfg` file, a MAESTRO `.m` file) or
    describes (a mapping, nested or with dotted keys).

    `overrides` win over it, key by key, and `precision` over its key of this name. Of `precision` and
    `memory.element_bytes` the one given last wins: a preset's width gives way to a precision that is asked for,
    a preset's precision to a width. Raises `UsageError` for an unknown name, a file that cannot be read, every value
    that the schema does not allow, and for both keys together; `TypeError` for an argument of another type.
    """
    hardware = argument("hardware", hardware, HardwareLike)
    overrides = argument("overrides", overrides, Mapping[str, object] | None)
    precision = argument("precision", precision, str | None)
    if isinstance(hardware, Mapping):
        values, whose = _checked(hardware, _Origin("hardware")), "the hardware"
    else:
        name = os.fspath(hardware)
        values = _read(name)
        whose = None if name in preset_names() or _foreign(name) is not None else name
    own = _checked(overrides or {}, _Origin("hardware override"))
    try:
        values = without_followers(with_one_width(values, own, precision, whose), own)
        values = with_keys_of_levels(without_replaced(values, own) | own)
        if precision is not None:
            values["precision"] = precision
        values = with_network_file(values, _home(hardware, own))
        check_together(values)
    except Contradiction as e:
        if isinstance(hardware, Mapping) or os.fspath(hardware) in preset_names() or e.path in own:
            raise UsageError(e.message, hint=e.hint) from None
        name = os.fspath(hardware)
        raise _Origin(name, text_of_file(Path(name), name)).error(e.message, e.path, e.hint) from None
    return Hardware({path: values[path] for path in KEYS if path in values})


def _home(hardware: HardwareLike, own: Mapping[str, object]) -> Path:
    """The folder from which the name of a network file counts: that of the hardware file that names it, else here."""
    if isinstance(hardware, Mapping) or NETWORK in own or os.fspath(hardware) in preset_names():
        return Path()
    return Path(os.fspath(hardware)).parent


def load_constraints(name: str) -> MapRules:
    """
    The constraints of mappings in a file, whose keys are those of `constraints` alone, or those that ship under a name.

    Raises `UsageError` for an unknown name, a file that cannot be read or has no constraint, and everything that the
    schema does not allow.
    """
    path = CONSTRAINTS / f"{name}.toml" if name in constraint_names() else Path(name)
    if path.suffix != ".toml":
        hint = did_you_mean(name, constraint_names())
        raise UsageError(
            f"unknown constraints '{name}', expected a name (npuc list constraints) or a .toml file", hint=hint
        )
    text = text_of_file(path, name, "file of constraints")
    values = _described(text, name)
    for key in values:
        if key not in (RULES, DIVISORS):
            raise _Origin(name, text).error(
                f"{key} is no constraint", key, f"--hw has the machine: only {RULES}, {DIVISORS}"
            )
    found = rules_of(values, name, text)
    if not found:
        raise UsageError(
            f"{name}: a file of constraints has rules ([[{RULES}]]), or {DIVISORS} = true; this has neither"
        )
    return found


def machine_constraints(hardware: Hardware, name: str | None = None, text: str | None = None) -> MapRules:
    """The constraints of mappings that a machine has itself, of a file of this name and text, where that is known."""
    return rules_of({key: hardware.get(key) or () for key in (RULES, DIVISORS)}, name or hardware.name, text)


def text_of_hardware(hardware: HardwareLike) -> str:
    """The text of the preset or file that `hardware` names; empty for a mapping. Raises `UsageError`."""
    if isinstance(hardware, Mapping):
        return ""
    name = os.fspath(hardware)
    return text_of_file(_path_of(name), name)


def parse_setting(text: str) -> tuple[str, object]:
    """`KEY=VALUE` as a key and a value: VALUE as TOML writes it, or a bare string. Raises `UsageError`."""
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key or not value.strip():
        raise UsageError(f"--set {text}: expected KEY=VALUE", hint="for example --set array.rows=64")
    known = key_named(key)
    if known is not None and isinstance(known.kind, Text):
        return key, value.strip().strip('"')
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return key, value.strip()
    return key, parsed["value"] if list(parsed) == ["value"] else value.strip()


def _read(name: str) -> dict[str, Value]:
    """The values of a preset or file."""
    return dict(_described(text_of_file(_path_of(name), name), name))


def _path_of(name: str) -> Path:
    """The file of a preset, or that of a name that ends as hardware files do."""
    if name in preset_names():
        return PRESETS / f"{name}.toml"
    if name.endswith(".toml") or _foreign(name) is not None:
        return Path(name)
    hint = did_you_mean(name, preset_names())
    raise UsageError(f"unknown hardware '{name}', expected a preset, a .toml, .cfg or .m file", hint=hint)


def _foreign(name: str) -> Callable[[str, str], dict[str, Value]] | None:
    """The reader of a file of another tool."""
    return next((read for end, read in _FOREIGN.items() if name.lower().endswith(end)), None)


@lru_cache(maxsize=64)
def _described(text: str, name: str) -> Mapping[str, Value]:
    """The values that the text of a file gives, cached for repeated requests of the same file."""
    foreign = _foreign(name)
    if foreign is not None:
        return foreign(text, name)
    origin = _Origin(name, text)
    values = _checked(read_toml(text, name), origin)
    try:
        check_elements(values)
    except Disagreement as e:
        raise origin.disagreement(e) from None
    return values


def _flat(data: Mapping[str, object], origin: _Origin, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Dotted keys and values of nested tables. A table is opened only where the schema has one."""
    for key, value in data.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and path in TABLES:
            yield from _flat(cast("Mapping[str, object]", value), origin, f"{path}.")
        elif path in TABLES:
            example = next(k for k in KEYS if k.startswith(f"{path}."))
            raise origin.error(f"{path}: expected a table", path, f"for example {example} = …")
        else:
            yield path, value


def _checked(data: Mapping[str, object], origin: _Origin) -> dict[str, Value]:
    """The values that `data` gives, by dotted key, each checked by its kind."""
    result: dict[str, Value] = {}
    for path, value in _flat(data, origin):
        key = key_named(path)
        if key is None:
            if path in TABLES:  # a table of a backend that has been found only now
                result |= _checked({path: value}, origin)
                continue
            raise origin.error(f"unknown key '{path}'", path, _hint(path))
        try:
            result[path] = key.kind.read(value)
        except WrongValue as e:
            hint = f"{path} is: {key.meaning}" if not isinstance(key.kind, Rows) else None
            raise origin.error(f"{path}: {e}", path, hint, (e.entry, e.inner)) from None
    try:
        return with_keys_of_levels(result)
    except Disagreement as e:
        raise origin.disagreement(e) from None


def _hint(path: str) -> str:
    """The known key that an unknown key most likely means, preferably of its own table."""
    table, dot, leaf = path.partition(".")
    inside = [key.partition(".")[2] for key in KEYS if key.startswith(f"{table}.")]
    if dot and inside:
        match = nearest(leaf, inside)
        if match:
            return f"did you mean '{table}.{match}'?"
    match = nearest(path, [*KEYS, *TABLES])
    if match is None:
        same = [key for key in KEYS if key.rpartition(".")[2] == path.rpartition(".")[2]]
        match = same[0] if same else None
    if match:
        return f"did you mean '{match}'?"
    known = inside if dot and inside else ["name", "clock_mhz", *TABLES]
    return f"known: {', '.join(known)}"
