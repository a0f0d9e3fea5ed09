"""
The study of interleaved gradient orders: nine networks, two NPUs, four steps; several cores, bandwidths and batches.

Times are those of the matrix products alone, forward and backward, relative to the sequential program's. The mean over
the networks is arithmetic, as in the paper.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from npuc.compiler.analysis.schedule.partition_knn import evaluate, labels
from npuc.studies.base import Advance
from npuc.studies.igo.claims import Layers, PremiseRow, claim_rows, step_rows, total
from npuc.studies.igo.labels import CHIPS
from npuc.studies.igo.layers import SPLIT, CostedLayer, LayerPoint, cost_layers, points_of
from npuc.studies.igo.networks import MODELS, StudyNetwork, study_networks, workloads
from npuc.studies.igo.own import NOTHING_OWN, Own, Scored
from npuc.studies.igo.rivals import RIVALS
from npuc.studies.igo.settings import AVERAGE, LARGE, SETTINGS, STEPS, Setting, published

Costed = Sequence[tuple[int, CostedLayer]]
"""The layers of a network: how often each occurs, and what it costs."""
GUARDED = "guarded"
"""The last step, except that a layer stays sequential where that is faster."""


@dataclass(frozen=True)
class TimeRow:
    """A time relative to the sequential program's, ours and the paper's; `gb_per_s` and `batch` are those of a core."""

    npu: str
    cores: int
    gb_per_s: float
    batch: int
    step: str
    model: str
    ours: float
    published: float | None


@dataclass(frozen=True)
class RivalRow:
    """A baseline of the gain (`rivals.py`): its time relative to the sequential program's."""

    npu: str
    program: str
    model: str
    ours: float


@dataclass(frozen=True)
class TrafficRow:
    """The DRAM traffic of a step on one core over that of the sequential program, forward and backward."""

    npu: str
    step: str
    model: str
    ours: float


@dataclass(frozen=True)
class PredictorRow:
    """The accuracy of the published predictor of partitions on held-out layers of a chip (`Evaluation`)."""

    npu: str
    cores: int
    accuracy: float
    regret: float
    predicted: float
    oracle: float


@dataclass(frozen=True)
class IgoResults:
    """
    The rows by setting, step and model, each step's mean over the models last; the baselines of one core likewise.
    Those of networks and rewrites of one's own (`own`) follow the study's; means are over the study's networks.

    `predictor` is there under the preset `lru` alone, whose partitions it learns; the share of backward in a whole step
    is among the `claims` of the preset `explicit` alone, whose machine is that of the backend.
    """

    preset: str
    rows: tuple[TimeRow, ...]
    lines: tuple[RivalRow, ...] = ()
    predictor: tuple[PredictorRow, ...] = ()
    traffic: tuple[TrafficRow, ...] = ()
    claims: tuple[PremiseRow, ...] = ()
    own: Own = NOTHING_OWN

    def of(self, setting: Setting, step: str) -> dict[str, TimeRow]:
        """The rows of a step in a setting by model."""
        key = (setting.npu, setting.cores, setting.gb_per_s, setting.batch, step)
        return {r.model: r for r in self.rows if (r.npu, r.cores, r.gb_per_s, r.batch, r.step) == key}


@dataclass(frozen=True)
class IgoPlan:
    """A study: its preset, settings, models, and the networks and rewrites of one's own."""

    preset: str = "lru"
    settings: Sequence[Setting] = SETTINGS
    models: Sequence[str] = tuple(MODELS)
    own: Own = NOTHING_OWN

    @property
    def count(self) -> int:
        """The number of times that something is done: distinct layers, whole steps, and networks with rewrites."""
        rewritten = len(self.models) + len(self.own.networks) if self.own.pipelines else 0
        return len(set(self.points)) + len(self.whole) + rewritten * len([s for s in self.settings if s in SPLIT])

    @property
    def points(self) -> Iterator[LayerPoint]:
        """The layers of all networks in all settings."""
        for setting in self.settings:
            for name in (*self.models, *(network.name for network in self.own.networks)):
                yield from (point for _, point in self.layers(setting, name))

    @property
    def whole(self) -> Sequence[StudyNetwork]:
        """The networks whose whole steps are scored: under the preset `explicit`, whose machine the backend has."""
        if self.preset != "explicit" or LARGE not in self.settings:
            return []
        return [one for one in study_networks() if one.npu == LARGE.npu and one.model in self.models]

    def layers(self, setting: Setting, name: str) -> Iterator[tuple[int, LayerPoint]]:
        """The layers of a network in a setting, and how often each occurs."""
        products = workloads().get((setting.npu, name)) or self.own.products[setting.npu, name]
        return points_of(setting, products)


