"""
The difference of two reports as text: what differs, both steps as a whole, the layers that explain it, and a verdict.

Layers that differ in the same way and whose names differ in numbers alone are one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.difference.document import Amounts, DiffHead, DiffLayer, DiffSetting, DiffTotal
from npuc.compiler.report.difference.result import Difference
from npuc.compiler.report.difference.settings import passes_apart
from npuc.compiler.report.numbered import name_of_all, template
from npuc.compiler.report.text.grid import Column, print_grid, print_line
from npuc.compiler.report.text.quantities import bytes_cell
from npuc.compiler.report.text.signed import MINUS, cell_of, percent, signed

if TYPE_CHECKING:
    from rich.console import Console

TOP = 10
"""So many lines of layers are shown, unless somebody asks for others."""
MOST_SETTINGS = 12
MOST_LETTERS = 400
SAID_ELSEWHERE = (("model", "backend"), ("machine", "name"), ("program", "source"), ("program", "network"))
"""Settings that the lines of A and B show."""
MOST_NAMES = 12
LONGEST_NAME = 100
LONGEST = 60
"""Values of settings are cut to so many characters."""
TOTALS = {
    "time": "time",
    "cycles": "cycles",
    "traffic": "DRAM traffic",
    "read": "  read",
    "written": "  written",
    "energy": "energy",
    "memory": "peak memory",
    "macs": "MACs",
    "vector_ops": "vector operations",
    "utilization": "of the array's peak",
    "bound_time": "bound of the time",
    "bound_traffic": "bound of the traffic",
}
"""The quantities as the table names them."""
FOUND = {"only_a": "only in A", "only_b": "only in B", "renamed": "renamed"}
SIGNS = {"only_a": f"{MINUS} ", "only_b": "+ "}
METRICS: dict[str, tuple[str, Callable[[Amounts], float | None]]] = {
    "time": ("s", lambda one: one.seconds),
    "DRAM": ("B", lambda one: one.dram_bytes),
    "energy": ("J", lambda one: one.energy_j),
    "MACs": ("", lambda one: one.macs),
}
"""What layers may be compared by, that first which both reports say."""


def _points(share: float) -> str:
    """A difference of shares, in percentage points."""
    return f"{100 * share:.1f} pp"


@frozen
class _Group:
    """Layers that differ in the same way, as one line."""

    layers: tuple[DiffLayer, ...]

    @property
    def label(self) -> str:
        """Their names; of renamed ones both, with a sign before those of one report alone."""
        first = self.layers[0]
        names = [_name_of([own for one in self.layers if (own := name(one)) is not None]) for name in (_a, _b)]
        text = " → ".join(dict.fromkeys(filter(None, names)))
        count = f" x{len(self.layers):,}" if len(self.layers) > 1 else ""
        return f"{SIGNS.get(first.found, '')}{text}{count}"

    def amount(self, of: Callable[[Amounts], float | None], side: str) -> float | None:
        """A metric of all of them, in `a`, `b` or of the difference; None where nobody says it."""
        amounts = [getattr(layer, side) for layer in self.layers]
        known = [value for one in amounts if one is not None and (value := of(one)) is not None]
        return sum(known) if known else None


def _a(layer: DiffLayer) -> str | None:
    return layer.name_a


def _b(layer: DiffLayer) -> str | None:
    return layer.name_b


def _name_of(names: Sequence[str]) -> str:
    return name_of_all(names) if names else ""


def print_difference(difference: Difference, console: Console, *, top: int = TOP) -> None:
    """Print a difference on a console; of its layers `top` lines, the others summed."""
    for name, head in (("A", difference.a), ("B", difference.b)):
        print_line(name, plain(_title(head)), console, 3)
    console.print()
    _print_settings(difference, console)
    _print_totals("step", difference.totals, console)
    if difference.per_sample:
        _print_totals("a sample", difference.per_sample, console)
    _print_layers(difference, console, top)
    for found, what in FOUND.items():
        layers = [layer for layer in difference.layers if layer.found == found]
        if layers:
            print_line(what, plain(_names(layers), 2_000), console, 11)
    for note in difference.notes:
        print_line("note", plain(note), console, 11)
    print_line("verdict", plain(difference.verdict, 2_000), console, 11)


def _title(head: DiffHead) -> str:
    name = head.network or head.source
    source = f" ({head.source})" if head.source and head.source != name else ""
    what = "training step" if head.training else "forward pass"
    devices = f", {head.devices:,} devices, amounts of one" if head.devices > 1 else ""
    return f"{name}{source}: {what} on {head.machine}, backend {head.backend}{devices}"


def _print_settings(difference: Difference, console: Console) -> None:
    """What was given to both and differs: that first which both have."""
    settings = [one for one in difference.settings if (one.group, one.name) not in SAID_ELSEWHERE]
    if not settings:
        return
    in_both = [one for one in settings if one.a is not None and one.b is not None]
    alone = [] if difference.a.backend != difference.b.backend else [one for one in settings if one not in in_both]
    told = sorted([*in_both, *alone][:MOST_SETTINGS], key=_is_long)
    more = len(settings) - len(told)
    texts = dict.fromkeys(_setting(one) for one in told)  # a machine and a program may both have a precision
    shown = "; ".join(texts) + (f"; and {more:,} more (--json has all)" if more > 0 else "")
    print_line("differs", plain(shown, 10_000), console, 11)
    console.print()


def _setting(one: DiffSetting) -> str:
    if one.name == "pipeline":
        alone = passes_apart(one.a or "", one.b or "")
        told = [f"{_short(', '.join(own))} in {side} alone" for side, own in zip("AB", alone, strict=True) if own]
        return f"passes: {', '.join(told) or 'in another order'}"
    if _is_long(one):
        return f"{one.name} (see --json)"
    return f"{one.name} {_short(one.a)} → {_short(one.b)}"


def _is_long(one: DiffSetting) -> bool:
    return one.name != "pipeline" and max(len(one.a or ""), len(one.b or "")) > LONGEST


def _short(value: str | None) -> str:
    if value is None:
        return "nothing"
    return (value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…") or "nothing"


def plain(text: str, most: int = MOST_LETTERS) -> str:
    """A text of a report as a terminal may show it: what is not printable as an escape, and what is too long cut."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: most + 1])
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _print_totals(heading: str, totals: Sequence[DiffTotal], console: Console) -> None:
    """Both steps as a whole: quantities that a report says."""
    shown = [one for one in totals if one.a is not None or one.b is not None]
    texts = [cell_of(one.unit) for one in shown]
    rows = [*zip(shown, texts, strict=True)]
    print_grid(
        [
            Column(heading, tuple(TOTALS[one.name] for one in shown), left=True),
            Column("A", tuple("" if one.a is None else text(one.a) for one, text in rows)),
            Column("B", tuple("" if one.b is None else text(one.b) for one, text in rows)),
            Column("B − A", tuple(map(signed_total, shown))),
            Column("%", tuple("" if one.unit == "share" else percent(one.a, one.difference) for one in shown)),
        ],
        console,
    )


