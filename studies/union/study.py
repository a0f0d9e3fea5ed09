"""
The best mapping of each contraction on each machine by each cost model, all found by the same mapper.

A machine is a set of constraints; `free` has none, and so it can run what any other runs: its best mapping is the best
of all that were found under the model. A machine that has no mapping of a contraction (its constraints cannot be met in
these buffers) has a row without cycles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, fsum, log

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES, MapRules
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.mapping.result import SearchResult
from npuc.compiler.explore.mapping.search import Search
from npuc.compiler.explore.mapping.table import mapping_text
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of, repeat_of, role_of
from npuc.frontends.source import open_source
from npuc.hardware import load_constraints
from npuc.studies.base import Advance
from npuc.studies.union.settings import (
    ARRAY,
    CONVERGENCE,
    EVALUATIONS,
    FIXED,
    FREE,
    HARDWARE,
    LAYERS,
    MODELS,
    UNKNOWN,
    Model,
    Preset,
    settings,
)

MACHINES = (*FIXED, FREE)


@dataclass(frozen=True)
class Contraction:
    """A contraction by its number in the program, as several may have one layer and phase."""

    number: int
    layer: str
    phase: str


@dataclass(frozen=True)
class UnionRow:
    """
    A contraction on a machine by a model: the cycles of its best mapping, how many times those of `free` they are, the
    share of the array that works, and the mapping; None where the machine has none.
    """

    model: Model
    number: int
    layer: str
    phase: str
    machine: str
    repeat: int
    macs: int
    cycles: float | None
    over_free: float | None
    utilization: float | None
    mapping: str | None

    @property
    def contraction(self) -> Contraction:
        """Which contraction it is of."""
        return Contraction(self.number, self.layer, self.phase)


@dataclass(frozen=True)
class UnionClaim:
    """A finding; `ours` is None where there is nothing to find it from."""

    claim: str
    setting: str
    ours: float | None
    note: str = ""


@dataclass(frozen=True)
class UnionResults:
    """The rows, the findings, and how many mappings were tried of each contraction."""

    preset: Preset
    evaluations: int
    rows: tuple[UnionRow, ...]
    claims: tuple[UnionClaim, ...]
    warnings: tuple[str, ...] = ()

    @property
    def contractions(self) -> tuple[Contraction, ...]:
        """All contractions, in program order."""
        return tuple(dict.fromkeys(row.contraction for row in self.rows))

    def row(self, model: Model, contraction: Contraction, machine: str) -> UnionRow:
        """The row of a contraction."""
        asked = (model, contraction.number, machine)
        return next(row for row in self.rows if (row.model, row.number, row.machine) == asked)

    def winner(self, model: Model, contraction: Contraction) -> str | None:
        """The machine with fixed mappings that takes least; None where none of them has a mapping."""
        return winner(self.rows, model, contraction)


def cycles_of(rows: Sequence[UnionRow], model: Model, contraction: Contraction) -> dict[str, float]:
    """The cycles of a contraction on each machine but `free`; a machine without a mapping is not there."""
    own = [row for row in rows if (row.model, row.number) == (model, contraction.number) and row.machine != FREE]
    return {row.machine: row.cycles for row in own if row.cycles is not None}


def winner(rows: Sequence[UnionRow], model: Model, contraction: Contraction) -> str | None:
    """The machine but `free` that takes least, of equal ones the first by name; None where none has a mapping."""
    found = cycles_of(rows, model, contraction)
    return min(found, key=lambda name: (found[name], name)) if found else None


def points() -> int:
    """The searches of a study."""
    return len(MODELS) * len(MACHINES)


def run_study(
    preset: Preset,
    source: str,
    defines: Mapping[str, object],
    evaluations: int,
    done: Advance = lambda name, count: None,
) -> UnionResults:
    """All contractions of a source; `done` is called for each machine and model. Raises `NpucError`s."""
    rows: list[UnionRow] = []
    warnings: list[str] = []
    for model in MODELS:
        found: dict[str, list[UnionRow]] = {}
        for machine in MACHINES:
            found[machine] = _searched(preset, source, defines, evaluations, model, machine)
            lacking = [row.layer or f"contraction {row.number + 1}" for row in found[machine] if row.cycles is None]
            if lacking:
                warnings.append(f"{machine} has no mapping of {', '.join(dict.fromkeys(lacking))} by model {model}")
            done(f"{machine}, {model}", 1)
        rows += _beside_free(found)
    own = preset == "inference" and source == LAYERS and not defines and evaluations >= EVALUATIONS
    claims = tuple(claims_of(rows, own=own))
    return UnionResults(preset, evaluations, tuple(rows), claims, tuple(dict.fromkeys(warnings)))


def _searched(
    preset: Preset, source: str, defines: Mapping[str, object], evaluations: int, model: Model, machine: str
) -> list[UnionRow]:
    """
    The best mappings of all contractions on a machine; where it has none of some, each is searched by itself.

    Raises `NpucError`s.
    """
    rules = NO_RULES if machine == FREE else load_constraints(machine)
    search = _search(preset, source, defines, evaluations, model, rules)
    try:
        return _rows(search, model, machine)
    except CapacityError:
        pass  # before it wrote any mapping into the module
    return [
        _one(_Single(search.module, search.hardware, search.settings, rules, number), op, model, machine)
        for number, op in enumerate(search.contracts)
    ]


@dataclass(frozen=True)
class _Single(Search):
    """The search of one contraction of a module, by its number."""

    number: int = 0

    @cached_property
    def contracts(self) -> list[ContractOp]:
        return [[op for op in self.module.walk() if isinstance(op, ContractOp)][self.number]]


def _one(search: _Single, op: ContractOp, model: Model, machine: str) -> UnionRow:
    """The row of a single contraction: without cycles where the machine has no mapping of it."""
    try:
        (row,) = _rows(search, model, machine)
        return replace(row, number=search.number)
    except CapacityError:
        name, phase, repeat, macs = layer_of(op), role_of(op).value, repeat_of(op), op.nest.macs
        return UnionRow(model, search.number, name, phase, machine, repeat, macs, None, None, None, None)


def _search(
    preset: Preset, source: str, defines: Mapping[str, object], evaluations: int, model: Model, rules: MapRules
) -> Search:
    opened = open_source(source)
    options: CompileKeywords = {
        "hardware": HARDWARE,
        "inference": preset == "inference",
        "overrides": {**ARRAY, "maestro.mode": model},
        "defines": defines,
    }
    module, hardware = lowered_module(opened, get_backend("maestro"), options, None, [])
    search = Search(module, hardware, settings(evaluations), rules)
    if not search.contracts:
        raise SourceError(f"{opened.shown} has no contraction to map")
    return search


def _rows(search: Search, model: Model, machine: str) -> list[UnionRow]:
    """The best mappings of all contractions of a search, in program order."""
    result: SearchResult = search.run("union", "", lambda count: None).result
    found: list[UnionRow] = []
    for number, row in enumerate(result.rows):
        best, used = result.of(row), result.utilization(row)
        told = (model, number, row.layer, row.phase, machine, row.repeat, row.macs)
        found.append(UnionRow(*told, best.best.cycles, None, used, mapping_text(best.mapping)))
    return found


def _beside_free(found: Mapping[str, Sequence[UnionRow]]) -> list[UnionRow]:
    """The rows of a model, each beside the best mapping of all, which is that of `free`."""
    rows: list[UnionRow] = []
    for own in zip(*found.values(), strict=True):
        best = min((row for row in own if row.cycles is not None), key=lambda row: row.cycles or 0.0)
        assert best.cycles is not None
        for row in own:
            shown = replace(best, machine=FREE) if row.machine == FREE else row
            over = None if shown.cycles is None else shown.cycles / best.cycles
            rows.append(replace(shown, over_free=over))
    return rows


def claims_of(rows: Sequence[UnionRow], *, own: bool) -> list[UnionClaim]:
    """
    What follows from rows; none of it is a number of the paper.

    `own`: the rows are of what the study has by default, of which is known how it converges.
    """
    found: list[UnionClaim] = []
    contractions = tuple(dict.fromkeys(row.contraction for row in rows))
    for model in MODELS:
        winners = {winner(rows, model, one) for one in contractions} - {None}
        found.append(UnionClaim("machines that win a contraction", f"model {model}", len(winners)))
        gains = [least for one in contractions if (least := _least_over_free(rows, model, one)) is not None]
        mean = exp(fsum(map(log, gains)) / len(gains)) if gains else None
        note = (CONVERGENCE[model] if own else UNKNOWN) if gains else ""
        found.append(UnionClaim("best fixed machine over free, mean", f"model {model}", mean, note))
    return [*found, _agreement(rows, contractions)]


def _least_over_free(rows: Sequence[UnionRow], model: Model, contraction: Contraction) -> float | None:
    """The cycles of the machine that wins a contraction over those of `free`; None where none has a mapping."""
    own = [row for row in rows if (row.model, row.number) == (model, contraction.number) and row.machine != FREE]
    return min((row.over_free for row in own if row.over_free is not None), default=None)


def _agreement(rows: Sequence[UnionRow], contractions: Sequence[Contraction]) -> UnionClaim:
    """How often both models have the same winner, of contractions that the same machines, one or more, can map."""
    same: list[bool] = []
    for one in contractions:
        first, second = (cycles_of(rows, model, one) for model in MODELS)
        if first and first.keys() == second.keys():
            same.append(winner(rows, MODELS[0], one) == winner(rows, MODELS[1], one))
    share = 100 * sum(same) / len(same) if same else None
    note = f"{sum(same)} of {len(same)} that the same machines can map by both; {len(contractions)} in all"
    return UnionClaim("contractions on which the models agree who wins, %", "both models", share, note)
