"""The backend `roofline`, with one row per step: the forward or the backward of a layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from npuc.backends.base import Answer, Backend, MachineView, Question
from npuc.backends.operations import shared_over_units, sparsity_warnings
from npuc.backends.roofline.iteration.build import iteration_of
from npuc.backends.roofline.iteration.repeats import sharing_problem
from npuc.backends.roofline.iteration.steps import Conventions, Iteration, least_rows
from npuc.backends.roofline.keys import KEYS
from npuc.backends.roofline.knobs import KNOBS, time_parts
from npuc.backends.roofline.lowered.steps import lowered_iteration_of
from npuc.backends.roofline.lowered.units import WORK
from npuc.backends.roofline.many import ManyMachines, Scores
from npuc.backends.roofline.options import NAME, RooflineOptions, check_rows, peak_remarks, read_options, resolved
from npuc.backends.roofline.planning import Planner
from npuc.backends.roofline.rows import plan_rows
from npuc.backends.roofline.summary import iteration_facts
from npuc.backends.roofline.words import WORDS
from npuc.backends.sparse import skip_warnings, without_array
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.report import OpRow, Report, make_report
from npuc.compiler.report.causes import Parts
from npuc.compiler.report.sections import ProgramFacts, columns
from npuc.dialects.npu import ConstantOp, ContractOp, InterleaveOp, ViewOp, YieldOp
from npuc.dialects.train.base import TrainOp
from npuc.hardware import Hardware

DENSE = "this model's layers compute dense products"
FREE = (ViewOp, ConstantOp, FuncOp, ReturnOp, ModuleOp)
OF_FORWARD_GRAPH = (
    "roofline.sgd",
    "roofline.order",
    "roofline.backward",
    "roofline.loss",
    "roofline.update",
    "roofline.compat",
    "roofline.master_bytes",
)
"""Keys that say how an iteration is made of a forward graph."""


class RooflineBackend(Backend):
    """A whole iteration under a near-optimal software-managed cache: Belady plan, prefetch, one bus to memory."""

    name = NAME
    level = "train"
    keys = KEYS
    knobs = KNOBS
    words = WORDS
    default_hardware = "rtx2080ti"
    derives_backward = True
    beside_totals = ("roofline.bound",)
    program: Literal["forward", "lowered"] = "forward"

    def lowered(self) -> Backend:
        """The model of lowered programs."""
        return LOWERED

    def check(self, hardware: Hardware) -> None:
        """Raise `UsageError` for the keys that are missing."""
        read_options(hardware)

    def machine_view(self, hardware: Hardware) -> MachineView:
        """The roof: peak, bus and cache."""
        options = read_options(hardware)
        return MachineView(
            operations=options.tflops * 1e12,
            ops_per_mac=options.conventions.ops_per_mac,
            bytes_per_second=options.gb_per_s * 1e9,
            memory_bytes=options.capacity,
            memory="cache",
        )

    def read(self, func: FuncOp, conventions: Conventions) -> Iteration:
        """The steps of a function."""
        return iteration_of(func, conventions)

    def remarks(self, hardware: Hardware) -> list[str]:
        """What a report says of keys of the machine that have no effect, or contradict each other."""
        return peak_remarks(hardware)

    def skipped(self, module: ModuleOp, hardware: Hardware, options: RooflineOptions) -> list[str]:
        """What a report says of zeros that are not skipped."""
        return skip_warnings(module.walk(), resolved(hardware), without_array(options.conventions.skipping))

    def explain(self, question: Question) -> Answer:
        """The steps of a layer."""
        from npuc.backends.roofline.explain import answer

        return answer(question)

    def time_parts(self, row: OpRow) -> Parts:
        """The seconds of a row by cause."""
        return time_parts(row)

    def supports(self, op: Operation) -> str | None:
        """None for operations of the train level whose runs, where there are several, can be told apart."""
        if isinstance(op, (TrainOp, FuncOp, ReturnOp, ModuleOp)):
            return sharing_problem(op)
        return "it is not an operation of the train level"

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """
        The report of a forward graph, whose backward the model derives itself, or of a step that has its own backward.

        Raises `UsageError` for a missing key, and `CapacityError` for a cache that does not hold a row of each tensor
        of a layer.
        """
        options, planner = read_options(hardware), Planner(module, self.read)
        trace = planner.trace(options.conventions)
        check_rows(*least_rows(trace.iteration), options.capacity, hardware.name)
        ((plan, times),) = planner.planned([options])
        (facts,) = iteration_facts(plan, times, [options])
        nearness = planner.nearness(options.conventions)
        bound = nearness.facts(plan, times, 0, options.capacity, options) if options.bound else None
        warnings = [*nearness.remarks(options.capacity)] if options.optimal else []
        warnings += [*sparsity_warnings(module.walk(), DENSE), *self.remarks(hardware)]
        warnings += self.skipped(module, hardware, options)
        program = ProgramFacts(program=self.program)
        rows = plan_rows(plan, times, options)
        native = columns(program, facts, bound)
        return make_report(NAME, resolved(hardware).as_dict(), rows, native=native, warnings=warnings)

    def score_many(self, module: ModuleOp, machines: Sequence[Hardware]) -> Iterator[Report | CapacityError]:
        """
        The totals on many machines, in their order and without rows; the iteration and its plans are computed once.

        A machine whose cache is too small yields the error. Raises as `score` otherwise.
        """
        yield from self.scorer(module)(machines)

    def scorer(self, module: ModuleOp) -> Scores:
        """`score_many` of a program, which keeps the iteration and its plans from call to call."""
        return ManyMachines(self, Planner(module, self.read), DENSE).scores


class LoweredRoofline(RooflineBackend):
    """The same model of the program that other backends score, one row an operation."""

    level = "npu"
    derives_backward = False
    program = "lowered"

    def read(self, func: FuncOp, conventions: Conventions) -> Iteration:
        """The steps of a function."""
        return lowered_iteration_of(func, conventions)

    def supports(self, op: Operation) -> str | None:
        """None for operations of the npu level without a mapping."""
        if (shared := shared_over_units(op)) is not None:
            return shared
        if isinstance(op, ContractOp) and op.mapping_attr is not None:
            return "it has a mapping, which this backend does not follow"
        if (problem := sharing_problem(op)) is not None:
            return problem
        if isinstance(op, (ContractOp, InterleaveOp, YieldOp, *WORK, *FREE)):
            return None
        return "it is not an operation of the npu level (contractions, vector work, moves, views, constants)"

    def needs_schedules(self, hardware: Hardware) -> bool:
        """Tensors are cached whole, whatever the loops."""
        return False

    def remarks(self, hardware: Hardware) -> list[str]:
        """What a report says besides of conventions that a lowered program leaves no room for."""
        written = [key for key in OF_FORWARD_GRAPH if hardware.written(key)]
        verb = "has" if len(written) == 1 else "have"
        unread = [f"{', '.join(written)} {verb} no effect on a lowered program"] if written else []
        return [*super().remarks(hardware), *unread]


BACKEND = RooflineBackend()
LOWERED = LoweredRoofline()
