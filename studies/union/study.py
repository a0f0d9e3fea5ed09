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
from npuc.studies.union.settings import ARRAY, FIXED, FREE, HARDWARE, MODELS, Model, Preset, settings

MACHINES = (*FIXED, FREE)


@dataclass(frozen=True)
class UnionRow:
    """
    A contraction on a machine by a model: the cycles of its best mapping, how many times those of `free` they are, the
    share of the array that works, and the mapping; None where the machine has none.
    """

    model: Model
    layer: str
    phase: str
    machine: str
    repeat: int
    macs: int
    cycles: float | None
    over_free: float | None
    utilization: float | None
    mapping: str | None


@dataclass(frozen=True)
class UnionClaim:
    """A finding: what the paper says in words, and ours."""

    claim: str
    setting: str
    published: str | None
    ours: float
    reproduced: bool | None


@dataclass(frozen=True)
class UnionResults:
    """The rows, the findings, and how many mappings were tried of each contraction."""

    preset: Preset
    evaluations: int
    rows: tuple[UnionRow, ...]
    claims: tuple[UnionClaim, ...]
    warnings: tuple[str, ...] = ()

    @property
    def contractions(self) -> tuple[tuple[str, str], ...]:
        """Layers and phases, in their order."""
        return tuple(dict.fromkeys((row.layer, row.phase) for row in self.rows))

    def row(self, model: Model, contraction: tuple[str, str], machine: str) -> UnionRow:
        """The row of a contraction."""
        asked = (model, *contraction, machine)
        return next(row for row in self.rows if (row.model, row.layer, row.phase, row.machine) == asked)

    def winner(self, model: Model, contraction: tuple[str, str]) -> str | None:
        """The machine with fixed mappings that takes least; None where none of them has a mapping."""
        return winner(self.rows, model, contraction)


def winner(rows: Sequence[UnionRow], model: Model, contraction: tuple[str, str]) -> str | None:
    """The machine but `free` that takes least, of equal ones the first by name; None where none has a mapping."""
    own = [row for row in rows if (row.model, row.layer, row.phase) == (model, *contraction) and row.machine != FREE]
    found = [(row.cycles, row.machine) for row in own if row.cycles is not None]
    return min(found)[1] if found else None


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
        found: dict[str, dict[tuple[str, str], UnionRow]] = {}
        for machine in MACHINES:
            found[machine] = _searched(preset, source, defines, evaluations, model, machine)
            lacking = [name for (name, _), row in found[machine].items() if row.cycles is None]
            if lacking:
                warnings.append(f"{machine} has no mapping of {', '.join(dict.fromkeys(lacking))} by model {model}")
            done(f"{machine}, {model}", 1)
        rows += _beside_free(found)
    results = UnionResults(preset, evaluations, tuple(rows), (), tuple(dict.fromkeys(warnings)))
    return replace(results, claims=tuple(_claims(results)))


def _searched(
    preset: Preset, source: str, defines: Mapping[str, object], evaluations: int, model: Model, machine: str
) -> dict[tuple[str, str], UnionRow]:
    """
    The best mappings of all contractions on a machine; where it has none of some, each is searched by itself.

    Raises `NpucError`s.
    """
    rules = NO_RULES if machine == FREE else load_constraints(machine)
    try:
        return _rows(_search(preset, source, defines, evaluations, model, rules), model, machine)
    except CapacityError:
        pass
    found: dict[tuple[str, str], UnionRow] = {}
    for number, op in enumerate(_search(preset, source, defines, evaluations, model, rules).contracts):
        whole = _search(preset, source, defines, evaluations, model, rules)
        found |= _one(_Single(whole.module, whole.hardware, whole.settings, rules, number), op, model, machine)
    return found


@dataclass(frozen=True)
class _Single(Search):
    """The search of one contraction of a module, by its number."""

    number: int = 0

    @cached_property
    def contracts(self) -> list[ContractOp]:
        return [[op for op in self.module.walk() if isinstance(op, ContractOp)][self.number]]


def _one(search: Search, op: ContractOp, model: Model, machine: str) -> dict[tuple[str, str], UnionRow]:
    """The rows of a single contraction: without cycles where the machine has no mapping of it."""
    try:
        return _rows(search, model, machine)
    except CapacityError:
        name, phase, repeat = layer_of(op), role_of(op).value, repeat_of(op)
        return {(name, phase): UnionRow(model, name, phase, machine, repeat, op.nest.macs, None, None, None, None)}


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


def _rows(search: Search, model: Model, machine: str) -> dict[tuple[str, str], UnionRow]:
    result: SearchResult = search.run("union", "", lambda count: None).result
    found: dict[tuple[str, str], UnionRow] = {}
    for row in result.rows:
        best, used = result.of(row), result.utilization(row)
        text = mapping_text(best.mapping)
        found[row.layer, row.phase] = UnionRow(
            model, row.layer, row.phase, machine, row.repeat, row.macs, best.best.cycles, None, used, text
        )
    return found


def _beside_free(found: Mapping[str, Mapping[tuple[str, str], UnionRow]]) -> list[UnionRow]:
    """The rows of a model, each beside the best mapping of all, which is that of `free`."""
    rows: list[UnionRow] = []
    for contraction in found[FREE]:
        own = [by[contraction] for by in found.values()]
        best = min((row for row in own if row.cycles is not None), key=lambda row: row.cycles or 0.0)
        assert best.cycles is not None
        for row in own:
            shown = replace(best, machine=FREE) if row.machine == FREE else row
            over = None if shown.cycles is None else shown.cycles / best.cycles
            rows.append(replace(shown, over_free=over))
    return rows


def _claims(results: UnionResults) -> list[UnionClaim]:
    """What follows from the rows; none of it is a number of the paper."""
    found: list[UnionClaim] = []
    for model in MODELS:
        winners = [results.winner(model, one) for one in results.contractions]
        distinct = {name for name in winners if name is not None}
        found.append(
            UnionClaim("machines that win a contraction", f"model {model}", None, len(distinct), len(distinct) > 1)
        )
        gains = [gain for one in results.contractions if (gain := _best_fixed(results, model, one)) is not None]
        mean = exp(fsum(map(log, gains)) / len(gains)) if gains else 1.0
        found.append(UnionClaim("best fixed machine over free, mean", f"model {model}", None, mean, mean > 1))
    same = [results.winner(MODELS[0], one) == results.winner(MODELS[1], one) for one in results.contractions]
    words = "one mapper, several cost models"
    share = 100 * sum(same) / len(same)
    found.append(UnionClaim("contractions on which the models agree who wins, %", "both", words, share, None))
    return found


def _best_fixed(results: UnionResults, model: Model, contraction: tuple[str, str]) -> float | None:
    """The cycles of the winner over those of `free`."""
    name = results.winner(model, contraction)
    return None if name is None else results.row(model, contraction, name).over_free
