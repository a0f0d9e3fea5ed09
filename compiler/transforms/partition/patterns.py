"""The patterns of this pass: a dimension in equal parts, one after the other or side by side."""

from dataclasses import dataclass
from typing import ClassVar

from npuc.compiler.analysis.nest.cores import core_count
from npuc.compiler.analysis.schedule.partition import EqualParts, Over, extent_of, nearest_divisors, partitioned
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.verify import location_of
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.schedule.by_hand import ByHand, machine_around
from npuc.compiler.transforms.schedule.pins import dims_of, named, together_of, usage_error
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Schedule


@dataclass(frozen=True, eq=False)
class CutOverTime(ByHand):
    """
    A dimension of a contraction is cut in equal parts that run one after another, by a loop around the others.

        %y = npu.contract (m = 12, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 2, n : 2] : (tensor<12x8xf32>, tensor<8x4xf32>) -> tensor<12x4xf32>
        --> CutOverTime(dim="m", parts=3)
        %y = npu.contract (m = 12, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 4, m : 2, n : 2] : (tensor<12x8xf32>, tensor<8x4xf32>) -> tensor<12x4xf32>

    A contraction without a schedule, or without this dimension, stays as it is. Loops over cores remain outermost.
    Checks that the parts are equal and that no loop inside has a larger step, else raises `UsageError`.
    """

    name: ClassVar[str] = "cut-over-time"

    dim: str
    """The dimension; of those that m, n or k of the forward product stand for the first that the parts divide."""
    parts: int
    """How many parts; 1 changes nothing."""
    in_front: bool = False
    """Whether a loop with the step of a part comes outermost; otherwise it counts as the cut wherever it stands."""

    def schedule_of(self, op: ContractOp) -> Schedule | None:
        """The schedule with the loop of the parts in front."""
        cut = None if op.schedule_attr is None else equal_parts(op, self.dim, self.parts, "time")
        if cut is None:
            return None
        part = extent_of(op.nest, op.schedule, cut.dim, "time") // cut.parts
        there = any(loop.dim == cut.dim and loop.step == part and not loop.cores for loop in op.schedule.loops)
        return partitioned(op.nest, op.schedule, cut) if self.in_front or not there else None


@dataclass(frozen=True, eq=False)
class CutOverCores(ByHand):
    """
    A dimension of a contraction is cut in equal parts, each on a core of its own.

        %y = npu.contract (m = 12, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 2, n : 2] : (tensor<12x8xf32>, tensor<8x4xf32>) -> tensor<12x4xf32>
        --> CutOverCores(dim="n", parts=2)
        %y = npu.contract (m = 12, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [cores n : 2, m : 2] : (tensor<12x8xf32>, tensor<8x4xf32>) -> tensor<12x4xf32>

    A contraction without a schedule, or without this dimension, stays as it is. Checks that the parts are equal, that
    the contraction runs alone and is not cut otherwise over cores along this dimension, else raises `UsageError`, and
    that the machine has so many cores, else raises `CapacityError`.
    """

    name: ClassVar[str] = "cut-over-cores"

    dim: str
    """The dimension; of those that m, n or k of the forward product stand for the first that the parts divide."""
    parts: int
    """How many parts, which is the number of cores; 1 changes nothing."""

    def schedule_of(self, op: ContractOp) -> Schedule | None:
        """The schedule with the loop over cores."""
        cut = None if op.schedule_attr is None else equal_parts(op, self.dim, self.parts, "cores")
        if cut is None:
            return None
        part = op.nest.sizes[cut.dim] // cut.parts
        if any(loop.dim == cut.dim and loop.step == part and loop.cores for loop in op.schedule.loops):
            return None
        check_possible(op, cut)
        return partitioned(op.nest, op.schedule, cut)


def equal_parts(op: ContractOp, name: str, parts: int, over: Over) -> EqualParts | None:
    """
    The cut of a dimension; None where a contraction does not have it, and for one part.

    Raises `UsageError`, at the contraction's place, for a number of parts that divides none of several dimensions.
    """
    dims = dims_of(op.nest, name)
    if not dims or parts == 1:
        return None
    extents = {dim: extent_of(op.nest, op.schedule, dim, over) for dim in dims}
    dim = next((dim for dim, extent in extents.items() if extent % parts == 0), None)
    if dim is None:
        sizes = ", ".join(f"{dim} = {extent}" for dim, extent in extents.items())
        near = ", ".join(map(str, nearest_divisors(extents.values(), parts)))
        raise usage_error(op, f"{parts} parts do not divide {sizes} of {named(op)}", f"nearest that do: {near}")
    return EqualParts(dim, parts, over)


def check_possible(op: ContractOp, cut: EqualParts) -> None:
    """Raise `UsageError` or `CapacityError`, at the contraction's place, for a cut over cores that is impossible."""
    if cut.over == "time":
        return
    if together_of(op) is not None:
        raise usage_error(op, f"{named(op)} runs round-robin with others, which is on one core", "over=time")
    if cut.dim in {loop.dim for loop in op.schedule.loops if loop.cores}:
        raise usage_error(op, f"{cut.dim} of {named(op)} is cut over cores already", "over=time, or another dimension")
    machine = machine_around(op)
    cores = cut.parts * core_count(op.nest, op.schedule)
    if machine is not None and cores > machine.cores:
        message = f"the parts of {named(op)} take {cores:,} cores, the machine has {machine.cores:,}"
        raise CapacityError(message, location=location_of(op), hint=f"fewer parts, or array.cores={cores}")


PATTERNS: tuple[type[NamedPattern], ...] = (CutOverTime, CutOverCores)
