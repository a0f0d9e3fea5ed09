"""From rules to the constraints of one contraction, whose dimensions have roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from npuc.compiler.analysis.mapping.constraints.limits import WHOLE, LevelConstraint, MapConstraints, TileLimit
from npuc.compiler.analysis.mapping.constraints.rules import Atom
from npuc.compiler.analysis.mapping.constraints.words import ALL, ROLES, LoopOrder, TileWord
from npuc.compiler.analysis.mapping.named.roles import roles_of
from npuc.dialects.mapping import Problem
from npuc.dialects.npu.nest import Nest

Places = tuple[int, ...]
_OF_PRODUCT = {"K": "N", "C": "K", "Y": "M", "X": "M"}
"""The dimension of a product, in MAESTRO's terms, that has a role."""
_OWN_NAMES = {"o": "K", "i": "C", "b": "N"}
"""The dimension of a layer in MAESTRO's terms, where it is not the capital letter."""


@dataclass(frozen=True)
class Dimensions:
    """
    The dimensions of a space with their sizes, and the places of those that have a role, outermost first.

    `kind` is that of the contraction; of a product Y and X both stand for its rows, so that a tile of them is one of
    both.
    """

    sizes: tuple[int, ...]
    named: Mapping[str, Places]
    kind: str

    def places(self, name: str) -> Places:
        """The dimensions of a name; none where the contraction has none."""
        return self.named.get(name, ())

    def size(self, name: str) -> int:
        """The size of all dimensions of a name together."""
        return prod(self.sizes[at] for at in self.places(name))


def dimensions_of(nest: Nest) -> Dimensions:
    """The dimensions of a nest, by the roles that they have in its first statement."""
    roles, names = roles_of(nest, nest.statements[0]), [name for name, _ in nest.dims]
    found = {name: tuple(map(names.index, roles.of(name))) for name in ROLES}
    product = not any(name == "Y" for name, _ in roles.dims)
    if product:
        found["Y"] = found["X"] = tuple(map(names.index, roles.rows))
    kind = "product" if product else "depthwise" if roles.depthwise else "convolution"
    own = {name: (at,) for at, name in enumerate(names)}
    return Dimensions(tuple(size for _, size in nest.dims), {**found, **own}, kind)


def dimensions_of_layer(problem: Problem) -> Dimensions:
    """The dimensions of a layer in MAESTRO's terms."""
    names, sizes = list(problem.named), tuple(problem.outputs(dim) for dim in problem.named)
    product = problem.kind == "GEMM"
    roles = _OF_PRODUCT if product else {name: name for name in ROLES}
    found = {role: (names.index(name),) for role, name in roles.items() if name in names}
    own = {name.lower(): (at,) for at, name in enumerate(names)}
    if not product:
        own = {name: places for name, places in own.items() if name not in ("k", "c", "n")}
        own |= {name: (names.index(role),) for name, role in _OWN_NAMES.items() if role in names}
    kind = "product" if product else "depthwise" if problem.kind == "DSCONV" else "convolution"
    return Dimensions(sizes, {**found, **own}, kind)


def constraints_of(
    atoms: Iterable[Atom], dims: Dimensions, levels: int, elements: int, *, divisors: bool
) -> MapConstraints:
    """What demands together mean for a contraction on so many elements. Those of deeper levels are left out."""
    found = [LevelConstraint() for _ in range(levels)]
    total, tiles = 0.0, dict[tuple[int, int], list[TileWord]]()
    for atom in atoms:
        if atom.key == "utilization" and atom.level is None:
            total = max(total, float(str(atom.value)))
            continue
        for level in range(levels) if atom.level is None else [atom.level]:
            if level >= levels:
                continue
            if isinstance(atom.value, TileWord):
                tiles.setdefault((level, id(atom.rule)), []).append(atom.value)
            else:
                found[level] = _with(found[level], atom, dims)
    for (level, _), words in tiles.items():
        for at, limit in _limits(words, dims):
            found[level] = found[level].with_tile(at, limit)
    return MapConstraints(tuple(found), elements, total, divisors)


def _with(level: LevelConstraint, atom: Atom, dims: Dimensions) -> LevelConstraint:
    """A level with one more demand, other than a tile."""
    match atom.value:
        case LoopOrder():
            return level.with_before(_pairs(atom.value, dims))
        case tuple():
            return level.with_spread(at for name in atom.value for at in dims.places(name))
        case str():
            return level.with_must(_spreadable(dims.places(atom.value), dims.sizes))
        case int() if atom.key == "fanout":
            return replace(level, fanout=tuple(sorted({*level.fanout, atom.value})))
        case int() | float():
            return replace(level, utilization=max(level.utilization, float(atom.value)))
        case _:
            raise AssertionError(atom)


def _spreadable(places: Places, sizes: Sequence[int]) -> Places:
    """Of dimensions that stand for one the innermost with several elements, which is the one that must be spread."""
    return tuple(at for at in places if sizes[at] > 1)[-1:]


def _pairs(order: LoopOrder, dims: Dimensions) -> list[tuple[int, int]]:
    """The loops that an order has outside of others."""
    listed = list(dict.fromkeys(at for name in order.names for at in dims.places(name)))
    pairs = list(combinations(listed, 2))
    if order.others is None:
        return pairs
    first = {at for name in order.names[: order.others] for at in dims.places(name)}
    others = [at for at in range(len(dims.sizes)) if at not in listed]
    pairs += [(at, other) for at in listed if at in first for other in others]
    pairs += [(other, at) for at in listed if at not in first for other in others]
    return pairs


def _limits(words: Sequence[TileWord], dims: Dimensions) -> list[tuple[int, TileLimit]]:
    """
    The limits of one rule's tiles. Where Y and X are the same rows, equal kinds of limits multiply.

    A tile of the size of what the contraction does not have is no limit.
    """
    found: list[tuple[int, TileLimit]] = []
    words = [word for word in words if isinstance(word.value, int) or word.value == ALL or dims.places(word.value)]
    rows = {word.name for word in words} >= {"Y", "X"} and dims.places("Y") == dims.places("X") != ()
    merged = dict[str, int]()
    for word in words:
        size = WHOLE if word.value == ALL else word.value if isinstance(word.value, int) else dims.size(word.value)
        if rows and word.name in ("Y", "X"):
            merged[word.operator] = min(WHOLE, merged.get(word.operator, 1) * size)
        else:
            found += _parts(word.operator, size, dims.places(word.name), dims.sizes)
    for operator, size in merged.items():
        found += _parts(operator, size, dims.places("Y"), dims.sizes)
    return found


def _parts(operator: str, size: int, places: Places, sizes: Sequence[int]) -> list[tuple[int, TileLimit]]:
    """A limit for dimensions that stand for one: the innermost takes of it what it can, as dataflows do."""
    found: list[tuple[int, TileLimit]] = []
    left = size
    for at in reversed(places):
        one = WHOLE if left == WHOLE else max(left, 1)
        limit = {"=": TileLimit(fixed=(one,)), "<=": TileLimit(most=one), ">=": TileLimit(least=one)}[operator]
        found.append((at, limit))
        left = WHOLE if left == WHOLE else max(left, 1) // sizes[at]
    return found
