"""
Pass pipelines: the ones that `-O` stands for, reading one from text, running one.

    passes = read_pipeline("autodiff,lower-to-npu{conv=im2col},schedule", available_passes())
    run_pipeline(module, passes, make_context(), sources)
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from types import MappingProxyType, NoneType
from typing import Literal, get_args, get_origin, get_type_hints

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, VerifyException
from xdsl.utils.hints import isa

from npuc.compiler.core.errors import NpucError, SourceError, UsageError, did_you_mean, either
from npuc.compiler.core.foreign import Foreign, summary
from npuc.compiler.core.options import Options
from npuc.compiler.core.plugins import PassFactory, installed_passes, load_passes
from npuc.compiler.core.stages import remarks_to, tell
from npuc.compiler.core.verify import SourceTexts, verify_module
from npuc.compiler.driver.watch.unchanged import Unchanged
from npuc.compiler.driver.watch.watcher import Watcher, Watchers
from npuc.compiler.transforms import get_all_passes

_ODD_BLANK = re.compile(r"[^\S \t\r\n]")
_REAL = re.compile(r"\d+e[-+]?\d+")
UPSTREAM = ("cse", "dce")


@cache
def own_passes() -> Mapping[str, PassFactory]:
    """npuc's passes and xDSL's clean-up passes by name."""
    from xdsl.transforms import get_all_passes as get_upstream_passes

    upstream = get_upstream_passes()
    return MappingProxyType({**{name: upstream[name] for name in UPSTREAM}, **get_all_passes()})


def available_passes(load: Sequence[str] = ()) -> dict[str, PassFactory]:
    """
    All passes by name: npuc's, xDSL's clean-up passes, those of installed distributions, those of the files in `load`.

    Raises `UsageError` for a file that cannot be loaded and for a pass that takes the name of one of npuc's.
    """
    own = own_passes()
    result = {**installed_passes(), **own}
    for path in load:
        for name, factory in load_passes(path).items():
            if name in own:
                raise UsageError(f"--load {path}: the name '{name}' is taken by a pass of npuc")
            result[name] = factory
    return dict(sorted(result.items()))


def read_pipeline(text: str, available: Mapping[str, PassFactory]) -> list[ModulePass]:
    """
    The passes that a text names: `autodiff,lower-to-npu{conv=im2col},schedule`.

    Raises `UsageError` for a text that does not parse, an unknown pass (with the nearest), an unknown or wrong option.
    """
    if (odd := _ODD_BLANK.search(text)) is not None:
        raise UsageError(f"pipeline '{text}': found the character U+{ord(odd.group()):04X}, expected a space")
    try:
        specs = list(parse_pipeline(re.sub(r"\s*,\s*", ",", text.strip()))) if text.strip() else []
    except ArgSpecParseError as e:
        raise UsageError(f"pipeline '{text}' does not parse: {_reason(e)}", hint='for example "a,b{x=1 y=2,3}"') from e
    except ValueError as e:  # Python reads integers of a few thousand digits at most
        raise UsageError(f"pipeline '{text}': found a number of too many digits, expected one of 64 bits") from e
    return [_make(spec, available) for spec in specs]


def names_in(text: str) -> list[str]:
    """The names of the passes that a text names; none where it does not parse, which `read_pipeline` tells of."""
    try:
        return [spec.name for spec in parse_pipeline(re.sub(r"\s*,\s*", ",", text.strip()))] if text.strip() else []
    except (ArgSpecParseError, ValueError):
        return []


def passes_by_hand(options: Options) -> frozenset[str]:
    """The names of the passes that a caller names, in `pipeline`, `before` and `after`."""
    placed = (text.partition("=")[2] for text in (*options.before, *options.after))
    return frozenset(name for text in (options.pipeline or "", *placed) for name in names_in(text))


def _reason(error: ArgSpecParseError) -> str:
    """The last line of the parser's message, which is what it wanted."""
    lines = [line.strip(" ^|") for line in str(error).splitlines()]
    return next((line for line in reversed(lines) if line), "wrong syntax")


def _make(spec: ArgSpec, available: Mapping[str, PassFactory]) -> ModulePass:
    if spec.name not in available:
        raise UsageError(f"unknown pass '{spec.name}'", hint=did_you_mean(spec.name, list(available)))
    found = available[spec.name]()
    options = [f.name.replace("_", "-") for f in dataclasses.fields(found) if f.name != "name" and f.init]
    for option in spec.parameters:
        if option.replace("_", "-") not in options:
            hint = did_you_mean(option, options) if options else f"'{spec.name}' has no options"
            raise UsageError(f"pass '{spec.name}' has no option '{option}'", hint=hint)
    with Foreign(lambda e: UsageError(f"pass '{spec.name}': {e if isinstance(e, ValueError) else summary(e)}")):
        if spec.parameters:
            spec = _with_reals(spec, found)
            _check_types(spec, found)
        # Reading a specification resolves the types of all options, which takes longer than many a pass.
        return found.from_spec(spec) if spec.parameters or found.required_fields() else found()


