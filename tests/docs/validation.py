"""
The tables of docs/validation.md: npuc's model beside SCALE-Sim, between markers.

    python -m tests.docs.validation          writes them anew

CALC numbers are those of the compatibility mode, which equal SCALE-Sim's; USER numbers are runs of SCALE-Sim itself,
stored in tests/oracle/data/scalesim/runs.csv.
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from statistics import median

from npuc.backends.cycle.export import topology_files
from npuc.compiler import compile_source
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.report import OpRow
from npuc.frontends.source import open_source
from npuc.hardware import load_hardware
from tests.docs.pages import FOLDER, ROOT
from tests.docs.tables import filled

RUNS = ROOT / "tests" / "oracle" / "data" / "scalesim" / "runs.csv"
MACHINE = "scalesim"
PES = 32 * 32
WORD = 2
"""Bytes of npuc's words. SCALE-Sim's have one width, whatever it is; npuc's partial sums take two bytes at least."""
WORDS: dict[str, object] = {
    "memory.element_bytes": WORD,
    "array.accumulator_bits": 8 * WORD,
    "memory.spm_kib": WORD * 192,
    "dram.gb_per_s": WORD * 10,
}
MODELS: dict[str, dict[str, object]] = {
    "CALC": {"cycle.compat": "scalesim3"},
    "no waits": WORDS | {"dram.gb_per_s": 200_000},
    "per fold": WORDS,
    "npuc": WORDS | {"array.fill": "overlap"},
}
"""
SCALE-Sim's CALC mode; npuc with SCALE-Sim's folds, first with DRAM out of the way; npuc's default.

Each is what it changes of the preset `scalesim`.
"""
NETWORKS = {"resnet50": "ResNet-50", "bert_base": "BERT-base", "mobilenet_v2": "MobileNetV2"}
PHASES = {"forward": "forward", "dx": "dX", "dw": "dW"}
SHOWN = {
    "resnet50": ("stage1.1.conv1", "stage1.1.conv2", "stage3.1.conv1", "stage4.1.conv1", "logits"),
    "bert_base": ("encoder.0.attention.scores", "encoder.0.attention.q"),
    "mobilenet_v2": ("stage1.0.depthwise", "stage1.0.project", "stage7.0.depthwise", "stage7.0.expand"),
}
"""Layers with a row of their own."""
SWEEP = "128 x 128 x 128"


@dataclass(frozen=True)
class Run:
    """A run of SCALE-Sim on one product: what ran, kB of each buffer, mode, and the columns of its reports by name."""

    source: str
    layer: str
    sizes: tuple[str, ...]
    sram_kb: int
    mode: str
    columns: dict[str, int]

    @property
    def cycles(self) -> int:
        """Cycles as a count: SCALE-Sim prints the index of the last one."""
        return self.columns["total_cycles"] + 1

    @property
    def reads(self) -> int:
        """Words read from DRAM."""
        return self.columns["ifmap_dram_reads"] + self.columns["filter_dram_reads"]

    @property
    def moved(self) -> int:
        """Words read from DRAM and written to it."""
        return self.reads + self.columns["ofmap_dram_writes"]


@cache
def runs() -> tuple[Run, ...]:
    """The stored runs. One that did not end in time has no columns."""
    rows = csv.reader(RUNS.read_text(encoding="utf-8").splitlines())
    names = next(rows)[11:]
    return tuple(
        Run(row[0], row[1], tuple(row[2:9]), int(row[9]), row[10], dict(zip(names, map(int, filter(None, row[11:])))))
        for row in rows
    )


@dataclass(frozen=True)
class Product:
    """A product of a network: its sizes in SCALE-Sim's topology, and its rows by model."""

    sizes: tuple[str, ...]
    rows: dict[str, OpRow]

    @property
    def times(self) -> int:
        """How many equal ones the row is: channels, heads."""
        return int(str(self.rows["CALC"].native["products"]))

    def single(self, model: str, value: Callable[[OpRow], float | None]) -> float:
        """A quantity of one of them."""
        return (value(self.rows[model]) or 0) / self.times


