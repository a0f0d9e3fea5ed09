"""The flexibility of a machine as text: its axes, the classes, the layers, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuc.compiler.analysis.mapping.flexibility.axes import AXES, LETTERS, Supports, class_of, classes
from npuc.compiler.analysis.mapping.flexibility.tiles import Estimate
from npuc.compiler.core.drawing.palette import PHASE_NAMES
from npuc.compiler.explore.flexibility.result import FREE, Flexibility, FlexRow
from npuc.compiler.explore.mapping.best import Objective
from npuc.compiler.report.layers import MOST_LINES
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note

if TYPE_CHECKING:
    from rich.console import Console

NAMES = ("T tile sizes", "O loop order", "P parallel", "S array shape")
MEANINGS = {
    "tiles": {
        "fixed": "of the dataflow",
        "hard": "that fit in equal parts",
        "soft": "that fit in one pool",
    },
    "order": {"fixed": "of the dataflow", "stationary": "one for each tensor", "any": "all"},
    "parallel": {"fixed": "of the dataflow", "any": "all pairs"},
    "shape": {"fixed": "of the dataflow", "blocks": "multiples of {block}", "any": "all"},
}
"""What the values of keys mean in the table."""
UNITS: dict[Objective, str] = {"time": "cycles", "energy": "MACs' worth", "edp": "cycle x MAC"}
PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def print_flexibility(result: Flexibility, console: Console, *, all_rows: bool) -> None:
    """Print the result."""
    head = f"{result.title} ({result.source}): flexibility of {result.hardware}, dataflow {result.dataflow}"
    print_note(f"{head}, class {result.flexible} (TOPS)", console, style="bold")
    console.print()
    _print_axes(result, console)
    _print_classes(result, console)
    _print_layers(result, console, all_rows=all_rows)
    for name, text in _summary(result):
        print_line(name, text, console)


def share_text(one: Estimate | None) -> str:
    """A share with three digits, and with its standard error where it is an estimate; `-` for none."""
    if one is None:
        return "-"
    error = f" ± {_digits(one.error, 1)}" if one.error else ""
    return f"{_digits(one.value, 3)}{error}"


def _digits(value: float, count: int) -> str:
    return f"{value:.{count - 1}e}" if 0 < value < 1e-3 else f"{value:.{count}g}"


def _print_axes(result: Flexibility, console: Console) -> None:
    hardware, workload = (result.mean(hardware=kind) for kind in (True, False))
    rows = [("axis", "what the machine\nsupports", "hardware\nflexion", "workload\nflexion")]
    for number, name in enumerate(AXES):
        meaning = MEANINGS[name][result.values[number]].format(block=result.block)
        rows.append((NAMES[number], meaning, share_text(hardware[number]), share_text(workload[number])))
    rows.append(("together", "", share_text(hardware[-1]), share_text(workload[-1])))
    print_grid(columns_of(rows, left=(0, 1), ranks={1: 1}), console, gap=2, rules=[len(AXES) - 1])


def _print_classes(result: Flexibility, console: Console) -> None:
    own, phases = result.settings.objective, [phase for phase in result.phases if len(result.phases) > 1]
    values = {supports: result.objective(supports) for supports in result.compared}
    least = min(value for value in values.values() if value is not None)
    prefix, scale = next(((name, size) for name, size in PREFIXES if size <= least), ("", 1.0))
    unit = f"{prefix} {UNITS[own]}".strip()
    head = ["class", "free axes", f"best {own}\n{unit}", "gain"]
    rows = [(*head, *(f"{PHASE_NAMES.get(phase, phase)}\ngain" for phase in phases))]
    for supports in result.compared:
        cells = [
            _name(result, supports),
            _free(supports),
            _number(values[supports], scale),
            _number(result.gain(supports)),
        ]
        rows.append((*cells, *(_number(result.gain(supports, phase)) for phase in phases)))
    ranks = {1: 1, **{4 + number: 2 for number in range(len(phases))}}
    print_grid(columns_of(rows, left=(0, 1), ranks=ranks), console, gap=2)


def _number(value: float | None, scale: float = 1.0) -> str:
    """A number with two digits; `-` where a class has no mapping that meets constraints."""
    return "-" if value is None else f"{value / scale:,.2f}"


def _name(result: Flexibility, supports: Supports) -> str:
    return class_of(supports) + (" <" if supports == result.supports else "")


def _free(supports: Supports) -> str:
    names = [
        name if one == "any" else f"some {name}" for name, one in zip(AXES, supports, strict=True) if one != "fixed"
    ]
    return ", ".join(names) or "none"


def _print_layers(result: Flexibility, console: Console, *, all_rows: bool) -> None:
    groups: dict[int, list[FlexRow]] = {}
    for row in result.rows:
        groups.setdefault(row.number, []).append(row)
    known = list(groups.values())
    shown = known if all_rows or len(known) <= MOST_LINES else _largest(result, known)
    head = (
        "layer",
        "phase",
        "times",
        *(f"{letter}" for letter in LETTERS),
        "together",
        "machine's\ngain",
        "greatest\ngain",
    )
    rows = [head, *(_cells(result, own) for own in shown)]
    note = f"the {len(shown)} that take most of {len(known)} distinct contractions: --rows all shows all"
    columns = columns_of(rows, left=(0, 1), ranks={1: 2, 2: 5, **dict.fromkeys(range(3, 7), 3), 7: 4, 8: 1})
    about = "T, O, P, S, together: workload flexion; - where the contraction can use no choice"
    notes = [about, *([note] if len(shown) < len(known) else [])]
    print_grid(columns, console, gap=2, notes=notes)


def _largest(result: Flexibility, groups: list[list[FlexRow]]) -> list[list[FlexRow]]:
    """The groups that take most on the machine, in the order of the program."""
    own = result.settings.objective
    costs = [sum(row.repeat for row in rows) * result.of(rows[0]).alone.of(own) for rows in groups]
    return [groups[n] for n in sorted(sorted(range(len(groups)), key=lambda n: -costs[n])[:MOST_LINES])]


def _cells(result: Flexibility, rows: list[FlexRow]) -> tuple[str, ...]:
    found, own = result.of(rows[0]), result.settings.objective
    layers = list(dict.fromkeys(row.layer for row in rows))
    machine, free = (found.of(one).cost for one in (result.supports, FREE))
    return (
        layers[0] + (f" (+{len(layers) - 1})" if len(layers) > 1 else ""),
        "/".join(dict.fromkeys(PHASE_NAMES.get(row.phase, row.phase) for row in rows)),
        f"{sum(row.repeat for row in rows):,}",
        *(share_text(one) for one in found.workload.shares),
        *(_number(None if one is None else found.alone.of(own) / one.of(own)) for one in (machine, free)),
    )


def _summary(result: Flexibility) -> Iterator[tuple[str, str]]:
    """The lines below the tables: a heading and a text each."""
    settings = result.settings
    yield "<", f"the machine: {_free(result.supports)} free; a gain is over class 0000, the dataflow alone"
    exact = sum(found.exact for found in result.found)
    counted = (
        "exactly" if exact == len(result.found) else f"by samples where they are too many ({len(result.found) - exact}"
    )
    if exact < len(result.found):
        counted += f" of {len(result.found)} distinct contractions)"
    yield "counts", f"tiles are counted {counted}; shares are means over MACs"
    several = "" if settings.budget == 1 else "s"
    yield (
        "search",
        f"{settings.budget:,} mapping{several} for each class and distinct contraction, seed {settings.seed}",
    )
    if result.rules:
        yield "rules", _rules(result)
    yield "verdict", _verdict(result)


def _rules(result: Flexibility) -> str:
    text = f"{result.rules.words}, which all mappings of the classes meet"
    lacking = {supports: result.missing(supports) for supports in result.compared}
    if not any(lacking.values()):
        return f"{text}; what the machine supports is what they allow of its choices."
    own, some = lacking[result.supports], f"of {len(result.rows):,} contractions"
    none = f"a class without a best one (-) has none of some contraction, the machine's of {own:,} {some}"
    return f"{text}; {none}. What the machine supports is what they allow of its choices."


def _verdict(result: Flexibility) -> str:
    own, free, most = result.gain(result.supports), result.gain(FREE), result.objective(FREE)
    if free is None or most is None:
        return "No class has mappings of all contractions that meet the constraints, as far as was searched."
    gap = f"The best mappings found are at most {100 * (most / result.bound - 1):,.0f} % above a lower bound."
    if own is None:
        text = "The machine has no mappings of its class that meet the constraints, as far as was searched"
        return f"{text}; flexibility of all axes gains {free:,.2f}. {gap}"
    text = f"The machine's flexibility gains {own:,.2f}, that of all axes {free:,.2f}"
    if free / own > 1.005:
        gains = ((axis, result.gain(best)) for axis, best in _one_more(result.supports))
        axis, gain = max(((axis, gain) for axis, gain in gains if gain is not None), key=lambda pair: pair[1])
        text += f": {free / own:,.2f} times what the machine has. Of single axes, {axis} would gain most, "
        text += f"{gain / own:,.2f} times"
    return f"{text}. {gap}"


def _one_more(supports: Supports) -> Iterator[tuple[str, Supports]]:
    """The classes with one axis more that is fully free, by its name; partial ones are as they would be in full."""
    for name, one in zip(AXES, supports, strict=True):
        if one != "any":
            free = [other != "fixed" or axis == name for axis, other in zip(AXES, supports, strict=True)]
            yield name, next(known for known in classes() if [each == "any" for each in known] == free)