def signed_total(total: DiffTotal) -> str:
    """B less A with its sign; of shares in percentage points."""
    return signed(total.difference, _points if total.unit == "share" else cell_of(total.unit))


def _grouped(layers: Sequence[DiffLayer]) -> list[_Group]:
    """Layers that differ in the same way and whose names differ in numbers alone, as one."""
    groups: dict[Hashable, list[DiffLayer]] = {}
    for one in layers:
        names = tuple(None if name is None else template(name) for name in (one.name_a, one.name_b))
        key = names, one.found, one.difference, _told(one.a), _told(one.b), one.why
        groups.setdefault(key, []).append(one)
    return [_Group(tuple(group)) for group in groups.values()]


def _told(side: Amounts | None) -> Hashable:
    return None if side is None else tuple(getattr(side, name) for name in Amounts.__struct_fields__)


def _print_layers(difference: Difference, console: Console, top: int) -> None:
    """The layers that differ most, the others as one."""
    metric = next((name for name, (_, of) in METRICS.items() if of(difference.difference) is not None), None)
    differing = [layer for layer in difference.layers if layer.why]
    if metric is None or not differing:
        return
    unit, of = METRICS[metric]
    groups = sorted(_grouped(differing), key=lambda one: -abs(one.amount(of, "difference") or 0.0))
    shown, others = (groups[:top], groups[top:]) if len(groups) > top + 1 else (groups, [])
    lines = list(shown)
    labels = [plain(group.label, LONGEST_NAME) for group in shown]
    why = [_why(group) for group in shown]
    if others:
        rest = _Group(tuple(layer for group in others for layer in group.layers))
        lines.append(rest)
        labels.append(f"({len(rest.layers):,} others)")
        why.append("")
    notes = [*_notes(difference, differing, others)]
    print_grid([*_columns(metric, unit, of, lines, labels, difference)], console, below=why, notes=notes)


