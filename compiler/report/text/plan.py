"""A plan for many devices, explained as text: one line per layer, or the sources of one layer's movement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from npuc.compiler.report.numbered import name_of_all, template
from npuc.compiler.report.parallel import ParallelTotal
from npuc.compiler.report.plan import PlanLayer, PlanOther, PlanReport
from npuc.compiler.report.text.grid import Column, columns_of, print_grid, print_note
from npuc.compiler.report.text.plan_lines import PlanLine, PlanRows, largest_part, plan_lines
from npuc.compiler.report.text.quantities import bytes_unit
from npuc.compiler.report.text.sharding import CUT_NOTE, bound_text, short_amount, type_text

if TYPE_CHECKING:
    from rich.console import Console

_WORDS = {
    "weight_gradients": ("sum of weights' gradients", "weights' gradients from"),
    "outputs": ("sum of outputs", "sum of outputs from"),
    "input_gradients": ("sum of inputs' gradients", "sum of gradients for"),
    "weights": ("weights", "weights from"),
    "forward": ("inputs", "inputs from"),
    "gradient": ("gradients of inputs", "gradients to"),
}
"""The kinds of movement of a layer, alone and with the layer at the other end."""


_SOURCES = {
    "weight_gradients": "sums of weights' gradients",
    "outputs": "sums of outputs",
    "input_gradients": "sums of inputs' gradients",
    "weights": "weights between layers",
    "forward": "values between layers",
    "gradient": "their gradients back",
}
"""The kinds of movement of the whole plan."""


def print_plan(report: PlanReport, console: Console, *, rows: PlanRows = "folded") -> None:
    """
    Print all layers that move something or have weights, or all that there is to say of a single one.

    Layers of a long network that read alike are one line, unless `rows` is all.
    """
    _print_heading(report, console)
    if len(report.layers) == 1:
        _print_layer(report, report.layers[0], console)
    else:
        _print_layers(report, rows, console)
        _print_sources(report, console)


def _print_heading(report: PlanReport, console: Console) -> None:
    by = f"{report.devices:,} devices by {report.strategy}, movement counted as {report.convention}"
    total = Fraction(report.total.elements)
    text = f"{_step(report)} moves {_amounts(report.total)}"
    if report.lower_bound_elements is not None:
        text += bound_text(total, Fraction(report.lower_bound_elements), report)
    print_note(f"{report.network} ({report.source}): {by}", console, style="bold")
    print_note(text, console, style="")
    console.print()


def _step(report: PlanReport) -> str:
    return "a step" if report.training else "a forward pass"


def _print_layers(report: PlanReport, rows: PlanRows, console: Console) -> None:
    total = Fraction(report.total.elements)
    shown = [layer for layer in report.layers if layer.weights or layer.parts]
    lines = plan_lines(shown, lambda layer: _key(layer, total), rows)
    table = [["layer", "types", "elements", "%", "most of it", "another type", "more", "all else free", "more"]]
    for line in lines:
        moved = [short_amount(line.elements), f"{float(line.elements / total):.1%}" if total else ""]
        table.append([line.name, "", *moved, "", "", "", "", ""] if line.rest else _cells(line, moved, total))
    hidden = len(report.layers) - len(shown)
    notes = [f"{hidden:,} joins of layers move nothing"] if hidden else []
    if any("output" in (layer.cuts or ()) for layer in shown):
        notes.append(CUT_NOTE)
    if len(lines) < len(shown):
        notes.append(f"{len(shown):,} layers folded into {len(lines)} lines: --rows all shows each")
    if all(layer.adapted is None for layer in shown):
        table = [row[:-2] for row in table]
        notes.append("what is best with all else free is said of one layer: npuc explain SOURCE LAYER")
    ranks = {3: 1, 4: 2, 5: 3, 6: 3, 7: 4, 8: 4}
    print_grid(columns_of(table, left=(0, 1, 4, 5, 7), ranks=ranks), console, gap=2, notes=notes)


def _key(layer: PlanLayer, total: Fraction) -> tuple[str, ...]:
    """The key of a layer's line: layers with equal keys may share a line."""
    largest = largest_part(layer)
    source = ("", "") if largest is None else (largest.what, template(largest.maker or ""))
    own = short_amount(Fraction(layer.total.elements))
    return (_types(layer), own, *source, *_other(layer.other, total), *_other(layer.adapted, total))


def _cells(line: PlanLine, moved: Sequence[str], total: Fraction) -> list[str]:
    """A line of layers that read alike."""
    first = line.layers[0]
    parts = [part for layer in line.layers if (part := largest_part(layer)) is not None]
    makers = [part.maker for part in parts if part.maker is not None]
    source = _what(parts[0].what, name_of_all(makers) if makers else None) if parts else ""
    return [
        line.name,
        _types(first),
        *moved,
        source,
        *_other(first.other, total),
        *_other(first.adapted, total),
    ]


