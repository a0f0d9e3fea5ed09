"""
The study of interleaved gradient orders, repeated: nine networks, two NPUs, four steps; cores, bandwidths, batches.

Times are those of the matrix products alone, forward and backward, over the same of the sequential program. The mean
over the networks is arithmetic, as in the paper.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from npuc.compiler.analysis.machine import Machine
from npuc.compiler.study.igo.lru import LruCosts
from npuc.compiler.study.igo.networks import MODELS, Product, workloads
from npuc.compiler.study.igo.products import Size
from npuc.compiler.study.igo.settings import AVERAGE, SETTINGS, STEPS, Setting, published
from npuc.compiler.study.igo.times import Costs, LayerTimes, layer_times

PRESETS: Mapping[str, Callable[[Machine], Costs]] = {"lru": LruCosts}
"""The assumptions that the study may rest on, by name."""


@dataclass(frozen=True)
class Row:
    """A time over the sequential program's, ours and the paper's; `gb_per_s` and `batch` are those of a core."""

    npu: str
    cores: int
    gb_per_s: float
    batch: int
    step: str
    model: str
    ours: float
    published: float | None


@dataclass(frozen=True)
class Study:
    """The rows, setting by setting, step by step, model by model with the mean at the end."""

    preset: str
    rows: tuple[Row, ...]

    def of(self, setting: Setting, step: str) -> dict[str, Row]:
        """The rows of a step in a setting by model."""
        key = (setting.npu, setting.cores, setting.gb_per_s, setting.batch, step)
        return {r.model: r for r in self.rows if (r.npu, r.cores, r.gb_per_s, r.batch, r.step) == key}


Layers = Sequence[tuple[int, LayerTimes]]
"""The layers of a network: how often, and their times."""


def run_study(
    preset: str = "lru",
    settings: Sequence[Setting] = SETTINGS,
    models: Sequence[str] = tuple(MODELS),
    done: Callable[[Setting, str], None] = lambda setting, model: None,
) -> Study:
    """The study, or a part of it; `done` is told of each setting and model when it is done."""
    rows: list[Row] = []
    for setting in settings:
        costs = PRESETS[preset](setting.machine)
        known: dict[tuple[Size, bool], LayerTimes] = {}
        networks: dict[str, Layers] = {}
        for model in models:
            networks[model] = _layers(costs, workloads()[setting.npu, model], setting.scale, known)
            done(setting, model)
        rows += _rows(setting, networks)
    return Study(preset, tuple(rows))


def _layers(
    costs: Costs, products: Sequence[Product], scale: Fraction, known: dict[tuple[Size, bool], LayerTimes]
) -> Layers:
    """The layers of a network; `known` are times by size."""
    layers: list[tuple[int, LayerTimes]] = []
    for product in products:
        key = Size(int(product.m * scale), product.n, product.k), product.has_dx
        if key not in known:
            known[key] = layer_times(costs, *key)
        layers.append((product.count, known[key]))
    return layers


def _rows(setting: Setting, networks: Mapping[str, Layers]) -> Iterator[Row]:
    for step in STEPS:
        ours = {model: float(_total(layers, step) / _total(layers, "sequential")) for model, layers in networks.items()}
        ours[AVERAGE] = sum(ours.values()) / len(ours)
        for model, value in ours.items():
            yield Row(
                setting.npu,
                setting.cores,
                setting.gb_per_s,
                setting.batch,
                step,
                model,
                value,
                published(setting, step, model),
            )


def _total(layers: Layers, step: str) -> Fraction:
    return sum((count * times.step(step) for count, times in layers), Fraction(0))
