"""`npuc list`: the available backends, layers, passes and so on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import typer

from npuc.compiler.cli.shared import Debug, Load, Verb, check_target, make_console, write_result
from npuc.compiler.core.errors import UsageError, did_you_mean

WIDEST = 48
LISTED = {
    "backends": "cost models, for -b",
    "frontends": "formats of sources",
    "hardware": "machines, for --hw",
    "constraints": "constraints of mappings, for --constraints",
    "passes": "passes of a pipeline, for -p",
    "patterns": "rewrites of passes",
    "phases": "phases of trainings, for --phases",
    "samples": "networks, as samples:NAME",
    "layers": "calls of the network language",
    "mappings": "dataflows of processing elements, for --mapping",
    "mappers": "search algorithms of npuc map, for --mapper",
    "operators": "operators of PyTorch and ONNX that are read",
    "studies": "published studies, for npuc study",
}
"""What can be listed, and what it is for."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("list")(command)


def command(
    what: Annotated[
        str | None, typer.Argument(metavar="|".join(LISTED), help="What to list; without it, what there is to list.")
    ] = None,
    load: Load = None,
    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the list as JSON.")] = None,
    debug: Debug = False,
) -> None:
    """List the available backends, layers, passes, samples and so on."""
    with Verb(debug):
        if what is None:
            _list_of_lists(load, json)
            return
        if what not in _LISTS:
            raise UsageError(f"there is no list of '{what}'", hint=did_you_mean(what, list(_LISTS)))
        if load and what != "passes":
            raise UsageError(f"--load does not apply to the list of {what}", hint="npuc list passes --load FILE.py")
        check_target(json)
        if json is not None:
            _write_json(what, load or [], json)
        if json == "-":
            return
        _print_entries(list(_LISTS[what](load or [])))


def _list_of_lists(load: list[str] | None, json: str | None) -> None:
    """What can be listed, with how to."""
    for option, given in (("--load", load), ("--json", json)):
        if given:
            raise UsageError(f"{option} needs what to list", hint=f"npuc list passes {option} FILE")
    _print_entries(list(LISTED.items()))


