"""Values of options and arguments: what may stand where the word is, by the name of the option."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.cli.complete.known import words
from npuc.compiler.cli.complete.shells import Candidate
from npuc.compiler.cli.complete.sources import files, layers_of, parameters_of, sources
from npuc.compiler.core.options import (
    BEST_BUCKETS,
    CHUNK_POLICIES,
    CONVENTIONS,
    LEVELS,
    METHODS,
    NO_GROUPS,
    OBJECTIVES,
    PLAN_OBJECTIVES,
    PRECISIONS,
    QUANTIZED,
    STRATEGIES,
    TABLE_PLACEMENTS,
    ZERO_STAGES,
)

MACHINES = (".toml", ".cfg", ".m")
VARIED: Mapping[str, Sequence[str]] = {
    "O": tuple(map(str, LEVELS)),
    "opt_level": tuple(map(str, LEVELS)),
    "objective": OBJECTIVES,
    "tolerance": (),
    "precision": PRECISIONS,
    "recompute": ("none", "full", "reversible", "every=", "optimal="),
    "quantize": QUANTIZED,
    "method": METHODS,
    "devices": (),
    "parallel": STRATEGIES,
    "convention": CONVENTIONS,
    "plan_objective": PLAN_OBJECTIVES,
    "zero": tuple(map(str, ZERO_STAGES)),
    "tables": TABLE_PLACEMENTS,
    "collectives": CHUNK_POLICIES,
    "chunks": (),
    "bucket_mib": (BEST_BUCKETS,),
}
"""Options that a sweep varies, besides those whose values are names of the program."""


@dataclass(frozen=True)
class Asked:
    """The word whose value is asked for, and the source that stands before it, if one does."""

    word: str
    source: str = ""


Completer = Callable[[Asked], Iterable[Candidate]]


def named(kind: str) -> Completer:
    """Names of the program of a kind."""
    return lambda asked: map(Candidate, words()["names"][kind])


def chosen(*choices: str) -> Completer:
    """One of several words."""
    return lambda asked: map(Candidate, choices)


def machines(asked: Asked) -> Iterable[Candidate]:
    """Presets and machine files."""
    return [*map(Candidate, words()["names"]["hardware"]), *files(asked.word, MACHINES)]


def constraints(asked: Asked) -> Iterable[Candidate]:
    """Constraints by name, or a file."""
    return [*map(Candidate, words()["names"]["constraints"]), *files(asked.word, (".toml",))]


def mappings(asked: Asked) -> Iterable[Candidate]:
    """Dataflows by name, and mapping files."""
    return [*map(Candidate, words()["names"]["mappings"]), *files(asked.word, (".m",))]


def mappers_of_layers() -> list[str]:
    """What may choose groups of layers, or that there are none."""
    return [NO_GROUPS, *words()["passes"]["fuse-layers"].get("mapper", ())]


def fused(asked: Asked) -> Iterable[Candidate]:
    """What chooses groups of layers."""
    return map(Candidate, mappers_of_layers())


def settings(asked: Asked) -> Iterable[Candidate]:
    """`KEY=VALUE` of the hardware."""
    key, equals, _ = asked.word.partition("=")
    keys = words()["keys"]
    return (
        [Candidate(f"{key}={value}") for value in keys.get(key, ())] if equals else [Candidate(f"{k}=") for k in keys]
    )


def defines(asked: Asked) -> Iterable[Candidate]:
    """`NAME=VALUE` of the source's parameters, each with its default."""
    return [Candidate(f"{name}={value}") for name, value in parameters_of(asked.source).items()]


def varied(asked: Asked) -> Iterable[Candidate]:
    """`KEY=A,B` of a sweep: options, hardware keys, parameters of the source."""
    known = words()
    names = known["names"]
    own = {"hw": names["hardware"], "hardware": names["hardware"], "backend": names["backends"]}
    keys = {**{name: () for name in parameters_of(asked.source)}, **known["keys"], **VARIED, **own}
    keys["mapping"] = names["mappings"]
    keys["fuse_layers"] = mappers_of_layers()
    key, equals, given = asked.word.partition("=")
    if not equals:
        return [Candidate(f"{name}=") for name in (*keys, "pipeline")]
    if key == "pipeline":
        return _pipelines(given)
    before = given.rpartition(",")[0]
    used, start = before.split(","), f"{key}={before}," if before else f"{key}="
    return [Candidate(f"{start}{value}") for value in keys.get(key, ()) if value not in used]


