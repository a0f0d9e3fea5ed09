"""What boxes, edges and titles say: work, amounts, and text that is cut to a width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from npuc.compiler.graph.costs import exchanged_bytes
from npuc.compiler.graph.model import Cost, WorkKind
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind
from npuc.compiler.report.text.quantities import bytes_unit, time_text
from npuc.dialects.distributed import DistOp
from npuc.dialects.npu import ContractOp, InterleaveOp, VectorOp
from npuc.dialects.npu.tensor_work import TensorWorkOp
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import element_text, shape_text, tensor_type
from npuc.dialects.train.base import TrainOp

COLLECTIVES = {
    "dist.all_reduce": "all-reduce",
    "dist.all_gather": "all-gather",
    "dist.all_to_all": "all-to-all",
    "dist.reduce_scatter": "reduce-scatter",
    "dist.send_receive": "send and receive",
}
"""The collectives by which something moves."""
WIDEST = 38
"""The most characters of a line in a box."""
MOST_TIPS = 40
"""So many operations are listed in a tooltip."""


def clipped(text: str, room: int = WIDEST) -> str:
    """A text of at most `room` characters: its end is left out."""
    return text if len(text) <= room else text[: room - 1].rstrip(" .,") + "…"


def work_name(op: Operation) -> str:
    """What an operation does in a word: `relu`, `matmul`, `contract`."""
    if isinstance(op, TensorWorkOp):
        return op.kind
    return op.name.partition(".")[2] or op.name


def work_kind(op: Operation) -> WorkKind:
    """By what an operation is carried out: the array, the vector unit, movement, the network."""
    if isinstance(op, ContractOp | InterleaveOp):
        return "matrix"
    if isinstance(op, DistOp):
        return "comm"
    if isinstance(op, VectorOp):
        return "vector"
    if isinstance(op, TrainOp):
        kind = get_layer(op).kind
        return "matrix" if kind is Kind.MATRIX else "vector" if kind is Kind.VECTOR else "data"
    nested = {work_kind(inner) for region in op.regions for block in region.blocks for inner in block.ops}
    for kind in ("matrix", "vector"):
        if kind in nested or (kind == "matrix" and op.name == "npu.mac"):
            return kind
    return "vector" if op.name in ("npu.apply",) or not op.name.startswith(("npu.", "scf.")) else "data"


def macs_of(op: Operation) -> int:
    """The multiply-accumulates of an operation."""
    if isinstance(op, ContractOp):
        return op.nest.macs
    if isinstance(op, TrainOp):
        return get_layer(op).work(op).macs
    return sum(macs_of(inner) for region in op.regions for block in region.blocks for inner in block.ops)


def type_text(value: SSAValue) -> str:
    """A type in short: `64x512 bf16`."""
    if isinstance(value.type, TensorType):
        tensor = tensor_type(value)
        return f"{shape_text(tensor)} {element_text(tensor.element_type)}"
    return str(value.type)


def work_lines(op: Operation) -> list[str]:
    """What a box of one operation says of its work: the product and its schedule, or what it makes."""
    if isinstance(op, ContractOp):
        lines = [" ".join(f"{dim} {size}" for dim, size in op.nest.sizes.items())]
        if op.schedule_attr is not None:
            lines.append("loops " + (", ".join(map(str, op.schedule.loops)) or "none: one tile"))
            kept = ", ".join(f"{name} {depth}" for name, depth in op.schedule.keep)
            lines += [f"keep {kept}"] if kept else []
        return lines
    return [type_text(op.results[0])] if op.results else []


def kinds_text(ops: Iterable[Operation]) -> str:
    """The work of several operations, each kind once, the most frequent first: `conv2d 3, add 2, relu`."""
    counts = Counter(work_name(op) for op in ops)
    return ", ".join(f"{name} {count}" if count > 1 else name for name, count in counts.most_common())


def time_words(cost: Cost, share: float | None) -> list[str]:
    """Time with its share, and traffic, as far as they are known."""
    words: list[str] = []
    if cost.seconds is not None:
        words.append(time_text(cost.seconds) + ("" if share is None else f", {percent(share)}"))
    if cost.bytes is not None:
        words.append(bytes_text(cost.bytes))
    return words


def percent(share: float) -> str:
    """A share in percent: two digits."""
    return (
        f"{100 * share:.0f}%" if share >= 0.0995 or not share else f"{100 * share:.1f}%" if share >= 5e-4 else "<0.1%"
    )


def bytes_text(moved: float) -> str:
    """An amount of data with its unit, three digits."""
    scale, unit = bytes_unit(int(moved))
    return f"{moved / scale:.3g} {unit}" if moved < 999.5 * scale else f"{moved / scale:,.0f} {unit}"


def macs_text(macs: int) -> str:
    """A number of MACs, three digits."""
    for scale, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if macs >= scale:
            return f"{macs / scale:.3g} {unit} MACs"
    return f"{macs} MACs"


def move_lines(moves: Sequence[DistOp], seconds: float | None = None) -> tuple[str, ...]:
    """
    What collectives move and how long they take, in a line for their kinds and others for the levels; nothing where
    nothing moves.
    """
    amounts = {level: float(amount) for level, amount in exchanged_bytes(moves).items() if amount}
    if not amounts:
        return ()
    kinds = dict.fromkeys(COLLECTIVES[op.name] for op in moves if op.name in COLLECTIVES)
    took = "" if seconds is None else f", {time_text(seconds)}"
    lines = [f"{' + '.join(kinds)}: {bytes_text(sum(amounts.values()))}"]
    parts = [f"{_levels(levels)} {bytes_text(amounts[levels[0]])}" for levels in _alike(amounts)]
    if len(amounts) == 1:
        return (f"{lines[0]} at {_levels(list(amounts))}{took}",)
    lines[0] += took
    for first in range(0, len(parts), 2):
        lines.append(", ".join(parts[first : first + 2]))
    return tuple(lines)


def _alike(amounts: dict[int, float]) -> list[list[int]]:
    """Levels side by side that move as much, and each of them alone that does not."""
    return [list(levels) for _, levels in groupby(amounts, key=lambda level: bytes_text(amounts[level]))]


def _levels(levels: Sequence[int]) -> str:
    if len(levels) == 1:
        return f"H{levels[0] + 1}"
    return f"H{levels[0] + 1} to H{levels[-1] + 1}, each"


def op_tip(op: Operation, cost: Cost | None) -> str:
    """One operation in a tooltip: work, types, cost."""
    made = ", ".join(map(type_text, op.results))
    words = time_words(cost, None) if cost is not None else []
    return (
        f"{layer_of(op)} {work_name(op)}".strip()
        + (f" → {made}" if made else "")
        + "".join(f", {word}" for word in words)
    )


def tips(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines of a tooltip, the first of many."""
    more = len(lines) - MOST_TIPS
    return (*lines[:MOST_TIPS], f"and {more} more") if more > 0 else tuple(lines)
