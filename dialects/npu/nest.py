"""
The loop nest of a contraction as plain frozen data: dimensions, tensors with index maps, statements, and a schedule.

    (m = 6, n = 4, k = 8) ins(X = [m, k], W = [k, n]) outs(Y[m, n]) do(Y += X * W)     a Nest
    loops [m : 2, k : 2, n : 2] keep(X = 1) spm 320 bytes                             its Schedule

Nothing here knows IR: analyses and searches work on these classes, `npu.contract` carries one of each as an attribute.
Their loops are in `loops.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.loops import LevelKeep as LevelKeep
from npuc.dialects.npu.loops import Loop as Loop
from npuc.dialects.npu.loops import keep_problems, level_problems
from npuc.dialects.products import DENSE, Factors, Passes
from npuc.dialects.tensors import MAX_ELEMENTS

MAX_POSITIONS = 1 << 28
"""The widest range that an index may reach: which positions of it are reached is kept as a bit each."""


@frozen
class Axis:
    """One index of a tensor: the sum of dimension x coefficient (all >= 1), plus a constant."""

    terms: tuple[tuple[str, int], ...]
    offset: int = 0

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions that move this index."""
        return tuple(d for d, _ in self.terms)

    @property
    def is_plain(self) -> bool:
        """Whether the index is one dimension as it stands."""
        return len(self.terms) == 1 and self.offset == 0 and self.terms[0][1] == 1

    def span(self, sizes: Mapping[str, int]) -> int:
        """How many positions lie between the first and the last that the index reaches, both included."""
        return 1 + sum(coefficient * (sizes[dim] - 1) for dim, coefficient in self.terms)

    def __str__(self) -> str:
        parts = [d if c == 1 else f"{d} * {c}" for d, c in self.terms]
        text = " + ".join(parts)
        if not parts:
            return str(self.offset)
        if self.offset:
            text += f" {'+' if self.offset > 0 else '-'} {abs(self.offset)}"
        return text


@frozen
class Tensor:
    """
    A tensor of a nest: its name there, its shape, and one `Axis` a dimension of the shape.

    An index outside the shape reads as 0 and drops writes: that is padding.
    """

    name: str
    shape: tuple[int, ...]
    axes: tuple[Axis, ...]

    @cached_property
    def dims(self) -> frozenset[str]:
        """The nest's dimensions that this tensor's indices depend on."""
        return frozenset(d for axis in self.axes for d in axis.dims)

    @property
    def elements(self) -> int:
        """The number of elements of the whole tensor."""
        product = 1
        for size in self.shape:
            product *= size
        return product

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.axes))}]"


@frozen
class Statement:
    """
    `out += lhs * rhs`, tensors by name; each product takes so many `passes` through a multiplier (`widths.py`), and
    `factors` says which of lhs and rhs are sparse.
    """

    out: str
    lhs: str
    rhs: str
    passes: Passes = 1
    factors: Factors = DENSE

    def __str__(self) -> str:
        return f"{self.out} += {self.lhs} * {self.rhs}"