@dataclass(frozen=True)
class Network:
    """A training step: its products, and the rows of npuc that are no products."""

    products: list[Product]
    others: list[OpRow]

    def phases(self) -> Iterator[tuple[str, list[Product], list[OpRow]]]:
        """The phases by name, then the whole step, updates too."""
        for phase, title in PHASES.items():
            yield (
                title,
                [p for p in self.products if p.rows["CALC"].phase == phase],
                [row for row in self.others if row.phase == phase],
            )
        yield "all", self.products, self.others


@cache
def network(name: str) -> Network:
    """The training step of a network at batch 1 in all models."""
    rows: dict[str, list[OpRow]] = {}
    sizes: list[tuple[str, ...]] = []
    others: list[OpRow] = []
    for model, overrides in MODELS.items():
        # The products one after another, as SCALE-Sim runs them.
        options: CompileKeywords = {
            "hardware": MACHINE,
            "defines": {"batch": 1},
            "overrides": overrides,
            "opt_level": 0,
        }
        result = compile_program(open_source(f"samples:{name}"), ["cycle"], options)
        rows[model] = [row for row in result.reports[0].ops if row.kind == "matrix"]
        others = [row for row in result.reports[0].ops if row.kind != "matrix"]
        if model == "CALC":
            lines = topology_files(result.modules[0], load_hardware(MACHINE)).files["topology.csv"].splitlines()
            sizes = [tuple(cell.strip() for cell in line.split(",")[1:8]) for line in lines[1:]]
    found = zip(sizes, *rows.values(), strict=True)
    return Network([Product(size, dict(zip(rows, each, strict=True))) for size, *each in found], others)


def total(rows: Iterable[OpRow], value: Callable[[OpRow], float | None]) -> float:
    """The sum over rows, each as often as it is repeated."""
    return sum(row.repeat * (value(row) or 0) for row in rows)


def words(model: str, count: float | None) -> float:
    """Words of a number of bytes: those of CALC have one."""
    return (count or 0) / (1 if model == "CALC" else WORD)


def moved(row: OpRow) -> int:
    """Bytes between DRAM and the scratchpad."""
    return (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)


def cycle_rows() -> Iterator[str]:
    """Cycles and utilisation of networks in all models, and what else a step does."""
    yield "| network | phase | GMAC | CALC | % | no waits | per fold | % | npuc | % | npuc / CALC | other work |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for name, title in NETWORKS.items():
        for phase, products, others in network(name).phases():
            macs = total((p.rows["CALC"] for p in products), lambda row: row.macs)
            cells = [f"{macs / 1e9:.3f}"]
            cycles = {m: total((p.rows[m] for p in products), lambda row: row.cycles) for m in MODELS}
            for model, count in cycles.items():
                cells += [_text(count)] if model == "no waits" else [_text(count), f"{100 * macs / PES / count:.1f}"]
            cells += [f"{cycles['npuc'] / cycles['CALC']:.2f}", _text(total(others, lambda row: row.cycles))]
            yield f"| {title} | {phase} | {' | '.join(cells)} |"


def traffic_rows() -> Iterator[str]:
    """DRAM words of networks in the three models, and the least that the products must move."""
    yield "| network | phase | CALC, read | written | per fold, read | written | npuc, read | written | least, both |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    ways: list[Callable[[OpRow], float | None]] = [lambda row: row.dram_read_bytes, lambda row: row.dram_write_bytes]
    for name, title in NETWORKS.items():
        for phase, products, _ in network(name).phases():
            cells = [
                words(model, total((p.rows[model] for p in products), way))
                for model in ("CALC", "per fold", "npuc")
                for way in ways
            ]
            cells.append(words("npuc", total((p.rows["npuc"] for p in products), lambda row: row.lower_bound_bytes)))
            yield f"| {title} | {phase} | {' | '.join(f'{cell / 1e6:,.2f}' for cell in cells)} |"


