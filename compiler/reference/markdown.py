"""Pages of the reference as Markdown, for docs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import dedent

from npuc.compiler.reference.docstrings import is_code
from npuc.compiler.reference.operations import FieldPage, OperationPage
from npuc.compiler.reference.passes import PassExample, PassOption, PassPage, cut


def operation_markdown(page: OperationPage) -> Iterator[str]:
    """The section of an operation, line by line."""
    yield from (f"### `{page.name}`", "", page.summary)
    for text in page.details:
        yield from ("", text)
    if page.example:
        yield from ("", "```mlir", *page.example.splitlines(), "```")
    rows = [
        _row(kind, field)
        for kind, fields in (
            ("operand", page.operands),
            ("property", page.properties),
            ("region", page.regions),
            ("result", page.results),
        )
        for field in fields
    ]
    if rows:
        yield from ("", "| | name | type | meaning |", "|---|---|---|---|", *rows)
    if page.verified:
        yield from ("", f"Verified: {' '.join(page.verified)}")
    facts = [f"Class `{page.class_name}`", *([page.work] if page.work else []), *page.traits]
    yield from ("", f"{'; '.join(facts)}.", "")


def _row(kind: str, field: FieldPage) -> str:
    form = f", {field.many}" if field.many else "" if field.default is None else f", default `{field.default}`"
    return f"| {kind} | `{field.name}` | {field.type}{form} | {field.meaning or ''} |"


def pass_markdown(page: PassPage, example: PassExample | None) -> Iterator[str]:
    """The section of a pass, line by line."""
    yield from (f"## `{page.name}`", "", page.summary)
    yield from _blocks(page.text)
    yield from _table("option", page.options)
    if example is not None:
        after = f", after `{example.before}`" if example.before else ""
        if page.network is not None:
            yield from ("", "The network of the example:", "", "```dsl", page.network.rstrip(), "```")
        yield from ("", f"For example `{example.step}`{after}:", "", "```diff")
        yield from _lines("-", example.gone)
        yield from _lines("+", example.new)
        yield "```"
    for pattern in page.patterns:
        yield from ("", f"### `{pattern.name}`")
        yield from _blocks(pattern.text)
        yield from _table("argument", pattern.arguments)
    yield ""


def _table(kind: str, options: Sequence[PassOption]) -> Iterator[str]:
    if options:
        yield from ("", f"| {kind} | type | default | meaning |", "|---|---|---|---|")
    for option in options:
        default = "needed" if option.required else "" if option.default is None else f"`{option.default}`"
        yield f"| `{option.name}` | {option.type} | {default} | {option.meaning or ''} |"


def _blocks(blocks: Sequence[str]) -> Iterator[str]:
    for block in blocks:
        yield ""
        yield from ("```mlir", *dedent(block).splitlines(), "```") if is_code(block) else block.splitlines()


def _lines(mark: str, lines: Sequence[str]) -> Iterator[str]:
    yield from (f"{mark} {line}" for line in cut(lines))
