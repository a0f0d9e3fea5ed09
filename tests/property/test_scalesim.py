"""SCALE-Sim's closed forms against a walk. Buffers far smaller than 1 kB let epochs and drains end anywhere."""

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from npuc.backends.cycle.scalesim import COLUMNS, Columns, Configuration, Image, Layer, Sparsity, simulate
from npuc.backends.cycle.scalesim.compute import cut
from npuc.backends.cycle.scalesim.images import Windows
from npuc.backends.cycle.scalesim.model import filter_epochs, ifmap_epochs
from npuc.backends.cycle.scalesim.streams import Stream, streams
from npuc.backends.cycle.scalesim.writes import write_transfers
from tests.scalesim_walk import Line, demand, number, walk, walk_epochs, walk_fifo


@st.composite
def images(draw: st.DrawFn, most: int) -> Image:
    """Windows of up to 4 x 4 with up to `most` + 1 steps of 1 each way."""
    kernel, steps = st.integers(1, 4), st.integers(0, most)
    r, s = draw(kernel), draw(kernel)
    height, width = r + draw(steps), s + draw(steps)
    stride = st.sampled_from((1, 1, 1, 2, 2, 3, 4, 6))
    channels = draw(st.sampled_from((1, 1, 2, 3, 4, 8)))
    return Image(height, width, r, s, channels, draw(stride), draw(stride), draw(st.sampled_from((1, 1, 1, 2))))


@st.composite
def layers(draw: st.DrawFn, most: int, filters: int = 12) -> Layer:
    sparsity = None
    if draw(st.sampled_from((False, False, True))):
        block = draw(st.integers(1, 9))
        sparsity = Sparsity(draw(st.integers(1, block)), block)
    n = draw(st.integers(1, filters))
    if draw(st.sampled_from((True, False, False))):
        size = st.integers(1, 3 * most)
        return Layer(draw(size), n, draw(size), None, sparsity)
    return Layer.convolution(draw(images(most)), n, sparsity)


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    side = st.integers(1, 9)
    kb = st.sampled_from((1, 1, 2))
    dataflow = draw(st.sampled_from(("os", "ws", "is")))
    return Configuration(draw(side), draw(side), dataflow, draw(kb), draw(kb), draw(kb))


def differing(ours: Columns, theirs: Columns) -> dict[str, tuple[float | None, float | None]]:
    """Columns that differ: counts at all, ratios by more than 1e-9."""
    wrong: dict[str, tuple[float | None, float | None]] = {}
    for name in COLUMNS:
        a, b = ours[name], theirs[name]
        slack = 1e-9 * abs(b or 0) if name.endswith(("_pct", "_bw")) else 0
        if (a is None) != (b is None) or (a is not None and b is not None and abs(a - b) > slack):
            wrong[name] = (a, b)
    return wrong


@settings(max_examples=300)
@given(layers(14, 4), configurations())
def test_all_columns_equal_the_walk(layer: Layer, config: Configuration) -> None:
    ours = simulate(layer, config)
    event(f"an epoch of the ifmap ends: {ours['ifmap_dram_stop'] != -1}")
    assert list(ours) == list(COLUMNS)
    assert differing(ours, walk(layer, config)) == {}


@settings(max_examples=300)
@given(layers(6), configurations(), st.integers(1, 70))
def test_epochs_of_any_capacity_equal_the_walk(layer: Layer, config: Configuration, capacity: int) -> None:
    lines, folds = demand(layer, config), cut(layer, config)
    requests = streams(folds)
    windows = None if layer.image is None else Windows(layer, layer.image, folds)
    assert ifmap_epochs(layer, windows, requests.ifmap, capacity) == walk_epochs(lines.ifmap, capacity)
    assert filter_epochs(layer, requests.filter, capacity) == walk_epochs(lines.filter, capacity)


