"""
Pipelines that a sweep varies: levels of -O and passes, between semicolons since pipelines hold commas.

    -O0; -O3; zip: autodiff,lower-to-npu,interleave{mode=zip},schedule

A name before a colon stands for its passes in tables, files and pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from npuc.compiler.core.arguments import plain
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.numbers import BLANKS
from npuc.compiler.core.options import LEVELS, CompileKeywords
from npuc.compiler.driver.options import check_options
from npuc.compiler.driver.passes import available_passes, read_pipeline

EXAMPLE = '--vary "pipeline=-O0; -O3; zip: autodiff,lower-to-npu,interleave{mode=zip},schedule"'
_LEVEL = re.compile(r"-?O(?P<level>\d+)", re.ASCII)
_NAMED = re.compile(r"(?P<name>[A-Za-z][\w.+-]*)\s*:(?P<passes>.*)", re.ASCII | re.DOTALL)
_PARTS = re.compile(r'(?:"[^"]*"?|[^;"])+|(?<=;)(?=;)|^(?=;)|(?<=;)$|^$')
"""The parts between semicolons outside of quotes, empty ones among them."""


@dataclass(frozen=True)
class VariedPipeline:
    """A value of a varied pipeline: the name by which it is shown, and its passes or its level of -O."""

    name: str
    passes: str | None = None
    opt_level: int | None = None

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The options that it sets."""
        return {"pipeline": self.passes, "opt_level": self.opt_level}


def read_pipelines(key: str, given: str | Iterable[object]) -> tuple[VariedPipeline, ...]:
    """
    The pipelines of a text as on the command line, or of a text each.

    Raises `UsageError` for an empty one, a level that does not exist, and a name or pipeline that stands there twice.
    """
    parts: Sequence[object] = _PARTS.findall(given) if isinstance(given, str) else [plain(value) for value in given]
    found: dict[str, VariedPipeline] = {}
    for part in parts:
        one = _read(key, part)
        if one.name in found:
            raise UsageError(f"--vary {key}: '{one.name}' is listed twice", hint="leave out one of them, or rename it")
        found[one.name] = one
    if not found:
        raise UsageError(f"--vary {key}: there are no values")
    return tuple(found.values())


def _read(key: str, given: object) -> VariedPipeline:
    if not isinstance(given, str):
        raise UsageError(
            f"--vary {key}: found a value of type {type(given).__name__}, expected passes or a level of -O",
            hint=f"for example {EXAMPLE}",
        )
    text = given.strip(BLANKS)
    named = _NAMED.fullmatch(text)
    name, passes = (text, text) if named is None else (named["name"], named["passes"].strip(BLANKS))
    if not passes:
        raise UsageError(f"--vary {key}: found an empty pipeline", hint=f"for example {EXAMPLE}")
    level = _LEVEL.fullmatch(passes)
    if level is None:
        return VariedPipeline(name, passes=passes)
    known = next((one for one in LEVELS if str(one) == level["level"]), None)
    if known is None:
        shown = ", ".join(f"-O{one}" for one in LEVELS)
        raise UsageError(f"--vary {key}: unknown optimisation level {passes}", hint=f"known: {shown}")
    return VariedPipeline(f"-O{known}" if named is None else name, opt_level=known)


def check_pipelines(key: str, pipelines: Iterable[VariedPipeline], options: CompileKeywords) -> None:
    """Raise `UsageError` for passes that do not parse or do not exist, and for what is unused beside them."""
    available = available_passes(options.get("load") or ())
    names_passes = any(one.passes is not None for one in pipelines)
    for one in pipelines:
        given = cast("CompileKeywords", {**options, **one.keywords})
        if one.passes is None and names_passes:
            given.pop("load", None)  # the others may name what it has
        if cast("object", given.get("objective", "")) is None:
            given.pop("objective", None)
        shown = "" if one.name == one.passes else f" {one.name}:"
        try:
            if one.passes is not None:
                read_pipeline(one.passes, available)
            check_options(given)
        except UsageError as e:
            between = f"pipelines stand between semicolons: {EXAMPLE}"
            hint = between if re.search(r"(?:^|,)\s*-?O\d", one.passes or "") else e.hint
            raise UsageError(f"--vary {key}:{shown} {e.message}", hint=hint) from e
