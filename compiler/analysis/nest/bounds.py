"""
Lower bounds of the DRAM traffic of a nest over all schedules, and the gap between a schedule and the bound.

*Compulsory*: every used element of an input is read once, every element of an output is written once. *Capacity*: with
S bits of fast memory, statements that share operands move at least 3 (n X^2)^(1/3) - (n - 1) S bits for every integer
n >= 1, about 2 X / sqrt(S) + S, where X sums the MACs of the statements, weighted by element widths and by how often
windows reuse an element. A share of the compulsory bits of tensors may be added for a smaller X. An output counts with
the width of a partial sum, which all its writes but the last have; the difference of the last write is subtracted.

docs/bounds.md has the proofs. Every rounding here is downwards. The starting point is T. M. Smith et al., "A tight I/O
lower bound for matrix multiplication", 2019.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import gcd, isqrt, prod

from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.elements import BYTE, Bits, Width, common_unit, whole_bytes
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor

BITS = 40
"""Fractional binary digits of X^2."""
JOINT = 4
"""Up to this many statements every subset is bounded jointly; of more, only single statements and all of them."""
Group = tuple[Statement, ...]


@frozen
class Certificate:
    """
    The optimality gap of a schedule or program, in bytes of DRAM traffic.

    `compulsory` and `capacity` are the two lower bounds, `reached` is the traffic of the schedule or program.
    """

    compulsory: int
    capacity: int
    reached: int

    @property
    def bound(self) -> int:
        """The lower bound of all schedules: the larger of both bounds."""
        return max(self.compulsory, self.capacity)

    @property
    def gap(self) -> int:
        """The most bytes that a better schedule could save."""
        return self.reached - self.bound

    @property
    def optimal(self) -> bool:
        """Whether no schedule moves less."""
        return self.reached == self.bound

    def without_traffic(self, saved: int) -> "Certificate":
        """The certificate with bounds lowered by `saved` bytes that need not move: they are resident, or not stored."""
        return replace(self, compulsory=max(0, self.compulsory - saved), capacity=max(0, self.capacity - saved))


def certificate(nest: Nest, spm_bytes: int, widths: Bits, reached: int) -> Certificate:
    """The certificate of a schedule that moves `reached` bytes and has `spm_bytes` of SPM for its blocks."""
    return Certificate(compulsory_bytes(nest, widths), capacity(nest, spm_bytes, widths) // BYTE, reached)


@lru_cache(maxsize=8192)
def lower_bound_bits(nest: Nest, spm_bytes: int, widths: Bits) -> Width:
    """The larger of both bounds in bits."""
    return max(compulsory_bits(nest, widths), capacity(nest, spm_bytes, widths))


def compulsory(nest: Nest) -> dict[str, int]:
    """The elements of each tensor that every schedule moves at least once."""
    result = {t.name: touched(t, nest.sizes) for t in nest.ins}
    result |= {t.name: t.elements for t in nest.outs}
    return result | {s.name: s.elements for s in nest.starts if s is not None}


def compulsory_bits(nest: Nest, widths: Bits) -> Width:
    """The compulsory traffic in bits: a lower bound for any size of SPM, with every output written once, completed."""
    by_name = widths.by_name(nest)
    return sum(by_name[name] * elements for name, elements in compulsory(nest).items())


def compulsory_bytes(nest: Nest, widths: Bits) -> int:
    """The compulsory traffic in bytes, rounded up for each tensor as in a report's rows."""
    by_name = widths.by_name(nest)
    return sum(whole_bytes(by_name[name] * elements) for name, elements in compulsory(nest).items())