@settings(max_examples=300)
@given(layers(6), configurations(), st.data())
def test_epochs_of_exactly_what_there_is_equal_the_walk(
    layer: Layer, config: Configuration, data: st.DataObject
) -> None:
    """Capacities around the number of distinct words, whole and of one column fold."""
    lines, folds = demand(layer, config), cut(layer, config)
    requests = streams(folds)
    windows = None if layer.image is None else Windows(layer, layer.image, folds)
    for demanded in (lines.ifmap, lines.filter):
        distinct = walk_epochs(demanded, 1 << 40).reads
        capacity = max(1, distinct // data.draw(st.integers(1, 3)) + data.draw(st.integers(-1, 1)))
        if demanded is lines.ifmap:
            ours = ifmap_epochs(layer, windows, requests.ifmap, capacity)
        else:
            ours = filter_epochs(layer, requests.filter, capacity)
        assert ours == walk_epochs(demanded, capacity)


@settings(max_examples=300)
@given(images(4), st.integers(1, 3), st.integers(1, 5), st.integers(1, 3), st.integers(1, 5), st.integers(-6, 2))
def test_words_that_come_again_after_whole_folds(
    image: Image, rows: int, apart: int, filters: int, folds: int, offset: int
) -> None:
    """In ws with several folds of channels; capacities near whole folds keep none, some or all words."""
    layer = Layer.convolution(replace(image, channels=max(1, rows * apart + offset % 2)), filters)
    config = Configuration(rows, 1, "ws")
    stream = streams(cut(layer, config)).ifmap
    windows = None if layer.image is None else Windows(layer, layer.image, stream.folds)
    capacity = max(1, layer.m * rows * folds + offset)
    assert ifmap_epochs(layer, windows, stream, capacity) == walk_epochs(demand(layer, config).ifmap, capacity)


@settings(max_examples=300)
@given(layers(6), configurations(), st.integers(1, 60))
def test_the_fifo_equals_the_walk(layer: Layer, config: Configuration, half: int) -> None:
    ours = write_transfers(streams(cut(layer, config)).ofmap, 2 * half)
    expected = walk_fifo(demand(layer, config).ofmap, 2 * half, config.cols)
    assert (ours.words, ours.start, ours.stop, 0) == expected


@given(layers(6), configurations())
def test_words_come_in_the_lines_of_the_walk(layer: Layer, config: Configuration) -> None:
    lines, requests = demand(layer, config), streams(cut(layer, config))
    for name in ("ifmap", "filter", "ofmap"):
        demanded: list[Line] = getattr(lines, name)
        stream: Stream = getattr(requests, name)
        places = [i for i, line in enumerate(demanded) for word in line if word is not None]
        assert [stream.line_of(word) for word in range(stream.words)] == places


@given(layers(6), configurations())
def test_ws_equals_is_of_the_transpose(layer: Layer, config: Configuration) -> None:
    """The same array does the same; inputs and weights change places."""
    product = Layer(layer.m, layer.n, layer.k)
    ws = simulate(product, replace(config, dataflow="ws"))
    swapped = replace(config, dataflow="is", ifmap_sram_kb=config.filter_sram_kb, filter_sram_kb=config.ifmap_sram_kb)
    transposed = simulate(Layer(layer.n, layer.m, layer.k), swapped)
    names = {"ifmap": "filter", "filter": "ifmap"}
    for name in COLUMNS[:-3]:
        other = "_".join(names.get(word, word) for word in name.split("_"))
        assert ws[name] == transposed[other], name


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 30), st.integers(1, 8))
def test_os_on_a_square_array_is_symmetric(m: int, n: int, k: int, side: int) -> None:
    config = Configuration(side, side, "os", memory=False)
    one, other = simulate(Layer(m, n, k), config), simulate(Layer(n, m, k), config)
    assert one["ifmap_sram_reads"] == other["filter_sram_reads"]
    assert one["filter_sram_reads"] == other["ifmap_sram_reads"]
    assert one["compute_cycles"] == other["compute_cycles"]


@given(layers(6), configurations(), st.integers(2, 5))
def test_cycles_of_ws_grow_with_the_columns_of_the_filter(layer: Layer, config: Configuration, factor: int) -> None:
    """The count of lines, one more than the index of the last."""
    one = Layer(layer.m, config.cols, layer.k)
    many = Layer(layer.m, config.cols * factor, layer.k)
    config = replace(config, dataflow="ws", memory=False)
    lines = [number(simulate(each, config), "compute_cycles") + 1 for each in (one, many)]
    assert lines[1] == factor * lines[0]
