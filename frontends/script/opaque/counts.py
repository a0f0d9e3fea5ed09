"""The work of a call of an operator, by its entry and the shapes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, prod

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.dialects.train.opaque import MAX_COUNT
from npuc.frontends.script.opaque.entries import ANY, UNNAMED, Entry
from npuc.frontends.script.opaque.formula import FormulaError

Shape = tuple[int, ...]
Number = int | Fraction
_TWICE = 2


class OpaqueMismatch(Exception):
    """The tensors of a call are not what an entry says of them."""


@frozen
class Counts:
    """The work of a call and of its backward, and the axes of the batch of operands and results (none: no batch)."""

    macs: int
    vector: int
    backward_macs: int
    backward_vector: int
    batch: tuple[int, ...] = ()


@frozen
class AxisSizes:
    """The sizes of axes by name, and the axes that `...` stands for."""

    named: Mapping[str, int]
    leading: Shape | None = None


def sizes_of(entry: Entry, inputs: Sequence[Shape | None], outputs: Sequence[Shape | None]) -> AxisSizes:
    """
    The sizes of the axes that an entry names; None is a tensor that is left out, or of unknown shape.

    Raises `OpaqueMismatch`.
    """
    named: dict[str, int] = {}
    leading: Shape | None = None
    known = [("input", number, *pair) for number, pair in enumerate(zip(entry.inputs, inputs, strict=False))]
    known += [("output", n, *pair) for n, pair in enumerate(zip(entry.outputs or (), outputs, strict=False))]
    for side, number, pattern, shape in known:
        if shape is None:
            continue
        axes = pattern[1:] if pattern[:1] == (ANY,) else pattern
        more = len(shape) - len(axes)
        if more < 0 or (more > 0 and pattern[:1] != (ANY,)):
            raise OpaqueMismatch(f"{side} {number} has the shape {list(shape)}, its costs say '{' '.join(pattern)}'")
        if pattern[:1] == (ANY,):
            leading = shape[:more] if leading is None else leading
        for name, size in zip(axes, shape[more:], strict=True):
            if name != UNNAMED and named.setdefault(name, size) != size:
                said = f"in which '{name}' is {size} here and {named[name]} before"
                raise OpaqueMismatch(f"{side} {number} is '{' '.join(pattern)}' by its costs, {said}")
    return AxisSizes(named, leading)


def shape_by(entry: Entry, number: int, sizes: AxisSizes) -> Shape | None:
    """The shape of an output by the axes that an entry names; None where it does not say all of them."""
    if entry.outputs is None or number >= len(entry.outputs):
        return None
    found: list[int] = []
    for name in entry.outputs[number]:
        if name == ANY:
            if sizes.leading is None:
                return None
            found += sizes.leading
        elif name not in sizes.named:
            return None
        else:
            found.append(sizes.named[name])
    return tuple(found)


def counts_of(
    entry: Entry,
    inputs: Sequence[Shape | None],
    outputs: Sequence[Shape],
    attributes: Mapping[str, Number],
) -> Counts:
    """
    The work of a call: formulas of the axes' sizes, of attributes, and of the elements of tensors (`in0`, `out0`).

    Raises `OpaqueMismatch` for tensors of other axes, `UsageError` with its place for a formula without a value.
    """
    found: dict[str, Number] = {f"in{number}": prod(one) for number, one in enumerate(inputs) if one is not None}
    found |= {f"out{number}": prod(one) for number, one in enumerate(outputs)}
    found |= attributes
    found |= sizes_of(entry, inputs, outputs).named
    macs, vector = _count(entry, "macs", found), _count(entry, "vector", found)
    times = _value(entry, "backward", found) if "backward" in entry.formulas else Fraction(_TWICE)
    own = entry.formulas.keys() & {"backward_macs", "backward_vector"}
    return Counts(
        macs,
        vector,
        _count(entry, "backward_macs", found) if own else _checked(entry, "backward", times * macs),
        _count(entry, "backward_vector", found) if own else _checked(entry, "backward", times * vector),
        _batch(entry, inputs, outputs),
    )


def default_counts(inputs: Sequence[Shape | None], outputs: Sequence[Shape]) -> Counts:
    """The work of a call without formulas: one vector operation an element of its largest tensor, twice backwards."""
    most = max((prod(one) for one in (*inputs, *outputs) if one is not None), default=0)
    return Counts(0, most, 0, _TWICE * most)


def _batch(entry: Entry, inputs: Sequence[Shape | None], outputs: Sequence[Shape]) -> Shape:
    """The axis of the batch of each tensor that there is, -1 where it has none; nothing without a batch."""
    if entry.batch is None or len(entry.outputs or ()) < len(outputs):
        return ()
    found: list[int] = []
    for patterns, shapes in ((entry.inputs, inputs), (entry.outputs or (), outputs)):
        for number, shape in enumerate(shapes):
            if shape is None:
                continue
            pattern = patterns[number] if number < len(patterns) else ()
            if pattern.count(entry.batch) > 1:
                return ()
            found.append(len(shape) - len(pattern) + pattern.index(entry.batch) if entry.batch in pattern else -1)
    return tuple(found) if any(axis != -1 for axis in found) else ()


def _value(entry: Entry, key: str, sizes: Mapping[str, Number]) -> Fraction:
    try:
        return entry.formulas[key].value(sizes)
    except FormulaError as error:
        raise entry.error(f"{key}: {error.message}", key, error.at, error.hint) from None


def _count(entry: Entry, key: str, sizes: Mapping[str, Number]) -> int:
    return _checked(entry, key, _value(entry, key, sizes)) if key in entry.formulas else 0


def _checked(entry: Entry, key: str, value: Fraction) -> int:
    """A count, rounded up. Raises `UsageError` for one below 0 or too large."""
    if not 0 <= value <= MAX_COUNT:
        shown = f"{float(value):.6g}"
        error: UsageError = entry.error(f"{key}: its value is {shown}, expected a number from 0 to 2^53", key)
        raise error
    return ceil(value)
