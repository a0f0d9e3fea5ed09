"""The study: for each network, step and area the best design of each optimiser, and how much faster ours is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, astuple, dataclass
from functools import cache
from math import exp, fsum, log, prod

import numpy as np

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.driver.score import version
from npuc.compiler.explore.design.budget import Budget, area_model
from npuc.compiler.explore.design.energy import access_energy
from npuc.compiler.explore.design.explore import Course, Searched, explore
from npuc.compiler.explore.design.goal import Goal
from npuc.compiler.explore.design.scored import designed_machines
from npuc.compiler.explore.design.search import FoundDesign
from npuc.compiler.explore.design.task import DesignTask, task_of
from npuc.compiler.explore.mapping.record import RecordFile, RecordKind, append_costs
from npuc.compiler.explore.seeds import generator
from npuc.compiler.explore.workers import answers
from npuc.frontends.source import Source, open_source
from npuc.hardware import Hardware, load_hardware, machine_constraints
from npuc.hardware.area import MODEL
from npuc.studies.base import Advance
from npuc.studies.digamma.encoding import LEVELS, DesignCode
from npuc.studies.digamma.optimisers import CMA_ES, OPTIMISERS, cmaes_package
from npuc.studies.digamma.settings import (
    AREA_MODEL,
    AREAS,
    BATCH,
    HARDWARE,
    NETWORKS,
    OURS,
    PUBLISHED,
    PUBLISHED_EVALUATIONS,
    SEED,
    Step,
)

METHODS = (*OPTIMISERS, OURS)
RECORDS = RecordKind("study digamma", "network, machine, number of evaluations, or version", "-j and outputs")


@dataclass(frozen=True)
class SearchCase:
    """A search: a network (its name and source), its step, an area by name and in mm2, and the optimiser."""

    network: str
    source: str
    step: Step
    budget: str
    area_mm2: float
    method: str
    evaluations: int
    hardware: str


@dataclass(frozen=True)
class DesignRow:
    """The best design of a search, in a whole step; sizes of buffers in bytes, `energy` in MACs' worth."""

    network: str
    step: str
    budget: str
    area_limit_mm2: float
    method: str
    evaluations: int
    cycles: int
    energy: float
    area_mm2: float
    clusters: int
    elements: int
    l1_bytes: int
    l2_bytes: int


@dataclass(frozen=True)
class SpeedupRow:
    """
    How many times as fast as the best other optimiser's our design is; `note` says which one that is, or how many
    designs were evaluated: with fewer than the published, nothing is `reproduced`.
    """

    claim: str
    setting: str
    published: float | None
    ours: float
    tolerance: float | None
    reproduced: bool | None
    note: str


@dataclass(frozen=True)
class DigammaResults:
    """The designs, our gains by network with their geometric means, and warnings for the user."""

    preset: str
    evaluations: int
    designs: tuple[DesignRow, ...]
    rows: tuple[SpeedupRow, ...]
    warnings: tuple[str, ...] = ()


def plan_points(
    steps: Sequence[Step], networks: Sequence[str], area_mm2: float | None, evaluations: int, hardware: str | None
) -> list[SearchCase]:
    """The searches; networks are names or sources, empty: DiGamma's."""
    named = {one: NETWORKS.get(one, one) for one in networks} or NETWORKS
    areas = AREAS if area_mm2 is None else {f"{area_mm2:g} mm2": area_mm2}
    return [
        SearchCase(name, source, step, budget, area, method, evaluations, hardware or HARDWARE)
        for step in steps
        for budget, area in areas.items()
        for name, source in named.items()
        for method in METHODS
    ]


def run_study(
    preset: str, points: Sequence[SearchCase], done: Advance, jobs: int, resume: str | None
) -> DigammaResults:
    """
    Run the searches that a record does not have, in so many processes. Raises `NpucError`s, those of sources and of the
    machine before any search.
    """
    lowered_step.cache_clear()  # files may have changed
    steps = dict.fromkeys((one.network, one.source, one.step, one.hardware) for one in points)
    warnings = dict.fromkeys(text for one in steps for text in lowered_step(*one).warnings)
    with ExitStack() as stack:
        keys, known = dict[SearchCase, str](), dict[str, Floats]()
        if resume is not None:
            keys = {one: _key(one) for one in points}
            known = stack.enter_context(RecordFile(resume, keys.values(), RECORDS)).costs
        found = {one: known[key] for one, key in keys.items() if key in known}
        if found:
            done("study digamma", len(found))
        left = [one for one in points if one not in found]
        if any(one.method == CMA_ES for one in left):
            cmaes_package()  # said now, not when its turn comes
        for point, values in zip(left, _answers(left, jobs), strict=False):
            found[point] = values
            if resume is not None:
                append_costs(resume, keys[point], 0, values)
            done(f"{point.network}, {point.step}, {point.budget}, {point.method}", 1)
    designs = tuple(_row(one, found[one]) for one in points)
    return DigammaResults(preset, points[0].evaluations, designs, tuple(gains(designs)), tuple(warnings))


def _answers(points: Sequence[SearchCase], jobs: int) -> Iterator[Floats]:
    return map(best_of, points) if jobs == 1 else answers(points, best_of, jobs)


def _key(point: SearchCase) -> str:
    """A hash of all that a search depends on."""
    content = version(), astuple(point), SEED, _read(point.source, point.hardware)
    return hashlib.sha256(repr(content).encode()).hexdigest()[:32]


def _read(source: str, hardware: str) -> tuple[object, ...]:
    """What a source and a machine are, by their content."""
    return open_source(source).fingerprint(), load_hardware(hardware).values