def capacity(nest: Nest, spm_bytes: int, widths: Bits) -> Width:
    """
    The capacity bound: a lower bound of the bits that a schedule moves with `spm_bytes` of SPM; 0 where it is void.

    It is the best bound over the sets of statements that are bounded jointly and over the weights of their tensors: an
    output weighs as a partial sum, less the difference of its narrower final elements, or no more than a final element.
    Where all elements are whole bytes, bytes are counted and rounded down.
    """
    unit, terms = _capacity_terms(nest, widths)
    memory = max(1, BYTE // unit * spm_bytes)
    return unit * max((_best_of_terms(own, memory) for own in terms), default=0)


@frozen
class _Term:
    """
    Of statements that are bounded jointly: X^2 times 2^BITS (`square`), the compulsory units of tensors that they do
    not have (`rest`), and of each set of tensors that is moved once as a whole its units.
    """

    square: int
    rest: int
    once: tuple[int, ...]


@lru_cache(maxsize=4096)
def _capacity_terms(nest: Nest, widths: Bits) -> tuple[int, tuple[tuple[_Term, ...], ...]]:
    """The unit in bits, and what the capacity bound takes for any memory, for each weight of the tensors."""
    unit = common_unit(BYTE, *widths.stored, *widths.sums)
    whole = compulsory_bits(nest, widths) // unit
    stored, sums = ({n: w // unit for n, w in own.items()} for own in (widths.by_name(nest), widths.with_sums(nest)))
    weights = [sums, {name: min(width, stored[name]) for name, width in sums.items()}]
    tried = weights[: 1 if weights[0] == weights[1] else 2]
    return unit, tuple(tuple(_terms(nest, width, whole)) for width in tried)


def _terms(nest: Nest, width: Mapping[str, int], whole: int) -> Iterator[_Term]:
    """The terms where elements weigh `width`, by tensor, and all compulsory traffic weighs `whole`."""
    used = {name: width[name] * touched(nest.tensors[name], nest.sizes) for name in width}
    for group in _groups(tuple(s for s in nest.statements if _covered(nest, s))):
        sets = tuple(_transversals(group))
        share = min((_leaf_degree(group, hubs) for hubs in sets), default=len(group))
        square = _work(nest, group, width) // (share * share)
        rest = whole - sum(used[name] for name in {name for s in group for name in _names(s)})
        yield _Term(square, rest, tuple({sum(used[name] for name in light) for light in sets} - {0}))


def _best_of_terms(terms: Iterable[_Term], memory: int) -> int:
    """The best bound of all terms with so many units of memory."""
    best = 0
    for term in terms:
        best = max(best, term.rest + _moved(term.square, memory))
        for once in term.once:
            weight = Fraction(term.square // (memory * once * once), 1 << BITS)
            if weight < 1:
                moved = _moved(int(weight * term.square), memory)
                best = max(best, term.rest + int((1 - weight) * once) + moved)
    return best


def _work(nest: Nest, group: Group, width: Mapping[str, int]) -> int:
    """X^2 of statements that share nothing, times 2^BITS and rounded down."""
    squares: list[int] = []
    for s in group:
        points = points_inside(_tensors(nest, s), nest)
        squares.append((points * points * prod(width[name] for name in _names(s)) << BITS) // _reuse(nest, s))
    return sum(squares) + sum(2 * isqrt(a * b) for a, b in combinations(squares, 2))


def _moved(square: int, memory: int) -> int:
    """The maximum of 3 (n X^2)^(1/3) - (n - 1) S over integers n >= 1; X^2 is `square` / 2^BITS, S is `memory`."""
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
    """Whether the Loomis-Whitney inequality applies: three different tensors, with every dimension in two of them."""
    tensors = [nest.tensors[name] for name in _names(statement)]
    different = len(set(_names(statement))) == len(tensors)
    return different and all(sum(dim in t.dims for t in tensors) > 1 for dim in nest.sizes)


def _groups(statements: Group) -> Iterator[Group]:
    """The sets of statements to be bounded jointly."""
    for count in range(1, len(statements) + 1):
        if count in (1, len(statements)) or len(statements) <= JOINT:
            yield from combinations(statements, count)


def _transversals(group: Group) -> Iterator[frozenset[str]]:
    """The sets of tensors that meet each statement in exactly one tensor."""
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
    """The largest number of statements that share a tensor outside `hubs`."""
    leaves = [name for s in group for name in _names(s) if name not in hubs]
    return max(leaves.count(name) for name in leaves)


def points_inside(tensors: Iterable[Tensor], nest: Nest) -> int:
    """
    A lower bound of the points of the nest at which every tensor is indexed inside its shape.

    It is exact unless axes with windows share a dimension, as these are not counted jointly.
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
    """The index tuples of an axis' dimensions that map into [0, size); the largest dimension is not enumerated."""
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
    """The most index tuples that reach one element, multiplied over the tensors of a statement."""
    return prod(_reached_by(axis, nest.sizes) for t in _tensors(nest, statement) for axis in t.axes)


def _tensors(nest: Nest, statement: Statement) -> Iterable[Tensor]:
    return (nest.tensors[name] for name in _names(statement))


def _reached_by(axis: Axis, sizes: Mapping[str, int]) -> int:
    """
    The most index tuples of an axis' dimensions that give the same index.

    The solutions of c y + d r = const are d / gcd(c, d) apart in y and c / gcd(c, d) apart in r.
    """
    extents = [sizes[d] for d in axis.dims]
    if len(extents) != 2:
        return prod(extents) // max(extents, default=1)
    (_, c), (_, d) = axis.terms
    g = gcd(c, d)
    return min(-(-extents[0] * g // d), -(-extents[1] * g // c))
