"""
Parsing and printing of schedules, for attributes and for the custom syntax of operations.

    schedule ::= (`loops` `[` (dimension `:` step),* `]`)? kept? (level)* promise?
    kept     ::= `keep` `(` (tensor `=` depth),* `)`
    level    ::= `keep` name `(` (tensor `=` depth),* `)`      of a memory between SPM and DRAM
    promise  ::= `spm` integer `bytes`
"""

from collections.abc import Collection

from xdsl.parser import AttrParser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from npuc.dialects.npu.nest import LevelKeep, Loop, Schedule
from npuc.dialects.npu.syntax import known_dim, parse_known_dim


def parse_schedule(parser: AttrParser, known: Collection[str] | None) -> Schedule | None:
    """Parse a schedule, whose parts are all optional; None if there is none. `loops []` is a schedule without loops."""

    def parse_loop() -> Loop:
        # A dimension may be called cores, too.
        start = parser.pos
        cores = parser.parse_optional_keyword("cores") is not None
        if cores and parser.parse_optional_punctuation(":"):
            dim, cores = known_dim("cores", parser, start, known), False
        else:
            dim = parse_known_dim(parser, known)
            parser.parse_punctuation(":")
        return Loop(dim, parser.parse_integer(allow_boolean=False), cores)

    def parse_keep() -> tuple[str, int]:
        name = parser.parse_identifier(" of a tensor")
        parser.parse_punctuation("=")
        return name, parser.parse_integer(allow_boolean=False)

    loops: list[Loop] = []
    keep: list[tuple[str, int]] = []
    looped = parser.parse_optional_keyword("loops") is not None
    if looped:
        loops = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_loop, " in loops")
    outer: list[LevelKeep] = []
    while parser.parse_optional_keyword("keep"):
        level = parser.parse_optional_identifier()
        depths = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_keep, " in keep")
        if level is not None:
            outer.append(LevelKeep(level, tuple(depths)))
        elif keep or outer:
            parser.raise_error("expected the name of a level after 'keep': what stays in SPM comes first, and once")
        else:
            keep = depths
    spm = parse_promise(parser)
    if not looped and not keep and not outer and spm is None:
        return None
    return Schedule(tuple(loops), tuple(keep), spm, tuple(outer))


class BarePromise(ParseError):
    """`spm 160` without its unit."""

    hint = "a promise is in bytes, each tensor in elements of its own type (it was in elements of the widest type)"


def parse_promise(parser: AttrParser) -> int | None:
    """Parse `spm 160 bytes`; None if it is not there."""
    start = parser.pos
    if parser.parse_optional_keyword("spm") is None:
        return None
    count = parser.parse_integer(allow_boolean=False)
    end = parser.pos
    if parser.parse_optional_keyword("bytes") is None:
        found = f"found 'spm {count}', expected 'spm {count} bytes'"
        raise BarePromise(Span(start, end, parser.lexer.input), found)
    return count


def promise_text(spm: int) -> str:
    """The text of a promise."""
    return f"spm {spm} bytes"


def schedule_text(schedule: Schedule) -> str:
    """The text of a schedule; `loops []` for an empty one, whose nest is a single tile."""
    parts: list[str] = []
    if schedule.loops:
        parts.append(f"loops [{', '.join(map(str, schedule.loops))}]")
    kept = [("keep", schedule.keep)] if schedule.keep else []
    for what, depths in (*kept, *((f"keep {one.level}", one.keep) for one in schedule.outer)):
        parts.append(f"{what}({', '.join(f'{name} = {depth}' for name, depth in depths)})")
    if schedule.spm is not None:
        parts.append(promise_text(schedule.spm))
    return " ".join(parts) or "loops []"