@dataclass(frozen=True)
class LoweredStep:
    """The contractions of a network's step, the machine, and warnings for the user."""

    task: DesignTask
    machine: Hardware
    warnings: tuple[str, ...]


@cache
def lowered_step(network: str, source: str, step: Step, hardware: str) -> LoweredStep:
    """A step as it is lowered, with areas by DiGamma's formula; processes that search have those of their parent."""
    opened, given = open_source(source), load_hardware(hardware)
    defines, warnings = _batch(opened, step)
    options: CompileKeywords = {
        "inference": step == "inference",
        "hardware": hardware,
        "overrides": {MODEL: AREA_MODEL},
        "defines": defines,
    }
    module, machine = lowered_module(opened, get_backend("maestro"), options, None, warnings)
    texts = [f"{network}, {step}: {text}" for text in warnings]
    if machine_constraints(machine):
        texts.append(f"the constraints of {machine.name} do not restrict the machines of the study, nor their mappings")
    model = given.get(MODEL, str) if given.written(MODEL) else AREA_MODEL
    if model != AREA_MODEL:
        texts.append(f"{MODEL} of {given.name} is not read: areas are by {AREA_MODEL}, as published, not by {model}")
    return LoweredStep(task_of(module, machine, LEVELS, divisors=True), machine, tuple(texts))


def _batch(source: Source, step: Step) -> tuple[dict[str, int], list[str]]:
    """The batch of a step where it is not the network's own, and what is said of a network that cannot have it."""
    batch, parameters = BATCH.get(step), source.frontend.parameters(source)
    if batch is None:
        return {}, []
    if parameters is not None and "batch" in parameters.names:
        return {"batch": batch}, []
    return {}, [f"the network has no parameter 'batch', so that its batch stays as it is, not {batch}"]


def best_of(point: SearchCase) -> Floats:
    """The best design of a search, as the backend scores it, which is what the search has."""
    step = lowered_step(point.network, point.source, point.step, point.hardware)
    task, machine = step.task, step.machine
    budget = Budget(area_model(machine, float(task.width)), point.area_mm2)
    energy = access_energy(machine)
    if point.method == OURS:
        # as many mappings of contractions as the points of the others have
        course = Course(point.evaluations * len(task.works), SEED, lambda count: None)
        searched = explore(task, budget, energy, [Goal("time")], course, area=False)
    else:
        best = optimised(DesignCode(task, budget, energy), point.method, point.evaluations)
        if best is None:
            raise CapacityError(f"{point.method} found no machine of {point.area_mm2:g} mm2 for {point.network}")
        searched = Searched((best,), point.evaluations, 0.0, ())
    (one,) = designed_machines(task, machine, searched)
    return np.array([one.cycles, one.energy, one.area_mm2, one.l1_bytes, one.spm_bytes, *one.clusters], float)


def optimised(code: DesignCode, method: str, evaluations: int) -> FoundDesign | None:
    """The best design among so many points of an optimiser; None where none is a machine within the area."""
    optimiser = OPTIMISERS[method](code.size, generator(SEED, "digamma", method))
    best: FoundDesign | None = None
    least, left = np.inf, evaluations
    while left > 0:
        points = code.evaluate(optimiser.ask())
        counted = min(optimiser.tell(points.values), left)
        row = int(points.values[:counted].argmin())
        if points.values[row] < least:
            least, best = points.values[row], points.design(row)
        left -= counted
    return best


def _row(point: SearchCase, values: Floats) -> DesignRow:
    cycles, energy, area, l1, l2, *clusters = values.tolist()
    return DesignRow(
        point.network,
        point.step,
        point.budget,
        point.area_mm2,
        point.method,
        point.evaluations,
        int(cycles),
        energy,
        area,
        int(clusters[0]),
        int(prod(clusters)),
        int(l1),
        int(l2),
    )


def gains(designs: Sequence[DesignRow]) -> Iterator[SpeedupRow]:
    """Our gain over the best of the others in each case, and the geometric mean of each step and area."""
    groups: dict[tuple[str, str], list[float]] = {}
    cases: dict[tuple[str, str, str], dict[str, DesignRow]] = {}
    for one in designs:
        cases.setdefault((one.step, one.budget, one.network), {})[one.method] = one
    for (step, budget, network), rows in cases.items():
        best = min((rows[method] for method in OPTIMISERS), key=lambda one: one.cycles)
        ratio = best.cycles / rows[OURS].cycles
        groups.setdefault((step, budget), []).append(ratio)
        yield SpeedupRow(
            f"speed over the best other optimiser, {budget}", f"{network}, {step}", None, ratio, None, None, best.method
        )
    for (step, budget), ratios in groups.items():
        known = PUBLISHED.get(budget) if step == "inference" else None
        mean = exp(fsum(map(log, ratios)) / len(ratios))
        count = designs[0].evaluations
        note = f"at {count:,} designs each; published: at {PUBLISHED_EVALUATIONS:,}"
        networks = "1 network" if len(ratios) == 1 else f"{len(ratios)} networks"
        yield SpeedupRow(
            f"speed over the best other optimiser, {budget}",
            f"geometric mean of {networks}, {step}",
            known,
            mean,
            None,
            mean >= known if known is not None and count >= PUBLISHED_EVALUATIONS else None,
            note,
        )


def as_dicts(results: DigammaResults) -> dict[str, list[dict[str, object]]]:
    """The tables as plain data."""
    return {"rows": [asdict(one) for one in results.rows], "designs": [asdict(one) for one in results.designs]}
