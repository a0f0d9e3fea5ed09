"""
The names that completion offers, `compiler/cli/complete/words.json`, from the program itself.

    python -m tests.unit.cli.completion_words        writes them anew
"""

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

from npuc.backends.registry import built_in
from npuc.compiler.analysis.mapping.named.templates import mapping_names
from npuc.compiler.cli.complete import known
from npuc.compiler.cli.complete.known import Words
from npuc.compiler.cli.complete.sources import parameters_in
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import Flag, OneOf, Text
from npuc.compiler.driver.levels.asked import ASKED
from npuc.compiler.driver.levels.preset import AUTODIFF, CANONICALIZE, LOWER, SCHEDULE, STEPS
from npuc.compiler.driver.passes import own_passes
from npuc.compiler.explore.mapping.mapper import ALGORITHMS
from npuc.compiler.layers import get_layer, get_losses
from npuc.compiler.layers.base import Kind
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.compiler.reference.keys import toml_text
from npuc.compiler.reference.layers import layer_names
from npuc.compiler.reference.operations import own_operations
from npuc.compiler.reference.report import native_keys, report_keys
from npuc.compiler.reference.terms import all_terms
from npuc.compiler.transforms import get_all_patterns
from npuc.dialects.provenance import layer_of
from npuc.dialects.train.base import TrainOp
from npuc.frontends import read_source
from npuc.frontends.dsl.lint import RULES
from npuc.frontends.files import sample_names
from npuc.frontends.registry import frontend_names
from npuc.frontends.source import open_source
from npuc.hardware import KEYS, constraint_names, load_hardware, preset_names

FILE = Path(known.__file__).with_name("words.json")
NOT_SHOWN = (Kind.VIEW, Kind.CONSTANT)


def made() -> Words:
    """The names of the program as it is."""
    sources = {name: open_source(f"samples:{name}") for name in sample_names()}
    return {
        "keys": {key: list(dict.fromkeys(key_values(key))) for key in KEYS},
        "passes": {name: pass_options(name) for name in sorted(own_passes())},
        "names": {
            "backends": sorted(built_in()),
            "hardware": preset_names(),
            "mappings": mapping_names(),
            "constraints": list(constraint_names()),
            "mappers": sorted(ALGORITHMS.names()),
            "anchors": list(dict.fromkeys(anchors())),
            "operations": sorted(own_operations()),
            "patterns": sorted({one.name for own in get_all_patterns().values() for one in own}),
            "functions": list(layer_names()),
            "report_keys": sorted({*report_keys(), *native_keys()}),
            "terms": list(dict.fromkeys(term.term for term in all_terms())),
            "losses": sorted(get_losses()),
            "optimizers": sorted(OPTIMIZERS),
            "rules": sorted(RULES),
            "frontends": sorted(frontend_names()),
        },
        "parameters": {name: parameters_in(source.text) for name, source in sources.items()},
        "layers": {name: list(dict.fromkeys(layers(source.text, source.filename))) for name, source in sources.items()},
    }


def key_values(key: str) -> Iterator[str]:
    """The values of a hardware key that are known: its choices, else those of presets."""
    match KEYS[key].kind:
        case OneOf() as kind:
            yield from map(str, kind.choices)
        case Flag():
            yield from ("true", "false")
        case Text() as kind if kind.choices:
            yield from kind.choices
        case _:
            if key == "name":
                return
            values = [load_hardware(name).get(key) for name in preset_names() if load_hardware(name).written(key)]
            yield from map(toml_text, sorted(v for v in values if isinstance(v, int | float)))


def pass_options(name: str) -> dict[str, list[str]]:
    """The options of a pass, each with the words that it takes."""
    found = own_passes()[name]()
    hints = get_type_hints(found)
    return {
        one.name.replace("_", "-"): list(words_of(hints[one.name])) or refused_for(found, one.name)
        for one in dataclasses.fields(found)
        if one.name != "name" and one.init
    }


def refused_for(found: type[ModulePass], option: str) -> list[str]:
    """The words that a pass asks for where an option is another one."""
    try:
        found(**{option: "?"})
    except UsageError as error:
        return (error.hint or "").removeprefix("known: ").split(", ")
    except (ValueError, TypeError) as error:
        text = str(error)
        if text.startswith(option) and "expected " in text:
            offered = re.split(r", | or ", text.partition("expected ")[2].partition("; ")[0])
            return [one for one in offered if re.fullmatch(r"[a-z][a-z0-9-]*", one)]
    return []


def words_of(hint: Any) -> Iterator[str]:
    """The words of a type: of truth values and of literals."""
    if hint is bool:
        yield from ("true", "false")
    elif get_origin(hint) is Literal:
        yield from map(str, get_args(hint))
    else:
        for one in get_args(hint):
            yield from words_of(one)


def anchors() -> Iterator[str]:
    """The passes that levels of -O run, and those that options ask for."""
    yield from (AUTODIFF, CANONICALIZE, LOWER, SCHEDULE, *ASKED)
    yield from (step.partition("{")[0] for steps in STEPS for step in steps)


def layers(text: str, filename: str) -> Iterator[str]:
    """The layers of a network that have work, in its order."""
    module = read_source(text, format="dsl", filename=filename)
    for op in module.walk():
        if isinstance(op, TrainOp) and layer_of(op) and get_layer(op).kind not in NOT_SHOWN:
            yield layer_of(op)


def text() -> str:
    """The file as it should be."""
    return json.dumps(made(), indent=0, ensure_ascii=False, separators=(",", ":")).replace('",\n"', '","') + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
