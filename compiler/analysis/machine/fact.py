"""
How a field of `Machine`, `Array` or `Energy` is tied to a hardware key: by a note on the field, which is all there is.

    cores: Annotated[int, FromKey("array.cores", Integer(1, 1 << 12), "cores, each with its own array and SPM")] = 1

The note makes the key (`npuc.hardware.schema`), the fact of that name in `npu.target` and the option of the pass
`set-target`; the field's default is the key's. By default a fact is in `npu.target` where the description itself has
the key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from math import inf
from typing import Protocol, get_args, get_type_hints

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Flag, Integer, Key, Kind, Limit, OneOf, Real, Scalar, Text, Value
from npuc.compiler.core.options import UNLIMITED

Fact = Scalar
"""A value in `npu.target`."""


class Description(Protocol):
    """What says values by hardware key: `npuc.hardware.Hardware`."""

    def written(self, key: str) -> bool:
        """Whether the description itself has the key, and not only a default."""
        ...

    def get(self, key: str) -> Value | None:
        """The value of a key, else its default, else None."""
        ...

    def known(self, key: str) -> Value | None:
        """As `get`, else what follows from other keys."""
        ...

    def require(self, key: str, *, backend: str) -> Value:
        """The value of a key that `backend` needs. Raises `UsageError` where there is none."""
        ...

    def require_all(self, keys: Sequence[str], *, backend: str) -> None:
        """Raise one `UsageError` for all of the keys that there is no value for."""
        ...


@frozen
class FromKey:
    """
    The hardware key of a field: its path, what it may be, what it means, with its unit.

    `when` says of a description whether `npu.target` has the fact: None where the key is written, `always` of a fact
    that no target may lack. `name` is the fact's, by default the last part of the path. Where the fact is another
    quantity than the key's value, `derived` makes it for a backend, and `kind_of_fact` says what it may be.
    """

    path: str
    kind: Kind
    meaning: str
    when: Callable[[Description], bool] | None = None
    name: str = ""
    derived: Callable[[Description, str], Fact] | None = None
    kind_of_fact: Kind | None = None


def always(_: Description) -> bool:
    """Of a fact that no target may lack."""
    return True


@frozen
class FactRow:
    """A field with its note; `default` is None where the field has none."""

    field: str
    note: FromKey
    default: object

    @property
    def name(self) -> str:
        """Its name in `npu.target`."""
        return self.note.name or self.note.path.rpartition(".")[2]

    @property
    def kind(self) -> Kind:
        """What the fact may be."""
        return self.note.kind_of_fact or self.note.kind

    @property
    def required(self) -> bool:
        """Whether no target may lack it."""
        return self.note.when is always

    @property
    def key(self) -> Key:
        """The hardware key."""
        default = self.default if isinstance(self.default, bool | int | float | str) else None
        return Key(self.note.path, self.note.kind, self.note.meaning, default)

    def is_told(self, hardware: Description) -> bool:
        """Whether the target of a machine has it."""
        return hardware.written(self.note.path) if self.note.when is None else self.note.when(hardware)

    def fact_of(self, hardware: Description, backend: str) -> Fact:
        """Its value for a machine. Raises `UsageError` for one that `backend` lacks."""
        if self.note.derived is not None:
            return self.note.derived(hardware, backend)
        value = hardware.require(self.note.path, backend=backend)
        assert not isinstance(value, list), "rows of tables are no facts"
        return value

    def value_of(self, fact: Fact) -> int | float | str | None:
        """The field's value of a fact in `npu.target`. Raises `UsageError` for one that it cannot be."""
        wanted, right = _wanted(self.kind, fact)
        if not right:
            shown = f"'{fact}'" if isinstance(self.kind, Text) else repr(fact)
            raise UsageError(f"{self.name} is {'0' if fact == 0 and wanted == POSITIVE else shown}, expected {wanted}")
        if isinstance(self.kind, Real):
            return float(fact)
        return None if isinstance(self.kind, Limit) and fact == UNLIMITED else fact


POSITIVE = "a number above 0"


def _wanted(kind: Kind, fact: Fact) -> tuple[str, bool]:
    """What a fact of a kind is, in words, and whether `fact` is that; upper bounds are for files alone."""
    whole = fact if isinstance(fact, int) and not isinstance(fact, bool) else None
    match kind:
        case Flag():
            return "true or false", isinstance(fact, bool)
        case OneOf():
            return " or ".join(map(str, sorted(kind.choices))), whole in kind.choices
        case Limit():
            return f"an integer from 1 on, or '{UNLIMITED}'", fact == UNLIMITED or (whole is not None and whole >= 1)
        case Real():
            number = isinstance(fact, int | float) and not isinstance(fact, bool) and 0 <= fact < inf
            return (POSITIVE, False) if number and not kind.zero and fact == 0 else ("a number", number)
        case Text():
            return ", ".join(kind.choices), fact in kind.choices
        case Integer():
            return f"an integer from {kind.least} on", whole is not None and whole >= kind.least
        case _:
            raise AssertionError("rows of tables are no facts")


@cache
def rows_of(owner: type) -> tuple[FactRow, ...]:
    """The fields of a dataclass that have a note, in their order."""
    hints, found = get_type_hints(owner, include_extras=True), list[FactRow]()
    for field in fields(owner):
        default = None if field.default is MISSING else field.default
        notes = [note for note in get_args(hints[field.name])[1:] if isinstance(note, FromKey)]
        found += [FactRow(field.name, note, default) for note in notes]
    return tuple(found)


def values_of(owner: type, facts: Mapping[str, Fact]) -> dict[str, int | float | str | None]:
    """The values of those fields of a dataclass that `facts` have, by field. Raises `UsageError` for a wrong one."""
    return {row.field: row.value_of(facts[row.name]) for row in rows_of(owner) if row.name in facts}
