"""
Explains the plan of a program for many devices, layer by layer.

    report = explain_plan(open_source("samples:bert_base"), {"devices": 16, "parallel": "hypar"})

The analysis is `compiler/analysis/sharding/search/attribution.py`; this module adds the program, names and errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.passes import ModulePass

from npuc.backends.base import DEFAULT
from npuc.backends.registry import get_backend
from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph, placement_of
from npuc.compiler.analysis.sharding.reference.strategies import has_cuts
from npuc.compiler.analysis.sharding.search.attribution import Explainer, MovementPart, Other
from npuc.compiler.analysis.sharding.search.planning import Planned, unique_names
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import CompileKeywords, Options, names_three_types
from npuc.compiler.core.verify import SourceTexts, error_at, the_function
from npuc.compiler.distributed.plan import CUTS_SHOWN, TABLE_TYPE, TYPES_SHOWN, exact_number, movement
from npuc.compiler.driver.devices import check_network, parallel_passes, without_loss
from npuc.compiler.driver.levels.asked import with_plan
from npuc.compiler.driver.machine import machine_for
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.passes import available_passes, own_passes, passes_by_hand, read_pipeline, run_pipeline
from npuc.compiler.driver.precision import precision_passes
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.running.lower import stamp_default_target
from npuc.compiler.driver.score import network_name, version
from npuc.compiler.report.plan import PlanLayer, PlanOther, PlanPart, PlanReport
from npuc.compiler.transforms.autodiff.undo import undo_autodiff
from npuc.compiler.transforms.parallelize import ParallelizePass, float_bytes_of
from npuc.compiler.transforms.parallelize.divisible import check_divides
from npuc.dialects.distributed import Mesh, mesh_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import is_differentiated
from npuc.frontends.mlir import make_context
from npuc.frontends.source import Source
from npuc.hardware import Hardware

Choose = Callable[[Sequence[str]], int]
"""The number of the layer that is meant, of the names of all."""


def explain_plan(source: Source, keywords: CompileKeywords, choose: Choose | None = None) -> PlanReport:
    """
    The plan of a network for `devices` by the strategy `parallel` under a `convention`: all layers, or that one.

    It is that of a program: a plan with an indivisible cut is refused as by `npuc compile`. What is best where all else
    adapts is said of a single layer, and of all where it is found exactly. Raises `NpucError`s.
    """
    with without_cycle_collection():
        return _explain_plan(source, options_of(keywords), choose)


def _explain_plan(source: Source, options: Options, choose: Choose | None) -> PlanReport:
    if options.plan_objective == "time":
        raise UsageError(
            "a plan for time is searched by npuc compile: explained are plans for bytes and for memory",
            hint="--plan-objective bytes",
        )
    sources = texts_of(source)
    module = read_program(source, options, sources)
    machine = machine_for(get_backend(DEFAULT), options, source.format)
    stamp_default_target(module, options)
    passes = _passes_before(options, machine)
    types = precision_passes(module, passes, machine.get("precision", str), options.precision, [])
    run_pipeline(module, [*types, *passes], make_context(), sources, told_of=passes_by_hand(options))
    func = forward_function(module, sources)
    if options.inference:
        without_loss(module)
    width = float_bytes_of(module)
    graph, edges, planned = _planned(func, width, options, machine, sources)
    explainer = Explainer(graph, edges, planned, width)
    names = unique_names([group.name for group in graph.groups])
    numbers = range(len(names)) if choose is None else [choose(names)]
    writer = _Writer(explainer, names, adapts=choose is not None or explainer.is_narrow(), alone=choose is not None)
    bound = planned.bound
    return PlanReport(
        npuc=version(),
        source=source.shown,
        network=network_name(module),
        defines=dict(options.defines),
        strategy=planned.strategy,
        convention=planned.convention,
        devices=prod(planned.sizes),
        total=movement(planned.total, explainer.bytes),
        lower_bound_elements=None if bound is None else exact_number(bound),
        sources=[writer.part(part) for part in explainer.sources()],
        layers=[writer.layer(number) for number in numbers],
        training=graph.program.trains,
    )


def _passes_before(options: Options, machine: Hardware) -> list[ModulePass]:
    """The passes of -p in front of the one that shares the step, which change what is planned."""
    if options.pipeline is None:
        return []
    available = available_passes(options.load)
    steps = [str(one) for one in read_pipeline(options.pipeline, available)]
    found = read_pipeline(",".join(with_plan(steps, options, machine)), available)
    return found[: next(n for n, one in enumerate(found) if isinstance(one, ParallelizePass))]


def _planned(
    func: FuncOp, width: int | None, options: Options, machine: Hardware, sources: SourceTexts
) -> tuple[PlanGraph, PlanEdges, Planned]:
    """The plan that compiling with these options takes, by the pass that takes it. Raises what it raises."""
    (step,) = read_pipeline(",".join(parallel_passes(options, machine)), own_passes())
    assert isinstance(step, ParallelizePass)
    check_network([step], machine)
    with sources.quoted():
        graph, edges, planned = step.plan(func, width)
        check_divides(func, graph, planned.sequences, Mesh(planned.sizes))
    return graph, edges, planned


def forward_function(module: ModuleOp, sources: SourceTexts) -> FuncOp:
    """The forward function of a program of one device and one function. Raises `SourceError` for what is none."""
    func = the_function(module)
    lowered = next((op for op in func.body.block.ops if not isinstance(op, TrainOp | ReturnOp)), None)
    if lowered is not None:
        raise error_at(
            lowered, f"found {lowered.name}, expected train operations", sources, "explain the source itself"
        )
    if (mesh := mesh_of(func)) is not None:
        raise error_at(func, f"found a program of {mesh.devices:,} devices, expected one of one", sources)
    if is_differentiated(func):
        undo_autodiff(func, "explain")
    return func


class _Writer:
    """Layers of a plan as the report has them."""

    def __init__(self, explainer: Explainer, names: Sequence[str], *, adapts: bool, alone: bool):
        self.explainer = explainer
        self.names = names
        self.adapts = adapts
        self.alone = alone
        strategy, convention = explainer.planned.strategy, explainer.planned.convention
        self.three, self.has_cuts = names_three_types(strategy), has_cuts(strategy, convention)

    def layer(self, group: int) -> PlanLayer:
        """A layer by the number of its node."""
        explainer = self.explainer
        parts = explainer.parts(group)
        return PlanLayer(
            layer=self.names[group],
            weights=self._has_weights(group),
            choices=self._types(group, explainer.planned.sequences[group]),
            cuts=self._cuts(group, explainer.planned.sequences[group]),
            parts=[self.part(part) for part in parts],
            total=movement(
                sum((part.elements for part in parts), start=Fraction(0)),
                sum((part.bytes for part in parts), start=Fraction(0)),
            ),
            other=self._other(group, explainer.best_other(group)),
            adapted=self._other(group, explainer.best_adapted(group, whole=self.alone) if self.adapts else None),
        )

    def part(self, part: MovementPart) -> PlanPart:
        """A source of movement."""
        return PlanPart(
            what=part.what,
            maker=None if part.producer is None else self.names[part.producer],
            levels=[exact_number(amount) for amount in part.levels],
            total=movement(part.elements, part.bytes),
        )

    def _types(self, group: int, sequence: TypeSequence) -> list[str]:
        if self.three:
            return list(sequence)
        shown = TYPES_SHOWN if self._has_weights(group) else TYPES_SHOWN | {"III": "III"}
        return [shown.get(type, type) for type in sequence]

    def _cuts(self, group: int, sequence: TypeSequence) -> list[str | None] | None:
        if (placed := placement_of(self.explainer.graph, group)) is not None:
            return [placed if type == TABLE_TYPE else CUTS_SHOWN.get(type) for type in sequence]
        return [CUTS_SHOWN.get(type) for type in sequence] if self.has_cuts and self._has_weights(group) else None

    def _has_weights(self, group: int) -> bool:
        return self.explainer.graph.groups[group].kind is not None

    def _other(self, group: int, other: Other | None) -> PlanOther | None:
        if other is None:
            return None
        return PlanOther(
            choices=self._types(group, other.sequence),
            cuts=self._cuts(group, other.sequence),
            total=movement(other.elements, other.bytes),
            lower_bound_elements=exact_number(other.bound),
        )