def layer_rows() -> Iterator[str]:
    """Some layers in all models: cycles and words moved, of all channels or heads."""
    yield "| layer | phase | product | CALC, cycles | USER | per fold | npuc | kwords, CALC | USER | npuc | least |"
    yield "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    user = {(run.source, run.sizes): run for run in runs() if run.mode == "USER" and run.columns}
    for name, layers in SHOWN.items():
        for layer in layers:
            for product in network(name).products:
                calc, fold, own = (product.rows[model] for model in ("CALC", "per fold", "npuc"))
                if calc.name != layer:
                    continue
                run = user.get((name, product.sizes))
                slow, sent = (None, None) if run is None else (product.times * run.cycles, product.times * run.moved)
                size = f"{calc.m} x {calc.n} x {calc.k}"
                size = size if calc.batch == 1 else f"{calc.batch} times {size}"
                cycles = [_text(value) for value in (calc.cycles, slow, fold.cycles, own.cycles)]
                least = words("npuc", own.lower_bound_bytes)
                kilo = [_text(value, 1e3) for value in (moved(calc), sent, words("npuc", moved(own)), least)]
                yield f"| `{layer}` | {PHASES[calc.phase]} | {size} | {' | '.join((*cycles, *kilo))} |"


def _text(value: float | None, unit: float = 1) -> str:
    return "" if value is None else f"{value / unit:,.0f}"


def user_rows() -> Iterator[str]:
    """What SCALE-Sim's own runs give, network by network: ratios of sums over the products that ended."""
    yield "| network | run | ended | wait | USER / CALC: cycles | median | most | words | npuc / CALC: cycles |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for name, title in NETWORKS.items():
        own = {p.sizes: p for p in reversed(network(name).products)}
        user = [run for run in runs() if run.source == name and run.mode == "USER"]
        ended = [(run, own[run.sizes]) for run in user if run.columns]
        cycles = sum(product.single("CALC", lambda row: row.cycles) for _, product in ended)
        sent = sum(product.single("CALC", moved) for _, product in ended)
        ratios = [run.cycles / product.single("CALC", lambda row: row.cycles) for run, product in ended]
        numbers = (
            sum(run.cycles for run, _ in ended) / cycles,
            median(ratios),
            max(ratios),
            sum(run.moved for run, _ in ended) / sent,
            sum(product.single("npuc", lambda row: row.cycles) for _, product in ended) / cycles,
        )
        counts = (len(user), len(ended), sum(run.columns["stall_cycles"] > 0 for run, _ in ended))
        yield f"| {title} | {' | '.join(map(str, counts))} | {' | '.join(f'{number:.2f}' for number in numbers)} |"


def sweep_rows() -> Iterator[str]:
    """One product with more and more SRAM."""
    yield "| kB each | USER, cycles | stalls | kwords | CALC, cycles | kwords | per fold, cycles | kwords |"
    yield "|--:|--:|--:|--:|--:|--:|--:|--:|"
    source = "layer, M, N, K\nproduct, " + SWEEP.replace(" x ", ", ") + "\n"
    for run in runs():
        if run.source == SWEEP and run.mode == "USER":
            sizes: dict[str, dict[str, object]] = {
                "CALC": {f"scalesim.{name}_sram_kb": run.sram_kb for name in ("ifmap", "filter", "ofmap")},
                "per fold": {"memory.spm_kib": 3 * WORD * run.sram_kb},
            }
            cycles, stalls = run.cycles, run.columns["stall_cycles"]
            cells = [_text(value) for value in (run.sram_kb, cycles, stalls)] + [_text(run.reads, 1e3)]
            for model, size in sizes.items():
                row = compile_source(source, "csv", hardware=MACHINE, overrides=MODELS[model] | size).ops[0]
                cells += [_text(row.cycles), _text(words(model, row.dram_read_bytes), 1e3)]
            yield f"| {' | '.join(cells)} |"


TABLES = {
    "cycles": cycle_rows,
    "traffic": traffic_rows,
    "layers": layer_rows,
    "runs": user_rows,
    "sweep": sweep_rows,
}


def with_tables(text: str) -> str:
    """The page with its tables made anew."""
    return filled(text, {name: rows() for name, rows in TABLES.items()})


if __name__ == "__main__":
    page = FOLDER / "validation.md"
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
