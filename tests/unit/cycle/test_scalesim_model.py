"""SCALE-Sim's rules one by one, on cases worked out by hand or published."""

import re

import pytest

from npuc.backends.cycle.scalesim import COLUMNS, Configuration, Image, Layer, Sparsity, simulate
from npuc.backends.cycle.scalesim.compute import cut
from npuc.backends.cycle.scalesim.layer import Representation
from npuc.backends.cycle.scalesim.reads import Buffer, Epochs, panels, sweeps, transfers
from npuc.backends.cycle.scalesim.streams import streams
from npuc.compiler.analysis.machine.array import Dataflow

DATAFLOWS: tuple[Dataflow, ...] = ("os", "ws", "is")
MEMORY = [name for name in COLUMNS if "dram" in name or "start" in name or "stop" in name or name.startswith("avg")]


def test_output_sizes_are_rounded_up() -> None:
    image = Image(56, 58, 3, 3, 64, 2, 2)
    assert (image.output_height, image.output_width) == (28, 29)
    assert (image.reach_height, image.reach_width) == (57, 59)
    assert image.overhangs
    assert not Image(57, 59, 3, 3, 64, 2, 2).overhangs


@pytest.mark.parametrize(
    ("image", "overlaps"),
    [
        (Image(8, 8, 3, 3, 1, 3, 3), False),
        (Image(8, 8, 3, 3, 1, 2, 3), True),
        (Image(8, 8, 3, 3, 1, 3, 1), True),
        (Image(3, 8, 3, 3, 1, 1, 3), False),
        (Image(8, 8, 1, 1, 1), False),
    ],
)
def test_windows_overlap_when_their_stride_is_less_than_the_filter(image: Image, overlaps: bool) -> None:
    assert image.overlaps == overlaps


@pytest.mark.parametrize(("k", "rows"), [(8, 4), (9, 5), (10, 6), (11, 6), (1, 1)])
def test_sparsity_keeps_the_first_rows_of_each_block(k: int, rows: int) -> None:
    assert Layer(1, 1, k, None, Sparsity(2, 4)).rows == rows


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Image(2, 9, 3, 3, 1), "the filter (3x3) is larger than the image (2x9)"),
        (lambda: Image(9, 9, 3, 3, 0), "channels is 0, but must be at least 1"),
        (lambda: Layer(1, 0, 1), "N is 0, but must be at least 1"),
        (lambda: Sparsity(3, 2), "sparsity 3:2 is not N:M with 1 <= N <= M"),
        (lambda: Sparsity(0, 2), "sparsity 0:2 is not N:M with 1 <= N <= M"),
        (lambda: Configuration(0, 1, "os"), "rows is 0, but must be at least 1"),
        (lambda: Configuration(1, 1, "os", ofmap_sram_kb=0), "ofmap_sram_kb is 0, but must be at least 1"),
    ],
)
def test_impossible_sizes_are_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_without_memory_only_compute_columns_have_values() -> None:
    columns = simulate(Layer(5, 6, 7), Configuration(4, 4, "ws", memory=False))
    assert [name for name in COLUMNS if columns[name] is not None] == [
        *("compute_cycles", "overall_util_pct", "mapping_efficiency_pct", "compute_util_pct"),
        *("ifmap_sram_reads", "filter_sram_reads", "ofmap_sram_writes"),
    ]
    assert all(columns[name] is None for name in MEMORY)


def test_ratios_over_no_cycles_do_not_exist() -> None:
    """One line has index 0: SCALE-Sim itself divides by it."""
    columns = simulate(Layer(1, 1, 1), Configuration(1, 1, "os"))
    assert columns["total_cycles"] == 0
    assert [name for name in COLUMNS if columns[name] is None] == [
        *("overall_util_pct", "avg_ifmap_sram_bw", "avg_filter_sram_bw", "avg_ofmap_sram_bw"),
        *("filter_words_original", "filter_words_new", "filter_metadata_words"),
    ]


@pytest.mark.parametrize(
    ("image", "filters", "reads", "writes"),
    [
        # AlexNet's second and fifth layer: 145 and 77 times the words of their inputs.
        (Image(27, 27, 5, 5, 96), 256, 10_156_800, 10_156_831),
        (Image(13, 13, 3, 3, 384), 256, 3_345_408, 3_345_439),
    ],
)
def test_inputs_that_do_not_fit_are_read_for_every_request(image: Image, filters: int, reads: int, writes: int) -> None:
    columns = simulate(Layer.convolution(image, filters), Configuration(32, 32, "ws"))
    assert columns["ifmap_dram_reads"] == columns["ifmap_sram_reads"] == reads
    assert columns["ofmap_dram_writes"] == writes


