"""
SCALE-Sim's reports by doing what the simulator does: every line, every word.

The walk writes down the demand of every cycle, keeps the words of an epoch in a set, and fills and drains a FIFO word
by word.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2

from npuc.backends.cycle.scalesim import COLUMNS, Columns, Configuration, Layer, Sparsity
from npuc.backends.cycle.scalesim.reads import Epochs

# In a line, None is a lane without a request.
OUTSIDE = -1  # an element that hangs over the edge
Line = list[int | None]


@dataclass
class Demand:
    """What the array asks for, line by line, and how full each fold is."""

    ifmap: list[Line]
    filter: list[Line]
    ofmap: list[Line]
    used: list[int]


def matrices(layer: Layer) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """The addresses of the rows of X, W and Y; with sparsity only the kept columns of X and rows of W."""
    sparsity = layer.sparsity or Sparsity(1, 1)
    kept = [k for k in range(layer.k) if k % sparsity.block < sparsity.kept]
    x = [[address(layer, m, k) for k in kept] for m in range(layer.m)]
    w = [[n * layer.k + k for n in range(layer.n)] for k in kept]
    y = [[m * layer.n + n for n in range(layer.n)] for m in range(layer.m)]
    return x, w, y


def address(layer: Layer, m: int, k: int) -> int:
    """The word of X that element (m, k) is."""
    image = layer.image
    if image is None:
        return m * layer.k + k
    number, position = divmod(m, image.output_height * image.output_width)
    i, j = divmod(position, image.output_width)
    pixel, c = divmod(k, image.channels)
    r, s = divmod(pixel, image.filter_width)
    h, w = i * image.stride_h + r, j * image.stride_w + s
    if h >= image.height or w >= image.width:
        return OUTSIDE
    return ((number * image.height + h) * image.width + w) * image.channels + c


def transpose(matrix: list[list[int]]) -> list[list[int]]:
    return [list(column) for column in zip(*matrix, strict=True)]


def part(matrix: list[list[int]], row: int, rows: int, col: int, cols: int) -> list[list[int]]:
    return [line[col : col + cols] for line in matrix[row : row + rows]]


def place(lines: list[Line], block: list[list[int]], first: int, *, skew: bool) -> None:
    """Put a block into the lines from `first` on, lane p being p lines late if skewed."""
    for t, row in enumerate(block):
        for lane, word in enumerate(row):
            lines[first + t + (lane if skew else 0)][lane] = word


def demand(layer: Layer, config: Configuration) -> Demand:
    """All lines of all folds: column folds outside, row folds inside."""
    x, w, y = matrices(layer)
    rows, cols, dataflow = config.rows, config.cols, config.dataflow
    sides = {"os": (len(x), len(w[0]), len(w)), "ws": (len(w), len(w[0]), len(x)), "is": (len(w), len(x), len(w[0]))}
    height, width, streamed = sides[dataflow]
    length = streamed + rows + cols - 2 + (0 if dataflow == "os" else rows)
    result = Demand([], [], [], [])
    for col in range(0, width, cols):
        for row in range(0, height, rows):
            a: list[Line] = [[None] * max(rows, cols) for _ in range(length)]
            b: list[Line] = [[None] * max(rows, cols) for _ in range(length)]
            out: list[Line] = [[None] * cols for _ in range(length)]
            late = rows - min(rows, height - row)
            if dataflow == "os":
                place(a, transpose(part(x, row, rows, 0, streamed)), 0, skew=True)
                place(b, part(w, 0, streamed, col, cols), 0, skew=True)
                place(out, part(y, row, rows, col, cols)[::-1], streamed - 1 + late, skew=True)
            elif dataflow == "ws":
                place(b, part(w, row, rows, col, cols)[::-1], late, skew=False)
                place(a, part(x, 0, streamed, row, rows), rows, skew=True)
                place(out, part(y, 0, streamed, col, cols), 2 * rows - 1, skew=True)
            else:
                place(a, part(transpose(x), row, rows, col, cols)[::-1], late, skew=False)
                place(b, part(transpose(w), 0, streamed, row, rows), rows, skew=True)
                place(out, part(transpose(y), 0, streamed, col, cols), 2 * rows - 1, skew=True)
            result.ifmap += a
            result.filter += b
            result.ofmap += out
            result.used.append((rows - late) * min(cols, width - col))
    return result


def walk_epochs(lines: list[Line], capacity: int) -> Epochs:
    """Insert every word into the epoch's set; throw the set away when it is full."""
    held = set[int]()
    reads, filled = 0, None
    for number, line in enumerate(lines):
        for word in line:
            if word is None or word == OUTSIDE or word in held:
                continue
            reads += 1
            held.add(word)
            if len(held) == capacity:
                filled, held = number, set[int]()
    return Epochs(reads, filled)


