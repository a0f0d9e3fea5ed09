"""What differs between what two reports were made of: machine, program, passes, devices, model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, cast

import msgspec

from npuc.compiler.report.as_csv import flat
from npuc.compiler.report.as_json import dumps
from npuc.compiler.report.difference.document import DiffSetting
from npuc.compiler.report.difference.subsequence import common_subsequence
from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import ProgramFacts

Group = Literal["machine", "program", "passes", "devices", "model"]


def settings_of(a: Report, b: Report) -> list[DiffSetting]:
    """What differs, the machine first, its keys in their order."""
    return [
        *_differing("machine", _machine(a), _machine(b)),
        *_differing("model", _model(a), _model(b)),
        *_differing("program", _program(a), _program(b)),
        *_differing("passes", _passes(a), _passes(b)),
        *_differing("devices", _devices(a), _devices(b)),
    ]


def _differing(group: Group, a: Mapping[str, object], b: Mapping[str, object]) -> Iterator[DiffSetting]:
    for name in dict.fromkeys((*a, *b)):
        before, after = a.get(name), b.get(name)
        if before != after:
            yield DiffSetting(group=group, name=name, a=text_of(before), b=text_of(after))


def text_of(value: object) -> str | None:
    """A value as a command line would have it; None for None."""
    match value:
        case None:
            return None
        case str():
            return value
        case float():
            return f"{value:.10g}"
        case _:
            return dumps(msgspec.to_builtins(value))


def _machine(report: Report) -> dict[str, object]:
    return dict(flat(cast("Mapping[str, object]", report.hardware)))


def _model(report: Report) -> dict[str, object]:
    facts = ProgramFacts.found_in(report)
    return {
        "backend": report.backend,
        "scored": None if facts is None else f"{facts.program} program",
        "npuc": report.npuc,
    }


def _program(report: Report) -> dict[str, object]:
    return {
        "source": report.source or None,
        "network": report.network or None,
        **{f"-D {name}": value for name, value in report.defines.items()},
        "precision": report.precision,
        "products": report.products,
    }


def _passes(report: Report) -> dict[str, object]:
    return {"pipeline": report.pipeline, "tolerance": report.tolerance}


def _devices(report: Report) -> dict[str, object]:
    plan = report.parallel
    if plan is None:
        return {"devices": 1}
    return {"devices": plan.devices, "parallel": plan.strategy, "convention": plan.convention}


def passes_in(pipeline: str) -> list[str]:
    """The passes of a pipeline, each with its options: what commas part that stand in no braces or quotes."""
    found, depth, quoted = [""], 0, False
    for letter in pipeline:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter == "{") - (letter == "}")
        if letter == "," and depth == 0 and not quoted:
            found.append("")
        else:
            found[-1] += letter
    return [one for one in found if one]


def passes_apart(a: str, b: str) -> tuple[list[str], list[str]]:
    """The passes of two pipelines that are in one alone, in their order."""
    in_a, in_b = passes_in(a), passes_in(b)
    common = common_subsequence(in_a, in_b)
    kept_a, kept_b = {i for i, _ in common}, {j for _, j in common}
    alone_a = [one for i, one in enumerate(in_a) if i not in kept_a]
    return alone_a, [one for j, one in enumerate(in_b) if j not in kept_b]