def _print_entries(entries: Sequence[tuple[str, str]]) -> None:
    """A line each, texts side by side; a name that is longer than most stands above its text."""
    from npuc.compiler.report.text.grid import print_line

    console = make_console()
    most = min(WIDEST, console.width // 2)
    width = max((len(name) for name, _ in entries if len(name) <= most), default=0) + 2
    for name, text in entries:
        print_line(name, text, console, width)


def _write_json(what: str, load: list[str], path: str) -> None:
    """The entries of a list as an array: names and texts, or the fields of operators."""
    import msgspec

    from npuc.compiler.reference.operators import operator_pages

    entries: object = [{"name": name, "text": text} for name, text in _LISTS[what](load)]
    if what == "operators":
        entries = operator_pages()
    write_result(path, msgspec.json.format(msgspec.json.encode(entries)).decode() + "\n")


def _first_line(thing: object) -> str:
    """The first line of a thing's own documentation string, not one that it inherits."""
    own: object = vars(thing).get("__doc__") if isinstance(thing, type) else getattr(thing, "__doc__", None)
    return inspect.cleandoc(own).partition("\n")[0] if isinstance(own, str) else ""


def _backends(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.backends.registry import about, get_all_backends

    for name, factory in get_all_backends().items():
        try:
            backend = factory()
        except UsageError as e:
            yield name, e.message.removeprefix(f"backend '{name}' ")
            continue
        yield name, f"{backend.level:<5}  {about(backend)}"


def _frontends(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.frontends.registry import about, frontend_names, get_frontend, suffixes_of

    found: list[tuple[str, str, str]] = []
    for name in frontend_names():
        try:
            frontend = get_frontend(name)
        except UsageError as e:
            found.append((name, "", e.message.removeprefix(f"frontend '{name}' ")))
        else:
            found.append((name, " ".join(f".{suffix}" for suffix in suffixes_of(frontend)), about(frontend)))
    width = max(len(endings) for _, endings, _ in found)
    yield from ((name, f"{endings:<{width}}  {text}") for name, endings, text in found)


def _hardware(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.hardware import load_hardware, preset_names

    for name in preset_names():
        yield name, load_hardware(name).summary()


def _constraints(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.hardware import constraint_names, load_constraints

    for name in constraint_names():
        rules = load_constraints(name).rules
        text = (rules[0].place.text or "").partition("\n")[0].lstrip("# ")
        yield name, text


def _phases(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.compiler.explore.training.phases_file import first_comment, phases_names

    yield from ((name, first_comment(name)) for name in phases_names())


def _passes(load: list[str]) -> Iterator[tuple[str, str]]:
    import dataclasses

    from npuc.compiler.driver.passes import available_passes

    for name, factory in available_passes(load).items():
        try:
            found = factory()
        except UsageError as e:
            yield name, e.message.removeprefix(f"pass '{name}' ")
            continue
        options = [f.name.replace("_", "-") for f in dataclasses.fields(found) if f.name != "name" and f.init]
        yield name + ("{" + " ".join(f"{option}=" for option in options) + "}" if options else ""), _first_line(found)


def _patterns(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.compiler.reference.docstrings import documentation
    from npuc.compiler.transforms import get_all_patterns

    for step, patterns in get_all_patterns().items():
        yield from ((pattern.name, f"{step}: {documentation(pattern).summary}") for pattern in patterns)


def _operators(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.compiler.reference.operators import operator_pages

    yield from ((page.name, f"{page.format:<4}  {page.form:<8}  {page.told}".rstrip()) for page in operator_pages())


def _samples(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.frontends import SAMPLES, read_text, sample_names

    for name in sample_names():
        comments = [line.lstrip("# ") for line in read_text(SAMPLES + name).splitlines() if line.startswith("#")]
        yield name, comments[0] if comments else ""


def _layers(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.compiler.layers import get_functions
    from npuc.dialects.outside import families
    from npuc.frontends.dsl.binding import signature_of
    from npuc.frontends.dsl.blocks import described
    from npuc.frontends.dsl.calls import PARAM
    from npuc.frontends.dsl.reference import first_sentence, optimizer_signatures, summary

    entries = [(signature_of(function).text, summary(function)) for function in get_functions().values()]
    entries += [(block.signature, first_sentence(block)) for blocks in described().values() for block in blocks]
    entries.append((PARAM.text, "A named weight that several layers can share."))
    entries += [(signature, "An optimizer.") for signature in optimizer_signatures()]
    entries += families().problems.items()
    yield from sorted(entries)


def _mappings(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.compiler.analysis.mapping.named.templates import ALIASES, TEMPLATES

    for template in TEMPLATES:
        others = [name for name, own in ALIASES.items() if own == template.name]
        count = len(template.clusters()) + 1
        text = f"{count} level{'s' if count > 1 else ''}: {template.parallel}; stationary: {template.stationary}"
        also = f"; also {', '.join(others)}" if others else ""
        yield template.name, f"{text}{also} ({template.source})"


def _mappers(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.compiler.explore.mapping.mapper import ALGORITHMS

    yield from ((name, ALGORITHMS.about(name)) for name in ALGORITHMS.names())


def _studies(_: list[str]) -> Iterator[tuple[str, str]]:
    from npuc.studies.base import STUDIES

    for name in STUDIES.names():
        try:
            presets = f"; presets {', '.join(STUDIES.get(name).presets)}"
        except UsageError:
            presets = ""
        yield name, STUDIES.about(name).removesuffix(".") + presets


_LISTS: dict[str, Callable[[list[str]], Iterator[tuple[str, str]]]] = {
    "backends": _backends,
    "constraints": _constraints,
    "frontends": _frontends,
    "hardware": _hardware,
    "layers": _layers,
    "mappers": _mappers,
    "mappings": _mappings,
    "operators": _operators,
    "passes": _passes,
    "patterns": _patterns,
    "phases": _phases,
    "samples": _samples,
    "studies": _studies,
}
