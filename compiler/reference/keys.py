"""What a key of a hardware description is: its meaning, what it may be, its default, its value in each preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.kinds import Entry, Flag, Integer, Integers, Kind, Limit, OneOf, Real, Rows, Text, Value
from npuc.compiler.core.options import UNLIMITED
from npuc.hardware import KEYS, load_hardware, preset_names


@dataclass(frozen=True)
class KeyPage:
    """What a key is. `takes` says its values in words; `default` and the values of presets are as TOML writes them."""

    name: str
    meaning: str
    takes: str
    default: str | None
    presets: Mapping[str, str]


def key_page(name: str) -> KeyPage:
    """What is known of a dotted key. Raises `UsageError` with the nearest."""
    key = KEYS.get(name)
    if key is None:
        own = [path for path in KEYS if path.rpartition(".")[2] == name or path.startswith(f"{name}.")]
        hint = f"keys: {', '.join(own)}" if own else did_you_mean(name, list(KEYS))
        raise UsageError(f"there is no hardware key '{name}'", hint=hint)
    machines = {preset: load_hardware(preset) for preset in preset_names()}
    presets = {preset: toml_text(m.values[name]) for preset, m in machines.items() if name in m.values}
    default = None if key.default is None else toml_text(key.default)
    return KeyPage(name, key.meaning, kind_words(key.kind).replace("`", ""), default, presets)


def toml_text(value: Value | Entry) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_in_list, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _in_list(one: int | Mapping[str, Entry]) -> str:
    if isinstance(one, int):
        return str(one)
    return f"{{ {', '.join(f'{name} = {toml_text(value)}' for name, value in one.items())} }}"


def kind_words(kind: Kind | Integers) -> str:
    """What a key may be, in Markdown."""
    match kind:
        case Integer():
            return f"integer, {kind.least:,} to {kind.most:,}"
        case Integers():
            return f"list of integers, {kind.least:,} to {kind.most:,}"
        case OneOf():
            return " or ".join(map(str, kind.choices))
        case Real():
            first = f"{kind.least:g}" if kind.least or kind.zero else "above 0"
            return f"number, {first} to {kind.most:,.0f}"
        case Limit():
            return f'integer, 1 to {kind.most:,}, or `"{UNLIMITED}"`'
        case Flag():
            return "`true`, `false`"
        case Text():
            return ", ".join(f'`"{choice}"`' for choice in kind.choices) or "string"
        case Rows():
            other = f"{kind.files}, or " if kind.files else ""
            return f"{other}list of tables: " + ", ".join(
                f"`{name}` ({kind_words(inner)}{_otherwise(kind, name)})" for name, inner in kind.keys.items()
            )


def _otherwise(kind: Rows, name: str) -> str:
    """What holds where a row has no such key."""
    if name in kind.defaults:
        return f", else {toml_text(kind.defaults[name])}"
    return "" if name in kind.needed else ", optional"
