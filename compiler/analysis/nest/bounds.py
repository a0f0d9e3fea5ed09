"""
Lower bounds of the traffic of a nest that hold for every schedule, and how far a schedule is from them.

*Compulsory*: every element of an input that is used is read once, every element of an output written once. *Capacity*:
with S bits of fast memory, statements that share operands move at least 3 (n X^2)^(1/3) - (n - 1) S bits for every
whole n >= 1, about 2 X / sqrt(S) + S, where X sums up the MACs of the statements, weighted by element widths and by how
often windows reuse an element. A share of the compulsory bits of tensors may be added for a smaller X. Of a result the
width is that of a partial sum, all but the last of whose writes it has; what the last one has less is taken off.

docs/bounds.md proves all of it. Every rounding here is downwards. The starting point is T. M. Smith et al., "A tight
I/O lower bound for matrix multiplication", 2019.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import gcd, isqrt, prod

from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.elements import BYTE, Bits, whole_bytes
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor

BITS = 40
"""Binary digits kept behind the point of X^2."""
JOINT = 4
"""Up to so many statements every set of them is tried together; of more, each alone and all."""
Group = tuple[Statement, ...]


@dataclass(frozen=True)
class Certificate:
    """
    How good a schedule of a nest is, in bytes of DRAM traffic.

    `compulsory` and `capacity` are the two lower bounds, `reached` is what the schedule, or program, moves.
    """

    compulsory: int
    capacity: int
    reached: int

    @property
    def bound(self) -> int:
        """What no schedule is below: the larger of both bounds."""
        return max(self.compulsory, self.capacity)

    @property
    def gap(self) -> int:
        """At most how many bytes a better schedule could save."""
        return self.reached - self.bound

    @property
    def optimal(self) -> bool:
        """Whether no schedule moves less."""
        return self.reached == self.bound

    def relieved(self, saved: int) -> "Certificate":
        """The certificate where `saved` bytes of what has to move need not: they are there, or not asked for."""
        return replace(self, compulsory=max(0, self.compulsory - saved), capacity=max(0, self.capacity - saved))


def certificate(nest: Nest, spm_bytes: int, widths: Bits, reached: int) -> Certificate:
    """The certificate of a schedule that moves `reached` bytes with `spm_bytes` of SPM for all blocks held at once."""
    return Certificate(compulsory_bytes(nest, widths), capacity(nest, spm_bytes, widths) // BYTE, reached)


@lru_cache(maxsize=8192)
def lower_bound_bits(nest: Nest, spm_bytes: int, widths: Bits) -> int:
    """The larger of both bounds in bits."""
    return max(compulsory_bits(nest, widths), capacity(nest, spm_bytes, widths))


def compulsory(nest: Nest) -> dict[str, int]:
    """The elements of each tensor that any schedule moves at least."""
    result = {t.name: touched(t, nest.sizes) for t in nest.ins}
    result |= {t.name: t.elements for t in nest.outs}
    return result | {s.name: s.elements for s in nest.starts if s is not None}


def compulsory_bits(nest: Nest, widths: Bits) -> int:
    """The bits that any schedule moves at least, however large its memory: results are written once, finished."""
    by_name = widths.by_name(nest)
    return sum(by_name[name] * elements for name, elements in compulsory(nest).items())


def compulsory_bytes(nest: Nest, widths: Bits) -> int:
    """The same in bytes, as rows count them: whole ones of each tensor."""
    by_name = widths.by_name(nest)
    return sum(whole_bytes(by_name[name] * elements) for name, elements in compulsory(nest).items())


def capacity(nest: Nest, spm_bytes: int, widths: Bits) -> int:
    """
    The bits that any schedule moves at least with `spm_bytes` of fast memory; 0 where the bound says nothing.

    It is the best over the sets of statements that are bounded together and over the weights of their tensors. A result
    weighs what a partial sum takes, and what it is narrower when it is finished is taken off, or it weighs no more
    than when it is finished. Where all elements are whole bytes, bytes are what is counted and rounded down.
    """
    unit = gcd(BYTE, *widths.stored, *widths.sums)
    memory, whole = max(1, BYTE // unit * spm_bytes), compulsory_bits(nest, widths) // unit
    stored, held = ({n: w // unit for n, w in own.items()} for own in (widths.by_name(nest), widths.with_sums(nest)))
    weights = [held, {name: min(width, stored[name]) for name, width in held.items()}]
    tried = weights[: 1 if weights[0] == weights[1] else 2]
    return unit * max(_capacity(nest, memory, width, whole) for width in tried)


def _capacity(nest: Nest, memory: int, width: Mapping[str, int], whole: int) -> int:
    """The bound where an element weighs `width`, of its tensor, and all that is compulsory `whole`."""
    used = {name: width[name] * touched(nest.tensors[name], nest.sizes) for name in width}
    best = 0
    for group in _groups(tuple(s for s in nest.statements if _covered(nest, s))):
        sets = tuple(_transversals(group))
        share = min((_leaf_degree(group, hubs) for hubs in sets), default=len(group))
        square = _work(nest, group, width) // (share * share)
        rest = whole - sum(used[name] for name in {name for s in group for name in _names(s)})
        best = max(best, rest + _moved(square, memory))
        for once in {sum(used[name] for name in light) for light in sets} - {0}:
            weight = Fraction(square // (memory * once * once), 1 << BITS)
            if weight < 1:
                best = max(best, rest + int((1 - weight) * once) + _moved(int(weight * square), memory))
    return best


def _work(nest: Nest, group: Group, width: Mapping[str, int]) -> int:
    """X^2 of statements with nothing shared, times 2^BITS and rounded down."""
    squares: list[int] = []
    for s in group:
        points = points_inside(_tensors(nest, s), nest)
        squares.append((points * points * prod(width[name] for name in _names(s)) << BITS) // _reuse(nest, s))
    return sum(squares) + sum(2 * isqrt(a * b) for a, b in combinations(squares, 2))


def _moved(square: int, memory: int) -> int:
    """The most that 3 (n X^2)^(1/3) - (n - 1) S is for a whole n >= 1; X^2 is `square` / 2^BITS, S is `memory`."""
    segments = max(1, isqrt((square >> BITS) // memory**3))
    return max(_cube_root(27 * n * square >> BITS) - (n - 1) * memory for n in (segments, segments + 1))


def _cube_root(value: int) -> int:
    """The largest integer whose cube is at most `value` >= 0."""
    if value == 0:
        return 0
    root = 1 << -(-value.bit_length() // 3)
    while True:
        lower = (2 * root + value // (root * root)) // 3
        if lower >= root:
            return root
        root = lower


def _names(statement: Statement) -> tuple[str, str, str]:
    return statement.out, statement.lhs, statement.rhs


def _covered(nest: Nest, statement: Statement) -> bool:
    """Whether Loomis and Whitney's inequality bounds its points: three tensors, every dimension in two of them."""
    tensors = [nest.tensors[name] for name in _names(statement)]
    different = len(set(_names(statement))) == len(tensors)
    return different and all(sum(dim in t.dims for t in tensors) > 1 for dim in nest.sizes)