def _print_sources(report: PlanReport, console: Console) -> None:
    """The movement of the whole plan at each level, by kind; nothing where there is none."""
    total = Fraction(report.total.elements)
    if not total:
        return
    levels = len(report.sources[0].levels)
    rows = [["all layers", *(f"H{h + 1}" for h in range(levels)), "elements", "%", "bytes"]]
    for part in report.sources:
        amounts = [short_amount(Fraction(amount)) for amount in part.levels]
        elements, size = _both(part.total)
        share = f"{float(Fraction(part.total.elements) / total):.1%}"
        rows.append([_SOURCES[part.what], *amounts, elements, share, size])
    sums = [sum((Fraction(part.levels[h]) for part in report.sources), start=Fraction(0)) for h in range(levels)]
    elements, size = _both(report.total)
    rows.append(["together", *map(short_amount, sums), elements, "", size])
    print_grid(_with_sums(rows, spare=3), console, gap=2, last=True)


def _with_sums(rows: Sequence[Sequence[str]], spare: int) -> list[Column]:
    """Columns whose last row stands below a rule; of a narrow page the last `spare` ones, then levels, are left out."""
    *above, sums = rows
    last = len(sums) - spare
    ranks = {n: 1 if n < last else 2 for n in range(1, len(sums)) if n != last}
    return [replace(c, footer=text) for c, text in zip(columns_of(above, ranks=ranks), sums, strict=True)]


def _print_layer(report: PlanReport, layer: PlanLayer, console: Console) -> None:
    total = Fraction(report.total.elements)
    rows = [[layer.layer, *(f"H{h + 1}" for h in range(len(layer.choices))), "elements", "bytes"]]
    rows.append(["type", *_each(layer), "", ""])
    for part in layer.parts:
        levels = [short_amount(Fraction(amount)) for amount in part.levels]
        rows.append([_what(part.what, part.maker), *levels, *_both(part.total)])
    sums = [
        sum((Fraction(part.levels[h]) for part in layer.parts), start=Fraction(0)) for h in range(len(layer.choices))
    ]
    rows.append(["together", *map(short_amount, sums), *_both(layer.total)])
    print_grid(_with_sums(rows, spare=2), console, gap=2)
    for title, other in (("all else as planned", layer.other), ("all else free", layer.adapted)):
        text = "there is no other" if other is None else _sentence(report, other, total)
        print_note(f"best other types, {title}: {text}", console, style="")


def _sentence(report: PlanReport, other: PlanOther, total: Fraction) -> str:
    moved, bound = Fraction(other.total.elements), Fraction(other.lower_bound_elements)
    text = f"{_types(other)}, {_step(report)} moves {_amounts(other.total)}, {_more(moved, total)}"
    return text if bound >= moved else f"{text}; none moves fewer than {short_amount(bound)}"


def _other(other: PlanOther | None, total: Fraction) -> tuple[str, str]:
    if other is None:
        return "", ""
    return _types(other), _more(Fraction(other.total.elements), total)


def _more(moved: Fraction, than: Fraction) -> str:
    """The additional movement in percent."""
    return f"{float(moved / than - 1):+.2%}" if than else "no more" if not moved else "more than nothing"


def _what(what: str, maker: str | None) -> str:
    own, between = _WORDS[what]
    return own if maker is None else f"{between} {maker}"


def _each(of: PlanLayer | PlanOther) -> list[str]:
    """The type at each level."""
    return [type_text(*own) for own in zip(of.choices, of.cuts or [None] * len(of.choices), strict=True)]


def _types(of: PlanLayer | PlanOther) -> str:
    """Types from the top, runs of one as a number: `dp x3, mp`."""
    runs: list[tuple[str, int]] = []
    for choice in _each(of):
        if runs and runs[-1][0] == choice:
            runs[-1] = choice, runs[-1][1] + 1
        else:
            runs.append((choice, 1))
    return ", ".join(choice if count == 1 else f"{choice} x{count}" for choice, count in runs)


def _both(total: ParallelTotal) -> tuple[str, str]:
    """Elements of one direction, and bytes of both; no text where the bytes are not known."""
    if total.bytes is None:
        return short_amount(Fraction(total.elements)), ""
    size = Fraction(total.bytes)
    scale, unit = bytes_unit(int(size))
    return short_amount(Fraction(total.elements)), f"{float(size) / scale:,.2f} {unit}"


def _amounts(total: ParallelTotal) -> str:
    elements, size = _both(total)
    return f"{elements} elements one way" + (f", {size} both ways" if size else "")
