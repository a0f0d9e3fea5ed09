"""`npuc explain --op`, `--pass`: what an operation of the IR means, what a pass does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuc.compiler.cli.groups import Group
from npuc.compiler.cli.shared import terminal_width, write_result
from npuc.compiler.core.errors import UsageError


def show_reference(op: str | None, step: str | None, load: Sequence[str], json: str | None) -> None:
    """Print the page of an operation or of a pass, or write it as JSON. Raises `UsageError` for an unknown name."""
    if op is not None and step is not None:
        raise UsageError("--op and --pass exclude each other")
    if op is not None:
        if load:
            raise UsageError("--load does not apply with --op")
        from npuc.compiler.reference.operations import operation_named, operation_page
        from npuc.compiler.reference.text import operation_text

        page = operation_page(operation_named(op))
        _show(page, operation_text(page, terminal_width()), json)
    elif step is not None:
        from npuc.compiler.driver.passes import available_passes
        from npuc.compiler.reference.passes import example_of, pass_named, pass_page
        from npuc.compiler.reference.text import pass_text

        available = available_passes(load)
        found = pass_page(pass_named(step, available))
        example = None if found.pipeline is None else example_of(found.pipeline, available)
        _show(found, pass_text(found, example, terminal_width()), json)


def _show(page: object, text: str, json: str | None) -> None:
    import msgspec

    if json is not None:
        write_result(json, msgspec.json.format(msgspec.json.encode(page)).decode() + "\n")
    if json != "-":
        print(text, end="")


def check_alone(own: Mapping[str, str | None], *groups: Group) -> None:
    """Raise `UsageError` for an argument or option that means nothing beside `--op` and `--pass`."""
    given = [name for name, value in own.items() if value]
    given += [name for group in groups for name in group.given() if name != "--load"]
    if given:
        raise UsageError(
            f"{given[0]} does not apply with --op and --pass, which explain the IR and its passes",
            hint="npuc explain --op npu.contract",
        )