def _pipelines(given: str) -> Iterable[Candidate]:
    """The last of the pipelines of a sweep: levels of -O, and passes, which may have a name."""
    front = re.match(r"(?:.*;)?\s*(?:[\w.+-]+:)?\s*", given, re.DOTALL)
    start = "" if front is None else front[0]
    last = given[len(start) :]
    levels = () if "," in last else (f"-O{level}" for level in LEVELS)
    found = [*levels, *(one.value for one in pipeline(Asked(last)))]
    return [Candidate(f"pipeline={start}{one}") for one in found]


def pipeline(asked: Asked) -> Iterable[Candidate]:
    """The last pass of a pipeline, or an option of it with its values."""
    return [Candidate(f"{_front(asked.word)}{rest}") for rest in _passes(asked.word[len(_front(asked.word)) :])]


def _front(text: str) -> str:
    """What of a pipeline is written: all up to the comma before the last pass, which is outside of braces."""
    depth = place = 0
    for number, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        place = number + 1 if letter == "," and depth == 0 else place
    return text[:place]


def _passes(text: str) -> Iterable[str]:
    """What may become of the last pass of a pipeline."""
    name, brace, inside = text.partition("{")
    options = words()["passes"].get(name, {})
    if not brace:
        return [f"{known}{{" if known == name and options else known for known in words()["passes"]]
    written, _, last = inside.rpartition(" ")
    start = f"{name}{{{written} " if written else f"{name}{{"
    option, equals, _ = last.partition("=")
    if equals:
        return [f"{start}{option}={value}" for value in options.get(option, ())]
    used = {part.partition("=")[0] for part in written.split()}
    return [f"{start}{known}=" for known in options if known not in used]


def placed(asked: Asked) -> Iterable[Candidate]:
    """`PASS=PASSES` among those of -O."""
    anchor, equals, passes = asked.word.partition("=")
    if not equals:
        return [Candidate(f"{name}=") for name in words()["names"]["anchors"]]
    return [Candidate(f"{anchor}={one.value}") for one in pipeline(Asked(passes))]


def shown_passes(asked: Asked) -> Iterable[Candidate]:
    """A pass after which the program is shown, or all."""
    return map(Candidate, ("all", *words()["passes"]))


def layers(asked: Asked) -> Iterable[Candidate]:
    """Layers of the source."""
    return map(Candidate, layers_of(asked.source))


def source(asked: Asked) -> Iterable[Candidate]:
    """Sources."""
    return sources(asked.word)


VALUES: Mapping[str, Completer] = {
    "--hw": machines,
    "--set": settings,
    "-D": defines,
    "--vary": varied,
    "--backend": named("backends"),
    "--mapping": mappings,
    "--mapper": named("mappers"),
    "--constraints": constraints,
    "-O": chosen(*map(str, LEVELS)),
    "--objective": chosen(*OBJECTIVES),
    "--zero": chosen(*map(str, ZERO_STAGES)),
    "--tables": chosen(*TABLE_PLACEMENTS),
    "--collectives": chosen(*CHUNK_POLICIES),
    "--bucket-mib": chosen(BEST_BUCKETS),
    "--recompute": chosen("none", "full", "reversible", "every=", "optimal="),
    "--quantize": chosen(*QUANTIZED),
    "--fuse-layers": fused,
    "--method": chosen(*METHODS),
    "--pipeline": pipeline,
    "--before": placed,
    "--after": placed,
    "--print-after": shown_passes,
    "--debug-only": lambda asked: map(Candidate, words()["passes"]),
    "--only": layers,
    "--load": lambda asked: files(asked.word, (".py",)),
    "--op": named("operations"),
    "--pass": lambda asked: map(Candidate, words()["passes"]),
    "--pattern": named("patterns"),
    "--layer": named("functions"),
    "--key": lambda asked: map(Candidate, words()["keys"]),
    "--report": named("report_keys"),
    "--term": named("terms"),
    "--loss": named("losses"),
    "--optimizer": named("optimizers"),
    "--select": named("rules"),
    "--ignore": named("rules"),
    "--network": source,
    "--dataset": chosen("digits"),
    "--frontend": named("frontends"),
}
"""By the longest name of an option who knows its values."""
ARGUMENTS: Mapping[str, Completer] = {
    "source": source,
    "sources": source,
    "layer": layers,
    "model": lambda asked: files(asked.word, (".pt2", ".onnx", ".mlir", ".mlirbc", ".jaxexport", ".json", ".cfg")),
    "paths": lambda asked: files(asked.word, (".dsl",)),
}
"""By the name of an argument who knows its values."""


def choices_in(metavar: str | None) -> list[str]:
    """The words that a metavar offers: `full|diff`; none where it names what is meant, as `FILE|-` does."""
    offered = (metavar or "").strip("[]=").split("|")
    return offered if len(offered) > 1 and all(re.fullmatch(r"[a-z0-9.][\w.-]*", one) for one in offered) else []
