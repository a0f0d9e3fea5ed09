"""
SCALE-Sim 3.0.0's report of a layer in CALC mode (PyPI package `scalesim`), as it would print it, quirks included.

Equal to it in every count and stamp; each module names the rules it keeps. `total_cycles` is the index of the last
cycle. There are never stalls in CALC mode (see `writes.py`), so stamps are line numbers.
"""

from npuc.backends.cycle.scalesim.compute import Folds, compute, cut
from npuc.backends.cycle.scalesim.images import Windows, image_epochs
from npuc.backends.cycle.scalesim.layer import Configuration, Layer
from npuc.backends.cycle.scalesim.reads import Buffer, Epochs, Transfers, panels, sweeps, transfers
from npuc.backends.cycle.scalesim.sparsity import storage
from npuc.backends.cycle.scalesim.streams import Stream, streams
from npuc.backends.cycle.scalesim.writes import write_transfers

Columns = dict[str, int | float | None]

COLUMNS = (
    *("compute_cycles", "stall_cycles", "total_cycles", "total_cycles_incl_prefetch"),
    *("overall_util_pct", "mapping_efficiency_pct", "compute_util_pct"),
    *("ifmap_sram_reads", "filter_sram_reads", "ofmap_sram_writes"),
    *("ifmap_dram_reads", "filter_dram_reads", "ofmap_dram_writes"),
    *(f"avg_{operand}_{memory}_bw" for memory in ("sram", "dram") for operand in ("ifmap", "filter", "ofmap")),
    *(
        f"{operand}_{memory}_{which}"
        for memory in ("sram", "dram")
        for operand in ("ifmap", "filter", "ofmap")
        for which in ("start", "stop")
    ),
    *("filter_words_original", "filter_words_new", "filter_metadata_words"),
)


def simulate(layer: Layer, config: Configuration) -> Columns:
    """
    The result columns of a layer, by the names of COLUMNS; None for what does not exist.

    Utilisations are per cent, accesses words, bandwidths words a cycle, stamps cycles (DRAM may start before cycle 0).
    Without `config.memory` only the compute columns have values; without sparsity those of the filter's storage none.
    """
    folds = cut(layer, config)
    columns: Columns = dict.fromkeys(COLUMNS)
    columns |= vars(compute(layer, folds))
    if layer.sparsity is not None:
        words = storage(layer, layer.sparsity, config.representation)
        columns["filter_words_original"] = words.original
        columns["filter_words_new"] = words.new
        columns["filter_metadata_words"] = words.metadata
    if config.memory:
        _add_memory(columns, layer, folds, config)
    return columns


def _add_memory(columns: Columns, layer: Layer, folds: Folds, config: Configuration) -> None:
    """The columns of the memory model: times, DRAM accesses, bandwidths, stamps."""
    requests = streams(folds)
    ifmap, ifmap_last = _ifmap(layer, folds, requests.ifmap, Buffer(config.ifmap_sram_kb))
    buffer = Buffer(config.filter_sram_kb)
    epochs = filter_epochs(layer, requests.filter, buffer.capacity)
    filters = transfers(epochs, requests.filter.line_of(0), buffer)
    ofmap = write_transfers(requests.ofmap, 1024 * config.ofmap_sram_kb)
    columns["stall_cycles"] = 0
    columns["total_cycles"] = total = folds.lines - 1
    columns["total_cycles_incl_prefetch"] = ofmap.stop - min(ifmap.start, filters.start)
    last = {
        "ifmap": ifmap_last,
        "filter": requests.filter.line_of(requests.filter.words - 1),
        "ofmap": requests.ofmap.line_of(requests.ofmap.words - 1),
    }
    for operand, moved in (("ifmap", ifmap), ("filter", filters), ("ofmap", ofmap)):
        verb, hit = ("writes", 0) if operand == "ofmap" else ("reads", 1)
        accesses = columns[f"{operand}_sram_{verb}"]
        stream: Stream = getattr(requests, operand)
        columns[f"avg_{operand}_sram_bw"] = accesses / total if accesses is not None and total else None
        columns[f"{operand}_sram_start"] = stream.line_of(0) + hit
        columns[f"{operand}_sram_stop"] = last[operand] + hit
        columns[f"{operand}_dram_{verb}"] = moved.words
        columns[f"avg_{operand}_dram_bw"] = moved.words / (moved.stop - moved.start + 1)
        columns[f"{operand}_dram_start"] = moved.start
        columns[f"{operand}_dram_stop"] = moved.stop


def _ifmap(layer: Layer, folds: Folds, stream: Stream, buffer: Buffer) -> tuple[Transfers, int]:
    """The DRAM reads of the ifmap, and the last line that asks for a word of it."""
    windows = None if layer.image is None else Windows(layer, layer.image, folds)
    epochs = ifmap_epochs(layer, windows, stream, buffer.capacity)
    if windows is not None and windows.image.overhangs:
        last = windows.last_line()
    else:
        last = stream.line_of(stream.words - 1)
    return transfers(epochs, stream.line_of(0), buffer), last


def ifmap_epochs(layer: Layer, windows: Windows | None, stream: Stream, capacity: int) -> Epochs:
    """The epochs of the ifmap."""
    if windows is None:
        return sweeps(stream, layer.m * layer.rows, capacity)
    return image_epochs(windows, layer, stream, capacity)


def filter_epochs(layer: Layer, stream: Stream, capacity: int) -> Epochs:
    """The epochs of the filter."""
    if stream.folds.dataflow == "os":
        return panels(stream, capacity)
    return sweeps(stream, layer.rows * layer.n, capacity)
