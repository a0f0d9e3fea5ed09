"""
The totals of one program on many machines: the iteration and its plans are made once for all, timelines for many at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

from npuc.backends.operations import sparsity_warnings
from npuc.backends.roofline.iteration.steps import Conventions, least_rows
from npuc.backends.roofline.options import NAME, RooflineOptions, check_rows, read_options, resolved
from npuc.backends.roofline.planning import Planner
from npuc.backends.roofline.summary import iteration_facts, lane_totals
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.report import Report
from npuc.compiler.report.sections import ProgramFacts, columns
from npuc.hardware import Hardware

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

Found = Report | CapacityError
TOGETHER = 256
"""The most machines whose timelines are made at once: others wait for them."""


class Model(Protocol):
    """What a model says of a program on a machine besides its costs."""

    program: Literal["forward", "lowered"]

    def remarks(self, hardware: Hardware) -> list[str]:
        """Of keys of the machine."""
        ...

    def skipped(self, module: ModuleOp, hardware: Hardware, options: RooflineOptions) -> list[str]:
        """Of zeros that are not skipped."""
        ...


@dataclass
class ManyMachines:
    """A program that is scored on many machines, by `model`; what they share is kept from call to call."""

    model: Model
    planner: Planner
    dense: str
    _least: dict[Conventions, tuple[int, str]] = field(default_factory=dict[Conventions, tuple[int, str]])

    def scores(self, machines: Sequence[Hardware]) -> Iterator[Found]:
        """
        The totals on each machine, in order and without rows, each as soon as it is known.

        A machine whose cache is too small yields the error. Raises as `score` otherwise.
        """
        choices = [read_options(machine) for machine in machines]
        groups: dict[RooflineOptions, list[int]] = {}
        for number, options in enumerate(choices):
            groups.setdefault(options.without_sizes(), []).append(number)
        answers = {key: self._group(numbers, machines, choices) for key, numbers in groups.items()}
        found: dict[int, Found] = {}
        for number, options in enumerate(choices):
            while number not in found:
                found.update([next(answers[options.without_sizes()])])
            yield found.pop(number)

    def _group(
        self, numbers: Sequence[int], machines: Sequence[Hardware], choices: Sequence[RooflineOptions]
    ) -> Iterator[tuple[int, Found]]:
        """The answers for machines that differ in capacity and speeds alone, each with the machine's number."""
        for first in range(0, len(numbers), TOGETHER):
            fitting: list[int] = []
            for number in numbers[first : first + TOGETHER]:
                error = self._too_small(choices[number], machines[number])
                if error is None:
                    fitting.append(number)
                else:
                    yield number, error
            yield from self._fitting(fitting, machines, choices)

    def _too_small(self, options: RooflineOptions, machine: Hardware) -> CapacityError | None:
        """The error of a machine whose cache does not hold a row of each tensor of a layer."""
        if options.conventions not in self._least:
            self._least[options.conventions] = least_rows(self.planner.trace(options.conventions).iteration)
        try:
            check_rows(*self._least[options.conventions], options.capacity, machine.name)
        except CapacityError as error:
            return error
        return None

    def _fitting(
        self, numbers: Sequence[int], machines: Sequence[Hardware], choices: Sequence[RooflineOptions]
    ) -> Iterator[tuple[int, Report]]:
        """The same for machines that fit."""
        waiting = iter(numbers)
        for plan, times in self.planner.planned([choices[number] for number in numbers]):
            own = [next(waiting) for _ in plan.capacity]
            lanes = [choices[number] for number in own]
            totals, every = lane_totals(plan, times, lanes), iteration_facts(plan, times, lanes)
            for lane, (number, one, facts) in enumerate(zip(own, totals, every, strict=True)):
                options, machine = lanes[lane], machines[number]
                nearness, capacity = self.planner.nearness(options.conventions), options.capacity
                bound = nearness.facts(plan, times, lane, capacity, options) if options.bound else None
                native = columns(ProgramFacts(program=self.model.program), facts, bound)
                warnings = [*nearness.remarks(capacity)] if options.optimal else []
                warnings += [*self._sparse, *self.model.remarks(machine)]
                warnings += self.model.skipped(self.planner.module, machine, options)
                hardware = resolved(machine).as_dict()
                yield (
                    number,
                    Report(backend=NAME, hardware=hardware, totals=one, ops=[], native=native, warnings=warnings),
                )

    @cached_property
    def _sparse(self) -> list[str]:
        """What is said of sparsity that does not count."""
        return sparsity_warnings(self.planner.module.walk(), self.dense)


Scores = Callable[[Sequence[Hardware]], Iterator[Found]]
"""What scores a program on machines."""