def _why(group: _Group) -> str:
    first = group.layers[0]
    if first.found in SIGNS:
        return ""
    return f"{'each: ' if len(group.layers) > 1 else ''}{plain(first.why)}"


def _notes(difference: Difference, differing: Sequence[DiffLayer], others: Sequence[_Group]) -> Iterator[str]:
    equal = len(difference.layers) - len(differing)
    parts = [f"{equal:,} layer{'' if equal == 1 else 's'} that {'does' if equal == 1 else 'do'} not differ left out"]
    parts = parts if equal else []
    for found, sign in SIGNS.items():
        if any(one.found == found for one in differing):
            parts.append(f"{sign}{FOUND[found]}")
    if others:
        parts.append("--top N shows N lines")
    if parts:
        yield "; ".join(parts)


def _columns(
    metric: str,
    unit: str,
    of: Callable[[Amounts], float | None],
    lines: Sequence[_Group],
    labels: Sequence[str],
    difference: Difference,
) -> Iterator[Column]:
    """Layers with what they take in A and in B, and by how much that differs."""
    text = cell_of(unit)
    name = {"time": "time", "DRAM": "traffic", "energy": "energy", "MACs": "macs"}[metric]
    total = difference.total(name)
    before, after, change = ([one.amount(of, side) for one in lines] for side in ("a", "b", "difference"))
    yield Column("layer", tuple(labels), left=True, footer="step")
    yield Column(f"A\n{metric}", tuple("" if v is None else text(v) for v in before), footer=text(total.a or 0))
    yield Column(f"B\n{metric}", tuple("" if v is None else text(v) for v in after), footer=text(total.b or 0))
    yield Column("B − A", tuple(signed(v, text) for v in change), footer=signed(total.difference, text))
    shares = tuple(percent(a, d) for a, d in zip(before, change, strict=True))
    yield Column("%", shares, footer=percent(total.a, total.difference))
    traffic = difference.difference.dram_bytes
    if metric == "time" and traffic is not None:
        moved = [one.amount(lambda amounts: amounts.dram_bytes, "difference") for one in lines]
        yield Column(
            "DRAM\nB − A", tuple(signed(v, bytes_cell) for v in moved), rank=1, footer=signed(traffic, bytes_cell)
        )


def _names(layers: Sequence[DiffLayer]) -> str:
    """The names of layers and how many they are: whole blocks as one where there are many, of more the first ones."""
    shown = [group.label.removeprefix(SIGNS.get(layers[0].found, "")) for group in _grouped(layers)]
    depth = max(layer.name.count(".") for layer in layers)
    while len(shown) > MOST_NAMES and depth and layers[0].found in SIGNS:
        shown = _blocks([layer.name for layer in layers], depth)
        depth -= 1
    more = f", and {len(shown) - MOST_NAMES:,} more" if len(shown) > MOST_NAMES else ""
    return f"{len(layers):,} layer{'' if len(layers) == 1 else 's'}: {', '.join(shown[:MOST_NAMES])}{more}"


def _blocks(names: Sequence[str], depth: int) -> list[str]:
    """Names that agree in their first `depth` parts as one, with their number; blocks that differ in numbers, too."""
    sizes = Counter(".".join(name.split(".")[:depth]) for name in names)
    alike: dict[tuple[str, int], list[str]] = {}
    for name, size in sizes.items():
        alike.setdefault((template(name), size), []).append(name)
    return [f"{name_of_all(own)}{f' ({size:,})' if size > 1 else ''}" for (_, size), own in alike.items()]
