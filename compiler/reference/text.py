"""Pages of the reference for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import dedent, fill, indent, wrap

from npuc.compiler.reference.docstrings import is_code
from npuc.compiler.reference.operations import FieldPage, OperationPage
from npuc.compiler.reference.passes import PassExample, PassOption, PassPage, PatternPage, cut

STEP = "  "
NARROWEST = 40


def operation_text(page: OperationPage, width: int) -> str:
    """What an operation means, in lines of at most `width` characters but for its example."""
    return "\n".join(_operation_lines(page, max(width, NARROWEST))) + "\n"


def _operation_lines(page: OperationPage, width: int) -> Iterator[str]:
    yield f"{page.name}: {page.class_name}"
    yield from prose([page.summary, *page.details], width)
    for title, fields in (
        ("operands", page.operands),
        ("properties", page.properties),
        ("regions", page.regions),
        ("results", page.results),
    ):
        if fields:
            yield f"\n{title}"
            yield from rows([(_head(field), field.meaning or "") for field in fields], width)
    if page.verified:
        yield "\nverified"
        yield from prose(page.verified, width)
    facts = [*([page.work] if page.work else []), *page.traits]
    if facts:
        yield "\n" + fill(f"{'; '.join(facts)}.".replace("`", ""), width)
    if page.example:
        yield "\nexample"
        yield indent(page.example, STEP)


def _head(field: FieldPage) -> str:
    form = field.many or (f"= {field.default}" if field.default is not None else "")
    return f"{field.name}: {field.type}" + (f" ({form})" if field.many else f" {form}" if form else "")


def pass_text(page: PassPage, example: PassExample | None, width: int) -> str:
    """What a pass does, in lines of at most `width` characters but for what it rewrites."""
    return "\n".join(_pass_lines(page, example, max(width, NARROWEST))) + "\n"


def pattern_text(page: PatternPage, width: int) -> str:
    """What a pattern does, in lines of at most `width` characters but for what it rewrites."""
    return "\n".join(_pattern_lines(page, max(width, NARROWEST))) + "\n"


def _pattern_lines(page: PatternPage, width: int) -> Iterator[str]:
    yield f"{page.name} of the pass {page.of}: npuc.compiler.patterns.{page.class_name}"
    yield from prose(page.text[:1], width)
    yield from blocks(page.text[1:], width)
    if page.arguments:
        yield "\narguments"
        yield from rows([(_option(option), option.meaning or "") for option in page.arguments], width)


def _pass_lines(page: PassPage, example: PassExample | None, width: int) -> Iterator[str]:
    yield page.name
    yield from prose([page.summary], width)
    yield from blocks(page.text, width)
    if page.patterns:
        yield "\npatterns"
        yield from rows([(pattern.name, pattern.text[0]) for pattern in page.patterns], width)
    if page.options:
        yield "\noptions"
        yield from rows([(_option(option), option.meaning or "") for option in page.options], width)
    if example is not None:
        if page.network is not None:
            yield "\nnetwork of the example"
            yield indent(page.network.rstrip(), STEP)
        yield f"\nexample: {example.step}" + (f" after {example.before}" if example.before else "")
        for mark, lines in (("-", example.gone), ("+", example.new)):
            yield from (f"{STEP}{mark} {line}" for line in cut(lines))


def blocks(parts: Sequence[str], width: int) -> Iterator[str]:
    """Paragraphs, lists and code, each after an empty line."""
    for block in parts:
        yield ""
        if is_code(block):
            yield indent(dedent(block), 2 * STEP)
        else:
            yield from prose(block.replace("\n  ", " ").split("\n") if block.startswith("- ") else [block], width)


def _option(option: PassOption) -> str:
    if option.required:
        return f"{option.name}: {option.type} (needed)"
    return f"{option.name}: {option.type}" + (f" = {option.default}" if option.default is not None else "")


def prose(paragraphs: Sequence[str], width: int) -> Iterator[str]:
    """Paragraphs, indented."""
    for text in paragraphs:
        yield fill(text, width, initial_indent=STEP, subsequent_indent=STEP, break_on_hyphens=False)


def rows(entries: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Two columns; where the first leaves no room for the second, it goes on the next line."""
    first = min(max(len(head) for head, _ in entries), width // 2)
    for head, text in entries:
        lines = wrap(text, width - first - 2 * len(STEP), break_on_hyphens=False) or [""]
        if len(head) > first:
            yield f"{STEP}{head}"
            head = ""
        yield f"{STEP}{head:<{first}}{STEP}{lines[0]}".rstrip()
        yield from (f"{'':<{first + 2 * len(STEP)}}{line}" for line in lines[1:])
