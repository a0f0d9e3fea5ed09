"""Random iterations and plain walks over them: what kept tensors save, the plan of Belady, its timeline."""

from collections.abc import Iterator
from itertools import product

from hypothesis import strategies as st

from npuc.compiler.analysis.iteration.steps import Iteration, Step, Tensor

Interval = tuple[int, int, int]
"""A tensor and the steps of two accesses between which it stays, or leaves."""


@st.composite
def iterations(draw: st.DrawFn, steps: int = 8, tensors: int = 6, largest: int = 40) -> Iteration:
    """A few steps that each read and write some of a few tensors of random sizes; some must be in memory at the end."""
    sizes = draw(st.lists(st.integers(1, largest), min_size=1, max_size=tensors))
    kinds = st.sampled_from(("value", "weight", "gradient", "weight_gradient", "input", "state"))
    found = tuple(Tensor(f"t{i % 4}", size, draw(kinds), 1) for i, size in enumerate(sizes))
    some = st.lists(st.integers(0, len(sizes) - 1), max_size=3, unique=True)
    made: list[Step] = []
    for number in range(draw(st.integers(1, steps))):
        reads, writes = draw(some), draw(some)
        if reads or writes:
            ops = draw(st.integers(0, 200))
            made.append(
                Step(f"s{number}", "op", "forward", tuple(reads), tuple(writes), 0, ops, ops, draw(st.booleans()))
            )
    kept = draw(st.frozensets(st.integers(0, len(sizes) - 1), max_size=len(sizes)))
    return Iteration(found, tuple(made), kept, 1)


def touched(step: Step) -> set[int]:
    return {*step.reads, *step.writes}


def intervals(iteration: Iteration) -> list[Interval]:
    """Between an access of a tensor and the next, if that reads it, by the latter."""
    found: list[Interval] = []
    last: dict[int, int] = {}
    for number, step in enumerate(iteration.steps):
        for tensor in touched(step):
            if tensor in last and tensor in step.reads:
                found.append((tensor, last[tensor], number))
            last[tensor] = number
    return found


def moved(iteration: Iteration, stays: set[Interval], capacity: int) -> tuple[int, int] | None:
    """
    Bytes in and out of a walk that keeps tensors as told, None where they do not fit between two steps.

    A tensor that leaves is copied to memory if that lacks it and somebody reads it again, or wants it at the end.
    """
    size = [tensor.bytes for tensor in iteration.tensors]
    inside: dict[int, bool] = {}  # whether memory lacks what the cache has
    bytes_in = bytes_out = 0
    for number, step in enumerate(iteration.steps):
        for tensor in step.reads:
            if tensor not in inside:
                bytes_in += size[tensor]
                inside[tensor] = False
        for tensor in step.writes:
            inside[tensor] = True
        staying = {tensor for tensor, start, end in stays if start <= number < end}
        for tensor in [tensor for tensor in inside if tensor not in staying]:
            dirty = inside.pop(tensor)
            later = next((s for s in iteration.steps[number + 1 :] if tensor in touched(s)), None)
            wanted = tensor in iteration.kept if later is None else tensor in later.reads
            bytes_out += size[tensor] if dirty and wanted else 0
        if sum(size[tensor] for tensor in inside) > capacity:
            return None
    return bytes_in, bytes_out


def schedules(iteration: Iteration, capacity: int) -> Iterator[int]:
    """The bytes that every choice of what to keep moves."""
    every = intervals(iteration)
    for choice in product((False, True), repeat=len(every)):
        found = moved(iteration, {one for one, stays in zip(every, choice, strict=True) if stays}, capacity)
        if found is not None:
            yield sum(found)