def _groups(statements: Group) -> Iterator[Group]:
    """The sets of statements to be bounded together."""
    for count in range(1, len(statements) + 1):
        if count in (1, len(statements)) or len(statements) <= JOINT:
            yield from combinations(statements, count)


def _transversals(group: Group) -> Iterator[frozenset[str]]:
    """The sets of tensors of which each statement has exactly one."""
    choices = product(*(_names(s) for s in group)) if len(group) <= JOINT else _common(group)
    for chosen in sorted({tuple(sorted(set(names))) for names in choices}):
        if all(sum(name in chosen for name in _names(s)) == 1 for s in group):
            yield frozenset(chosen)


def _common(group: Group) -> Iterator[tuple[str, ...]]:
    """The tensors that all statements have."""
    for name in _names(group[0]):
        if all(name in _names(s) for s in group):
            yield (name,)


def _leaf_degree(group: Group, hubs: frozenset[str]) -> int:
    """The most statements that a tensor outside `hubs` is part of."""
    leaves = [name for s in group for name in _names(s) if name not in hubs]
    return max(leaves.count(name) for name in leaves)


def points_inside(tensors: Iterable[Tensor], nest: Nest) -> int:
    """
    The points of the nest at which no tensor is indexed outside its shape.

    Axes with windows that share a dimension are not counted together: the result may then be too small.
    """
    points, counted = nest.points, set[str]()
    for axis, size in dict.fromkeys(place for t in tensors for place in zip(t.axes, t.shape, strict=True)):
        sizes = {d: nest.sizes[d] for d in axis.dims}
        reach = axis.offset + sum(c * (sizes[d] - 1) for d, c in axis.terms)
        if axis.offset >= 0 and reach < size:
            continue
        every, inside = prod(sizes.values()), _tuples_inside(axis, size, sizes)
        if counted.isdisjoint(sizes):
            points = points // every * inside
        else:
            points = max(0, points - nest.points // every * (every - inside))
        counted |= set(sizes)
    return points


def _tuples_inside(axis: Axis, size: int, sizes: Mapping[str, int]) -> int:
    """The index tuples of an axis' dimensions that lie in [0, size); those of the largest one are not walked."""
    if not axis.terms:
        return int(0 <= axis.offset < size)
    (dim, step), *others = sorted(axis.terms, key=lambda term: -sizes[term[0]])
    inside = 0
    for at in product(*(range(0, c * sizes[d], c) for d, c in others)):
        base = axis.offset + sum(at)
        first, last = max(0, -(base // step)), min(sizes[dim] - 1, (size - 1 - base) // step)
        inside += max(0, last - first + 1)
    return inside


def _reuse(nest: Nest, statement: Statement) -> int:
    """At most how many index tuples reach one element, multiplied over the tensors of a statement."""
    return prod(_reached_by(axis, nest.sizes) for t in _tensors(nest, statement) for axis in t.axes)


def _tensors(nest: Nest, statement: Statement) -> Iterable[Tensor]:
    return (nest.tensors[name] for name in _names(statement))


def _reached_by(axis: Axis, sizes: Mapping[str, int]) -> int:
    """
    At most how many index tuples of an axis' dimensions give the same index.

    Of two terms c y + d r the solutions of one value are d / gcd apart in y and c / gcd in r.
    """
    extents = [sizes[d] for d in axis.dims]
    if len(extents) != 2:
        return prod(extents) // max(extents, default=1)
    (_, c), (_, d) = axis.terms
    g = gcd(c, d)
    return min(-(-extents[0] * g // d), -(-extents[1] * g // c))
