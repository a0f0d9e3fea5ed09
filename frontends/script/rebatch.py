"""
A graph of one batch as the same graph of another.

Exporters write the batch of the example into the sizes that reshapes, expansions and constants have. What follows from
the sizes of operands need not be guessed: of a reshape, the axis that holds the batch of its operand grows with it.
Where a call picks some of the samples, or an output has not all, it is not clear which of another batch are meant.

`frontends/onnx/batch/` does more, before calls are written: it makes weights and listed places anew as well, and says
at which node that cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.frontends.dsl.syntax import (
    Argument,
    Assignment,
    Call,
    Declaration,
    Definition,
    ListOf,
    Literal,
    Name,
    Output,
    Statement,
)
from npuc.frontends.script.needed import needed
from npuc.frontends.script.script import Script
from npuc.frontends.script.text.sizes import FreeSize

BATCH = "batch"
_CONSTANTS = frozenset({"full", "zeros", "ones"})
_PICKS = frozenset({"slice", "index_select", "index", "gather", "gather_nd"})
"""Functions whose places along an axis the exporter has listed."""
_PUTS = frozenset({"slice_scatter", "select_scatter", "index_put", "scatter", "scatter_nd"})
_SHAPED = _CONSTANTS | {"reshape", "expand"}


def batch_size(script: Script, *, max_ops: int) -> FreeSize | None:
    """The batch of a network, the size of the first axis of all its inputs that have axes, as one that may change."""
    definition = script.definition
    declared = [one for one in needed(definition) if isinstance(one, Declaration) and not one.labels]
    sizes = {_sizes(one.shape)[0] for one in declared if one.shape.items and one.name.text not in script.weights}
    if len(sizes) != 1:
        return None
    (batch,) = sizes

    def at(other: int) -> Definition | None:
        """The network with another batch, a multiple; None where that is no network."""
        return _rebatched(definition, batch, other, script, max_ops)

    return FreeSize(BATCH, batch, (2 * batch, 3 * batch), at)


def _rebatched(definition: Definition, batch: int, other: int, script: Script, max_ops: int) -> Definition | None:
    name, training = definition.name.text, script.training
    old, new = (Script(name, "", training=training, max_ops=max_ops) for _ in range(2))
    writer = _Writer(old, new, (batch, other), frozenset(script.weights))
    try:
        for statement in needed(definition):
            old.execute(statement)
            new.execute(writer.statement(statement))
            writer.check(statement)
    except (SourceError, SourceErrors, _Unclear):
        return None
    return new.definition


class _Unclear(Exception):
    """It is not clear which size of a call holds the batch."""


class _Writer:
    """Rewrites statements, knowing the sizes of all values before and after."""

    def __init__(self, old: Script, new: Script, batches: tuple[int, int], kept: frozenset[str]):
        """`kept` are the names of inputs that are constants."""
        batch, other = batches
        self._kept = kept
        self._old = old
        self._new = new
        self._batch = batch
        self._factor = other // batch
        self._before: dict[str, int] = {}
        """Of values whose batch is not the outer part of an axis: how many elements of the axis are before it."""

    def statement(self, statement: Statement) -> Statement:
        """A statement with the other batch."""
        match statement:
            case Declaration():
                sizes = _sizes(statement.shape)
                if sizes and sizes[0] % self._batch == 0 and statement.name.text not in self._kept:
                    sizes[0] *= self._factor
                shape = _listed(statement.shape, sizes)
                return Declaration(statement.at, statement.labels, statement.name, statement.element, shape)
            case Assignment(value=Call() as call):
                written, before = self._call(call)
                if before > 1:
                    self._before.update((target.text, before) for target in statement.targets)
                return Assignment(statement.at, statement.targets, written)
            case _:
                return statement

    def check(self, statement: Statement) -> None:
        """Raise `_Unclear` where a statement, which both networks have now, does not take all samples of the other."""
        match statement:
            case Output(name=name, value=value):
                shown = value if isinstance(value, Name) else name
                old, new = self._shapes(shown)
                if old and old[0] == self._batch > 1 and new[0] == old[0]:
                    raise _Unclear
            case Assignment(targets=(target,), value=Call() as call) if call.function in _PICKS | _PUTS:
                operands = [a.value for a in call.arguments if isinstance(a.value, Name)]
                if operands and self._grows(operands[0]) and not self._takes_all(call, operands, target):
                    raise _Unclear
            case _:
                return

    def _takes_all(self, call: Call, operands: Sequence[Name], result: Name) -> bool:
        """Whether a call that picks or puts elements of a value with all samples does so for each of them."""
        if call.function in _PUTS:
            return all(map(self._grows, operands[1:2]))
        places = [a.value.value for a in call.arguments if isinstance(a.value, Literal)]
        return self._grows(result) or (call.function == "slice" and places[-2:] == [0, 1])

    def _grows(self, value: Name) -> bool:
        old, new = self._shapes(value)
        return old != new

    def _call(self, call: Call) -> tuple[Call, int]:
        """A call with the other batch, and how much of its result's axis stands before the batch."""
        arguments = list(call.arguments)
        operands = [a.value for a in arguments if isinstance(a.value, Name)]
        before = max((self._before.get(name.text, 1) for name in operands), default=1)
        place = next((k for k, a in enumerate(arguments) if a.name == "shape"), int(call.function not in _CONSTANTS))
        shape = arguments[place].value if place < len(arguments) else None
        if call.function in _SHAPED and isinstance(shape, ListOf):
            sizes = _sizes(shape)
            if call.function in _CONSTANTS:
                sizes = self._constant(sizes)
            elif not operands:
                raise _Unclear
            elif call.function == "expand":
                sizes = self._expanded(*self._shapes(operands[0]), sizes)
            else:
                sizes, before = self._reshaped(*self._shapes(operands[0]), sizes, before)
            arguments[place] = Argument(arguments[place].at, arguments[place].name, _listed(shape, sizes))
        return Call(call.at, call.function, tuple(arguments), call.frozen), before

    def _shapes(self, operand: Name) -> tuple[Sequence[int], Sequence[int]]:
        return self._old.shape(operand), self._new.shape(operand)

    def _constant(self, sizes: list[int]) -> list[int]:
        is_batch = bool(sizes) and sizes[0] == self._batch > 1
        return [sizes[0] * self._factor, *sizes[1:]] if is_batch else sizes

    def _expanded(self, old: Sequence[int], new: Sequence[int], sizes: list[int]) -> list[int]:
        """Sizes that follow the operand's; a leading axis that is made of one element holds the batch."""
        lead = len(sizes) - len(old)
        done = list(sizes)
        for axis, (a, b) in enumerate(zip(old, new, strict=True), lead):
            if a != b:
                done[axis] = b
        made = lead > 0 or (bool(old) and old[0] == 1)
        if sizes and sizes[0] == self._batch > 1 and made and done[0] == sizes[0]:
            done[0] *= self._factor
        return done

    def _reshaped(self, old: Sequence[int], new: Sequence[int], sizes: list[int], before: int) -> tuple[list[int], int]:
        """
        The sizes of a reshape, and what stands before the batch in its axis.

        In row-major order the number of elements that stand before the batch is the same under all shapes.
        """
        grown = [axis for axis, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        if not grown:
            return sizes, 1
        if len(grown) > 1:
            raise _Unclear
        (axis,) = grown
        whole = prod(old)
        full = [whole // -prod(sizes) if size == -1 else size for size in sizes]
        position, reached = prod(old[:axis]) * before, 1
        for place, size in enumerate(full):
            is_one = self._batch == size == 1 and reached == position
            if reached <= position and ((position * self._batch <= reached * size and size > 1) or is_one):
                is_free = sizes[place] == -1
                return [
                    *sizes[:place],
                    -1 if is_free else size * self._factor,
                    *sizes[place + 1 :],
                ], position // reached
            reached *= size
        raise _Unclear


def _sizes(shape: ListOf) -> list[int]:
    return [item.value for item in shape.items if isinstance(item, Literal) and isinstance(item.value, int)]


def _listed(shape: ListOf, sizes: Sequence[int]) -> ListOf:
    return ListOf(shape.at, tuple(Literal(shape.at, size) for size in sizes))