def run_study(
    preset: str = "lru",
    settings: Sequence[Setting] = SETTINGS,
    models: Sequence[str] = tuple(MODELS),
    done: Advance = lambda name, count: None,
    own: Own = NOTHING_OWN,
    jobs: int = 1,
) -> IgoResults:
    """
    The study, or a part of it, with networks and rewrites of one's own, by `jobs` processes; `done` is called for each
    distinct layer of a setting, each whole step, and each network for which rewrites were scored.
    """
    plan = IgoPlan(preset, settings, models, own)
    costs = cost_layers(preset, plan.points, jobs, done)
    rows: list[TimeRow] = []
    lines: list[RivalRow] = []
    own_rows: list[TimeRow] = []
    own_lines: list[RivalRow] = []
    own_traffic: list[TrafficRow] = []
    npus: dict[Setting, Mapping[str, Layers]] = {}
    for setting in settings:
        found = {model: [(n, costs[at]) for n, at in plan.layers(setting, model)] for model in models}
        mine = {one.name: [(n, costs[at]) for n, at in plan.layers(setting, one.name)] for one in own.networks}
        networks, others = _layers(found), _layers(mine)
        rows += _rows(setting, networks)
        own_rows += _rows(setting, others, mean=False)
        if setting in SPLIT:
            lines += [line for model, layers in found.items() for line in _lines(setting, model, layers)]
            own_lines += [line for name, layers in mine.items() for line in _lines(setting, name, layers)]
            npus[setting] = networks
            own_traffic += _traffic(setting, others, mean=False)
            own_rows += _pipeline_rows(setting, models, own, done)
    predictor = tuple(_predictor(setting) for setting in settings if preset == "lru" and setting in CHIPS)
    claims = [*claim_rows(npus), *step_rows(plan.whole, jobs, done)]
    traffic = tuple(row for setting, networks in npus.items() for row in _traffic(setting, networks))
    all_lines = (*_with_means(lines), *own_lines)
    return IgoResults(preset, (*rows, *own_rows), all_lines, predictor, (*traffic, *own_traffic), tuple(claims), own)


def _pipeline_rows(setting: Setting, models: Sequence[str], own: Own, done: Advance) -> Iterator[TimeRow]:
    """The rewrites of one's own, of the study's networks with their mean and of those of one's own."""
    if not own.pipelines:
        return
    scored = Scored(setting)
    studied = {one.model: one for one in study_networks() if one.npu == setting.npu and one.model in models}
    found: dict[str, dict[str, float]] = {pipeline.name: {} for pipeline in own.pipelines}
    for name, network in (studied | {one.name: one for one in own.networks}).items():
        for pipeline in own.pipelines:
            found[pipeline.name][name] = scored.ratio(network, pipeline)
        done(f"{setting.title}: {name}", 1)
    for step, ours in found.items():
        yield from _time_rows(setting, step, _with_average(ours, tuple(studied)))


def _traffic(setting: Setting, networks: Mapping[str, Layers], *, mean: bool = True) -> Iterator[TrafficRow]:
    for step in STEPS:
        ours = {
            model: float(total(own, step).moved / total(own, "sequential").moved) for model, own in networks.items()
        }
        for model, value in (_with_average(ours, tuple(ours)) if mean else ours).items():
            yield TrafficRow(setting.npu, step, model, value)


def _predictor(setting: Setting) -> PredictorRow:
    found = evaluate(labels(setting.npu, setting.cores))
    return PredictorRow(setting.npu, setting.cores, found.accuracy, found.regret, found.predicted, found.oracle)


def _layers(networks: Mapping[str, Costed]) -> Mapping[str, Layers]:
    """The steps of each network's layers."""
    return {name: [(count, layer.steps) for count, layer in layers] for name, layers in networks.items()}


def _rows(setting: Setting, networks: Mapping[str, Layers], *, mean: bool = True) -> Iterator[TimeRow]:
    for step in STEPS:
        ours = {
            model: float(total(layers, step).time / total(layers, "sequential").time)
            for model, layers in networks.items()
        }
        yield from _time_rows(setting, step, _with_average(ours, tuple(ours)) if mean else ours)


def _time_rows(setting: Setting, step: str, ours: Mapping[str, float]) -> Iterator[TimeRow]:
    """The rows of a step, by model."""
    for model, value in ours.items():
        theirs = published(setting, step, model) if step in STEPS else None
        yield TimeRow(setting.npu, setting.cores, setting.gb_per_s, setting.batch, step, model, value, theirs)


def _with_average(ours: Mapping[str, float], models: Sequence[str]) -> dict[str, float]:
    """The values with the mean over some models behind these."""
    others = {model: value for model, value in ours.items() if model not in models}
    own = {model: ours[model] for model in models}
    return {**own, AVERAGE: sum(own.values()) / len(own), **others}


def _lines(setting: Setting, model: str, layers: Costed) -> Iterator[RivalRow]:
    steps = [(count, layer.steps) for count, layer in layers]
    sequential = total(steps, "sequential").time
    for program in RIVALS:
        ours = sum((count * layer.rivals[program] for count, layer in layers), Fraction(0))
        yield RivalRow(setting.npu, program, model, float(ours / sequential))
    yield RivalRow(setting.npu, GUARDED, model, float(total(steps, "guarded").time / sequential))


def _with_means(lines: Sequence[RivalRow]) -> Iterator[RivalRow]:
    for npu, program in dict.fromkeys((line.npu, line.program) for line in lines):
        own = [line for line in lines if (line.npu, line.program) == (npu, program)]
        yield from own
        yield RivalRow(npu, program, AVERAGE, sum(line.ours for line in own) / len(own))
