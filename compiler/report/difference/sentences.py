"""The verdict of a difference, and what has to be known of two reports to compare them, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuc.compiler.core.display.words import counted
from npuc.compiler.report.causes import NAMES as CAUSES
from npuc.compiler.report.difference.document import DiffHead, DiffLayer, DiffSetting, DiffTotal
from npuc.compiler.report.text.quantities import bytes_cell, energy_text, time_cell, time_text
from npuc.compiler.report.text.signed import signed
from npuc.compiler.report.text.words import PHASES

CAUSES_SHOWN = 3
MANY = 0.8
"""The layers that are counted explain this share of the difference."""
_UNSAID = {"time": "time", "traffic": "DRAM traffic", "energy": "energy", "memory": "peak memory"}

_NAMES = ("source", "network", "name", "backend")
"""Settings that are what something is called."""


def phase_named(phase: str) -> str:
    """A phase as tables name it."""
    return PHASES.get(phase, phase)


def verdict_of(
    a: DiffHead,
    b: DiffHead,
    totals: Sequence[DiffTotal],
    layers: Sequence[DiffLayer],
    settings: Sequence[DiffSetting],
) -> str:
    """The difference in a few sentences: time, its causes, the layers that explain it, traffic and energy."""
    if not any(one.why for one in layers) and not any(one.difference for one in totals):
        if any((one.a is None) != (one.b is None) for one in totals):
            return "No cost that both say differs."
        return "No cost differs." if any(one.name not in _NAMES for one in settings) else "Nothing differs."
    known = {one.name: one for one in totals}
    parts = [_time(known["time"], a, b)]
    explaining = _explaining(layers, known["time"].difference)
    if explaining:
        parts.append(explaining)
    beside = [text for text in map(_beside, (known["traffic"], known["energy"], known["memory"])) if text]
    if beside:
        parts.append("; ".join(beside))
    return ". ".join(text[:1].upper() + text[1:] for text in parts) + "."


def _time(time: DiffTotal, a: DiffHead, b: DiffHead) -> str:
    if time.a is None or time.b is None:
        silent = " and ".join(dict.fromkeys(head.backend for head, v in ((a, time.a), (b, time.b)) if v is None))
        return f"times cannot be compared: {silent} says none"
    if time.difference == 0:
        return f"both steps take {time_text(time.a)}"
    change = abs(time.difference or 0.0) / time.a if time.a else None
    amount = _share(change) if change is not None else time_text(abs(time.difference or 0.0))
    more = "more" if time.b > time.a else "less"
    spent = {c: b.spent.get(c, 0.0) - a.spent.get(c, 0.0) for c in {**a.spent, **b.spent}}
    least = 0.01 * abs(time.difference or 0.0)
    largest = sorted(((c, s) for c, s in spent.items() if abs(s) > least), key=lambda one: -abs(one[1]))[:CAUSES_SHOWN]
    causes = ", ".join(f"{CAUSES.get(cause, cause)} {signed(seconds, time_cell)}" for cause, seconds in largest)
    return f"B takes {amount} {more} time: {time_text(time.a)} → {time_text(time.b)}" + (
        f" ({causes})" if causes else ""
    )


def _share(change: float) -> str:
    return f"{change:,.1%}" if change >= 0.001 else "less than 0.1%"


def _explaining(layers: Sequence[DiffLayer], difference: float | None) -> str:
    """How many layers explain most of the difference of time; those of one report alone apart."""
    if not difference:
        return ""
    both = [one.difference.seconds or 0.0 for one in layers if one.found in ("both", "renamed")]
    along = sorted((abs(seconds) for seconds in both if seconds * difference > 0), reverse=True)
    against = sum(seconds * difference < 0 for seconds in both)
    faster, other = ("slower", "faster") if difference > 0 else ("faster", "slower")
    told: list[str] = []
    if along:
        whole, found, count = sum(along), 0.0, 0
        while found < MANY * whole and count < len(along):
            found += along[count]
            count += 1
        most = f", {count:,} of which make{'s' * (count == 1)} up {found / whole:.0%} of that"
        told.append(f"{_are(len(along))} {faster}{most if count < len(along) else ''}")
    if against:
        told.append(f"{_are(against)} {other}")
    for alone, side in (("only_a", "A"), ("only_b", "B")):
        own = [abs(one.difference.seconds or 0.0) for one in layers if one.found == alone]
        if own:
            told.append(f"{_are(len(own))} in {side} alone ({time_text(sum(own))})")
    return "; ".join(told)


def _are(count: int) -> str:
    return f"{count:,} layer{' is' if count == 1 else 's are'}"


def _beside(total: DiffTotal) -> str:
    what = {"traffic": "DRAM traffic", "energy": "energy", "memory": "peak memory"}[total.name]
    if total.a is None or total.b is None or total.a == total.b:
        return ""
    text = energy_text if total.unit == "J" else bytes_cell
    change = f", {_share(abs(total.b / total.a - 1))} {'more' if total.b > total.a else 'less'}" if total.a else ""
    return f"{what} {text(total.a)} → {text(total.b)}{change}"


def notes_of(a: DiffHead, b: DiffHead, totals: Sequence[DiffTotal], layers: Sequence[DiffLayer]) -> list[str]:
    """What has to be known of the two to compare them."""
    return [*_notes(a, b, totals, layers)]


def _notes(a: DiffHead, b: DiffHead, totals: Sequence[DiffTotal], layers: Sequence[DiffLayer]) -> Iterator[str]:
    if a.backend != b.backend:
        yield (
            f"the models differ: {a.backend} and {b.backend} count other things of the same step, so that a difference "
            f"may be one of the models"
        )
    for name, what in _UNSAID.items():
        total = next(one for one in totals if one.name == name)
        if (total.a is None) != (total.b is None):
            yield f"{what} is not compared: {'A' if total.a is None else 'B'} does not say it"
    if a.training != b.training:
        yield f"A is a {_step(a)}, B a {_step(b)}"
    if a.network != b.network:
        yield f"the networks differ: {a.network or a.source} and {b.network or b.source}"
    if a.samples is not None and b.samples is not None and a.samples != b.samples:
        counts = f"{a.samples:,} samples in A and {b.samples:,} in B"
        yield f"a step has {counts}; only the table of a sample accounts for that"
    if None in (a.samples, b.samples) and _macs(totals):
        yield "the samples of a step are not known (-D batch=N says them), so that steps are compared and not samples"
    if a.devices != b.devices:
        devices = f"A is of {counted(a.devices, 'devices')} and B of {counted(b.devices, 'devices')}"
        yield f"{devices}: traffic, energy and operations are those of one of them, those of a sample of all"
    known = {one.name for one in totals if one.a is not None and one.b is not None}
    for name, what in (("seconds", "time"), ("dram_bytes", "traffic")):
        for side in "ab" if what in known else "":
            lacking = [one for one in layers if _lacks(one, side, name)]
            if lacking:
                has = "have" if len(lacking) > 1 else "has"
                yield f"{counted(len(lacking), 'layers')} {has} no {what} in {side.upper()}, and so no difference of it"
    if a.layers and b.layers and not any(one.a is not None and one.b is not None for one in layers):
        yield "no layer is in both, by name or by shape: only the totals are compared"


def _macs(totals: Sequence[DiffTotal]) -> bool:
    """Whether the work differs."""
    return any(one.name == "macs" and one.difference for one in totals)


def _lacks(layer: DiffLayer, side: str, name: str) -> bool:
    """Whether one report alone gives a layer that both have such an amount, though it gives it to others."""
    one, other = (layer.a, layer.b) if side == "a" else (layer.b, layer.a)
    return one is not None and other is not None and getattr(one, name) is None and getattr(other, name) is not None


def _step(head: DiffHead) -> str:
    return "training step" if head.training else "forward pass"
