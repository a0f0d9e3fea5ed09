"""
The pass `bucket-gradients`: sums of weights' gradients in buckets, each of which is one collective.

    %2 = dist.all_reduce %0 over [0]        ->   %2 = dist.all_reduce %0 over [0] {dist.bucket = 1 : i64}
    %3 = dist.all_reduce %1 over [0]             %3 = dist.all_reduce %1 over [0] {dist.bucket = 1 : i64}

A collective of a small gradient takes little more than its latencies; one of many gradients together takes these once.
A bucket takes the gradients in the order in which the backward pass makes them, and is full when it has reached `mib`
MiB, which is the rule of PyTorch's DistributedDataParallel. Then it is summed, beside the rest of the backward pass.
With `mib=best` buckets are those of the shortest step, which npuc searches by the network of the machine and the times
of work on the backend.
Gradients that are summed over other levels, by another operation or in another type have buckets of their own. Where a
gradient is summed level by level (`zero`), all of these sums are of the same bucket.

Each sum stands where its gradient is there, what reads it behind the last of its bucket, and updates of parameters in
the order of buckets. The pass comes after autodiff, and before `schedule-collectives`; of a step whose backward pass a
backend derives by itself, the function's `dist.buckets` keeps the option.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, ModuleOp, f64, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from npuc.compiler.analysis.interconnect.described import network_facts
from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import BEST_BUCKETS, DEFAULT_BUCKET_MIB
from npuc.compiler.core.stages import remark
from npuc.compiler.core.units import MIB
from npuc.compiler.transforms.bucket_gradients.order import arrange
from npuc.compiler.transforms.bucket_gradients.sums import by_numbers, by_size, gradient_sums
from npuc.compiler.transforms.unused import remark_idle
from npuc.dialects.distributed import BUCKET
from npuc.dialects.distributed.chunks import CHUNKS
from npuc.dialects.distributed.mesh import mesh_of
from npuc.dialects.train.signature import has_loss, is_differentiated

Chosen = DenseArrayBase[IntegerType]
"""Buckets that were chosen, as an attribute."""
OPTIONS = "dist.buckets"
"""The attribute of a forward function that holds the option for the sums of its backward pass."""

CHOSEN = "dist.chosen_buckets"
"""The attribute of a function that holds the buckets of its shortest step, a number from 1 on for each gradient."""


def bucket_derived(module: ModuleOp) -> None:
    """Gather the sums of steps that were derived after the pass ran as it would."""
    for func in (op for op in module.ops if isinstance(op, FuncOp)):
        asked = func.attributes.get(OPTIONS)
        if mesh_of(func) is None:
            continue
        if isa(asked, FloatAttr):
            gather(func, asked.value.data, element_bytes_of(module))
        elif isa(asked, Chosen):
            gather(func, numbers_in(asked), element_bytes_of(module))


def gather(func: FuncOp, asked: float | Sequence[int], float_bytes: int | None) -> tuple[int, bool]:
    """
    Put the sums of gradients of a function into buckets of so many MiB, or of these numbers, one for each gradient;
    those that are in some, into new ones.

    Returns how many buckets there are, and whether updates stand in their order.
    """
    sums = gradient_sums(func, float_bytes)
    if isinstance(asked, Sequence):
        if len(asked) != len(sums):
            raise UsageError(f"buckets of {len(asked):,} gradients were chosen, and there are {len(sums):,}")
        buckets = by_numbers(sums, asked)
    else:
        buckets = by_size(sums, asked * MIB)
    number = 1
    for bucket in buckets:
        for stage in zip(*(one.ops for one in bucket), strict=True):
            for op in stage:
                op.attributes[BUCKET] = IntegerAttr(number, i64)
                op.attributes.pop(CHUNKS, None)
            number += 1
    return number - 1, not buckets or arrange(func.body.block, buckets)


def numbers_in(chosen: Chosen) -> tuple[int, ...]:
    """The numbers of buckets in an attribute."""
    return tuple(chosen.get_values())


def element_bytes_of(module: ModuleOp) -> int | None:
    """The bytes of any float on the machine that a module is for; None: those of its type."""
    facts, machine = network_facts(module), machine_of(module)
    if facts is not None:
        return facts.element_bytes
    return None if machine is None else machine.element_bytes


@dataclass(frozen=True)
class BucketGradientsPass(ModulePass):
    """Gather sums of weights' gradients in buckets, each of which is one collective beside the backward pass."""

    name = "bucket-gradients"
    EXAMPLE: ClassVar = "parallelize{strategy=dp devices=4},autodiff,bucket-gradients{mib=1}"

    mib: int | float | Literal["best"] = DEFAULT_BUCKET_MIB
    """The MiB of gradients with which a bucket is full; or `best`, the buckets of the shortest step."""

    def __post_init__(self) -> None:
        if self.mib != BEST_BUCKETS and not 0 <= self.mib < inf:
            raise ValueError(f"mib is {self.mib}, expected a number of MiB from 0 on")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [func for func in op.ops if isinstance(func, FuncOp) and mesh_of(func) is not None]
        if not found:
            remark_idle(self, "the program is of one device: it comes after parallelize")
            return
        count, derived = 0, False
        for func in found:
            asked = self._asked(func)
            if has_loss(func) and not is_differentiated(func):
                func.attributes[OPTIONS] = asked if isinstance(asked, Attribute) else FloatAttr(asked, f64)
                derived = True
                continue
            numbers = numbers_in(asked) if isinstance(asked, Attribute) else asked
            own, ordered = gather(func, numbers, element_bytes_of(op))
            count += own
            if not ordered:
                remark(f"pass '{self}': updates that keep values in the scratchpad stay in their order")
        if not count and not derived:
            remark_idle(self, "no gradients of weights are summed over devices")

    def _asked(self, func: FuncOp) -> float | Chosen:
        """The size of buckets, or which of them were chosen for a function."""
        chosen = func.attributes.pop(CHOSEN, None)
        if self.mib != BEST_BUCKETS:
            return float(self.mib)
        if not isa(chosen, Chosen):
            raise UsageError(
                "the best buckets need the times of work, which a backend says",
                hint="npuc compile --devices N --bucket-mib best finds them, or give a number of MiB",
            )
        return chosen