@dataclass
class Fifo:
    """The ofmap's buffer: rows of words, the space it believes to have, the row being filled."""

    size: int
    width: int
    free: int
    rows: list[list[int]]
    row: list[int]
    words: int
    cycles: list[int]

    def store(self, word: int) -> None:
        self.row.append(word)
        self.free -= 1
        if len(self.row) == self.width:
            self.force()

    def force(self) -> None:
        if self.row:
            self.rows.append(self.row)
            self.row = []

    def drain(self, cycle: int) -> int:
        """One row a cycle leaves; the words as counted; the cycle of the last."""
        count = min(ceil(self.size // 2 / self.width), len(self.rows))
        leaving, self.rows = self.rows[:count], self.rows[count:]
        counted = count * self.width - (self.width - len(leaving[-1]))
        self.words += counted
        self.free += counted
        self.cycles += range(cycle, cycle + count)
        return cycle + count - 1


def walk_fifo(lines: list[Line], size: int, width: int) -> tuple[int, int, int, int]:
    """Words written, first and last cycle, and stalls."""
    fifo = Fifo(size, width, size, [], [], 0, [])
    end = stalls = 0
    for number, line in enumerate(lines):
        cycle = number + stalls
        for word in line:
            if word is None:
                continue
            fifo.store(word)
            if cycle < end:
                if fifo.free <= 0:
                    stalls += end - cycle
                    cycle = end
            elif fifo.free < size - size // 2:
                fifo.force()
                end = fifo.drain(cycle)
    fifo.force()
    cycle = len(lines) - 1 + stalls
    while fifo.rows:
        cycle = fifo.drain(cycle) + 1
    return fifo.words, min(fifo.cycles), max(fifo.cycles), stalls


def first_and_last(lines: list[Line], hit: int) -> tuple[int, int]:
    wanted = [i for i, line in enumerate(lines) if any(w is not None and w != OUTSIDE for w in line)]
    return wanted[0] + hit, wanted[-1] + hit


def slots(lines: list[Line]) -> int:
    return sum(word is not None for line in lines for word in line)


def walk(layer: Layer, config: Configuration) -> Columns:
    """All columns, by walking."""
    lines = demand(layer, config)
    elements, total = config.rows * config.cols, len(lines.ifmap) - 1
    result: Columns = dict.fromkeys(COLUMNS)
    result["compute_cycles"] = result["total_cycles"] = total
    result["overall_util_pct"] = 100 * layer.m * layer.n * layer.k / (total * elements) if total else None
    folds = len(lines.used)
    streamed = {"os": layer.rows, "ws": layer.m, "is": layer.n}[config.dataflow]
    period = len(lines.ifmap) // folds + (0 if config.dataflow == "os" else config.cols - 1)
    result["mapping_efficiency_pct"] = 100 * sum(lines.used) / folds / elements
    result["compute_util_pct"] = 100 * sum(u * streamed / (elements * period) for u in lines.used) / folds
    reads = Fraction(slots(lines.ifmap))
    if layer.sparsity is not None and config.dataflow == "ws":
        reads *= Fraction(layer.sparsity.block, layer.sparsity.kept)
    result["ifmap_sram_reads"] = float(reads)
    result["filter_sram_reads"] = slots(lines.filter)
    extra = (config.rows + config.cols) * folds if config.dataflow == "os" else 0
    result["ofmap_sram_writes"] = slots(lines.ofmap) + extra
    for operand, kb in (("ifmap", config.ifmap_sram_kb), ("filter", config.filter_sram_kb)):
        demanded: list[Line] = getattr(lines, operand)
        item = 1024 * kb // 100
        epochs = walk_epochs(demanded, 50 * item)
        start, stop = first_and_last(demanded, 1)
        result[f"{operand}_sram_start"], result[f"{operand}_sram_stop"] = start, stop
        result[f"{operand}_dram_reads"] = epochs.reads
        whole = epochs.filled is None
        fetched = ceil(epochs.reads / item) * item if whole else 50 * item
        result[f"{operand}_dram_start"] = (0 if whole else start - 1) - ceil(fetched / 10)
        result[f"{operand}_dram_stop"] = -1 if epochs.filled is None else epochs.filled + 1
    result["ofmap_sram_start"], result["ofmap_sram_stop"] = first_and_last(lines.ofmap, 0)
    words, start, stop, stalls = walk_fifo(lines.ofmap, 1024 * config.ofmap_sram_kb, config.cols)
    result["ofmap_dram_writes"], result["ofmap_dram_start"], result["ofmap_dram_stop"] = words, start, stop
    result["stall_cycles"] = stalls
    return finish(result, layer)


def number(columns: Columns, name: str) -> float:
    value = columns[name]
    assert value is not None
    return value


def finish(result: Columns, layer: Layer) -> Columns:
    """The columns that follow from others."""
    total = number(result, "total_cycles")
    for operand, verb in (("ifmap", "reads"), ("filter", "reads"), ("ofmap", "writes")):
        span = number(result, f"{operand}_dram_stop") - number(result, f"{operand}_dram_start") + 1
        result[f"avg_{operand}_dram_bw"] = number(result, f"{operand}_dram_{verb}") / span
        result[f"avg_{operand}_sram_bw"] = number(result, f"{operand}_sram_{verb}") / total if total else None
    begin = min(number(result, "ifmap_dram_start"), number(result, "filter_dram_start"))
    result["total_cycles_incl_prefetch"] = number(result, "ofmap_dram_stop") - begin
    if layer.sparsity is not None:
        kept = layer.rows * layer.n
        metadata = kept * ceil(log2(layer.sparsity.block)) / 32
        result["filter_words_original"] = layer.k * layer.n
        result["filter_words_new"], result["filter_metadata_words"] = kept + metadata, metadata
    return result
