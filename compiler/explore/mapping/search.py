"""Searches a mapping for every distinct contraction of a module, and writes it into the module."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp

from npuc.backends.maestro.machine import MappedMachine, mapped_machine
from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES, MapRules
from npuc.compiler.analysis.mapping.convert import to_maestro
from npuc.compiler.analysis.mapping.exact.contraction import contraction_of_statement
from npuc.compiler.core.errors import CapacityError, SourceError, UsageError
from npuc.compiler.core.verify import location_of
from npuc.compiler.explore.mapping.best import Limits
from npuc.compiler.explore.mapping.constrained.demands import Demands
from npuc.compiler.explore.mapping.mapper import ALGORITHMS, Algorithm
from npuc.compiler.explore.mapping.result import Found, MappedRow, SearchResult, Settings
from npuc.compiler.explore.mapping.searcher import Outcome, recorded, request_of
from npuc.compiler.explore.mapping.task import SearchTask, exact_task, parity_task
from npuc.dialects.mapping import Clusters, Mapping
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.mapped import problem_of
from npuc.dialects.provenance import layer_of, repeat_of, role_of
from npuc.hardware import Hardware


@dataclass(frozen=True)
class Ended:
    """How a search ended: its result, what interrupted it, and how many of its candidates a record had before."""

    result: SearchResult
    interrupt: KeyboardInterrupt | None
    before: int


@dataclass(frozen=True)
class Search:
    """The contractions of a module whose mappings are searched on a machine, under the constraints of `rules`."""

    module: ModuleOp
    hardware: Hardware
    settings: Settings
    rules: MapRules = NO_RULES

    @cached_property
    def machine(self) -> MappedMachine:
        """The machine of all contractions."""
        return mapped_machine(self.hardware)

    @cached_property
    def algorithm(self) -> Algorithm:
        """The search algorithm. Raises `UsageError` for an unknown name."""
        return ALGORITHMS.get(self.settings.mapper)

    @cached_property
    def contracts(self) -> list[ContractOp]:
        """All contractions, in program order."""
        return [op for op in self.module.walk() if isinstance(op, ContractOp)]

    @cached_property
    def distinct(self) -> dict[Hashable, tuple[SearchTask, ContractOp]]:
        """
        A search for each kind of contraction, with the first of that kind.

        Raises `SourceError`, `UsageError`, and `CapacityError` for constraints that cannot be met.
        """
        found: dict[Hashable, tuple[SearchTask, ContractOp]] = {}
        for op in self.contracts:
            key = self._key(op)
            if key not in found:
                found[key] = self._task(op), op
        self.demands.check_names(list(found.values()))
        found = {key: (self.demands.applied(task, op), op) for key, (task, op) in found.items()}
        for task, op in found.values():
            self._require_searchable(task, op)
        return found

    def _key(self, op: ContractOp) -> Hashable:
        works = tuple(contraction_of_statement(op.nest, one) for one in op.nest.statements)
        machine = self.machine.for_contraction(op)
        return works, op.mapping_attr, machine.array, machine.buffers, self.demands.rows(op)

    @cached_property
    def demands(self) -> Demands:
        """What is demanded of the mappings of each contraction."""
        return Demands(self.rules)

    def _task(self, op: ContractOp) -> SearchTask:
        machine = self.machine.for_contraction(op)
        own, divisors = self.settings, self.settings.tiles == "divisors"
        if machine.mode == "exact":
            return exact_task(op.nest, op.mapping_attr, machine, own.levels, own.parallel, divisors=divisors)
        if own.parallel > 1:
            raise UsageError("directives spread one dimension a level", hint="--spread 1, or --mode exact")
        has = None if op.mapping_attr is None else op.mapping_attr.data
        if isinstance(has, Clusters):
            said = to_maestro(has, op.nest)
            has = said if isinstance(said, Mapping) else None
        problem = problem_of(op.nest) if has is None else has.problem
        if problem is None:
            raise SourceError(
                f"{_named(op)} cannot be mapped: it is no layer in the terms of directives",
                location=location_of(op),
                hint="--mode exact maps any contraction",
            )
        return parity_task(problem, has, machine, own.levels, divisors=divisors)

    def _require_searchable(self, task: SearchTask, op: ContractOp) -> None:
        refusal = self.algorithm.refusal(request_of(task, self.settings))
        if refusal is not None:
            raise UsageError(f"{_named(op)} {refusal.reason}", hint=refusal.hint)

    def run(
        self, title: str, source: str, advance: Callable[[int], None], jobs: int = 1, resume: str | None = None
    ) -> Ended:
        """
        Search in so many processes, and write the best mapping of every contraction into the module.

        `resume` is the file of a record that the search continues, and begins where there is none; `advance` is told
        how many candidates were evaluated, first how many the record had. Where the search is interrupted, the result
        has the best so far. Raises `CapacityError` where no mapping fits the buffers.
        """
        tasks = tuple(task for task, _ in self.distinct.values())
        with recorded(tasks, self.settings, resume) as searcher:
            before = searcher.done
            advance(before)
            outcomes, interrupt = searcher.run(jobs, advance)
        found = self._found(outcomes, interrupt)
        numbers = {key: number for number, key in enumerate(self.distinct)}
        rows: list[MappedRow] = []
        for op in self.contracts:
            number = numbers[self._key(op)]
            rows.append(MappedRow(layer_of(op), role_of(op).value, repeat_of(op), op.nest.macs, number))
        for op, row in zip(self.contracts, rows, strict=True):
            op.mapping_attr = found[row.number].mapping
        machine, own, interrupted = self.machine, self.settings, interrupt is not None
        name, rowed = self.hardware.name, tuple(rows)
        result = SearchResult(
            title, source, name, machine.mode, machine.peak, own, rowed, found, interrupted, self.rules
        )
        return Ended(result, interrupt, before)

    def _found(self, outcomes: list[Outcome], interrupt: KeyboardInterrupt | None) -> tuple[Found, ...]:
        found: list[Found] = []
        for outcome, (task, op) in zip(outcomes, self.distinct.values(), strict=True):
            one = self._of(outcome, task, op)
            if one is None and interrupt is not None:
                interrupt.add_note(f"no mapping of {_named(op)} was found that fits the machine's buffers")
                raise interrupt
            if one is None:
                count = outcome.best.evaluations
                none, more = (f"none of {count:,} mappings", ", or a larger --budget") if count else ("no mapping", "")
                raise CapacityError(
                    f"{_named(op)}: {none} fits the machine's buffers",
                    location=location_of(op),
                    hint=f"a larger {self.machine.l1_key} or {self.machine.l2_key}{more}",
                )
            found.append(one)
        return tuple(found)

    def _of(self, outcome: Outcome, task: SearchTask, op: ContractOp) -> Found | None:
        """The result of a contraction; None where no mapping fits."""
        best, machine, objective = outcome.best, self.machine.for_contraction(op), self.settings.objective
        if best.cost is None or best.found is None:
            return None
        default = task.default()
        # Not the limits of the search, which are wider where directives can express no mapping that fits.
        machine_limits = Limits(machine.l1_size, machine.l2_size)
        return Found(
            default,
            best.cost,
            task.attribute(best.found),
            best.evaluations,
            tuple(best.curve),
            default_allowed=task.allows_default,
            default_fits=default is not None and bool(machine_limits.fit(default.costs, objective)[0]),
            fits=bool(machine_limits.fit(best.cost.costs, objective)[0]),
            bound=outcome.bound,
        )


def _named(op: ContractOp) -> str:
    return f"{layer_of(op) or 'a contraction'} ({role_of(op).value})"
