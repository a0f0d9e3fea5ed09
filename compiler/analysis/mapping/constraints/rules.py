"""
Rules as they are written, in a hardware file or in a file of their own.

    [[constraints.rules]]
    level = 1                       # the outermost; without: every level
    layers = "conv*"                # and kind, phase: which contractions; without: all
    order = "K C * X"
    spread = "K C"
    must = "K"
    tiles = "K=1 C<=64 Y=1"
    fanout = 32
    utilization = 0.5
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from typing import cast

from npuc.compiler.analysis.mapping.constraints.words import (
    ALL,
    TILES_LIKE,
    LoopOrder,
    TileWord,
    WrongWords,
    read_dims,
    read_order,
    read_tiles,
)
from npuc.compiler.core.errors import either
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import COUNT, Entry, Integer, Real, Rows, Scalar, Text

RULES, DIVISORS = "constraints.rules", "constraints.divisors"
"""The keys of rules, and of tiles that divide what they are cut from."""
KINDS = ("convolution", "depthwise", "product")
PHASES = ("forward", "dx", "dw")
DEEPEST = 3
_MATCHES = ("level", "layers", "kind", "phase")


@frozen
class RulePlace:
    """Where a rule is written: a file with its text (None: on the command line, or in a mapping) and its number."""

    name: str
    text: str | None
    number: int


@frozen
class Atom:
    """
    One demand of a rule: `key` is that of the rule, `level` counts from 0 (None: every level, or all together).

    `value` is an order, the dimensions that may be spread, one that must be, a tile, a number of sub-clusters, or the
    share of them that work.
    """

    rule: MapRule
    key: str
    level: int | None
    value: LoopOrder | tuple[str, ...] | str | TileWord | int | float

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions that it names."""
        match self.value:
            case LoopOrder():
                return self.value.names
            case TileWord():
                other = self.value.value
                return (self.value.name, *([other] if isinstance(other, str) and other != ALL else []))
            case tuple():
                return self.value
            case str():
                return (self.value,)
            case _:
                return ()

    @property
    def demanded(self) -> str:
        """The key and the value, as they are written."""
        value = self.value
        if isinstance(value, LoopOrder | tuple):
            value = str(self.rule.row[self.key])
        shown = f"'{value}'" if isinstance(value, str | TileWord) else f"{value:g}" if value else "0"
        return f"{self.key} {shown}"


@frozen
class MapRule:
    """A rule: its row, read, and where it is written."""

    row: Mapping[str, Scalar]
    place: RulePlace = field(compare=False)

    def applies(self, layer: str, kind: str, phase: str) -> bool:
        """Whether a contraction is one of those that the rule is for."""
        given = {"kind": kind, "phase": phase}
        return fnmatchcase(layer, str(self.row.get("layers", "*"))) and all(
            self.row.get(key, value) == value for key, value in given.items()
        )

    @property
    def level(self) -> int | None:
        """The level from 0, None for every one."""
        found = self.row.get("level")
        return None if found is None else int(found) - 1

    def atoms(self) -> Iterator[Atom]:
        """Each thing that the rule demands by itself."""
        row, level = self.row, self.level
        if "order" in row:
            yield Atom(self, "order", level, read_order(str(row["order"])))
        if "spread" in row:
            yield Atom(self, "spread", level, read_dims(str(row["spread"]), none=True))
        for name in read_dims(str(row.get("must", "")), none=False):
            yield Atom(self, "must", level, name)
        for tile in read_tiles(str(row.get("tiles", ""))):
            yield Atom(self, "tiles", level, tile)
        for key in ("fanout", "utilization"):
            if key in row:
                yield Atom(self, key, level, cast("int | float", row[key]))


@frozen
class MapRules:
    """All rules that hold together; `divisors`: tiles divide what they are cut from."""

    rules: tuple[MapRule, ...] = ()
    divisors: bool = False

    def __bool__(self) -> bool:
        return bool(self.rules) or self.divisors

    def atoms(self, layer: str, kind: str, phase: str) -> tuple[Atom, ...]:
        """What is demanded of a contraction."""
        return tuple(atom for rule in self.rules if rule.applies(layer, kind, phase) for atom in rule.atoms())

    @property
    def words(self) -> str:
        """How many rules of which files, in words."""
        files, count = list(dict.fromkeys(rule.place.name for rule in self.rules)), len(self.rules)
        text = f"{count:,} rule{'s' if count != 1 else ''} of {either(files, 'and')}" if files else ""
        return " and ".join(part for part in (text, "tiles that divide" if self.divisors else "") if part)

    @property
    def document(self) -> dict[str, object]:
        """The rules as plain data, as results have them in JSON."""
        return {"divisors": self.divisors, "rules": [dict(rule.row) for rule in self.rules]}

    def joined(self, others: MapRules) -> MapRules:
        """These and the others."""
        return MapRules((*self.rules, *others.rules), self.divisors or others.divisors)


NO_RULES = MapRules()


def rules_of(values: Mapping[str, object], name: str, text: str | None) -> MapRules:
    """The rules among checked hardware values, which come from a file of this name and text."""
    rows = cast("Sequence[Mapping[str, Scalar]]", values.get(RULES, ()))
    rules = tuple(MapRule(dict(row), RulePlace(name, text, number)) for number, row in enumerate(rows))
    return MapRules(rules, bool(values.get(DIVISORS, False)))


def _wrong_rule(row: Mapping[str, Entry]) -> str | None:
    """What is wrong with a rule, after the key where it is."""
    for key in ("order", "spread", "must", "tiles"):
        if key in row:
            try:
                _read(key, str(row[key]))
            except WrongWords as e:
                return f"{key}: {e}"
    if "fanout" in row and "level" not in row:
        return "fanout: a number of sub-clusters needs a level"
    if not set(row) - set(_MATCHES):
        return "expected an order, spread, must, tiles, fanout or utilization"
    return None


def _read(key: str, text: str) -> object:
    if key == "order":
        return read_order(text)
    return read_tiles(text) if key == "tiles" else read_dims(text, none=key == "spread")


ROWS = Rows(
    {
        "level": Integer(1, DEEPEST),
        "layers": Text(),
        "kind": Text(KINDS),
        "phase": Text(PHASES),
        "order": Text(wanted="an order of loops like 'K * C'"),
        "spread": Text(wanted="dimensions like 'K C', or 'none'"),
        "must": Text(wanted="dimensions like 'K C'"),
        "tiles": Text(wanted=TILES_LIKE),
        "fanout": COUNT,
        "utilization": Real(1.0, zero=True),
    },
    needed=(),
    wrong=_wrong_rule,
    entry="rule",
)
"""The kind of the key of rules."""