def _with_reals(spec: ArgSpec, found: type[ModulePass]) -> ArgSpec:
    """A specification in which an option that is a real number may be written as `0` or `1e-09`, as Python does."""
    types = get_type_hints(found)
    return ArgSpec(
        spec.name,
        {
            option: tuple(map(_real, values)) if types[option.replace("-", "_")] is float else values
            for option, values in spec.parameters.items()
        },
    )


def _real(value: str | bool | float) -> str | bool | float:
    """The number that a value of an option stands for, if it is one; xDSL reads `1e-09` as a word."""
    if isinstance(value, bool) or (isinstance(value, str) and not _REAL.fullmatch(value)):
        return value
    return float(value)


def _check_types(spec: ArgSpec, found: type[ModulePass]) -> None:
    """Raise `UsageError` for an option whose value is of another type than the pass takes."""
    types = get_type_hints(found)
    for option, values in spec.parameters.items():
        wanted = types[option.replace("-", "_")]
        if values and not (len(values) == 1 and isa(values[0], wanted)) and not isa(values, wanted):
            shown = ",".join(str(value) for value in values)
            raise UsageError(f"pass '{spec.name}': {option}: found '{shown}', expected {either(_expected(wanted))}")


def _expected(hint: object) -> list[str]:
    """What an option of a type takes, in words."""
    if isinstance(hint, type) and hint in _WORDS:
        return [_WORDS[hint]]
    if get_origin(hint) is Literal:
        return [str(word) for word in get_args(hint)]
    return [word for one in get_args(hint) if one not in (NoneType, ...) for word in _expected(one)] or ["another type"]


_WORDS: Mapping[type, str] = {int: "an integer", float: "a number", bool: "true or false", str: "a text"}


def write_pipeline(passes: Sequence[ModulePass]) -> str:
    """The text of a pipeline, which `read_pipeline` reads."""
    return ",".join(str(p) for p in passes)


def tolerance_of(passes: Sequence[ModulePass]) -> float | None:
    """The largest tolerance of the passes that chose schedules; None where none did."""
    found = (getattr(step, "tolerance", None) for step in passes)
    return max((value for value in found if isinstance(value, float)), default=None)


def run_pipeline(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    context: Context,
    sources: SourceTexts,
    *,
    verify_each: bool = False,
    watch: Watcher | None = None,
    told_of: Container[str] | None = None,
    tell_unchanged: bool = True,
) -> None:
    """
    Run passes on a module, in place.

    `watch` looks at the program before and after each. What a pass finds wrong becomes a `SourceError` that names the
    pass; so does anything that a pass from outside npuc raises. What passes remark is told of those named in `told_of`,
    by default of all, and so is that one changed nothing, unless `tell_unchanged` is false: what those of -O have
    nothing to do for is no news.
    """
    watchers = Watchers([*([Unchanged()] if tell_unchanged else []), *([] if watch is None else [watch])])
    for step in passes:
        tell(step.name)
        with nullcontext() if told_of is None or step.name in told_of else remarks_to(None):
            watchers.before(step, module)
            try:
                with sources.quoted(), nullcontext() if _is_ours(step) else Foreign(_blame(step)):
                    step.apply(context, module)
            except DiagnosticException as e:
                raise SourceError(_first_line(step, e)) from e
            if verify_each:
                verify_module(module, sources, after=step.name)
            watchers.after(step, module)


def _is_ours(step: ModulePass) -> bool:
    return type(step).__module__.partition(".")[0] in ("npuc", "xdsl")


def _blame(step: ModulePass) -> Callable[[BaseException], NpucError]:
    def translate(error: BaseException) -> NpucError:
        if isinstance(error, DiagnosticException):
            return SourceError(_first_line(step, error))
        return SourceError(f"pass '{step.name}' failed: {summary(error)}", hint="--debug shows where")

    return translate


def _first_line(step: ModulePass, error: DiagnosticException) -> str:
    """What a pass said, under its name, without the module that xDSL adds to some messages."""
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, VerifyException):
        return f"pass '{step.name}' made an invalid operation: {text}"
    return text if text.startswith(f"{step.name}:") else f"pass '{step.name}': {text}"
