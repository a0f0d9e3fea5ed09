"""The changes that `npuc explain NET` tries: of the machine, the passes, the types, the batch, the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.backends.knobs import Knob
from npuc.compiler.core.options import DEFAULT_LEVEL, CompileKeywords
from npuc.compiler.report.causes import Cause, Parts
from npuc.frontends.source import Source

if TYPE_CHECKING:
    from npuc.backends.base import Backend
    from npuc.compiler.driver.compile import Compilation
    from npuc.hardware import Hardware

LEAST = 0.05
"""The share of the time that the causes of a change must have for it to be tried."""
BATCH = "batch"
MAPPING = "maestro.mapping"
WIDE = ("f32", "as-written")
"""The precisions for which narrower floats are tried."""
NARROW = "bf16"


@dataclass(frozen=True)
class Trial:
    """
    A change to try: the `option` as the command line takes it, `what` it is, all keywords of the changed compilation.

    `share` is the part of the time that it may shorten, `samples` how many times as many samples the changed step has.
    """

    option: str
    what: str
    keywords: CompileKeywords
    share: float
    samples: float = 1.0


@dataclass(frozen=True)
class Situation:
    """A compilation that may be changed: of what, by which model, what it made, and its time by cause."""

    source: Source
    keywords: CompileKeywords
    model: Backend
    compiled: Compilation
    spent: Parts

    @property
    def machine(self) -> Hardware:
        """The machine."""
        return self.compiled.machines[0]

    @property
    def precision(self) -> str:
        """The float types that the program was given."""
        return self.compiled.reports[0].precision

    def share(self, causes: Sequence[Cause]) -> float:
        """The part of the time that is spent on some causes."""
        whole = sum(self.spent.values())
        return sum(self.spent.get(cause, 0.0) for cause in causes) / whole if whole else 0.0

    def may_shorten(self, knob: Knob) -> float:
        """The part of the time that a change may shorten."""
        share = self.share(knob.shortens)
        return share - self._least_traffic() if knob.blocks else share

    def _least_traffic(self) -> float:
        """The part of the time that waits for what any schedule of each operation moves."""
        whole, least = sum(self.spent.values()), 0.0
        for row in self.compiled.reports[0].ops:
            moved = (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
            if moved and row.lower_bound_bytes is not None:
                waits = self.model.time_parts(row).get("dram", 0.0)
                least += row.repeat * waits * min(1.0, row.lower_bound_bytes / moved)
        return least / whole if whole else 0.0


def trials(now: Situation, most: int) -> list[Trial]:
    """At most so many changes that may help, those first that may shorten most."""
    found = [*_passes(now), *_types(now), *_batch(now), *_plans(now)]
    for knob in now.model.knobs:
        if now.may_shorten(knob) >= LEAST:
            found += _turned(now, knob)
    return sorted(found, key=lambda trial: -trial.share)[:most]


def _turned(now: Situation, knob: Knob) -> Iterator[Trial]:
    share = now.may_shorten(knob)
    if knob.passes is not None:
        if now.keywords.get("pipeline") is None and not now.source.frontend.is_ir:
            after = [*(now.keywords.get("after") or ()), knob.passes]
            yield Trial(f"--after {knob.passes}", knob.what, {**now.keywords, "after": after}, share)
        return
    for value in knob.values:
        if value != _value(now, knob.keys[0]):
            yield _with_value(now, knob, value, share)
    if not knob.values:
        values = {key: now.machine.get(key) for key in knob.keys}
        numbers = {key: 2 * v for key, v in values.items() if isinstance(v, int | float) and not isinstance(v, bool)}
        if len(numbers) == len(knob.keys):
            option = " ".join(f"--set {key}={_text(value)}" for key, value in numbers.items())
            yield Trial(option, knob.what, _overridden(now, numbers), share)


def _value(now: Situation, key: str) -> object:
    """What the machine has, or the mapping that is asked for."""
    return now.keywords.get("mapping") or now.machine.get(key) if key == MAPPING else now.machine.get(key)


def _with_value(now: Situation, knob: Knob, value: object, share: float) -> Trial:
    key = knob.keys[0]
    if key == MAPPING:
        changed: CompileKeywords = {**now.keywords, "mapping": str(value)}
        return Trial(f"--mapping {value}", knob.what, changed, share)
    return Trial(f"--set {key}={_text(value)}", knob.what, _overridden(now, {key: value}), share)


def _overridden(now: Situation, values: Mapping[str, object]) -> CompileKeywords:
    return {**now.keywords, "overrides": {**(now.keywords.get("overrides") or {}), **values}}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _passes(now: Situation) -> Iterator[Trial]:
    """The highest level, where the program has another one, or passes of its own."""
    if now.source.frontend.is_ir or not now.model.level == "npu" or not now.model.needs_schedules(now.machine):
        return
    level, pipeline = now.keywords.get("opt_level"), now.keywords.get("pipeline")
    if pipeline is not None or level not in (None, DEFAULT_LEVEL):
        changed: CompileKeywords = {**now.keywords, "opt_level": DEFAULT_LEVEL}
        if pipeline is not None:
            changed.pop("pipeline", None)
            changed.pop("load", None)
        what = "the passes of the highest level" + ("" if pipeline is None else " in place of -p")
        yield Trial(f"-O{DEFAULT_LEVEL}", what, changed, 1.0)


def _types(now: Situation) -> Iterator[Trial]:
    """Narrower floats, where tensors have the width of their types."""
    share = now.share(("dram", "latency"))
    if now.precision in WIDE and not now.machine.written("memory.element_bytes") and share >= LEAST:
        yield Trial(f"--precision {NARROW}", f"{NARROW} for floats", {**now.keywords, "precision": NARROW}, share)


def _batch(now: Situation) -> Iterator[Trial]:
    """Twice the batch, where the network has one."""
    batch = _batch_of(now.source, now.keywords)
    if batch is not None:
        defines = {**(now.keywords.get("defines") or {}), BATCH: 2 * batch}
        changed: CompileKeywords = {**now.keywords, "defines": defines}
        yield Trial(f"-D {BATCH}={2 * batch}", "twice the batch, cost per sample", changed, 1.0, samples=2.0)


def _batch_of(source: Source, keywords: CompileKeywords) -> int | None:
    """The network's batch, given or its default; None for a network without such a parameter."""
    from npuc.frontends.dsl.elaborate import NetworkParameters

    defines = keywords.get("defines") or {}
    parameters = source.frontend.parameters(source)
    if parameters is None or BATCH not in parameters.names:
        return None
    values = parameters.values(defines) if isinstance(parameters, NetworkParameters) else defines
    batch = values.get(BATCH)
    return batch if isinstance(batch, int) and not isinstance(batch, bool) and batch > 0 else None


def _plans(now: Situation) -> Iterator[Trial]:
    """Other strategies and a faster network, for a step that several devices share."""
    share = now.share(("network",))
    if now.keywords.get("devices", 1) == 1 and now.keywords.get("mesh") is None:
        return
    for strategy in ("dp", "hypar", "joint"):
        if strategy != (now.keywords.get("parallel") or "hypar") and share >= LEAST:
            changed: CompileKeywords = {**now.keywords, "parallel": strategy}
            yield Trial(f"--parallel {strategy}", "another plan", changed, share)
    rows = now.machine.get("network.levels")
    if isinstance(rows, list) and share >= LEAST:
        levels = [{**row, "gb_per_s": 2 * row["gb_per_s"]} for row in rows]
        rates = list(dict.fromkeys(f"{_text(row['gb_per_s'])} to {_text(2 * row['gb_per_s'])}" for row in rows))
        what = f"links of {rates[0]} GB/s" if len(rates) == 1 else "twice the rate of all links"
        yield Trial("network gb_per_s x 2", what, _overridden(now, {"network.levels": levels}), share)
