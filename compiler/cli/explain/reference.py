"""`npuc explain --op`, `--pass`, `--pattern`, `--layer`, `--key`, `--report`, `--term`: what a name of npuc means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from npuc.compiler.cli.groups import Group
from npuc.compiler.cli.shared import terminal_width, write_result
from npuc.compiler.core.errors import UsageError


@dataclass(frozen=True)
class Names(Group):
    """Names whose meaning is asked for: one at a time."""

    title: ClassVar[str] = "What a name means"

    op: Annotated[
        str | None, typer.Option("--op", metavar="NAME", help="Explain an operation of the IR, like npu.contract.")
    ] = None
    step: Annotated[str | None, typer.Option("--pass", metavar="NAME", help="Explain a pass, like interleave.")] = None
    pattern: Annotated[
        str | None, typer.Option("--pattern", metavar="NAME", help="Explain a pattern of passes, like tile.")
    ] = None
    of_layer: Annotated[
        str | None, typer.Option("--layer", metavar="NAME", help="Explain a layer of the language, like conv2d.")
    ] = None
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Explain a hardware key, like memory.spm_kib.")
    ] = None
    report_key: Annotated[
        str | None, typer.Option("--report", metavar="KEY", help="Explain a key of reports, like ops.limit.")
    ] = None
    term: Annotated[
        str | None, typer.Option("--term", metavar="[WORD]", help="Explain a word of a report, like util; alone: all.")
    ] = None

    def asked(self) -> dict[str, str]:
        """The names that are asked for, by option."""
        return {option: str(name) for option, name in self.given().items()}


def show_reference(asked: Mapping[str, str], load: Sequence[str], json: str | None) -> None:
    """
    Print the page of the one name that is asked for by an option, or write it as JSON.

    Raises `UsageError` for an unknown name, and for several.
    """
    (option, name), *others = asked.items()
    if others:
        raise UsageError(f"{option} and {others[0][0]} exclude each other")
    if load and option != "--pass":
        raise UsageError(f"--load does not apply with {option}")
    page, text = _page(option, name, load)
    _show(page, text, json)


def _page(option: str, name: str, load: Sequence[str]) -> tuple[object, str]:
    """The page of a name as data, and its text."""
    from npuc.compiler.reference import entry_text, text

    width = terminal_width()
    match option:
        case "--op":
            from npuc.compiler.reference.operations import operation_named, operation_page

            operation = operation_page(operation_named(name))
            return operation, text.operation_text(operation, width)
        case "--pattern":
            from npuc.compiler.reference.passes import pattern_named, pattern_page

            pattern = pattern_page(*pattern_named(name))
            return pattern, text.pattern_text(pattern, width)
        case "--layer":
            from npuc.compiler.reference.layers import layer_page

            layer = layer_page(name)
            return layer, entry_text.layer_text(layer, width)
        case "--key":
            from npuc.compiler.reference.keys import key_page

            key = key_page(name)
            return key, entry_text.key_text(key, width)
        case "--report":
            from npuc.compiler.reference.report import report_page

            field = report_page(name)
            return field, entry_text.report_key_text(field, width)
        case "--term":
            from npuc.compiler.reference.terms import all_terms, term_text, terms_named, terms_text

            found = terms_named(name) if name else list(all_terms())
            return found, term_text(found, width) if name else terms_text(width)
        case _:
            from npuc.compiler.driver.passes import available_passes
            from npuc.compiler.reference.passes import example_of, pass_named, pass_page

            available = available_passes(load)
            found = pass_page(pass_named(name, available))
            return found, text.pass_text(found, example_of(found, available), width)


def _show(page: object, text: str, json: str | None) -> None:
    import msgspec

    if json is not None:
        write_result(json, msgspec.json.format(msgspec.json.encode(page)).decode() + "\n")
    if json != "-":
        print(text, end="")


def check_alone(asked: Mapping[str, str], own: Mapping[str, str | None], *groups: Group) -> None:
    """Raise `UsageError` for an argument or option that means nothing beside a name that is asked for."""
    given = [name for name, value in own.items() if value]
    given += [name for group in groups for name in group.given() if name != "--load"]
    if given:
        option = next(iter(asked))
        raise UsageError(
            f"{given[0]} does not apply with {option}, which explains a name", hint=f"leave out {given[0]}"
        )