@frozen
class Nest:
    """
    A loop nest over named dimensions with one or more contraction statements.

    `dims` are (name, size) pairs; `starts[i]` is the initial value of the sum `outs[i]`, such as a bias (None: zero).
    It is named `<out>0`, and each of its axes indexes like one axis of that output. MACs of a statement are the product
    of all sizes, padding included.
    """

    dims: tuple[tuple[str, int], ...]
    ins: tuple[Tensor, ...]
    outs: tuple[Tensor, ...]
    starts: tuple[Tensor | None, ...]
    statements: tuple[Statement, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Computed once: nests are keys of most tables, and have many parts."""
        return hash((self.dims, self.ins, self.outs, self.starts, self.statements))

    def __getstate__(self) -> dict[str, object]:
        # Hashes of strings differ from process to process.
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The size of each dimension by name."""
        return dict(self.dims)

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name: inputs, outputs, starts."""
        return {t.name: t for t in (*self.ins, *self.outs, *(s for s in self.starts if s is not None))}

    @property
    def points(self) -> int:
        """The number of points of the nest: the MACs of one statement."""
        return prod(size for _, size in self.dims)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all statements."""
        return self.points * len(self.statements)

    @property
    def mac_passes(self) -> Passes:
        """The passes of all multiply-accumulates through multipliers; as many as these where each takes one."""
        return self.points * sum(s.passes for s in self.statements)

    def start_of(self, out: str) -> Tensor | None:
        """The initial value of the sum of the output named `out`; None for zero."""
        return next(s for o, s in zip(self.outs, self.starts, strict=True) if o.name == out)

    def problems(self) -> Iterator[str]:
        """The violations of the rules of a nest, a sentence each; none for a legal nest."""
        yield from self._dimension_problems()
        known = ", ".join(self.sizes)
        for tensor in self.tensors.values():
            if not 0 < tensor.elements <= MAX_ELEMENTS:
                yield f"{tensor.name} has {tensor.elements:,} elements, expected 1 to {MAX_ELEMENTS:,}"
            if len(tensor.axes) != len(tensor.shape):
                yield f"{tensor.name} has {len(tensor.axes)} indices, its type has rank {len(tensor.shape)}"
                continue
            seen: set[str] = set()
            for number, (axis, size) in enumerate(zip(tensor.axes, tensor.shape, strict=True)):
                for dim, coefficient in axis.terms:
                    if dim not in self.sizes:
                        yield f"unknown dimension '{dim}', the nest has {known}"
                        return
                    if coefficient < 1:
                        yield f"{tensor.name} uses {dim} * {coefficient}: coefficients must be at least 1"
                    if dim in seen:
                        yield f"{tensor.name} uses dimension {dim} more than once"
                    seen.add(dim)
                if max(span := axis.span(self.sizes), abs(axis.offset)) > MAX_POSITIONS and not axis.is_plain:
                    far = f"{span:,} positions from {axis.offset:,} on"
                    yield f"axis {number} of {tensor.name}: {axis} reaches {far}, expected at most {MAX_POSITIONS:,}"
                if axis.is_plain:
                    dim = axis.terms[0][0]
                    if size != self.sizes[dim]:
                        yield f"axis {number} of {tensor.name} has size {size}, dimension {dim} has {self.sizes[dim]}"
        yield from self._statement_problems()

    def _dimension_problems(self) -> Iterator[str]:
        names = [name for name, _ in self.dims]
        if not names:
            yield "expected at least one dimension"
        for name in sorted({n for n in names if names.count(n) > 1}):
            yield f"dimension {name} is named twice"
        for name, size in self.dims:
            if size < 1:
                yield f"dimension {name} has size {size}, expected at least 1"

    def _statement_problems(self) -> Iterator[str]:
        if len(self.tensors) < len(self.ins) + len(self.outs) + sum(s is not None for s in self.starts):
            yield "two tensors of the nest have the same name"
        ins, outs = {t.name for t in self.ins}, {t.name for t in self.outs}
        for s in self.statements:
            for name, place in ((s.lhs, ins), (s.rhs, ins), (s.out, outs)):
                if name not in place:
                    kind = "outs" if place is outs else "ins"
                    yield f"statement of {s.out} uses {name}, which is not among the {kind}"
                    return
            used = self.tensors[s.out].dims | self.tensors[s.lhs].dims | self.tensors[s.rhs].dims
            for dim in self.sizes:
                if dim not in used:
                    yield f"statement of {s.out} does not use dimension {dim}: it would run several times"
        for out in self.outs:
            if sum(s.out == out.name for s in self.statements) != 1:
                yield f"{out.name} must be the result of exactly one statement"
        for out, start in zip(self.outs, self.starts, strict=True):
            if start is not None and start_axes(out, start) is None:
                yield f"the start of {out.name} must index like some axes of {out.name}, got {start}"


def start_axes(out: Tensor, start: Tensor) -> tuple[int, ...] | None:
    """
    The axis of `out` that each axis of its start follows; None if one follows none.

    An axis follows one of the same index and size, so that elements of `out` that no statement reaches have a start
    too.
    """
    free = [(axis.terms, axis.offset, size) for axis, size in zip(out.axes, out.shape, strict=True)]
    found: list[int] = []
    for axis, size in zip(start.axes, start.shape, strict=True):
        key = (axis.terms, axis.offset, size)
        numbers = [n for n, other in enumerate(free) if other == key and n not in found]
        if not numbers:
            return None
        found.append(numbers[0])
    return tuple(found)


@frozen
class Schedule:
    """
    How a nest is run: loops outermost first, what stays in SPM, and the promised budget.

    Loops over cores come first: each of their iterations is the part of a core, whose SPM is empty at first; sums over
    several parts pass through DRAM. A dimension without a loop is whole. `keep` is the keep depth of a tensor: the
    number of innermost loops over which its block stays in SPM (0 for tensors not listed: one tile). `spm` is an upper
    bound of the bytes of SPM that the blocks of a core occupy; None if there is none. `outer` is what stays in further
    levels of memory on the chip, from SPM outwards.
    """

    loops: tuple[Loop, ...] = ()
    keep: tuple[tuple[str, int], ...] = ()
    spm: int | None = None
    outer: tuple[LevelKeep, ...] = ()

    @cached_property
    def keep_depths(self) -> dict[str, int]:
        """The keep depth of each tensor that is listed."""
        return dict(self.keep)

    @cached_property
    def core_depth(self) -> int:
        """The number of loops over cores."""
        return sum(loop.cores for loop in self.loops)

    def keep_depth(self, tensor: str) -> int:
        """The number of innermost loops over which the block of `tensor` stays in SPM."""
        return self.keep_depths.get(tensor, 0)

    def at_levels(self, names: Sequence[str]) -> "tuple[Schedule, ...]":
        """
        The schedule as SPM sees it, then as each level of these names does, from SPM outwards: with the keep depths of
        that level alone. A level of which the schedule says nothing keeps what the one inside of it does.
        """
        said = {one.level: one.depths for one in self.outer}
        inside = replace(self, outer=()) if self.outer else self
        found = [inside]
        for name in names:
            if depths := said.get(name):
                inside = replace(inside, keep=tuple((inside.keep_depths | depths).items()), spm=None)
            found.append(replace(inside, spm=None) if inside.spm is not None else inside)
        return tuple(found)

    def problems(self, nest: Nest) -> Iterator[str]:
        """The violations of the rules of a schedule of `nest`, a sentence each; none for a legal schedule."""
        steps: dict[str, int] = {}
        for loop in self.loops:
            if loop.dim not in nest.sizes:
                yield f"unknown dimension '{loop.dim}' in loops, the nest has {', '.join(nest.sizes)}"
            elif loop.step < 1:
                yield f"step of {loop.dim} is {loop.step}, expected at least 1"
            elif loop.dim in steps:
                if loop.step >= steps[loop.dim]:
                    yield f"steps of {loop.dim} must shrink inwards, got {steps[loop.dim]} then {loop.step}"
            elif loop.step > nest.sizes[loop.dim]:
                yield f"step of {loop.dim} is {loop.step}, its size is {nest.sizes[loop.dim]}"
            steps[loop.dim] = loop.step
        if not all(loop.cores for loop in self.loops[: self.core_depth]):
            yield "loops over cores must come before all others"
        over = [loop.dim for loop in self.loops if loop.cores]
        for dim in sorted({d for d in over if over.count(d) > 1}):
            yield f"{dim} is cut over cores twice"
        inner, cores = len(self.loops) - self.core_depth, self.core_depth > 0
        yield from keep_problems(self.keep, "", nest.tensors, inner, cores)
        yield from level_problems(self.keep, self.outer, nest.tensors, inner, cores)
        if self.spm is not None and self.spm < 1:
            yield f"spm is {self.spm} bytes, expected at least 1"