@pytest.mark.parametrize(("words", "reads"), [(499, 499), (500, 1000), (501, 1002)])
def test_an_operand_of_exactly_the_capacity_is_thrown_away(words: int, reads: int) -> None:
    columns = simulate(Layer(words, 2, 1), Configuration(1, 1, "ws", ifmap_sram_kb=1))
    assert columns["ifmap_dram_reads"] == reads


def test_a_buffer_is_cut_in_hundred_sets() -> None:
    assert (Buffer(1).set_words, Buffer(1).capacity) == (10, 500)
    assert (Buffer(64).set_words, Buffer(64).capacity) == (655, 32750)


def test_reads_that_fit_end_before_the_first_cycle() -> None:
    moved = transfers(Epochs(11, None), 33, Buffer(1))
    assert (moved.start, moved.stop) == (-2, -1)


def test_reads_that_do_not_fit_start_before_the_first_request() -> None:
    moved = transfers(Epochs(1100, 70), 33, Buffer(1))
    assert (moved.words, moved.start, moved.stop) == (1100, 33 - 50, 71)


@pytest.mark.parametrize(
    ("capacity", "reads"),
    [
        (9, 8),  # all fits
        (8, 12),  # ends with the first pass over the second panel, all of which is read again
        (6, 10),  # ends after 2 words of the second panel, which the second pass reads again
        (4, 16),  # a panel is a whole epoch
        (3, 16),  # nothing is ever kept
    ],
)
def test_panels_of_os_keep_what_an_epoch_holds(capacity: int, reads: int) -> None:
    """Two column folds of K x C = 2 x 2 words, each swept twice."""
    layer, config = Layer(4, 4, 2), Configuration(2, 2, "os")
    stream = streams(cut(layer, config)).filter
    assert (stream.words, panels(stream, capacity).reads) == (16, reads)


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_a_point_convolution_is_a_product(dataflow: Dataflow) -> None:
    config = Configuration(4, 8, dataflow, 1, 1, 1)
    columns = simulate(Layer.convolution(Image(9, 7, 1, 1, 20), 30), config)
    assert columns == simulate(Layer(63, 30, 20), config)


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_images_follow_each_other(dataflow: Dataflow) -> None:
    """Images of which none fits cost each as much as one alone, as weights are not part of their count."""
    one, two = (Layer.convolution(Image(30, 30, 1, 1, 4, images=images), 5) for images in (1, 2))
    config = Configuration(4, 8, dataflow, 1, 1, 1)
    single, double = (simulate(layer, config)["ifmap_dram_reads"] for layer in (one, two))
    assert single is not None
    assert double == 2 * single


@pytest.mark.parametrize(
    ("representation", "new", "metadata"),
    [("ellpack_block", 24 + 48 / 32, 48 / 32), ("csr", 24 + 24 + 9, 24 + 9), ("csc", 24 + 24 + 7, 24 + 7)],
)
def test_sparse_storage(representation: Representation, new: float, metadata: float) -> None:
    """An 8 x 6 filter of which 4 x 6 words are kept, 2 bits of place each."""
    config = Configuration(2, 2, "ws", memory=False, representation=representation)
    columns = simulate(Layer(3, 6, 8, None, Sparsity(2, 4)), config)
    words = [columns[f"filter_{name}"] for name in ("words_original", "words_new", "metadata_words")]
    assert words == [48, new, metadata]


def test_sparse_reads_of_ws_are_multiplied() -> None:
    columns = simulate(Layer(3, 1, 4, None, Sparsity(3, 4)), Configuration(2, 2, "ws", memory=False))
    assert columns["ifmap_sram_reads"] == 3 * 3 * 4 / 3
    columns = simulate(Layer(3, 1, 5, None, Sparsity(3, 4)), Configuration(2, 2, "ws", memory=False))
    assert columns["ifmap_sram_reads"] == 3 * 4 * 4 / 3


def test_sweeps_of_a_stream_that_does_not_fit_read_every_request() -> None:
    stream = streams(cut(Layer(6, 4, 2), Configuration(2, 2, "ws"))).ifmap
    assert sweeps(stream, 12, 13) == Epochs(12, None)
    assert sweeps(stream, 12, 12) == Epochs(24, stream.line_of(23))
